//! `cargo xtask <verb>`: every check and chore of this repository as a verb.
//!
//! `test` is the command of the README. The verbs and their rules stand in CONTRIBUTING.md.
#![forbid(unsafe_code)]

mod cargo;
mod checks;
mod docs;
mod instruments;
mod mutants;
mod openmp;
mod rayon;
mod reading;
mod report;
mod results;
mod shipping;
mod suite;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};

use crate::cargo::workspace::Workspace;
use crate::checks::beside::{self, CheckOptions};
use crate::checks::deep;
use crate::instruments::{ceilings, emulated, miri, nightly, valgrind};
use crate::mutants::{code, loom, orderings};
use crate::report::CheckReport;
use crate::shipping::install;
use crate::suite::{fuzz, torture};

/// The result of a chore; its error is one line for a person.
type Result<T> = std::result::Result<T, String>;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "Checks and chores of the Roving repository"
)]
struct CommandLine {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Every check that CI requires, and one line with the counts
    Test {
        /// One of them alone, or several: their names with commas between
        #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(checks::names()))]
        only: Vec<String>,
        /// Install nothing; skip what is missing and say so
        #[arg(long)]
        no_install: bool,
        /// Run each check, also where nothing has changed since it passed. Always so under CI
        #[arg(long)]
        anew: bool,
        /// Writes what each check came to into this file, for who has started this
        #[arg(long, hide = true)]
        tell: Option<PathBuf>,
    },
    /// `test` in a clean environment: no standard input, no colours
    Ci {
        /// Install nothing; skip what is missing and say so
        #[arg(long)]
        no_install: bool,
    },
    /// The style rules of CONTRIBUTING.md
    Tidy,
    /// Compile and run every code block of README.md, docs/ and the crates' pages, and run their
    /// shell commands
    Docs,
    /// The model-checked tests, and the canary that must fail
    Loom,
    /// The model-checked tests; then weaken one ordering at a time: the named test must fail
    Mutants,
    /// Change one line of code at a time; a test must fail. Names the survivors
    CodeMutants(code::SamplePlan),
    /// ThreadSanitizer on the runtime and the crates built on it (nightly with rust-src)
    Tsan {
        /// Only these crates
        #[arg(value_parser = PossibleValuesParser::new(nightly::SANITIZED))]
        packages: Vec<String>,
    },
    /// AddressSanitizer on the same, with its search for leaks (nightly with rust-src)
    Asan {
        /// Only these crates
        #[arg(value_parser = PossibleValuesParser::new(nightly::SANITIZED))]
        packages: Vec<String>,
    },
    /// Programs that attack the runtime for an hour; writes docs/results/torture.csv and its
    /// table
    Torture {
        /// How long the programs run
        #[arg(long, default_value_t = 60.0)]
        minutes: f64,
    },
    /// Every check that takes long; writes docs/results/deep.csv
    Deep {
        /// One of them alone
        #[arg(long, value_parser = PossibleValuesParser::new(deep::names()))]
        only: Option<String>,
    },
    /// Messages, checkpoints and history files of any bytes
    Fuzz {
        /// Inputs of each test
        #[arg(long, default_value_t = fuzz::INPUTS)]
        inputs: u32,
    },
    /// Valgrind's check of memory on small tests of crates/roving
    Valgrind,
    /// The tests built for aarch64 and run by an emulator
    Aarch64,
    /// Miri on a mix of all features of crates/roving (nightly with miri)
    Miri {
        /// All tests that can run there, under both models of borrowing; writes
        /// docs/results/miri.csv
        #[arg(long)]
        whole: bool,
        #[command(flatten)]
        plan: miri::SeedPlan,
    },
    /// Rayon's own tests, with our rayon-core
    RayonSuite {
        /// The rayon-core of crates.io instead: what fails with it too is no fault of ours
        #[arg(long)]
        stock: bool,
        /// The tests of rayon alone, with `roving-iter` in rayon's place
        #[arg(long, conflicts_with = "stock")]
        iter: bool,
    },
    /// Programs from crates.io that use Rayon: their tests with stock Rayon, then with our
    /// rayon-core
    Downstream {
        /// One of them alone
        #[arg(long, value_parser = PossibleValuesParser::new(rayon::renamed_names()))]
        only: Option<String>,
        /// Also count the tests that fail where no pool can be built: those run in parallel
        #[arg(long)]
        prove: bool,
        /// With `roving-iter` in rayon's place instead, by their manifests; and ten more
        #[arg(long, conflicts_with = "prove")]
        iter: bool,
    },
    /// Programs of others that use OpenMP, with libgomp and with ours in front of it; writes
    /// docs/results/openmp-programs.csv
    Openmp(openmp::RoundPlan),
    /// Instructions of the fast paths under callgrind, each against its ceiling
    Ceilings {
        /// Write down the counts that are lower, and those of new paths
        #[arg(long)]
        lower: bool,
        /// Write down all counts, higher ones too
        #[arg(long, conflicts_with = "lower")]
        force: bool,
    },
    /// The library for C and C++ with its headers, pkg-config and CMake files, below a prefix
    Install {
        /// As `/usr/local`
        #[arg(long)]
        prefix: PathBuf,
    },
    /// Take the figures of README.md from docs/results
    Figures,
    /// All benchmarks of the lab; writes docs/results, then the figures
    Bench {
        /// Handed to `roving bench`; or `readme`: the rows that README.md quotes, within ten
        /// minutes, with intervals
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

fn main() -> ExitCode {
    let verb = CommandLine::parse().verb;
    match Workspace::find().and_then(|workspace| act(&workspace, verb)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::from(1)
        }
    }
}

/// Does what the verb says; `false` means that a check failed.
fn act(workspace: &Workspace, verb: Verb) -> Result<bool> {
    let mut report = CheckReport::new();
    match verb {
        Verb::Test {
            only,
            no_install,
            anew,
            tell,
        } => {
            let options = CheckOptions::new(no_install, anew);
            checks::all(workspace, &mut report, options, &only);
            if let Some(path) = tell {
                beside::tell(&report, &path)?;
            }
        }
        Verb::Ci { no_install } => return checks::clean(workspace, no_install),
        Verb::Tidy => report.step("tidy", |step| tidy::check(workspace, step)),
        Verb::Docs => {
            report.step("docs", |step| docs::check(workspace, step));
            report.step("commands", |step| docs::commands(workspace, step));
        }
        Verb::Loom => report.step("loom", |step| loom::check(workspace, step)),
        Verb::Mutants => orderings::verb(workspace, &mut report),
        Verb::CodeMutants(plan) => code::verb(workspace, &mut report, plan),
        Verb::Tsan { packages } => report.step("tsan", |step| {
            nightly::sanitize(workspace, step, &nightly::THREAD, &packages)
        }),
        Verb::Asan { packages } => report.step("asan", |step| {
            nightly::sanitize(workspace, step, &nightly::ADDRESS, &packages)
        }),
        Verb::Torture { minutes } => {
            report.step("torture", |step| torture::check(workspace, step, minutes))
        }
        Verb::Deep { only } => deep::all(workspace, &mut report, only.as_deref())?,
        Verb::Fuzz { inputs } => report.step("fuzz", |step| fuzz::check(workspace, step, inputs)),
        Verb::Valgrind => report.step("valgrind", |step| valgrind::check(workspace, step)),
        Verb::Aarch64 => report.step("aarch64", |step| {
            emulated::check(workspace, step, false, &emulated::PACKAGES)
        }),
        Verb::Miri { whole: false, .. } => {
            report.step("miri", |step| miri::quick(workspace, step, false));
        }
        Verb::Miri { plan, .. } => {
            report.step("miri", |step| miri::whole(workspace, step, &plan));
        }
        Verb::RayonSuite { stock, iter } => report.step("rayon-suite", |step| match iter {
            true => rayon::iter_suite(workspace, step),
            false => rayon::suite(workspace, step, stock),
        }),
        Verb::Downstream { only, prove, iter } => {
            report.step("downstream", |step| {
                rayon::packages(workspace, step, only.as_deref(), prove, iter)
            });
        }
        Verb::Openmp(plan) => openmp::verb(workspace, &mut report, &plan),
        Verb::Ceilings { lower, force } => ceilings::verb(workspace, &mut report, lower, force),
        Verb::Install { prefix } => return install::verb(workspace, &prefix),
        Verb::Figures => report.step("figures", |_| {
            results::mark(workspace)?;
            tidy::refresh_figures(workspace)
        }),
        Verb::Bench { words } => report.step("bench", |step| match words == ["readme"] {
            true => checks::bench_readme(workspace, step),
            false => checks::bench(workspace, step, &words),
        }),
    }
    Ok(report.finish())
}
