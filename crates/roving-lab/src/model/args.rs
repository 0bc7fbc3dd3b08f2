//! The words after `roving model`.

use std::path::PathBuf;

use clap::Args;
use roving::policy::Amount;

use super::work::ModelWork;
use crate::io::input::{BadInput, CommandFailure, number_in};

/// `roving model`. Values are strings here, so that their errors are ours.
#[derive(Args, Debug, Default)]
pub(crate) struct ModelArgs {
    /// Figures to draw: policies, drain, loads, busy, speedup, crossing, ranks [default: all but
    /// ranks].
    #[arg(value_name = "FIGURE")]
    pub(crate) figures: Vec<String>,
    /// The simulated work: uts:TREE, fib:N, flat:TASKSxLENGTH, or a recorded tree:FILE [default:
    /// uts:T3].
    #[arg(long, value_name = "WORK")]
    pub(crate) work: Option<String>,
    /// Simulated workers, between commas, up to 4194304 [default:
    /// 10,100,1000,10000,100000,1000000].
    #[arg(long, value_name = "N,N", allow_hyphen_values = true)]
    pub(crate) workers: Option<String>,
    /// Simulated ranks of a bag, between commas, up to 4194304 [default:
    /// 1024,4096,16384,65536,262144,1048576].
    #[arg(long, value_name = "N,N", allow_hyphen_values = true)]
    pub(crate) ranks: Option<String>,
    /// How long a message of a bag is under way, in µs, between commas [default: 1].
    #[arg(long, value_name = "US,US", allow_hyphen_values = true)]
    pub(crate) latency: Option<String>,
    /// How much a thief takes, between commas [default: one,fixed:4,half].
    #[arg(long, value_name = "AMOUNT,AMOUNT", allow_hyphen_values = true)]
    pub(crate) steal: Option<String>,
    /// Length of a node, call or task in ns, instead of that measured here; for ranks instead of 10
    /// ms.
    #[arg(long, value_name = "NS", allow_hyphen_values = true)]
    pub(crate) grain: Option<String>,
    /// Arrival rate at each processor, for policies [default: all of 0.5 to 0.99].
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub(crate) load: Option<String>,
    /// How often a processor without tasks looks for a victim in one task length, for policies
    /// [default: 0] and drain [default: 10].
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub(crate) retry: Option<String>,
    /// The part of processors that have tasks when a drain begins [default: 0.05].
    #[arg(long, value_name = "PART", allow_hyphen_values = true)]
    pub(crate) loaded: Option<String>,
    /// How many tasks each of them has [default: 64].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) tasks: Option<String>,
    /// Seed of the simulation; the same gives the same figures [default: 1].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) seed: Option<String>,
    /// Takes the costs that the model comes with, instead of measuring those of this machine.
    #[arg(long)]
    pub(crate) stock_costs: bool,
    /// Writes the UTS tree as a recorded one, and draws nothing.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Where plots and CSV go [default: roving-results].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// A figure to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    Policies,
    Drain,
    Loads,
    Busy,
    Speedup,
    Crossing,
    Ranks,
}

pub(crate) const FIGURES: [(&str, Figure); 7] = [
    ("policies", Figure::Policies),
    ("drain", Figure::Drain),
    ("loads", Figure::Loads),
    ("busy", Figure::Busy),
    ("speedup", Figure::Speedup),
    ("crossing", Figure::Crossing),
    ("ranks", Figure::Ranks),
];

/// The arguments, checked.
#[derive(Debug)]
pub(crate) struct CheckedArgs {
    pub(crate) figures: Vec<Figure>,
    pub(crate) work: ModelWork,
    pub(crate) workers: Vec<usize>,
    pub(crate) ranks: Option<Vec<usize>>,
    pub(crate) latencies_us: Vec<f64>,
    pub(crate) amounts: Vec<Amount>,
    pub(crate) grain_ns: Option<f64>,
    pub(crate) loads: Vec<f64>,
    pub(crate) retry: Option<f64>,
    pub(crate) loaded: f64,
    pub(crate) tasks: usize,
    pub(crate) seed: u64,
}

/// The loads of the table of policies.
const LOADS: [f64; 6] = [0.5, 0.7, 0.8, 0.9, 0.95, 0.99];
/// More simulated workers than these have no stack that fits into a common memory.
pub(crate) const WORKERS_MAX: u64 = 1 << 22;
/// How often a processor without tasks looks, when the user does not say: in the steady state, and
/// in a drain.
pub(crate) const RETRY_OF_POLICIES: f64 = 0.0;
pub(crate) const RETRY_OF_DRAIN: f64 = 10.0;

impl CheckedArgs {
    pub(crate) fn parse(args: &ModelArgs) -> Result<CheckedArgs, CommandFailure> {
        let mut figures = Vec::new();
        for word in &args.figures {
            let known = FIGURES.iter().find(|(name, _)| name == word);
            let (_, figure) = known.ok_or_else(|| {
                let allowed = "some of policies, drain, loads, busy, speedup, crossing, ranks";
                BadInput::new("figure", word, allowed, "leave it out for all but ranks")
            })?;
            figures.push(*figure);
        }
        if figures.is_empty() {
            // Ranks take minutes.
            figures = FIGURES.map(|(_, figure)| figure).to_vec();
            figures.retain(|figure| *figure != Figure::Ranks);
        }
        let many = |subject: &'static str, text: &str| {
            list(text, |word| {
                Ok(number_in(subject, word, 1..=WORKERS_MAX, "take 10,100,1000")? as usize)
            })
        };
        let workers = args.workers.as_deref().unwrap_or("10,100,1e3,1e4,1e5,1e6");
        let workers = many("--workers", workers)?;
        let ranks = args.ranks.as_deref();
        let ranks = ranks.map(|ranks| many("--ranks", ranks)).transpose()?;
        let latencies_us = list(args.latency.as_deref().unwrap_or("1"), |word| {
            let word = Some(word.to_owned());
            let latency = number("--latency", &word, (0.0, 1e6), "take 1")?;
            Ok(latency.unwrap_or_default())
        })?;
        let amounts = list(
            args.steal.as_deref().unwrap_or("one,fixed:4,half"),
            |word| {
                let allowed = "one, fixed:D with D from 1 to 64, or half";
                let amount = word.parse();
                amount.map_err(|_| BadInput::new("--steal", word, allowed, "take one,half"))
            },
        )?;
        let load = number("--load", &args.load, (0.0, 0.999), "leave it out for all")?;
        let loaded = number("--loaded", &args.loaded, (0.0, 1.0), "take 0.05")?;
        let tasks = args.tasks.as_deref().unwrap_or("64");
        let seed = args.seed.as_deref().unwrap_or("1");
        Ok(CheckedArgs {
            figures,
            work: ModelWork::parse(args.work.as_deref().unwrap_or("uts:T3"))?,
            workers,
            ranks,
            latencies_us,
            amounts,
            grain_ns: number(
                "--grain",
                &args.grain,
                (0.0, 1e9),
                "leave it out to measure it",
            )?,
            loads: load.map_or(LOADS.to_vec(), |load| vec![load]),
            retry: number("--retry", &args.retry, (0.0, 1000.0), "take 10")?,
            loaded: loaded.unwrap_or(0.05),
            tasks: number_in("--tasks", tasks, 1..=4096, "take 64")? as usize,
            seed: number_in("--seed", seed, 0..=u64::MAX, "take 1")?,
        })
    }
}

fn list<T>(text: &str, read: impl Fn(&str) -> Result<T, BadInput>) -> Result<Vec<T>, BadInput> {
    text.split(',').map(|word| read(word.trim())).collect()
}

/// A number above the first bound, and up to the second; a retry rate may be 0.
fn number(
    subject: &str,
    text: &Option<String>,
    (least, most): (f64, f64),
    remedy: &str,
) -> Result<Option<f64>, BadInput> {
    let Some(text) = text else { return Ok(None) };
    let zero = subject == "--retry";
    let number = text.parse().ok();
    let fits = |number: &f64| (*number > least || zero && *number == least) && *number <= most;
    let allowed = format!(
        "a number {} {least} and up to {most}",
        if zero { "from" } else { "above" }
    );
    let number = number.filter(fits);
    number
        .ok_or_else(|| BadInput::new(subject, text, allowed, remedy))
        .map(Some)
}
