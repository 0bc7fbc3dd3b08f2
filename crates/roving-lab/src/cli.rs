//! The words after `roving`.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

use crate::input::{BadInput, Failure};
use crate::out::show;
use crate::{report, run};

#[cfg(not(feature = "top"))]
use crate::absent::{Words as TopArgs, top};
#[cfg(feature = "top")]
use crate::top::{self, TopArgs};
#[cfg(not(feature = "rivals"))]
use crate::{
    absent::{
        Words as BenchArgs, Words as CompareArgs, Words as DropInArgs, Words as ModelArgs,
        Words as ReproArgs, Words,
    },
    absent::{bench, compare, drop_in, model, probe, repro},
};
#[cfg(feature = "rivals")]
use crate::{
    bench::drop_in::{self, DropInArgs},
    bench::{self, BenchArgs, probe},
    compare::{self, CompareArgs},
    model::{self, ModelArgs},
    repro::{self, ReproArgs},
};

/// At the end of the help: what this build leaves out.
const LEFT_OUT: &str = match (cfg!(feature = "rivals"), cfg!(feature = "top")) {
    (true, true) => "",
    (true, false) => "Not in this build: top, which needs `--features top`.",
    (false, true) => {
        "Not in this build: compare, bench, model, repro and drop-in, which need `--features rivals`."
    }
    (false, false) => {
        "Not in this build: compare, bench, model, repro and drop-in, which need `--features rivals`, and top, \
         which needs `--features top`."
    }
};

/// Runs parallel workloads on the Roving runtime, and checks their answers.
///
/// Without a command: searches the UTS tree T3 on all cores.
#[derive(Debug, Parser)]
#[command(name = "roving", version, max_term_width = 100, after_help = LEFT_OUT)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run one workload on Roving, and serially, and compare.
    Run(Box<RunArgs>),
    /// Run one workload on Roving and on its rivals, in turn, and compare.
    #[cfg_attr(not(feature = "rivals"), command(disable_help_flag = true))]
    Compare(CompareArgs),
    /// Measure every figure of docs/results, those that the README quotes among them.
    #[cfg_attr(not(feature = "rivals"), command(disable_help_flag = true))]
    Bench(BenchArgs),
    /// Draw what the model of stealing predicts, for far more workers than there are cores.
    #[cfg_attr(not(feature = "rivals"), command(disable_help_flag = true))]
    Model(ModelArgs),
    /// Measure the tables and figures of four papers again, beside what the papers found.
    #[cfg_attr(not(feature = "rivals"), command(disable_help_flag = true))]
    Repro(ReproArgs),
    /// Time programs for Rayon with stock rayon-core and with ours, in turn.
    #[cfg_attr(not(feature = "rivals"), command(disable_help_flag = true))]
    DropIn(DropInArgs),
    /// Watch what the workers of a running program do; start it with ROVING_TOP=1.
    #[cfg_attr(not(feature = "top"), command(disable_help_flag = true))]
    Top(TopArgs),
    /// Answer a question of `bench` that needs a process of its own.
    #[cfg(feature = "rivals")]
    #[command(hide = true)]
    Probe {
        /// The question.
        #[arg(allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Answer a question of `bench` that needs a process of its own.
    #[cfg(not(feature = "rivals"))]
    #[command(hide = true)]
    Probe(Words),
    /// Show the workloads and their inputs.
    List,
}

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
    /// Run as tasks with a CPU and a GPU side. auto: each where it is expected to end first, by
    /// times that are measured and kept; none: no device is looked for; cpu, gpu: all on that side;
    /// split:0.3: that share of the work on a device; sim:10: as auto, on a simulated device ten
    /// times as fast as one worker's CPU side, which is slowed down for it, and after a comma one
    /// of the words before, memory:MIB, rate:MIB_PER_S of transfers, or fail:N to lose the device
    /// at its N-th submission.
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

/// Does what the words say.
pub(crate) fn main() -> Result<(), Failure> {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return explain(&error),
    };
    match cli.command {
        None => run::first_words(),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::Bench(args)) => bench::run(&args),
        Some(Command::Model(args)) => model::run(&args),
        Some(Command::Repro(args)) => repro::run(&args),
        Some(Command::DropIn(args)) => drop_in::run(&args),
        Some(Command::Top(args)) => top::run(&args),
        #[cfg(feature = "rivals")]
        Some(Command::Probe { words }) => probe::run(&words),
        #[cfg(not(feature = "rivals"))]
        Some(Command::Probe(args)) => probe::run(&args),
        Some(Command::List) => report::print_list(),
    }
}

/// Help and version go to standard output; an error becomes one line.
fn explain(error: &clap::Error) -> Result<(), Failure> {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        show(format_args!("{error}"))?;
        return Ok(());
    }
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:"));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let said = words.join(" ").replace(" tip: ", "; ");
    let said = said.strip_prefix("error: ").unwrap_or(&said);
    let said = said.split(" For more information").next().unwrap_or(said);
    Err(BadInput::line(format!("{said}; `roving --help` shows what there is")).into())
}
