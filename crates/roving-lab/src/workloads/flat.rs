//! `flat`: one task spawns very many others and waits for all. With empty ones it is nothing but
//! spawning, so it shows what a spawn costs, and how much memory waiting tasks hold.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use roving::task::{Scope, Task};

use super::stress::{LeafWork, calibrated, leaf};
use super::{Evidence, RunAnswer, Workload};
use crate::forms::fork_join::{ForkJoin, Serial};
use crate::forms::tasks::BranchOrder;
use crate::io::input::{BadInput, number_in};

/// n tasks from one scope.
#[derive(Debug)]
pub(crate) struct FlatTasks {
    tasks: usize,
    /// The work of each task.
    work: LeafWork,
    /// The work of each task, in turns of a loop on this machine.
    turns: u64,
    /// Each task adds one: only in a run that is not timed, else the tasks are not empty.
    counted: bool,
    /// The tasks of the last counted run.
    done: AtomicU64,
}

/// Runs the work of one task.
#[inline(always)]
fn work(turns: u64) {
    if turns > 0 {
        black_box(leaf(turns));
    }
}

impl FlatTasks {
    /// How many tasks.
    pub(crate) fn tasks(&self) -> usize {
        self.tasks
    }

    /// How many tasks, if they do nothing.
    pub(crate) fn empty_tasks(&self) -> Option<u64> {
        (self.work == LeafWork::Turns(0)).then_some(self.tasks as u64)
    }
}

impl Workload for FlatTasks {
    const NAME: &'static str = "flat";
    const ABOUT: &'static str =
        "tasks, empty ones unless said otherwise, spawned by one and then awaited";
    const INPUTS: &'static [(&'static str, &'static str)] = &[
        ("1e6", "1,000,000 tasks, as fork-join in WORMS' paper"),
        ("1e5", "100,000 tasks"),
        ("1e7", "10,000,000 tasks"),
        ("1e5x1us", "100,000 tasks of a microsecond"),
        ("1e4x10us", "10,000 tasks of ten"),
    ];
    const PARAMS: &'static str =
        "tasks, from 1 to 1e9, and what each does: 1e5x500ns, or 1e5x200 turns of a loop";
    const ITEMS: &'static str = "tasks";
    const FIGURES: &'static [&'static str] = &["tasks"];
    const SERIAL: &'static str = "a box and a call through it for each task";

    fn parse(input: &str) -> Result<Self, BadInput> {
        let (tasks, work) = input.split_once('x').unwrap_or((input, "0"));
        let tasks = number_in("flat input", tasks, 1..=1_000_000_000, "take flat 1e6")? as usize;
        let work = LeafWork::parse(work).ok_or_else(|| {
            let allowed = "1ns to 1s, or 0 to 1e9 turns of a loop";
            BadInput::new("work of a flat task", work, allowed, "write 1e5x500ns")
        })?;
        Ok(FlatTasks {
            tasks,
            work,
            turns: 0,
            counted: false,
            done: AtomicU64::new(0),
        })
    }

    fn input(&self) -> String {
        match self.work {
            LeafWork::Turns(0) => self.tasks.to_string(),
            work => format!("{}x{}", self.tasks, work.text()),
        }
    }

    fn prepare(&mut self) {
        if self.turns == 0 {
            self.turns = match self.work {
                LeafWork::Turns(turns) => turns,
                LeafWork::Nanos(nanos) => calibrated(nanos),
            };
        }
    }

    fn set_proof(&mut self, on: bool) -> bool {
        self.counted = on;
        true
    }

    fn run<C: ForkJoin>(&mut self, cx: &mut C) {
        let turns = self.turns;
        if self.counted {
            *self.done.get_mut() = 0;
            let done = &self.done;
            cx.spawn_all(self.tasks, &|_: &mut C, _| {
                work(turns);
                // Ordering: only the sum matters; the scope's end orders it before the read.
                done.fetch_add(1, Ordering::Relaxed);
            });
        } else {
            cx.spawn_all(self.tasks, &|_: &mut C, _| work(turns));
        }
    }

    fn task<'scope, O: BranchOrder>(
        &'scope mut self,
        scope: Scope<'scope>,
    ) -> impl Task<()> + 'scope {
        async move {
            let turns = self.turns;
            // Nobody awaits the children: the root does not end before them.
            if self.counted {
                *self.done.get_mut() = 0;
                let done = &self.done;
                for _ in 0..self.tasks {
                    let count = async move {
                        work(turns);
                        // Ordering: only the sum matters; the root's end orders it before the read.
                        done.fetch_add(1, Ordering::Relaxed);
                    };
                    O::branch(scope, count).await;
                }
            } else {
                for _ in 0..self.tasks {
                    O::branch(scope, async move { work(turns) }).await;
                }
            }
        }
    }

    fn run_serial(&mut self) {
        self.run(&mut Serial);
    }

    fn answer(&self) -> RunAnswer {
        // Ordering: nobody else runs now; the end of the run ordered all additions before this.
        RunAnswer([self.done.load(Ordering::Relaxed), 0, 0])
    }

    fn expected(&self) -> Option<(RunAnswer, Evidence)> {
        Some((RunAnswer([self.tasks as u64, 0, 0]), Evidence::Definition))
    }

    fn items(&self, _: &RunAnswer) -> u64 {
        self.tasks as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::fork_join::{Counting, Roving};

    /// Has only `join`.
    struct OnlyJoin;

    impl ForkJoin for OnlyJoin {
        fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
        where
            A: FnOnce(&mut Self) -> RA + Send,
            B: FnOnce(&mut Self) -> RB + Send,
            RA: Send,
            RB: Send,
        {
            (a(self), b(self))
        }
    }

    #[test]
    fn each_task_runs_once() {
        for tasks in ["1", "2", "1000"] {
            let mut work = FlatTasks::parse(tasks).unwrap();
            assert!(work.set_proof(true));
            let mut cx = Counting::default();
            work.run(&mut cx);
            assert_eq!(Some((work.answer(), Evidence::Definition)), work.expected());
            assert_eq!(cx.spawns, work.items(&work.answer()));
            *work.done.get_mut() = 0;
            work.run(&mut OnlyJoin);
            assert_eq!(Some((work.answer(), Evidence::Definition)), work.expected());
            *work.done.get_mut() = 0;
            work.run_serial();
            assert_eq!(Some((work.answer(), Evidence::Definition)), work.expected());
        }
    }

    #[test]
    fn in_a_pool() {
        let pool = roving::Pool::builder().workers(3).build().unwrap();
        let mut work = FlatTasks::parse("1e5").unwrap();
        work.set_proof(true);
        pool.install(|| work.run(&mut Roving));
        assert_eq!(work.answer().0[0], 100_000);
    }
}
