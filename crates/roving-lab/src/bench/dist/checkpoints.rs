//! The row about what checkpoints of a bag and of a network cost: the same by two ranks with and
//! without, in turn in one run.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use roving::Pool;
use roving_dist::{Checkpoints, World};

use super::ask::{ask, has_ranks, word};
use crate::bench::Scale;
use crate::bench::record::{Bound::AtMost, Measurement, RowRecord};
use crate::dist::{failure, networks, uts};
use crate::io::input::{BadInput, CommandFailure, number_in};
use crate::machine::cpu_time;
use crate::networks::scatter::Scatter;
use crate::workloads::uts::{Uts, answer};
use crate::workloads::{RunAnswer, Workload};

/// How often rank 0 looks whether a checkpoint has become whole, at least and at most; else it does
/// four times an interval.
const LOOK: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(100));
/// Figures of a round: seconds, seconds of the processors and whole checkpoints, without and with.
const FIGURES: usize = 6;

/// Time with a checkpoint each second, and with one after the other, over time without.
pub(in crate::bench) fn checkpoints(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    if !has_ranks(&mut record) {
        return Ok(record);
    }
    let inputs = match scale.quick {
        true => [("uts", "T3"), ("scatter-gather", "4,work=3000,rounds=200")],
        false => [
            ("uts", "-t1 -a3 -d14 -b4 -r19"),
            ("scatter-gather", "8,work=3000,rounds=400000"),
        ],
    };
    let rounds = if scale.quick { 2 } else { scale.rounds(15) };
    for (program, input) in inputs {
        for (how, every) in [
            ("each second", "1000"),
            ("each tenth of a second", "100"),
            ("one after the other", "0"),
        ] {
            let rounds = if every == "1000" {
                rounds
            } else {
                rounds.div_ceil(3)
            };
            let rounds = rounds.to_string();
            let figures = ask(2, &["dist-checkpoints", program, input, every, &rounds])?;
            let of = format!("{program} {input}, 2 ranks of 1 worker");
            add(&mut record, &of, how, &figures);
        }
    }
    Ok(record)
}

/// Adds what checkpoints made that often cost.
fn add(record: &mut RowRecord, of: &str, how: &str, figures: &[f64]) {
    let rounds: Vec<&[f64]> = figures.chunks_exact(FIGURES).collect();
    let column = |place: usize, factor: f64| -> Vec<f64> {
        rounds.iter().map(|round| round[place] * factor).collect()
    };
    let ratio = |with: usize, without: usize| -> Vec<f64> {
        let pairs = rounds.iter().map(|round| round[with] / round[without]);
        pairs.collect()
    };
    let without = format!("{of}, no checkpoints");
    push(record, &without, "ms", column(0, 1e3));
    let with = format!("{of}, checkpoints {how}");
    push(record, &with, "ms", column(3, 1e3));
    let times = format!("{of}, {how}: checkpoints a run");
    push(record, &times, "checkpoints", column(5, 1.0));
    let cpu = format!("{of}, {how}: processors' time over that without");
    push(record, &cpu, "×", ratio(4, 1));
    let over = format!("{of}, {how}: time over that without (median of pairs)");
    let median = median(ratio(3, 0));
    match how {
        "each second" => record.claim(over, "×", median, AtMost(1.02), AtMost(1.005)),
        _ => record.single(&over, "×", median),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Adds a measurement.
fn push(record: &mut RowRecord, what: &str, unit: &'static str, values: Vec<f64>) {
    record.measurements.push(Measurement {
        what: what.to_owned(),
        unit,
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        runs: values.len(),
        median: median(values),
    });
}

/// `dist-checkpoints PROGRAM INPUT EVERY_MS ROUNDS`: the figures of each round, after one to warm
/// up.
pub(super) fn cost(world: &World, words: &[String]) -> Result<Vec<f64>, CommandFailure> {
    let form = "dist-checkpoints uts|scatter-gather INPUT EVERY_MS ROUNDS";
    let work = RanksWork::parse(word(words, 0, form)?, word(words, 1, form)?)?;
    let every = number_in("milliseconds", word(words, 2, form)?, 0..=1_000_000, form)?;
    let rounds = number_in("rounds", word(words, 3, form)?, 1..=1000, form)?;
    let pool = Pool::new(1).map_err(|error| CommandFailure::Run(format!("no pool: {error}")))?;
    // Rank 0's number names the place for all.
    let id = world.all_gather(&std::process::id().to_le_bytes());
    let id = id.map_err(failure)?.concat();
    let id = id.first_chunk().copied().map_or(0, u32::from_le_bytes);
    let directory = std::env::temp_dir().join(format!("roving-bench-checkpoints-{id}"));
    let every = Duration::from_millis(every);
    let checkpoints = Checkpoints::to(&directory).every(every);
    let watch = Witness {
        latest: directory.join("latest"),
        look: (every / 4).clamp(LOOK.0, LOOK.1),
    };
    let mut expected = work.expected();
    let mut figures = Vec::new();
    for round in 0..=rounds {
        // Whatever changes from run to run meets each of the two first.
        for with in [round % 2 == 0, round % 2 == 1] {
            let checkpoints = with.then(|| checkpoints.clone());
            let (found, run) = one_run(world, &pool, &work, checkpoints, &watch)?;
            if *expected.get_or_insert(found) != found {
                let (program, input) = (&words[0], &words[1]);
                let found = found.0;
                return Err(CommandFailure::Run(format!(
                    "{program} {input}: found {found:?}"
                )));
            }
            figures.push((round, with, run));
        }
    }
    if world.rank() == 0 {
        let _ = fs::remove_dir_all(&directory);
    }
    figures.retain(|(round, ..)| *round > 0);
    figures.sort_by_key(|(round, with, _)| (*round, *with));
    Ok(figures
        .into_iter()
        .flat_map(|(_, _, found)| found)
        .collect())
}

/// The work of the ranks, as a bag or as a network.
enum RanksWork {
    Bag(Uts),
    Network(Scatter),
}

impl RanksWork {
    fn parse(program: &str, input: &str) -> Result<RanksWork, BadInput> {
        match program {
            "uts" => Uts::parse(input).map(RanksWork::Bag),
            "scatter-gather" => Scatter::parse(input).map(RanksWork::Network),
            other => {
                let remedy = "`roving bench` asks right";
                Err(BadInput::new(
                    "program",
                    other,
                    "uts or scatter-gather",
                    remedy,
                ))
            }
        }
    }

    /// The answer, if it is known before.
    fn expected(&self) -> Option<RunAnswer> {
        match self {
            RanksWork::Bag(uts) => uts.expected().map(|(expected, _)| expected),
            RanksWork::Network(_) => None,
        }
    }

    fn run(
        &self,
        world: &World,
        pool: &Pool,
        checkpoints: Option<Checkpoints>,
    ) -> Result<(Duration, RunAnswer), CommandFailure> {
        match self {
            RanksWork::Bag(tree) => {
                let (time, found) = uts::search(world, pool, tree, checkpoints)?;
                Ok((time, answer(&found)))
            }
            RanksWork::Network(scatter) => {
                networks::scatter_once(world, pool, scatter, checkpoints)
            }
        }
    }
}

/// Rank 0's watch for checkpoints.
struct Witness {
    latest: PathBuf,
    look: Duration,
}

impl Witness {
    /// How many checkpoints become whole until it is over.
    fn count(&self, is_over: &AtomicBool) -> u64 {
        let (mut last, mut times) = (None, 0);
        // Ordering: Relaxed; a request, and its thread waits for this one.
        while !is_over.load(Ordering::Relaxed) {
            let written = fs::metadata(&self.latest).and_then(|file| file.modified());
            let written = written.ok();
            times += u64::from(written.is_some() && written != last);
            last = written.or(last);
            thread::park_timeout(self.look);
        }
        times
    }
}

/// The answer of one run; its seconds, seconds of the processors on all ranks, and how many
/// checkpoints there were.
fn one_run(
    world: &World,
    pool: &Pool,
    work: &RanksWork,
    checkpoints: Option<Checkpoints>,
    watch: &Witness,
) -> Result<(RunAnswer, [f64; 3]), CommandFailure> {
    let is_over = AtomicBool::new(false);
    let counts = world.rank() == 0 && checkpoints.is_some();
    let before = cpu_time().unwrap_or_default();
    let (outcome, whole) = thread::scope(|scope| {
        let looks = counts.then(|| scope.spawn(|| watch.count(&is_over)));
        let outcome = work.run(world, pool, checkpoints);
        // Ordering: Relaxed; a request to end.
        is_over.store(true, Ordering::Relaxed);
        let whole = looks.and_then(|looks| {
            looks.thread().unpark();
            looks.join().ok()
        });
        (outcome, whole.unwrap_or_default())
    });
    let (time, found) = outcome?;
    let used = cpu_time().unwrap_or_default().saturating_sub(before);
    let all = world.all_gather(&(used.as_nanos() as u64).to_le_bytes());
    let nanos = all.map_err(failure)?;
    let nanos = nanos
        .iter()
        .filter_map(|bytes| bytes.first_chunk().copied());
    let nanos: u64 = nanos.map(u64::from_le_bytes).sum();
    let figures = [time.as_secs_f64(), nanos as f64 / 1e9, whole as f64];
    Ok((found, figures))
}
