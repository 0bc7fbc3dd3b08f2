//! The runtimes that Roving is measured against, each ready to do one [`Job`] over and over.
//!
//! The Rust ones run the very same code as Roving where they have a `join`; tokio, oneTBB and
//! OpenMP have programs of ours in their own idiom. Whatever they are, they make their threads
//! once, rest between runs, and their answers are verified like Roving's.

pub(crate) mod alone;
mod chili;
mod forte;
pub(crate) mod mpsc;
pub(crate) mod pipeline;
mod plain;
mod program;
mod rayon;
mod sleeping_tokio;
mod tokio;

use std::time::{Duration, Instant};

use ::roving::policy::Amount;

use crate::bench::drop_in;
use crate::fork_join::ForkJoin;
use crate::input::BadInput;
use crate::measure;
use crate::run::Settings;
use crate::sleepers::closures::{self, Pools};
use crate::sleepers::field::{Runner, here};
use crate::tasks::Form;
use crate::workloads::{Answer, Job};

/// The native stack that threads get whose runtime has no setting for it.
const UNSET_STACK_BYTES: usize = 256 << 20;

/// Gives deep stacks to the threads of runtimes that have no setting for it. Call it before the
/// first thread is started: the standard library reads the variable once.
#[allow(unsafe_code)] // The environment is changed while there is one thread only.
pub(crate) fn deepen_stacks() {
    // SAFETY: `main` calls this before it starts a thread, so nobody reads the environment now.
    unsafe { std::env::set_var("RUST_MIN_STACK", UNSET_STACK_BYTES.to_string()) };
}

/// A runtime that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Runtime {
    /// Ours, by closures.
    Roving,
    /// Ours, by async tasks, work-first.
    RovingFork,
    /// Ours, by async tasks, help-first.
    RovingSpawn,
    /// Ours, by async tasks, adaptive.
    RovingBranch,
    /// Ours, as Rayon: programs for that, linked with our `rayon-core`.
    DropIn,
    /// Child stealing from Chase-Lev deques.
    Rayon,
    /// A heartbeat scheduler, after Spice.
    Chili,
    /// A heartbeat scheduler that also has scopes and futures.
    Forte,
    /// Async tasks.
    Tokio,
    /// oneTBB, in C++.
    Tbb,
    /// The tasks of GCC's OpenMP, in C++.
    OpenMp,
}

/// One run: its time, without starting or entering the pool, and its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// From the first spawn until all is done.
    pub(crate) time: Duration,
    /// The answer.
    pub(crate) answer: Answer,
}

/// A runtime that has made its threads.
pub(crate) trait Contender {
    /// One timed run of the job that it was started for.
    fn run(&mut self, job: &mut Job) -> Result<Run, String>;

    /// One run, timed or not, in which the tasks themselves count, if that is not what `run` does.
    fn rehearse(&mut self, job: &mut Job) -> Result<Run, String> {
        job.set_proof(true);
        let run = self.run(job);
        job.set_proof(false);
        run
    }
}

/// Why a runtime takes no part, in plain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Absent(pub(crate) String);

impl Runtime {
    /// All that are not ours, in the order of tables.
    pub(crate) const RIVALS: [Runtime; 6] = [
        Runtime::Rayon,
        Runtime::Chili,
        Runtime::Forte,
        Runtime::Tokio,
        Runtime::Tbb,
        Runtime::OpenMp,
    ];

    /// All that are ours.
    pub(crate) const OURS: [Runtime; 4] = [
        Runtime::Roving,
        Runtime::RovingFork,
        Runtime::RovingSpawn,
        Runtime::RovingBranch,
    ];

    /// The word on the command line and in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Runtime::Roving => "roving",
            Runtime::RovingFork => "roving-fork",
            Runtime::RovingSpawn => "roving-spawn",
            Runtime::RovingBranch => "roving-branch",
            Runtime::DropIn => "drop-in",
            Runtime::Rayon => "rayon",
            Runtime::Chili => "chili",
            Runtime::Forte => "forte",
            Runtime::Tokio => "tokio",
            Runtime::Tbb => "tbb",
            Runtime::OpenMp => "openmp",
        }
    }

    /// Whether it is no rival.
    pub(crate) fn is_ours(self) -> bool {
        self.form().is_some() || self == Runtime::DropIn
    }

    /// In which form it runs a workload, if it is ours.
    pub(crate) fn form(self) -> Option<Form> {
        match self {
            Runtime::Roving => Some(Form::Join),
            Runtime::RovingFork => Some(Form::Fork),
            Runtime::RovingSpawn => Some(Form::Spawn),
            Runtime::RovingBranch => Some(Form::Branch),
            _ => None,
        }
    }

    /// Which version this binary was built with.
    pub(crate) fn version(self) -> &'static str {
        match self {
            Runtime::Roving
            | Runtime::RovingFork
            | Runtime::RovingSpawn
            | Runtime::RovingBranch
            | Runtime::DropIn => env!("CARGO_PKG_VERSION"),
            Runtime::Rayon => env!("ROVING_RAYON_VERSION"),
            Runtime::Chili => env!("ROVING_CHILI_VERSION"),
            Runtime::Forte => env!("ROVING_FORTE_VERSION"),
            Runtime::Tokio => env!("ROVING_TOKIO_VERSION"),
            Runtime::Tbb => env!("ROVING_TBB_VERSION"),
            Runtime::OpenMp => env!("ROVING_OPENMP_VERSION"),
        }
    }

    /// Reads `--against`: names with commas between them, or `all`.
    pub(crate) fn parse_list(text: &str) -> Result<Vec<Runtime>, BadInput> {
        if text.trim() == "all" {
            return Ok(Runtime::RIVALS.to_vec());
        }
        let mut chosen = Vec::new();
        for name in text.split(',').map(str::trim) {
            // Our closures are there without being named.
            let tasks = Runtime::OURS.into_iter().skip(1);
            let known = Runtime::RIVALS.into_iter().chain(tasks);
            let known = known.chain([Runtime::DropIn]);
            let Some(rival) = known.clone().find(|rival| rival.name() == name) else {
                let names: Vec<_> = known.map(Runtime::name).collect();
                let names = names.join(", ");
                let allowed = format!("all, or some of {names} with commas between them");
                return Err(BadInput::new(
                    "--against",
                    name,
                    allowed,
                    "leave it out for all",
                ));
            };
            if chosen.contains(&rival) {
                return Err(BadInput::new(
                    "--against",
                    name,
                    "each rival once",
                    "remove one",
                ));
            }
            chosen.push(rival);
        }
        Ok(chosen)
    }

    /// Ready to run `job` on `workers`, in this process unless that would disturb the others.
    pub(crate) fn start(self, job: &Job, workers: usize) -> Result<Box<dyn Contender>, Absent> {
        // Forte's heartbeat goes on while nothing runs: 4 % of a core. (A test is not the command.)
        if self == Runtime::Forte && !cfg!(test) {
            return Ok(Box::new(alone::Alone::new(self, job, workers)));
        }
        self.start_here(job, workers)
    }

    /// Makes the threads here, ready to run `job` on `workers` of them.
    pub(crate) fn start_here(
        self,
        job: &Job,
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
            Runtime::Rayon => rayon::Pool::start(job, workers),
            Runtime::Chili => chili::Pool::start(workers),
            Runtime::Forte => forte::Pool::start(workers),
            Runtime::Tokio => tokio::Pool::start(job, workers),
            Runtime::Tbb | Runtime::OpenMp => program::Program::start(self, job, workers),
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
        Runtime::Chili => Ok(closures(chili::Pool::of(workers))),
        Runtime::Forte => forte::Pool::of(workers).map(closures),
        Runtime::Tokio => sleeping_tokio::start(workers),
        other => Err(Absent(format!(
            "{} has no program for sleepers",
            other.name()
        ))),
    }
}

/// One timed run with `cx`, on this very thread.
pub(crate) fn timed<C: ForkJoin>(job: &mut Job, cx: &mut C) -> Duration {
    job.prepare();
    let start = Instant::now();
    job.run(cx);
    start.elapsed()
}

/// Ours, in the same frame as the others.
struct Roving {
    pool: ::roving::Pool,
    form: Form,
}

/// Roving, ready to run `job` in this form, with thieves that take this much.
pub(crate) fn start_ours(
    job: &Job,
    workers: usize,
    form: Form,
    steal: Amount,
) -> Result<Box<dyn Contender>, Absent> {
    let settings = Settings {
        workers,
        form,
        steal,
        ..Settings::default()
    };
    match settings.pool(job, false) {
        Ok(pool) => Ok(Box::new(Roving { pool, form })),
        Err(failure) => Err(Absent(failure.to_string())),
    }
}

impl Contender for Roving {
    fn run(&mut self, job: &mut Job) -> Result<Run, String> {
        let (time, answer) = measure::parallel(job, &self.pool, self.form);
        Ok(Run { time, answer })
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
