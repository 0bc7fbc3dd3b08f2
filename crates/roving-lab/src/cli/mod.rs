//! The words after `roving`, and the commands that have no room of their own.

mod absent;
#[cfg(all(test, feature = "rivals", feature = "top"))]
mod help;
mod launch;
mod list;
mod run;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use self::launch::LaunchArgs;
use crate::io::input::{BadInput, CommandFailure};
use crate::io::out::show;
use crate::job::settings::RunArgs;

#[cfg(not(feature = "top"))]
use self::absent::{LeftOutWords as TopArgs, top};
#[cfg(not(feature = "rivals"))]
use self::{
    absent::{
        LeftOutWords as BenchArgs, LeftOutWords as CompareArgs, LeftOutWords as DropInArgs,
        LeftOutWords as ModelArgs, LeftOutWords as ReproArgs, LeftOutWords,
    },
    absent::{bench, compare, drop_in, model, probe, repro},
};
#[cfg(feature = "top")]
use crate::top::{self, TopArgs};
#[cfg(feature = "rivals")]
use crate::{
    bench::drop_in::{self, DropInArgs},
    bench::{self, BenchArgs, probe},
    compare::{
        self,
        args::{CompareArgs, SLEEPERS},
    },
    model::{self, ModelArgs},
    repro::{self, ReproArgs},
    sleepers,
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
    /// Run a program on ranks that `mpirun` starts, and start it again when one is lost.
    Launch(LaunchArgs),
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
    Probe(LeftOutWords),
    /// Show the workloads and their inputs.
    List,
}

/// Does what the words say.
pub(crate) fn main() -> Result<(), CommandFailure> {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return explain(&error),
    };
    match cli.command {
        None => run::first_words(),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Launch(args)) => launch::run(&args),
        #[cfg(feature = "rivals")]
        Some(Command::Compare(args)) if args.workload == SLEEPERS => sleepers::run(&args),
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
        Some(Command::List) => list::print(),
    }
}

/// Help and version go to standard output; an error becomes one line.
fn explain(error: &clap::Error) -> Result<(), CommandFailure> {
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
