//! The outcome of a simulated run.

/// Most samples that are kept.
const SAMPLES_MAX: usize = 512;

/// The state of all workers at one time.
///
/// ```
/// let sample = roving_model::Sample { time_ns: 0.0, busy: 1.0, victims: 0.5 };
/// assert!(sample.victims <= 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub time_ns: f64,
    /// The fraction of workers that run a task.
    pub busy: f64,
    /// The fraction that shows tasks to thieves: prospective victims.
    pub victims: f64,
}

/// The outcome of a simulated run.
///
/// ```
/// use roving_model::{Fib, Runtime};
/// let outcome = Runtime::new(8).run(&Fib { n: 20, call_ns: 50.0 })?;
/// assert!(outcome.speedup() > 1.0 && outcome.speedup() <= 8.0);
/// assert!(outcome.busy <= 1.0);
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// How many workers.
    pub workers: usize,
    /// From the first task's begin to its end.
    pub time_ns: f64,
    /// From the first task's begin to the begin of the last one that works.
    pub last_begun_ns: f64,
    /// The work of all tasks, without the runtime.
    pub work_ns: f64,
    /// Steps of tasks.
    pub tasks: u64,
    /// Joins.
    pub joins: u64,
    /// Claims won.
    pub steals: u64,
    /// Tasks taken by these.
    pub tasks_stolen: u64,
    /// Visits to a victim where the task was gone.
    pub steals_empty: u64,
    /// Tasks run by a worker that waited for the thief that had left them.
    pub leapfrogs: u64,
    /// Times that the split line was moved up.
    pub publications: u64,
    /// Times that a worker parked for want of work, and in a wait.
    pub parks: u64,
    /// The parks of workers that wait for a stolen task.
    pub parks_waiting: u64,
    /// Threads that were unparked.
    pub wakes: u64,
    /// Compensation threads that were started.
    pub spares: usize,
    /// The part of all workers' time in which tasks ran.
    pub busy: f64,
    /// The part in which workers looked for tasks, or for the end of one.
    pub steal: f64,
    /// Events that were simulated.
    pub events: u64,
    /// Busy workers and prospective victims over time.
    pub samples: Vec<Sample>,
}

impl Outcome {
    /// How much faster than the tasks' own work one after the other.
    pub fn speedup(&self) -> f64 {
        self.work_ns / self.time_ns
    }
}

/// Samples at even distances, of which every second is dropped when they become too many.
#[derive(Debug)]
pub(super) struct Samples {
    kept: Vec<(u64, usize, usize)>,
    every: u64,
    pub(super) next: u64,
}

impl Samples {
    pub(super) fn new() -> Samples {
        Samples {
            kept: Vec::new(),
            every: 1 << 10,
            next: 0,
        }
    }

    pub(super) fn push(&mut self, time: u64, busy: usize, victims: usize) {
        self.kept.push((time, busy, victims));
        if self.kept.len() == SAMPLES_MAX {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.every *= 2;
        }
        self.next = time + self.every;
    }

    pub(super) fn finish(self, workers: usize, ticks_per_ns: f64) -> Vec<Sample> {
        let part = |count: usize| count as f64 / workers as f64;
        let sample = |(time, busy, victims): (u64, usize, usize)| Sample {
            time_ns: time as f64 / ticks_per_ns,
            busy: part(busy),
            victims: part(victims),
        };
        self.kept.into_iter().map(sample).collect()
    }
}
