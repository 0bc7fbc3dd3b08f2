//! The words of `roving compare`.

use std::path::PathBuf;

use clap::Args;

use crate::io::input::BadInput;
use crate::job::settings::parse_workers;

/// The word that stands for all shapes of programs whose leaves sleep.
pub(crate) const SLEEPERS: &str = "sleepers";
/// Where results go when the user names no place.
pub(crate) const OUT: &str = "roving-results";
/// How much thieves of ours take, and how often each runs, when the user does not say.
pub(crate) const STEAL: &str = "one";
pub(crate) const REPEAT: usize = 5;

/// `roving compare`. Values are strings here, so that their errors are ours.
#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// A workload; `roving list` shows them. Or `sleepers`: programs whose leaves sleep, on up to
    /// 256 workers.
    pub(crate) workload: String,
    /// A named input, or parameters.
    #[arg(long, value_name = "NAME|PARAMS", allow_hyphen_values = true)]
    pub(crate) input: Option<String>,
    /// Rivals with commas between them: rayon, chili, forte, tokio, tbb, openmp [default: all];
    /// and ours: roving-fork, roving-spawn, roving-branch; of sleepers, drop-in.
    #[arg(
        long,
        alias = "forms",
        value_name = "RIVALS",
        allow_hyphen_values = true
    )]
    pub(crate) against: Option<String>,
    /// How much a thief of ours takes: one, fixed:D, half, with commas between them [default:
    /// one].
    #[arg(long, value_name = "AMOUNT,…", allow_hyphen_values = true)]
    pub(crate) steal: Option<String>,
    /// Numbers of workers with commas between them [default: 1 and one a core].
    #[arg(long, value_name = "N,…", allow_hyphen_values = true)]
    pub(crate) workers: Option<String>,
    /// How often; the times are medians [default: 5].
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    pub(crate) repeat: Option<String>,
    /// Where the CSV and the plot go [default: roving-results].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) sleepers: SleeperArgs,
}

/// Words of `roving compare sleepers` alone.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Sleepers")]
pub(crate) struct SleeperArgs {
    /// Shapes with commas between them [default: all].
    #[arg(long, value_name = "SHAPE,…", allow_hyphen_values = true)]
    pub(crate) shapes: Option<String>,
    /// How many other programs compute meanwhile [default: 0].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) load: Option<String>,
    /// The share of each leaf that computes, in per cent [default: 0].
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) spin: Option<String>,
    /// Pools of ours count on the cores that there are, not on one a worker.
    #[arg(long)]
    pub(crate) crowded: bool,
    /// A few shapes, workers and rounds: shows that everything works, and measures badly.
    #[arg(long)]
    pub(crate) quick: bool,
}

/// Reads `--workers` of `compare`.
pub(crate) fn parse_workers_list(text: &str) -> Result<Vec<usize>, BadInput> {
    let mut counts = text
        .split(',')
        .map(|one| parse_workers(one.trim()))
        .collect::<Result<Vec<_>, _>>()?;
    counts.sort_unstable();
    counts.dedup();
    Ok(counts)
}
