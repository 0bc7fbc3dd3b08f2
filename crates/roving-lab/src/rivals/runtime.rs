//! The runtimes by their names, and what a run of one is.

use std::time::{Duration, Instant};

use crate::forms::fork_join::ForkJoin;
use crate::forms::tasks::Form;
use crate::io::input::BadInput;
use crate::workloads::{TimedAnswer, WorkloadJob};

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

/// A runtime that has made its threads.
pub(crate) trait Contender {
    /// One timed run of the job that it was started for.
    fn run(&mut self, job: &mut WorkloadJob) -> Result<TimedAnswer, String>;

    /// One run, timed or not, in which the tasks themselves count, if that is not what `run` does.
    fn rehearse(&mut self, job: &mut WorkloadJob) -> Result<TimedAnswer, String> {
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

    /// The one of that name, as tables have it.
    pub(crate) fn named(name: &str) -> Option<Runtime> {
        let ours = Runtime::OURS.into_iter().chain([Runtime::DropIn]);
        let mut all = ours.chain(Runtime::RIVALS);
        all.find(|runtime| runtime.name() == name)
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
}

/// One timed run with `cx`, on this very thread.
pub(crate) fn timed<C: ForkJoin>(job: &mut WorkloadJob, cx: &mut C) -> Duration {
    job.prepare();
    let start = Instant::now();
    job.run(cx);
    start.elapsed()
}
