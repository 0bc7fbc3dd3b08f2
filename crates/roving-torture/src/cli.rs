//! The words of the command.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::{Args, Parser, Subcommand};

use crate::dog::Dog;
use crate::report::{Origin, RowResults, grouped};
use crate::row::{BrokenPromise, FigureVerdict, Outcome, ProgressLine, RowFigure, RowRun, plain};
use crate::system;
use crate::{deep, idle, memory, pairs, panics, pools, programs, stops};

/// Minutes of a full run, in which every number is reached that is asked for.
const FULL_MINUTES: f64 = 60.0;
/// Minutes of `--quick`.
const QUICK_MINUTES: f64 = 2.5;

/// Attacks Roving, and says what held.
#[derive(Parser)]
#[command(name = "torture", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
struct Options {
    /// Time for all rows together, or for the one that is named: 0.05 to 10000
    #[arg(long, global = true, value_parser = minutes)]
    minutes: Option<f64>,
    /// 2.5 minutes, and numbers in proportion to 60
    #[arg(long, global = true)]
    quick: bool,
    /// All that happens by chance follows from it; by default from the clock
    #[arg(long, global = true)]
    seed: Option<u64>,
    /// Folder for torture.csv and torture.md
    #[arg(long, global = true)]
    out: Option<PathBuf>,
    /// Seconds after which a program that is not over hangs: 1 to 100000
    #[arg(long, global = true, default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    patience_s: u64,
    /// A number that was not reached in the time is a failure too
    #[arg(long, global = true)]
    strict: bool,
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes: Option<f64> = text.parse().ok();
    minutes
        .filter(|minutes| (0.05..=10_000.0).contains(minutes))
        .ok_or_else(|| "say 0.05 to 10000 minutes".to_owned())
}

#[derive(Subcommand)]
enum Command {
    /// Every row, one after the other
    All,
    /// Random programs on random pools, against their serial evaluation
    Programs(Replay),
    /// Programs in which each two operations meet, each against its meaning
    Pairs(Pairs),
    /// Panics at each callback and each destructor
    Panics,
    /// 64 workers whose threads are stopped at random moments
    Stops,
    /// Many pools, one after the other and at once
    Pools,
    /// Workers that park and are woken, in every way there is
    Idle,
    /// Recursion a million levels deep, and trees
    Deep,
    /// Many spawns in little memory
    Memory,
    /// Overflows the native stack of a worker, for the row `deep`
    #[command(hide = true)]
    Overflow,
}

#[derive(Args)]
struct Replay {
    /// Runs the round of that seed, as a failure names it, instead of random ones
    #[arg(long)]
    replay: Option<u64>,
    /// Of the round, that program only
    #[arg(long, requires = "replay")]
    only: Option<usize>,
    /// Most tasks of a program, as a failure names it
    #[arg(long, requires = "replay", default_value_t = programs::TASKS_MAX)]
    tasks: u64,
    /// How often
    #[arg(long, requires = "replay", default_value_t = 100)]
    times: u64,
}

#[derive(Args)]
struct Pairs {
    /// Runs the program of that seed, as a failure names it, instead of random ones
    #[arg(long)]
    replay: Option<u64>,
    /// Features that the program has, as a failure names them
    #[arg(long, requires = "replay", value_parser = pairs::focus)]
    focus: Option<[pairs::Feature; 3]>,
    /// Features that the program does not have, with + between
    #[arg(long, default_value = "")]
    without: String,
    /// Most steps of a program, about
    #[arg(long, default_value_t = pairs::STEPS_MAX)]
    steps: u32,
    /// Steps to leave out of the program, as a failure names them
    #[arg(long, requires = "replay", default_value = "")]
    edits: pairs::Edits,
    /// How often
    #[arg(long, requires = "replay", default_value_t = 100)]
    times: u64,
    /// Looks for the smallest program that fails as this one does
    #[arg(long, requires = "replay")]
    shrink: bool,
    /// Runs programs in this process
    #[arg(long, hide = true, requires = "cover")]
    inside: bool,
    #[arg(long, hide = true, default_value_t = 1.0)]
    seconds: f64,
    #[arg(long, hide = true, num_args = 2)]
    cover: Vec<PathBuf>,
}

/// A row: its name, its share of the time of all, and what runs it.
struct ListedRow {
    name: &'static str,
    share: f64,
    run: fn(&RowRun<'_>) -> Outcome,
}

const ROWS: [ListedRow; 8] = [
    ListedRow {
        name: "programs",
        share: 0.35,
        run: programs::run,
    },
    ListedRow {
        name: "pairs",
        share: 0.22,
        run: pairs::run,
    },
    ListedRow {
        name: "panics",
        share: 0.01,
        run: panics::run,
    },
    ListedRow {
        name: "stops",
        share: 0.05,
        run: stops::run,
    },
    ListedRow {
        name: "pools",
        share: 0.01,
        run: pools::run,
    },
    ListedRow {
        name: "idle",
        share: 0.23,
        run: idle::run,
    },
    ListedRow {
        name: "deep",
        share: 0.12,
        run: deep::run,
    },
    ListedRow {
        name: "memory",
        share: 0.01,
        run: memory::run,
    },
];

/// Where a row stands among all.
fn place_of(row: &str) -> usize {
    let is_it = |each: &ListedRow| each.name == row;
    ROWS.iter().position(is_it).unwrap_or(ROWS.len())
}

pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    let options = &cli.options;
    let dog = Dog::new(Duration::from_secs(options.patience_s));
    let row = match &cli.command {
        Command::All => None,
        Command::Programs(replay) => {
            if let Some(seed) = replay.replay {
                return replayed(replay, seed, &dog);
            }
            Some("programs")
        }
        Command::Pairs(words) => {
            if let Some(code) = of_pairs(words, options, &dog) {
                return code;
            }
            Some("pairs")
        }
        Command::Panics => Some("panics"),
        Command::Stops => Some("stops"),
        Command::Pools => Some("pools"),
        Command::Idle => Some("idle"),
        Command::Deep => Some("deep"),
        Command::Memory => Some("memory"),
        Command::Overflow => return deep::overflow(),
    };
    let mut session = Session::new(options, dog);
    let named = match row {
        None => ROWS.iter().collect::<Vec<_>>(),
        Some(row) => ROWS.iter().filter(|each| each.name == row).collect(),
    };
    for each in named {
        let share = if row.is_some() { 1.0 } else { each.share };
        session.run(each, share);
        // What is measured is kept, whatever comes of the next row.
        if let Err(message) = session.keep(options) {
            eprintln!("{message}");
            return ExitCode::FAILURE;
        }
    }
    session.end(options)
}

fn replayed(replay: &Replay, seed: u64, dog: &Dog) -> ExitCode {
    match programs::replay(seed, replay.tasks, replay.only, replay.times, dog) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            tell_failure("programs", &failure);
            ExitCode::FAILURE
        }
    }
}

/// Handles the options of the row `pairs` that are no plain run of it.
fn of_pairs(words: &Pairs, options: &Options, dog: &Dog) -> Option<ExitCode> {
    let without = match pairs::features(&words.without) {
        Ok(without) => without,
        Err(text) => {
            eprintln!("--without: {text}");
            return Some(ExitCode::from(2));
        }
    };
    let recipe = pairs::Recipe {
        focus: words.focus,
        without,
        steps: words.steps,
    };
    if let (true, [all, own]) = (words.inside, &words.cover[..]) {
        let chunk = pairs::Chunk {
            seed: options.seed.unwrap_or(1),
            time: Duration::from_secs_f64(words.seconds.clamp(0.0, 1e6)),
            recipe,
            covers: [all.clone(), own.clone()],
        };
        return Some(match pairs::chunk(&chunk, dog) {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        });
    }
    let name = pairs::Name {
        seed: words.replay?,
        recipe,
        edits: words.edits.clone(),
    };
    let result = match words.shrink {
        false => pairs::replay(&name, words.times, dog),
        true => {
            let leash = dog.watch("making a program smaller", name.replay());
            match pairs::smallest(&name, || leash.stroke()) {
                None => Ok("it did not fail".to_owned()),
                Some((small, why)) => {
                    Err(format!("{}\n{}\n{why}", small.program(), small.replay()))
                }
            }
        }
    };
    Some(match result {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            let replay = name.replay();
            tell_failure("pairs", &BrokenPromise { text, replay });
            ExitCode::FAILURE
        }
    })
}

fn tell_failure(row: &str, failure: &BrokenPromise) {
    println!(
        "{row}: broken: {}\nreplay: {}",
        failure.text, failure.replay
    );
}

/// All rows of one call.
struct Session {
    seed: u64,
    minutes: f64,
    dog: Dog,
    progress: ProgressLine,
    report: RowResults,
    out: Option<PathBuf>,
    /// Of the full numbers, what the rows are asked for.
    part: f64,
    broken: usize,
    short: usize,
}

impl Session {
    fn new(options: &Options, dog: Dog) -> Session {
        let clock = || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            now.map_or(1, |now| now.as_nanos() as u64 >> 10)
        };
        let seed = options.seed.unwrap_or_else(clock);
        let usual = match options.quick {
            true => QUICK_MINUTES,
            false => FULL_MINUTES,
        };
        let origin = Origin {
            seed,
            commit: system::commit(),
            machine: system::machine(),
        };
        println!("seed {seed}, commit {}, {}", origin.commit, origin.machine);
        Session {
            seed,
            minutes: options.minutes.unwrap_or(usual),
            dog,
            progress: ProgressLine::new(),
            report: RowResults::new(origin),
            out: options.out.clone(),
            part: 1.0,
            broken: 0,
            short: 0,
        }
    }

    fn run(&mut self, row: &ListedRow, share: f64) {
        let full = FULL_MINUTES * row.share;
        let minutes = self.minutes * share;
        let run = RowRun {
            row: row.name,
            seed: self.seed,
            time: Duration::from_secs_f64(minutes * 60.0),
            part: (minutes / full).min(1.0),
            dog: &self.dog,
            progress: &self.progress,
            start: Instant::now(),
            out: self.out.as_deref(),
        };
        self.part = run.part;
        let outcome = (row.run)(&run);
        let seconds = run.start.elapsed().as_secs_f64();
        match outcome {
            Ok(figures) => {
                self.judge(row.name, &figures, seconds, &run.replay());
                self.report.add(row.name, seconds, &figures);
            }
            Err(failure) => {
                tell_failure(row.name, &failure);
                self.broken += 1;
                let first = failure.text.lines().next().unwrap_or_default();
                let figure = RowFigure::at_most(first, 1.0, 0.0, "failures");
                self.report.add(row.name, seconds, &[figure]);
            }
        }
    }

    /// One line for the row, and one for each figure that is not as it should be.
    fn judge(&mut self, row: &str, figures: &[RowFigure], seconds: f64, replay: &str) {
        let texts: Vec<String> = figures
            .iter()
            .filter(|figure| matches!(figure.verdict, FigureVerdict::Held | FigureVerdict::Short))
            .map(|figure| format!("{} {}", figure.what, grouped(&plain(figure.value))))
            .collect();
        println!("{row:9} {seconds:6.1} s: {}", texts.join(", "));
        for figure in figures {
            let (what, must, unit) = (&figure.what, &figure.must, figure.unit);
            let value = grouped(&plain(figure.value));
            match figure.verdict {
                FigureVerdict::Broken => {
                    self.broken += 1;
                    println!("{row}: broken: {what}: {value} {unit}, must be {must}");
                    println!("replay: {replay}");
                }
                FigureVerdict::Short => {
                    self.short += 1;
                    println!("{row}: short: {what}: {value} {unit} in this time, wanted {must}");
                }
                FigureVerdict::Held | FigureVerdict::Told | FigureVerdict::Skipped => {}
            }
        }
    }

    /// Writes what there is so far.
    fn keep(&self, options: &Options) -> Result<(), String> {
        let Some(folder) = &options.out else {
            return Ok(());
        };
        let folder_name = folder.display();
        let written = self.report.write(folder, place_of);
        written
            .map_err(|error| format!("{folder_name}: {error}: name a folder that can be written"))
    }

    fn end(&self, options: &Options) -> ExitCode {
        let part = self.part * 100.0;
        println!(
            "{} broken, {} short; the numbers asked for are {part:.0} % of those of a full run",
            self.broken, self.short
        );
        match self.broken > 0 || (options.strict && self.short > 0) {
            true => ExitCode::FAILURE,
            false => ExitCode::SUCCESS,
        }
    }
}
