//! Many tasks from one.

use super::{Step, Then, Tree};

/// One task that spawns very many, each of the same length, and waits for them.
///
/// ```
/// use roving_model::{Flat, Runtime};
/// let flat = Flat { tasks: 1000, task_ns: 5000.0, spawn_ns: 20.0 };
/// assert!(Runtime::new(2).run(&flat)?.speedup() > 1.8);
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flat {
    /// How many.
    pub tasks: u32,
    /// The time of each task, in ns.
    pub task_ns: f64,
    /// The time of creating one task, in ns.
    pub spawn_ns: f64,
}

impl Tree for Flat {
    /// Whether it is the one that spawns.
    type Task = bool;

    fn root(&self) -> bool {
        true
    }

    fn run(&self, spawns: bool) -> Step<bool> {
        match spawns {
            false => Step {
                ns: self.task_ns,
                then: Then::End,
            },
            true => Step {
                ns: 0.0,
                then: Then::Spread {
                    spawner: true,
                    count: self.tasks,
                    each_ns: self.spawn_ns as f32,
                },
            },
        }
    }

    fn child(&self, _spawner: &bool, _number: u32) -> bool {
        false
    }
}
