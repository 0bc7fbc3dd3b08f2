//! The costs of the runtime's own steps on this machine, by small probes. Nothing here is fitted to
//! a run that the model is to predict.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use roving::Pool;
use roving_model::{ByDistance, Costs};

use crate::forms::tasks::Form;
use crate::io::input::CommandFailure;
use crate::job::measure;
use crate::machine::cores;
use crate::machine::handoff;
use crate::workloads::WorkloadJob;

/// How often each probe is made.
const TRIES: usize = 41;
/// The length of a probe's stolen task: worth stealing, so that the thief does not look away.
const TASK: Duration = Duration::from_micros(30);
/// After this long a worker without work is surely asleep.
const ASLEEP: Duration = Duration::from_millis(2);
/// A probe waits no longer than this for a thief, which may have lost its core.
const LOST: Duration = Duration::from_millis(20);

/// How often the steps between two workers are probed until they can be true.
const SERIES: usize = 3;

/// The lower quartile of some times in ns: other programs only make them longer.
fn quartile(mut times_ns: Vec<f64>) -> f64 {
    times_ns.sort_by(f64::total_cmp);
    let quarter = times_ns.get(times_ns.len() / 4);
    quarter.copied().unwrap_or(f64::NAN)
}

/// The least time of some serial runs of a job, in ns, and the items that it had.
pub(crate) fn serial_ns(
    workload: &str,
    input: &str,
    runs: usize,
) -> Result<(f64, u64), CommandFailure> {
    let mut job = WorkloadJob::parse(workload, Some(input))?;
    let (_, answer) = measure::rehearse(&mut job)?;
    let mut least = f64::INFINITY;
    for _ in 0..runs {
        least = least.min(measure::serial(&mut job)?.0.as_secs_f64() * 1e9);
    }
    Ok((least, job.items(&answer)))
}

/// The time on a pool with one worker.
pub(crate) fn one_worker_ns(
    workload: &str,
    input: &str,
    runs: usize,
) -> Result<f64, CommandFailure> {
    let mut job = WorkloadJob::parse(workload, Some(input))?;
    let pool = pool(1, job.stack_bytes())?;
    let mut least = f64::INFINITY;
    for _ in 0..=runs {
        let (time, _) = measure::parallel(&mut job, &pool, Form::Join);
        least = least.min(time.as_secs_f64() * 1e9);
    }
    Ok(least)
}

fn pool(workers: usize, stack_bytes: usize) -> Result<Pool, CommandFailure> {
    let builder = Pool::builder().workers(workers).stack_size(stack_bytes);
    builder
        .build()
        .map_err(|error| CommandFailure::Run(format!("no pool of {workers}: {error}")))
}

/// All costs. Those that need two cores keep their default on a machine with one, where the second
/// worker never came, and where other programs leave so little of the cores that no probe can be
/// true, which is then said.
pub(crate) fn costs() -> Result<Costs, CommandFailure> {
    let mut costs = Costs::default();
    let (serial, calls) = serial_ns("fib", "24", 5)?;
    let joined = one_worker_ns("fib", "24", 5)?;
    costs.join = ((joined - serial) / (calls as f64 / 2.0)).max(0.0);
    if cores() < 2 {
        return Ok(costs);
    }
    let pool = pool(2, 1 << 20)?;
    let mut probed = None;
    for _ in 0..SERIES {
        probed = Thefts::measure(&pool);
        if probed
            .as_ref()
            .is_none_or(|thefts| thefts.absurd().is_none())
        {
            break;
        }
    }
    let Some(thefts) = probed else {
        return Ok(costs);
    };
    if let Some(why) = thefts.absurd() {
        eprintln!(
            "roving: the machine is too busy to be probed ({why}); stealing costs what the model comes with"
        );
        return Ok(costs);
    }
    let line = quartile(
        (0..9)
            .map(|_| handoff::one_way().as_secs_f64() * 1e9)
            .collect(),
    );
    costs.claim = near(thefts.begin_ns, costs.claim);
    costs.finish = near(thefts.end_ns, costs.finish);
    costs.line = near(line, costs.line);
    costs.unpark = thefts.unpark_ns;
    costs.wake = thefts.wake_ns;
    Ok(costs)
}

/// Scales the distances: the measured one between the cores that there are, and the others in the
/// same proportion as before.
fn near(measured: f64, before: ByDistance) -> ByDistance {
    let factor = measured / before.socket;
    ByDistance {
        pair: before.pair * factor,
        socket: measured,
        far: before.far * factor,
    }
}

/// The times of steals between two workers.
#[derive(Debug)]
struct Thefts {
    /// From the push until a thief that looks around runs the task.
    begin_ns: f64,
    /// From the task's end until its owner, which waits for it, goes on.
    end_ns: f64,
    /// How much longer a push takes that wakes a worker.
    unpark_ns: f64,
    /// From the end of such a push until the woken worker runs the task.
    wake_ns: f64,
}

/// When things happened, in ns after the start of all.
#[derive(Default)]
struct Marks {
    began: AtomicU64,
    ended: AtomicU64,
}

impl Thefts {
    fn measure(pool: &Pool) -> Option<Thefts> {
        let mut awake: [Vec<f64>; 3] = Default::default();
        let mut asleep: [Vec<f64>; 2] = Default::default();
        for _ in 0..TRIES {
            pool.install(|| {
                // The first pair wakes the other worker, the second finds it looking around.
                thread::sleep(ASLEEP);
                if let Some([push, begin, _]) = pair() {
                    asleep[0].push(push);
                    asleep[1].push(begin);
                }
                if let Some(times) = pair() {
                    awake
                        .iter_mut()
                        .zip(times)
                        .for_each(|(all, one)| all.push(one));
                }
            });
        }
        if awake[0].is_empty() || asleep[0].is_empty() {
            return None;
        }
        let [push, begin, end] = awake.map(quartile);
        let [push_and_wake, woken] = asleep.map(quartile);
        let unpark_ns = (push_and_wake - push).max(0.0);
        Some(Thefts {
            begin_ns: begin,
            end_ns: end,
            unpark_ns,
            wake_ns: (woken - begin).max(0.0),
        })
    }

    /// Which step took longer than it does on any machine whose cores are free, if one did: a time
    /// slice of another program is milliseconds long, and what workers do to each other takes
    /// microseconds.
    fn absurd(&self) -> Option<String> {
        let bounds = [
            ("a claim", self.begin_ns, 20e3),
            ("the end of a stolen task", self.end_ns, 20e3),
            ("an unpark", self.unpark_ns, 500e3),
            ("a wake-up", self.wake_ns, 1e6),
        ];
        let beyond = bounds.into_iter().find(|(_, took, bound)| took > bound);
        beyond.map(|(step, took, bound)| {
            format!("{step} took {took:.0} ns, at most {bound:.0} can be true")
        })
    }
}

/// One join, whose second task the other worker takes: ns of the push; from there until the task
/// begins; and from its end until the join returns. None if nobody took it.
fn pair() -> Option<[f64; 3]> {
    let start = Instant::now();
    let now = || start.elapsed().as_nanos() as u64 + 1;
    let marks = Marks::default();
    let me = thread::current().id();
    let called = now();
    let (pushed, taken) = roving::join(
        || {
            let pushed = now();
            // Ordering: Relaxed; a time, and nothing else, is handed over.
            while marks.began.load(Ordering::Relaxed) == 0 && start.elapsed() < LOST {
                spin_loop();
            }
            pushed
        },
        || {
            // Ordering: Relaxed, as above.
            marks.began.store(now(), Ordering::Relaxed);
            let begun = Instant::now();
            while begun.elapsed() < TASK {
                spin_loop();
            }
            // Ordering: Relaxed; the join's end orders it before it is read.
            marks.ended.store(now(), Ordering::Relaxed);
            thread::current().id() != me
        },
    );
    let returned = now();
    // Ordering: Relaxed; the join has ended.
    let began = marks.began.load(Ordering::Relaxed);
    let ended = marks.ended.load(Ordering::Relaxed);
    let ns = |from: u64, to: u64| to.saturating_sub(from) as f64;
    taken.then(|| [ns(called, pushed), ns(pushed, began), ns(ended, returned)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probes_come_to_numbers_that_the_model_takes() {
        let costs = costs().unwrap();
        let fib = roving_model::Fib {
            n: 10,
            call_ns: 1.0,
        };
        let outcome = roving_model::Runtime::new(2).costs(costs).run(&fib);
        assert!(outcome.is_ok(), "{costs:?}");
    }

    #[test]
    fn a_probe_that_cannot_be_true_is_told() {
        let quiet = Thefts {
            begin_ns: 110.0,
            end_ns: 90.0,
            unpark_ns: 1500.0,
            wake_ns: 9000.0,
        };
        assert_eq!(quiet.absurd(), None);
        let busy = Thefts {
            begin_ns: 3_944_514.0,
            ..quiet
        };
        assert!(busy.absurd().unwrap().contains("a claim took 3944514 ns"));
    }

    #[test]
    fn a_quarter_lies_below_the_quartile() {
        assert_eq!(quartile(vec![5.0, 1.0, 9.0, 3.0, 7.0]), 3.0);
        assert!(quartile(Vec::new()).is_nan());
    }
}
