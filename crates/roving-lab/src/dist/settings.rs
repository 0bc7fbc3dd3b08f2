//! How a program is run across ranks, as the words of `roving run` say.

use std::path::PathBuf;
use std::time::Duration;

use roving_dist::{Checkpoints, Rebalance, World};

use crate::io::input::{BadInput, CommandFailure, number_in};
use crate::job::settings::RunArgs;
use crate::job::settings::{parse_repeat, parse_workers};
use crate::machine::cores;
use crate::networks::placement::{self, NamedPlacement};

/// Milliseconds between two checkpoints, unless told otherwise.
pub(crate) const EVERY_MS: u64 = 60_000;
/// The most milliseconds that `--every` takes.
const EVERY_MS_MAX: u64 = 1_000_000_000;

/// How a program is run.
#[derive(Clone, Debug)]
pub(crate) struct RankSettings {
    /// Of each rank.
    pub(crate) workers: usize,
    /// Timed runs.
    pub(crate) repeat: usize,
    /// When processes move to another rank; none if they stay.
    pub(crate) rebalance: Option<Rebalance>,
    /// Where the run is checkpointed, and how often.
    pub(crate) checkpoints: Option<(PathBuf, Duration)>,
}

impl RankSettings {
    /// Reads the words of `roving run`; refuses those that mean nothing across ranks.
    pub(super) fn parse(world: &World, args: &RunArgs) -> Result<RankSettings, BadInput> {
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
        let place = place.map_or(Ok(NamedPlacement::default()), placement::parse)?;
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
        Ok(RankSettings {
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
    pub(crate) fn pool(&self) -> Result<roving::Pool, CommandFailure> {
        let failed =
            |error| CommandFailure::Run(format!("no pool of {} workers: {error}", self.workers));
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
