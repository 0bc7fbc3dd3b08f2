//! The runtimes that Roving is measured against, each ready to do one [`WorkloadJob`] over
//! and over.
//!
//! The Rust ones run the very same code as Roving where they have a `join`; tokio, oneTBB and
//! OpenMP have programs of ours in their own idiom. Whatever they are, they make their threads
//! once, rest between runs, and their answers are verified like Roving's.

pub(crate) mod alone;
mod chili;
pub(crate) mod drop_in;
mod forte;
pub(crate) mod mpsc;
pub(crate) mod pipeline;
mod plain;
mod program;
mod rayon;
mod runtime;
mod sleeping_tokio;
mod tokio;

use ::roving::policy::Amount;

pub(crate) use self::rayon::RayonPool;
pub(crate) use self::runtime::{Absent, Contender, Runtime, deepen_stacks, timed};
use crate::forms::tasks::Form;
use crate::job::measure;
use crate::job::settings::JobSettings;
use crate::shapes::closures::{self, Pools};
use crate::shapes::runner::{Runner, here};
use crate::workloads::{TimedAnswer, WorkloadJob};

impl Runtime {
    /// Ready to run `job` on `workers`, in this process unless that would disturb the others.
    pub(crate) fn start(
        self,
        job: &WorkloadJob,
        workers: usize,
    ) -> Result<Box<dyn Contender>, Absent> {
        // Forte's heartbeat goes on while nothing runs: 4 % of a core. (A test is not the command.)
        if self == Runtime::Forte && !cfg!(test) {
            return Ok(Box::new(alone::Alone::new(self, job, workers)));
        }
        self.start_here(job, workers)
    }

    /// Makes the threads here, ready to run `job` on `workers` of them.
    pub(crate) fn start_here(
        self,
        job: &WorkloadJob,
        workers: usize,
    ) -> Result<Box<dyn Contender>, Absent> {
        match self {
            Runtime::Roving
            | Runtime::RovingFork
            | Runtime::RovingSpawn
            | Runtime::RovingBranch => {
                let form = self.form().unwrap_or_default();
                start_ours(job, workers, form, Amount::default())
            }
            Runtime::DropIn => Err(Absent(
                "the drop-in runs sleepers; `roving drop-in` has its own workloads".into(),
            )),
            Runtime::Rayon => rayon::RayonPool::start(job, workers),
            Runtime::Chili => chili::ChiliPool::start(workers),
            Runtime::Forte => forte::FortePool::start(workers),
            Runtime::Tokio => tokio::TokioJob::start(job, workers),
            Runtime::Tbb | Runtime::OpenMp => program::RunningProgram::start(self, job, workers),
        }
    }
}

/// A rival that is ready for shapes whose leaves sleep.
pub(crate) fn sleepers(runtime: Runtime, workers: usize) -> Result<Runner, Absent> {
    fn closures(pools: impl Pools + 'static) -> Runner {
        here(move |shape, leaves| closures::run(&pools, shape, leaves))
    }
    match runtime {
        Runtime::DropIn => drop_in::shapes(workers).map_err(Absent),
        Runtime::Rayon => rayon::Sleepers::start(workers).map(closures),
        Runtime::Chili => Ok(closures(chili::ChiliPool::of(workers))),
        Runtime::Forte => forte::FortePool::of(workers).map(closures),
        Runtime::Tokio => sleeping_tokio::start(workers),
        other => Err(Absent(format!(
            "{} has no program for sleepers",
            other.name()
        ))),
    }
}

/// Ours, in the same frame as the others.
struct OurPool {
    pool: ::roving::Pool,
    form: Form,
}

/// Roving, ready to run `job` in this form, with thieves that take this much.
pub(crate) fn start_ours(
    job: &WorkloadJob,
    workers: usize,
    form: Form,
    steal: Amount,
) -> Result<Box<dyn Contender>, Absent> {
    let settings = JobSettings {
        workers,
        form,
        steal,
        ..JobSettings::default()
    };
    match settings.pool(job, false) {
        Ok(pool) => Ok(Box::new(OurPool { pool, form })),
        Err(failure) => Err(Absent(failure.to_string())),
    }
}

impl Contender for OurPool {
    fn run(&mut self, job: &mut WorkloadJob) -> Result<TimedAnswer, String> {
        let (time, answer) = measure::parallel(job, &self.pool, self.form);
        Ok(TimedAnswer { time, answer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rivals_are_chosen_by_name() {
        assert_eq!(Runtime::parse_list("all").unwrap(), Runtime::RIVALS);
        assert_eq!(
            Runtime::parse_list("tbb, rayon, roving-spawn").unwrap(),
            [Runtime::Tbb, Runtime::Rayon, Runtime::RovingSpawn]
        );
        for (bad, named) in [
            ("", "``"),
            ("cilk", "`cilk`"),
            ("rayon,,chili", "``"),
            ("rayon,rayon", "`rayon`"),
            ("roving", "`roving`"),
        ] {
            let error = Runtime::parse_list(bad).unwrap_err().to_string();
            assert!(
                error.contains(named) && error.starts_with("--against"),
                "{error}"
            );
        }
    }

    #[test]
    fn versions_are_known() {
        for rival in [
            Runtime::Rayon,
            Runtime::Chili,
            Runtime::Forte,
            Runtime::Tokio,
        ] {
            assert!(
                rival
                    .version()
                    .starts_with(|first: char| first.is_ascii_digit()),
                "{rival:?}"
            );
        }
    }
}
