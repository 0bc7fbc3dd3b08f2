//! The words of `roving run`, and how they say that a job is run.

use std::path::PathBuf;

use clap::Args;
use roving::Pool;
use roving::policy::Amount;

use crate::forms::tasks::Form;
use crate::io::input::{BadInput, CommandFailure, number_in};
use crate::machine::cores;
use crate::workloads::WorkloadJob;

/// `roving run`. Values are strings here, so that their errors are ours.
#[derive(Args, Debug, Default)]
pub(crate) struct RunArgs {
    /// A workload; `roving list` shows them.
    pub(crate) workload: String,
    /// A named input, or parameters.
    #[arg(long, value_name = "NAME|PARAMS", allow_hyphen_values = true)]
    pub(crate) input: Option<String>,
    /// How many workers [default: `ROVING_WORKERS`, or as many as cores].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) workers: Option<String>,
    /// Closures by join; or async tasks by fork (work-first), spawn (help-first) or branch
    /// (adaptive) [default: join].
    #[arg(long, value_name = "FORM", allow_hyphen_values = true)]
    pub(crate) form: Option<String>,
    /// How much a thief takes: one, fixed:D, half [default: one].
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
    pub(crate) steal: Option<String>,
    /// Where the processes of a network run: stealing, partitioned, adaptive [default: stealing].
    #[arg(long, value_name = "PLACEMENT", allow_hyphen_values = true)]
    pub(crate) placement: Option<String>,
    /// Draw a network, coloured by load and traffic, from one run more with accounting on.
    #[arg(long, value_name = "FILE.svg|FILE.dot")]
    pub(crate) graph: Option<PathBuf>,
    /// Run on all ranks that `mpirun` has started, each with the workers of `--workers`; rank 0
    /// prints.
    #[arg(long)]
    pub(crate) dist: bool,
    /// Write checkpoints of a run across ranks into this directory, which all of them see, and
    /// go on from the last one that is there, on as many ranks as before or on others; with
    /// `--dist`.
    #[arg(long, value_name = "DIR")]
    pub(crate) checkpoints: Option<PathBuf>,
    /// Milliseconds from one checkpoint to the next [default: 60000].
    #[arg(long, value_name = "MS", allow_hyphen_values = true)]
    pub(crate) every: Option<String>,
    /// Run as tasks with a CPU and a GPU side. auto: each where it is expected to end first, by
    /// times that are measured and kept; none: no device is looked for; cpu, gpu: all on that side;
    /// split:0.3: that share of the work on a device; sim:10: as auto, on a simulated device ten
    /// times as fast as one worker's CPU side, which is slowed down for it, and after a comma one
    /// of the words before, memory:MIB, rate:MIB_PER_S of transfers, fail:N to lose the device at
    /// its N-th submission, or devices:N for so many of them, with links between them.
    #[arg(long, value_name = "DEVICE", allow_hyphen_values = true)]
    pub(crate) device: Option<String>,
    /// Say what was expected of tasks of each kind and size on either side, and what came; with
    /// `--device`.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Write what the devices did, from one run more, as a trace that Perfetto and Chrome show.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) trace: Option<PathBuf>,
    /// How often; the times are medians [default: 5].
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    pub(crate) repeat: Option<String>,
    /// Show what workers and devices did, from one run more with statistics on.
    #[arg(long)]
    pub(crate) profile: bool,
    /// Write the result as JSON; `-` writes it to standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// The most workers that `--workers` takes: those that a pool of the runtime can have.
const WORKERS_MAX: u64 = 768;
/// The most repetitions that `--repeat` takes.
const REPEAT_MAX: u64 = 100_000;

/// How a job is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobSettings {
    /// Workers of the pool.
    pub(crate) workers: usize,
    /// In closures or in tasks.
    pub(crate) form: Form,
    /// The number of tasks that a thief takes.
    pub(crate) steal: Amount,
    /// Timed runs.
    pub(crate) repeat: usize,
    /// One run more with statistics on.
    pub(crate) profile: bool,
}

impl Default for JobSettings {
    fn default() -> Self {
        JobSettings {
            workers: cores(),
            form: Form::default(),
            steal: Amount::default(),
            repeat: 5,
            profile: false,
        }
    }
}

/// Reads `--workers`.
pub(crate) fn parse_workers(text: &str) -> Result<usize, BadInput> {
    let remedy = format!("leave it out for one a core, here {}", cores());
    Ok(number_in("--workers", text, 1..=WORKERS_MAX, &remedy)? as usize)
}

/// Reads `ROVING_WORKERS`, as the global pool of a program does; empty is not set.
fn workers_variable() -> Result<Option<usize>, BadInput> {
    let text = std::env::var_os("ROVING_WORKERS").unwrap_or_default();
    let text = text.to_string_lossy();
    if text.trim().is_empty() {
        return Ok(None);
    }
    let remedy = format!("unset it for one a core, here {}", cores());
    let workers = number_in("ROVING_WORKERS", text.trim(), 1..=WORKERS_MAX, &remedy)?;
    Ok(Some(workers as usize))
}

/// Reads `--repeat`.
pub(crate) fn parse_repeat(text: &str) -> Result<usize, BadInput> {
    Ok(number_in("--repeat", text, 1..=REPEAT_MAX, "leave it out for 5")? as usize)
}

/// Reads `--steal`.
pub(crate) fn parse_steal(text: &str) -> Result<Amount, BadInput> {
    let allowed = "one, fixed:D with D from 1 to 64, or half";
    text.parse()
        .map_err(|_| BadInput::new("--steal", text, allowed, "leave it out for one"))
}

impl JobSettings {
    /// Reads the words of `roving run`.
    pub(crate) fn parse(args: &RunArgs) -> Result<JobSettings, BadInput> {
        let plain = JobSettings::default();
        Ok(JobSettings {
            workers: match args.workers.as_deref() {
                Some(text) => parse_workers(text)?,
                None => workers_variable()?.unwrap_or(plain.workers),
            },
            form: args.form.as_deref().map_or(Ok(plain.form), Form::parse)?,
            steal: args.steal.as_deref().map_or(Ok(plain.steal), parse_steal)?,
            repeat: args
                .repeat
                .as_deref()
                .map_or(Ok(plain.repeat), parse_repeat)?,
            profile: args.profile,
        })
    }

    /// A pool for `job`. Statistics cost time, so only the profiled run has them.
    pub(crate) fn pool(&self, job: &WorkloadJob, profile: bool) -> Result<Pool, CommandFailure> {
        Pool::builder()
            .workers(self.workers)
            .steal(self.steal)
            .stack_size(job.stack_bytes())
            .profile(profile)
            .build()
            .map_err(|error| {
                let mebibytes = job.stack_bytes() >> 20;
                let pool = format!("{} workers with stacks of {mebibytes} MiB", self.workers);
                CommandFailure::Run(format!("no pool of {pool}: {error}; take fewer workers"))
            })
    }
}
