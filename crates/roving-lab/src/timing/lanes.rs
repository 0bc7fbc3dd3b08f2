//! The measuring core: several lanes run in turn, round after round, so that what happens to the
//! machine happens to all of them.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::timing::times::Times;

/// The name of the serial lane.
pub(crate) const SERIAL: &str = "serial";

/// Rest between two runs, in which the threads of the last one fall asleep. GCC's OpenMP spins
/// longest: a few milliseconds.
const REST: Duration = Duration::from_millis(8);
/// How long one run may wait until nothing else wants a core.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long runs may wait on average, and all of them together.
const PATIENCE_EACH: Duration = Duration::from_millis(150);
const PATIENCE_ALL: Duration = Duration::from_secs(60);
/// A wait at whose end the machine is not quiet counts so many times.
const FRUITLESS: u32 = 8;
/// How often we look.
const LOOK: Duration = Duration::from_millis(4);
/// A lane whose first run takes this long, and [`SLOW_RATIO`] times the fastest, is not repeated.
const SLOW: Duration = Duration::from_secs(4);
const SLOW_RATIO: f64 = 12.0;

/// Something that can be timed again and again.
pub(crate) struct TimedLane<'a> {
    /// The name in tables.
    pub(crate) name: String,
    /// On how many workers.
    pub(crate) workers: usize,
    run: Box<dyn FnMut() -> Result<Duration, String> + 'a>,
}

/// The times of one lane.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// See [`TimedLane::name`].
    pub(crate) name: String,
    /// See [`TimedLane::workers`].
    pub(crate) workers: usize,
    /// One a round; for a slow lane only the first run.
    pub(crate) times: Times,
}

impl<'a> TimedLane<'a> {
    /// `run` gives the time that counts, and checks its own answer.
    pub(crate) fn new(
        name: impl Into<String>,
        workers: usize,
        run: impl FnMut() -> Result<Duration, String> + 'a,
    ) -> Self {
        TimedLane {
            name: name.into(),
            workers,
            run: Box::new(run),
        }
    }
}

/// How many rounds: at least `least`; then as many as begin before `until`, but never more than
/// `most`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    /// The fewest.
    pub(crate) least: usize,
    /// The most.
    pub(crate) most: usize,
    /// When no other round begins, if ever.
    pub(crate) until: Option<Instant>,
    /// Whether each run waits a while for a quiet machine.
    pub(crate) quiet: bool,
}

impl Rounds {
    /// Whether one more begins after `done`.
    pub(crate) fn goes_on(&self, done: usize) -> bool {
        done < self.least
            || (done < self.most && self.until.is_none_or(|until| Instant::now() < until))
    }
}

/// One run of each lane to warm up, then `rounds` rounds; each round begins with another lane.
pub(crate) fn interleave(
    lanes: &mut [TimedLane<'_>],
    rounds: usize,
) -> Result<Vec<Series>, String> {
    let rounds = Rounds {
        least: rounds,
        most: rounds,
        until: None,
        quiet: true,
    };
    interleave_within(lanes, rounds)
}

/// Interleaves the lanes, with rounds that are limited by time.
pub(crate) fn interleave_within(
    lanes: &mut [TimedLane<'_>],
    rounds: Rounds,
) -> Result<Vec<Series>, String> {
    let runs = (lanes.len() * rounds.most) as u32;
    let mut patience = PATIENCE_EACH.saturating_mul(runs).min(PATIENCE_ALL);
    if !rounds.quiet {
        patience = Duration::ZERO;
    }
    if let Some(until) = rounds.until {
        patience = patience.min(until.saturating_duration_since(Instant::now()) / 2);
    }
    let mut first = Vec::with_capacity(lanes.len());
    for lane in lanes.iter_mut() {
        first.push(timed(lane, &mut patience)?);
    }
    let fastest = first.iter().min().copied().unwrap_or_default();
    let slow =
        |time: Duration| time >= SLOW && time.as_secs_f64() >= SLOW_RATIO * fastest.as_secs_f64();
    let mut series: Vec<Series> = lanes
        .iter()
        .map(|lane| Series {
            name: lane.name.clone(),
            workers: lane.workers,
            times: Times::default(),
        })
        .collect();
    for (one, time) in series.iter_mut().zip(&first) {
        if slow(*time) {
            one.times.push(*time);
        }
    }
    for round in (0..).take_while(|round| rounds.goes_on(*round)) {
        for place in 0..lanes.len() {
            let index = (place + round) % lanes.len();
            if !slow(first[index]) {
                series[index]
                    .times
                    .push(timed(&mut lanes[index], &mut patience)?);
            }
        }
    }
    Ok(series)
}

fn timed(lane: &mut TimedLane<'_>, patience: &mut Duration) -> Result<Duration, String> {
    sleep(REST);
    await_quiet(patience);
    let time = (lane.run)().map_err(|why| format!("{} on {}: {why}", lane.name, lane.workers))?;
    Ok(time)
}

/// Waits until no other thread of this machine wants a core, as long as there is patience left.
/// Whoever shares the machine comes and goes; every lane waits in the same way.
fn await_quiet(patience: &mut Duration) {
    let start = Instant::now();
    let most = PATIENCE.min(*patience);
    while start.elapsed() < most {
        let averages = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        // We are the one that is left.
        if runnable(&averages).is_none_or(|threads| threads <= 1) {
            break;
        }
        sleep(LOOK);
    }
    let waited = start.elapsed();
    // Where others stay, not much is waited for them.
    let spent = if waited < most {
        waited
    } else {
        FRUITLESS * waited
    };
    *patience = patience.saturating_sub(spent);
}

/// Threads that run or want to, from Linux's `loadavg`: `0.10 0.20 0.30 2/345 6789`.
fn runnable(averages: &str) -> Option<u64> {
    averages
        .split_whitespace()
        .nth(3)?
        .split_once('/')?
        .0
        .parse()
        .ok()
}

impl Series {
    /// How many times faster than `other`, by medians.
    pub(crate) fn speedup_over(&self, other: &Series) -> f64 {
        other.times.median() / self.times.median()
    }
}

/// The series of that name on so many workers.
pub(crate) fn find<'s>(series: &'s [Series], name: &str, workers: usize) -> Option<&'s Series> {
    series
        .iter()
        .find(|one| one.name == name && one.workers == workers)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn lanes_take_turns_and_each_round_begins_elsewhere() {
        let order = RefCell::new(String::new());
        let mut lanes: Vec<TimedLane<'_>> = ["a", "b", "c"]
            .into_iter()
            .zip(1..)
            .map(|(name, time_ms)| {
                let order = &order;
                TimedLane::new(name, 1, move || {
                    order.borrow_mut().push_str(name);
                    Ok(Duration::from_millis(time_ms))
                })
            })
            .collect();
        let series = interleave(&mut lanes, 3).unwrap();
        assert_eq!(*order.borrow(), "abcabcbcacab");
        assert!(series.iter().all(|one| one.times.len() == 3));
        let (a, c) = (
            find(&series, "a", 1).unwrap(),
            find(&series, "c", 1).unwrap(),
        );
        assert_eq!(a.speedup_over(c), 3.0);
        assert!(find(&series, "a", 2).is_none());
    }

    #[test]
    fn a_lane_that_crawls_runs_once() {
        let runs = RefCell::new(0);
        let mut lanes = vec![
            TimedLane::new("fast", 1, || Ok(Duration::from_millis(100))),
            TimedLane::new("crawls", 1, || {
                *runs.borrow_mut() += 1;
                Ok(Duration::from_secs(10))
            }),
        ];
        let series = interleave(&mut lanes, 4).unwrap();
        drop(lanes);
        assert_eq!(
            (*runs.borrow(), series[1].times.len(), series[0].times.len()),
            (1, 1, 4)
        );
        assert_eq!(series[1].times.median(), 10.0);
    }

    #[test]
    fn rounds_end_with_the_time_but_not_before_the_fewest() {
        let mut runs = 0;
        let mut lanes = vec![TimedLane::new("a", 1, || {
            runs += 1;
            Ok(Duration::from_millis(1))
        })];
        let rounds = Rounds {
            least: 2,
            most: 50,
            until: Some(Instant::now()),
            quiet: true,
        };
        let series = interleave_within(&mut lanes, rounds).unwrap();
        drop(lanes);
        // One more to warm up.
        assert_eq!((series[0].times.len(), runs), (2, 3));
    }

    #[test]
    fn runnable_threads_are_read_and_patience_ends() {
        assert_eq!(runnable("0.10 0.20 0.30 2/345 6789\n"), Some(2));
        assert_eq!(runnable(""), None);
        let mut patience = Duration::from_millis(20);
        let start = Instant::now();
        await_quiet(&mut patience);
        assert!(start.elapsed() < Duration::from_secs(5));
        assert!(patience < Duration::from_millis(20));
    }

    #[test]
    fn the_first_error_stops_all_and_names_the_lane() {
        let mut lanes = vec![TimedLane::new("liar", 2, || {
            Err("found 3, not 4".to_owned())
        })];
        let error = interleave(&mut lanes, 1).unwrap_err();
        assert_eq!(error, "liar on 2: found 3, not 4");
    }
}
