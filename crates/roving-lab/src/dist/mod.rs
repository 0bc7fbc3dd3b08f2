//! `roving run … --dist`: programs across ranks. Each rank runs the same; rank 0 prints.

mod bags;
mod networks;
pub(crate) mod uts;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use roving_dist::{Checkpoints, Rebalance, World};
use serde::Serialize;

use crate::input::{BadInput, Failure, grouped, number_in};
use crate::networks::placement::{self, Place};
use crate::out::Sink;
use crate::report::Seconds;
use crate::settings::RunArgs;
use crate::settings::{cores, parse_repeat, parse_workers};
use crate::times::Times;

/// A program that runs across ranks.
struct Program {
    name: &'static str,
    /// Every rank calls it; only rank 0's report is shown.
    run: fn(&World, &RunArgs, &Settings) -> Result<Report, Failure>,
    /// It has processes that can.
    may_move: bool,
    /// It can be checkpointed: a bag, or a network by steps.
    resumes: bool,
}

/// All of them.
const PROGRAMS: [Program; if cfg!(feature = "gpu") { 10 } else { 9 }] = [
    Program {
        resumes: true,
        ..program("uts", uts::run)
    },
    Program {
        resumes: true,
        ..program("nqueens", bags::nqueens)
    },
    #[cfg(feature = "gpu")]
    Program {
        resumes: true,
        ..program("mandelbrot", bags::mandelbrot)
    },
    Program {
        resumes: true,
        ..program("ring", networks::ring)
    },
    Program {
        may_move: true,
        resumes: true,
        ..program("scatter-gather", networks::scatter)
    },
    Program {
        resumes: true,
        ..program("kmeans", networks::kmeans)
    },
    program("compress", networks::compress),
    program("random", networks::random),
    program("h264", networks::h264),
    Program {
        resumes: true,
        ..program("chain", networks::chain)
    },
];

const fn program(
    name: &'static str,
    run: fn(&World, &RunArgs, &Settings) -> Result<Report, Failure>,
) -> Program {
    Program {
        name,
        run,
        may_move: false,
        resumes: false,
    }
}

/// Milliseconds between two checkpoints, unless told otherwise.
pub(crate) const EVERY_MS: u64 = 60_000;
/// The most milliseconds that `--every` takes.
const EVERY_MS_MAX: u64 = 1_000_000_000;

/// How a program is run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Of each rank.
    pub(crate) workers: usize,
    /// Timed runs.
    pub(crate) repeat: usize,
    /// When processes move to another rank; none if they stay.
    pub(crate) rebalance: Option<Rebalance>,
    /// Where the run is checkpointed, and how often.
    pub(crate) checkpoints: Option<(PathBuf, Duration)>,
}

/// The report of a program.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) workload: &'static str,
    pub(crate) input: String,
    pub(crate) ranks: usize,
    pub(crate) workers_per_rank: usize,
    pub(crate) verified: &'static str,
    pub(crate) seconds: Seconds,
    /// The results: name and figure.
    pub(crate) found: Vec<(&'static str, u64)>,
    pub(crate) items: u64,
    pub(crate) items_per_s: f64,
    /// Lines of the table only: name and text.
    #[serde(skip)]
    pub(crate) notes: Vec<(&'static str, String)>,
}

impl Report {
    /// One JSON object.
    fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain fields become JSON")
    }

    /// The table for people.
    fn table(&self) -> String {
        let counted = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            many => format!("{many} {what}s"),
        };
        let ranks = counted(self.ranks, "rank");
        let workers = counted(self.workers_per_rank, "worker");
        let found = self.found.iter();
        let found = found.map(|(name, figure)| format!("{name} {}", grouped(*figure)));
        let (median, min) = (self.seconds.median * 1e3, self.seconds.min * 1e3);
        let rows = [
            ("result", found.collect::<Vec<_>>().join(", ")),
            ("verified", self.verified.to_owned()),
            ("time", format!("{median:.2} ms (least {min:.2} ms)")),
            (
                "rate",
                format!("{:.1} million a second", self.items_per_s / 1e6),
            ),
        ];
        let mut table = format!("{} {} · {ranks} of {workers}\n", self.workload, self.input);
        for (name, text) in rows.iter().chain(&self.notes) {
            let _ = writeln!(table, "  {name:<15}{text}");
        }
        table
    }
}

/// `roving run … --dist`.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let world = World::init().map_err(|error| Failure::Input(BadInput::line(error.to_string())))?;
    let is_first = world.rank() == 0;
    let outcome = run_in(&world, args);
    let parted = world
        .finish()
        .map_err(|error| Failure::Run(error.to_string()));
    // What went wrong went wrong on all ranks, and is said once.
    if is_first {
        outcome.and(parted)
    } else {
        Ok(())
    }
}

fn run_in(world: &World, args: &RunArgs) -> Result<(), Failure> {
    let Some(program) = PROGRAMS
        .iter()
        .find(|program| program.name == args.workload)
    else {
        let names: Vec<_> = PROGRAMS.iter().map(|program| program.name).collect();
        let allowed = format!("one of {}", names.join(", "));
        return Err(BadInput::new("--dist of", &args.workload, allowed, "leave --dist out").into());
    };
    let settings = Settings::parse(world, args)?;
    if let (Some(place), true) = (
        &args.placement,
        settings.rebalance.is_some() && !program.may_move,
    ) {
        let movable = PROGRAMS.iter().filter(|one| one.may_move);
        let names: Vec<_> = movable.map(|one| one.name).collect();
        let allowed = format!(
            "stealing for {}: it has no processes that move",
            program.name
        );
        let remedy = format!("leave it out, or run {}", names.join(" or "));
        return Err(BadInput::new("--placement with --dist", place, allowed, remedy).into());
    }
    if let (Some((directory, _)), false) = (&settings.checkpoints, program.resumes) {
        let resuming = PROGRAMS.iter().filter(|one| one.resumes);
        let names: Vec<_> = resuming.map(|one| one.name).collect();
        let allowed = format!("one of {}", names.join(", "));
        let directory = directory.display();
        let remedy = "leave it out";
        return Err(BadInput::new("--checkpoints", directory, allowed, remedy).into());
    }
    let sink = match world.rank() {
        0 => Some(Sink::open(args.json.as_deref())),
        _ => None,
    };
    // Whether rank 0 can write is everybody's business.
    let can_write = !matches!(sink, Some(Err(_)));
    let all = world.all_gather(&[u8::from(can_write)]).map_err(failure)?;
    if all.iter().any(|one| one != &[1]) {
        let line = "rank 0 cannot write what `--json` names";
        return Err(match sink {
            Some(Err(error)) => error.into(),
            _ => Failure::Run(line.into()),
        });
    }
    let report = (program.run)(world, args, &settings)?;
    match sink {
        Some(sink) => sink?.write(&report.json(), &report.table()),
        None => Ok(()),
    }
}

impl Settings {
    /// Reads the words of `roving run`; refuses those that mean nothing across ranks.
    fn parse(world: &World, args: &RunArgs) -> Result<Settings, BadInput> {
        let graph = args.graph.as_ref().map(|path| path.display().to_string());
        let profile = args.profile.then(|| "on".to_owned());
        let explain = args.explain.then(|| "on".to_owned());
        for (option, value) in [
            ("--form", &args.form),
            ("--steal", &args.steal),
            ("--graph", &graph),
            ("--profile", &profile),
            ("--explain", &explain),
        ] {
            if let Some(value) = value {
                let allowed = "no such option with --dist";
                return Err(BadInput::new(option, value, allowed, "leave it out"));
            }
        }
        let plain = (cores() / world.ranks()).max(1);
        let workers = args.workers.as_deref().map_or(Ok(plain), parse_workers)?;
        let checkpoints = checkpoints(args)?;
        let usual = if checkpoints.is_some() { 1 } else { 5 };
        let repeat = args.repeat.as_deref().map_or(Ok(usual), parse_repeat)?;
        if let (true, Some(text)) = (checkpoints.is_some() && repeat > 1, &args.repeat) {
            let allowed = "1 with --checkpoints, which are of one run";
            return Err(BadInput::new("--repeat", text, allowed, "leave it out"));
        }
        let place = args.placement.as_deref();
        let place = place.map_or(Ok(Place::default()), placement::parse)?;
        if place.name() == "adaptive" {
            let allowed = "stealing or partitioned";
            let text = place.text();
            return Err(BadInput::new(
                "--placement with --dist",
                text,
                allowed,
                "leave it out",
            ));
        }
        Ok(Settings {
            workers,
            repeat,
            rebalance: place.across(),
            checkpoints,
        })
    }

    /// The checkpoints of a program with this name and input.
    pub(crate) fn checkpoints_of(&self, name: &str, input: &str) -> Option<Checkpoints> {
        let (directory, every) = self.checkpoints.as_ref()?;
        let checkpoints = Checkpoints::to(directory).every(*every);
        Some(checkpoints.program(format!("{name} {input}")).resume(true))
    }

    /// A line for the table of a run that went on from a checkpoint.
    pub(crate) fn resumed(&self) -> Option<(&'static str, String)> {
        let (directory, _) = self.checkpoints.as_ref()?;
        let directory = directory.display();
        Some((
            "resumed",
            format!("from `{directory}`; time and rate count what was left as the whole"),
        ))
    }

    /// A pool for one rank.
    pub(crate) fn pool(&self) -> Result<roving::Pool, Failure> {
        let failed = |error| Failure::Run(format!("no pool of {} workers: {error}", self.workers));
        roving::Pool::new(self.workers).map_err(failed)
    }
}

/// Reads `--checkpoints` and `--every`.
fn checkpoints(args: &RunArgs) -> Result<Option<(PathBuf, Duration)>, BadInput> {
    let every = args.every.as_deref().map_or(Ok(EVERY_MS), |text| {
        number_in(
            "--every",
            text,
            0..=EVERY_MS_MAX,
            "leave it out for a minute",
        )
    })?;
    match (&args.checkpoints, &args.every) {
        (Some(directory), _) => Ok(Some((directory.clone(), Duration::from_millis(every)))),
        (None, Some(text)) => Err(BadInput::new(
            "--every",
            text,
            "--checkpoints with it",
            "say where they go",
        )),
        (None, None) => Ok(None),
    }
}

/// An error of a run across ranks.
pub(crate) fn failure(error: roving_dist::Error) -> Failure {
    Failure::Run(error.to_string())
}

/// The times of a report.
pub(crate) fn seconds(times: &Times) -> Seconds {
    Seconds {
        median: times.median(),
        min: times.min(),
    }
}
