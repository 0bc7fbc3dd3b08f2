//! A job as plain numbers, for the rivals that have a program of their own.

use crate::io::input::whole_number;
use crate::workloads::WorkloadJob;
use crate::workloads::uts::Params;

/// The jobs that have a program outside [`ForkJoin`](crate::forms::fork_join::ForkJoin).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Plain {
    /// fib(n)
    Fib(u64),
    /// The n queens.
    NQueens(u64),
    /// A tree, and whether the CPU's SHA-1 is left unused.
    Uts(Params, bool),
    /// So many empty tasks.
    Flat(u64),
    /// A tree of this depth over leaves of so many turns, so often.
    Stress {
        /// Levels of forks.
        depth: u64,
        /// Turns of a leaf's loop.
        turns: u64,
        /// How often the tree is run.
        repeats: u64,
    },
}

impl Plain {
    /// The job in numbers; none where no program is written for it.
    pub(super) fn from_job(job: &WorkloadJob) -> Option<Plain> {
        let number = || whole_number(&job.input());
        match job {
            WorkloadJob::Fib(_) => number().map(Plain::Fib),
            WorkloadJob::Nqueens(_) => number().map(Plain::NQueens),
            WorkloadJob::Flat(flat) => flat.empty_tasks().map(Plain::Flat),
            WorkloadJob::Stress(stress) => {
                let (depth, turns, repeats) = stress.shape();
                Some(Plain::Stress {
                    depth: depth.into(),
                    turns,
                    repeats,
                })
            }

            WorkloadJob::Uts(uts) if !uts.has_task_per_node() => {
                let (params, portable) = uts.params();
                Some(Plain::Uts(params, portable))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rival that ran empty tasks in the place of others would be compared all the same.
    #[test]
    fn tasks_that_do_something_are_no_empty_ones() {
        let plain = |input| Plain::from_job(&WorkloadJob::parse("flat", Some(input)).unwrap());
        assert_eq!(plain("1e5"), Some(Plain::Flat(100_000)));
        assert_eq!(plain("1e5x1us"), None);
        assert_eq!(plain("1e5x200"), None);
    }
}
