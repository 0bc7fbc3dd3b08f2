//! The work that a simulated runtime does: a tree of tasks.

mod binomial;
mod fib;
mod flat;
mod recorded;

pub use binomial::Binomial;
pub use fib::Fib;
pub use flat::Flat;
pub use recorded::{Recorded, Recorder};

/// A tree of tasks that is made while it is run, so nobody needs to store it.
///
/// ```
/// use roving_model::{Outcome, Runtime, Step, Then, Tree};
///
/// /// Halves a number of items until one is left, which takes a microsecond.
/// struct Halves(u32);
///
/// impl Tree for Halves {
///     type Task = u32;
///     fn root(&self) -> u32 {
///         self.0
///     }
///     fn run(&self, items: u32) -> Step<u32> {
///         match items {
///             1 => Step { ns: 1000.0, then: Then::End },
///             _ => Step {
///                 ns: 0.0,
///                 then: Then::Join { first: items / 2, second: items - items / 2, after_ns: 0.0 },
///             },
///         }
///     }
/// }
///
/// let outcome = Runtime::new(4).run(&Halves(4000))?;
/// assert!(outcome.speedup() > 3.5);
/// # Ok::<(), roving_model::ModelError>(())
/// ```
pub trait Tree {
    /// The description of one task; cheap to copy, and small, because a stack holds many.
    type Task: Clone;
    /// The first task.
    fn root(&self) -> Self::Task;
    /// The tasks that are called from outside the pool, all at once: the first alone unless a tree
    /// says otherwise.
    ///
    /// ```
    /// use roving_model::{Runtime, Step, Then, Tree};
    ///
    /// /// Two calls of a task that takes a microsecond.
    /// struct Twice;
    ///
    /// impl Tree for Twice {
    ///     type Task = ();
    ///     fn root(&self) {}
    ///     fn roots(&self) -> Vec<()> {
    ///         vec![(), ()]
    ///     }
    ///     fn run(&self, (): ()) -> Step<()> {
    ///         Step { ns: 1000.0, then: Then::End }
    ///     }
    /// }
    /// assert_eq!(Runtime::new(2).run(&Twice)?.work_ns, 2000.0);
    /// # Ok::<(), roving_model::ModelError>(())
    /// ```
    fn roots(&self) -> Vec<Self::Task> {
        vec![self.root()]
    }
    /// Returns a task's own work, and its continuation.
    fn run(&self, task: Self::Task) -> Step<Self::Task>;
    /// Child `number` of a task that ended in [`Then::Spread`], or round `number` of one that ended
    /// in [`Then::Loop`]. A tree without such tasks has no use for it.
    ///
    /// ```
    /// use roving_model::{Runtime, Step, Then, Tree};
    ///
    /// /// A task that spawns ten, each of which takes a microsecond.
    /// struct Ten;
    ///
    /// impl Tree for Ten {
    ///     type Task = Option<u32>;
    ///     fn root(&self) -> Option<u32> {
    ///         None
    ///     }
    ///     fn run(&self, task: Option<u32>) -> Step<Option<u32>> {
    ///         let then = match task {
    ///             None => Then::Spread { spawner: None, count: 10, each_ns: 5.0 },
    ///             Some(_) => Then::End,
    ///         };
    ///         Step { ns: 1000.0, then }
    ///     }
    ///     fn child(&self, _spawner: &Option<u32>, number: u32) -> Option<u32> {
    ///         Some(number)
    ///     }
    /// }
    /// assert!(Runtime::new(2).run(&Ten)?.work_ns >= 11_000.0);
    /// # Ok::<(), roving_model::ModelError>(())
    /// ```
    fn child(&self, spawner: &Self::Task, number: u32) -> Self::Task {
        let _ = number;
        spawner.clone()
    }
}

/// A task's own work, and its continuation.
///
/// ```
/// let step: roving_model::Step<()> = roving_model::Step { ns: 5.0, then: roving_model::Then::End };
/// assert_eq!(step.ns, 5.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Step<T> {
    /// How long it works alone, in ns.
    pub ns: f64,
    /// The continuation.
    pub then: Then<T>,
}

/// The continuation after a task's own work.
///
/// ```
/// let then: roving_model::Then<u8> = roving_model::Then::default();
/// assert_eq!(then, roving_model::Then::End);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Then<T> {
    /// Nothing: the task has ended.
    #[default]
    End,
    /// `join(first, second)`: `first` is run here, `second` is left to thieves meanwhile.
    Join {
        /// Run at once.
        first: T,
        /// Pushed.
        second: T,
        /// The work that is left after both, in ns.
        after_ns: f32,
    },
    /// One task to its end, and then the other.
    Series {
        /// Run at once.
        first: T,
        /// Run after it, by the same worker.
        next: T,
    },
    /// `count` rounds of a parallel loop, of which a worker splits off the upper half when others
    /// ask for some.
    Loop {
        /// Handed to [`Tree::child`] with the number of a round.
        spawner: T,
        /// How many.
        count: u32,
    },
    /// `count` tasks are pushed one after the other, and then waited for, as in a `scope`.
    Spread {
        /// Handed to [`Tree::child`].
        spawner: T,
        /// How many.
        count: u32,
        /// The time of creating one, without the push itself, in ns.
        each_ns: f32,
    },
}
