//! A pool of ladder workers: the calling thread is the first of them, the others are thieves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use super::stack::{Cx, Worker};
use super::steps::*;
use crate::forms::fork_join::ForkJoin;
use crate::io::input::CommandFailure;
use crate::job::measure;
use crate::rivals::{Contender, timed};
use crate::workloads::{TimedAnswer, WorkloadJob};

/// Failed looks after which a thief offers its core to others.
const PATIENCE: u32 = 500;

/// The state that workers share.
struct LadderShared {
    workers: Vec<Worker>,
    /// A job runs, so thieves look for work; else they are parked.
    active: AtomicBool,
    /// Thieves that are looking. A run ends when there are none.
    looking: AtomicU64,
    stop: AtomicBool,
}

/// A pool on one step of the ladder.
pub(in crate::repro) struct Pool {
    shared: Arc<LadderShared>,
    thieves: Vec<JoinHandle<()>>,
    step: Step,
}

impl Pool {
    /// Starts the thieves, asleep.
    pub(in crate::repro) fn start(step: Step, workers: usize) -> Result<Pool, CommandFailure> {
        let shared = Arc::new(LadderShared {
            workers: (0..workers).map(|_| Worker::new()).collect(),
            active: AtomicBool::new(false),
            looking: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        });
        let thief = |index: usize| {
            let shared = shared.clone();
            let thread = thread::Builder::new().name(format!("ladder {index}"));
            thread.spawn(move || at_step!(step, thieve(&shared, index)))
        };
        let thieves: Result<Vec<_>, _> = (1..workers).map(thief).collect();
        let thieves = thieves
            .map_err(|error| CommandFailure::Run(format!("no thread for the ladder: {error}")))?;
        Ok(Pool {
            shared,
            thieves,
            step,
        })
    }

    fn wake(&self, active: bool) {
        // Ordering: Release, so that a thief that sees it sees what the caller did before.
        self.shared.active.store(active, Ordering::Release);
        for thief in &self.thieves {
            thief.thread().unpark();
        }
    }
}

/// The loop of a thief.
fn thieve<const JOIN: u8, const STEAL: u8>(shared: &LadderShared, index: usize) {
    let mut cx = Cx::<JOIN, STEAL>::new(&shared.workers[index]);
    let victims = shared.workers.len();
    let mut victim = index;
    // Ordering: Acquire on both, to see what was done before them.
    while !shared.stop.load(Ordering::Acquire) {
        if !shared.active.load(Ordering::Acquire) {
            thread::park();
            continue;
        }
        // Ordering: Relaxed. The word only counts; the stacks order what is handed over.
        shared.looking.fetch_add(1, Ordering::Relaxed);
        let mut failures = 0u32;
        while shared.active.load(Ordering::Relaxed) {
            victim = (victim + 1) % victims;
            if victim != index && shared.workers[victim].rob(&mut cx) {
                failures = 0;
            } else {
                failures += 1;
                if failures.is_multiple_of(PATIENCE) {
                    thread::yield_now();
                }
                std::hint::spin_loop();
            }
        }
        // Ordering: Release. Who sees the count fall sees that we look no more.
        shared.looking.fetch_sub(1, Ordering::Release);
    }
}

/// One run of a job by the first worker.
fn drive<const JOIN: u8, const STEAL: u8>(
    shared: &LadderShared,
    job: &mut WorkloadJob,
) -> std::time::Duration {
    let mut cx = Cx::<JOIN, STEAL>::new(&shared.workers[0]);
    fork_joined(job, &mut cx)
}

fn fork_joined<C: ForkJoin>(job: &mut WorkloadJob, cx: &mut C) -> std::time::Duration {
    timed(job, cx)
}

impl Contender for Pool {
    fn run(&mut self, job: &mut WorkloadJob) -> Result<TimedAnswer, String> {
        self.wake(true);
        let (shared, step) = (&self.shared, self.step);
        let stack_bytes = job.stack_bytes();
        let time = measure::on_stack(stack_bytes, || at_step!(step, drive(shared, job)));
        self.wake(false);
        // Ordering: Acquire, so that all looks of this run lie before the next one.
        while self.shared.looking.load(Ordering::Acquire) > 0 {
            thread::yield_now();
        }
        let time = time.map_err(|failure| failure.to_string())?;
        Ok(TimedAnswer {
            time,
            answer: job.answer(),
        })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Ordering: Release, as in `wake`.
        self.shared.stop.store(true, Ordering::Release);
        self.wake(false);
        for thief in self.thieves.drain(..) {
            // A thief that panicked has ended the process.
            let _ = thief.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::WorkloadJob;

    #[test]
    fn every_step_finds_the_right_answer_alone_and_with_thieves() {
        let steps = (0..JOINS.len())
            .map(Step::Join)
            .chain((0..STEALS.len()).map(Step::Steal));
        for step in steps {
            for workers in [1, 2, 3] {
                for (workload, input) in [("fib", "18"), ("stress", "leaf=300,depth=3,repeats=200")]
                {
                    let mut job = WorkloadJob::parse(workload, Some(input)).unwrap();
                    let (_, reference) = measure::rehearse(&mut job).unwrap();
                    let mut pool = Pool::start(step, workers).unwrap();
                    for _ in 0..3 {
                        let run = pool.run(&mut job).unwrap();
                        let case = format!("{workload}, {}, {workers}", step.name());
                        assert!(job.verify(run.answer, reference).is_ok(), "{case}");
                    }
                }
            }
        }
    }

    #[test]
    fn more_tasks_than_slots_run_all_the_same() {
        // A chain of joins deeper than the stack has slots.
        fn chain<C: ForkJoin>(cx: &mut C, depth: u64) -> u64 {
            if depth == 0 {
                return 0;
            }
            let (a, b) = cx.join(move |cx| chain(cx, depth - 1), |_| 1);
            a + b
        }
        let worker = Worker::new();
        let mut cx = Cx::<SPECIFIC, NO_LOCK>::new(&worker);
        assert!(matches!(
            measure::on_stack(256 << 20, move || chain(&mut cx, 10_000)),
            Ok(10_000)
        ));
    }

    #[test]
    fn thieves_do_take_tasks() {
        // Each of two leaves waits until the other has begun: alone, this would never end.
        for step in [
            Step::Join(BASE as usize),
            Step::Join(ALL_PRIVATE as usize),
            Step::Steal(NO_LOCK as usize),
        ] {
            let pool = Pool::start(step, 2).unwrap();
            pool.wake(true);
            let begun = AtomicU64::new(0);
            at_step!(step, meet(&pool.shared, &begun));
            pool.wake(false);
            assert_eq!(begun.into_inner(), 2);
        }
    }

    fn meet<const JOIN: u8, const STEAL: u8>(shared: &LadderShared, begun: &AtomicU64) {
        let mut cx = Cx::<JOIN, STEAL>::new(&shared.workers[0]);
        let wait = || {
            begun.fetch_add(1, Ordering::AcqRel);
            // The owner of private tasks is asked when it spawns: so it goes on spawning.
            begun.load(Ordering::Acquire)
        };
        cx.join(
            |cx| {
                wait();
                while begun.load(Ordering::Acquire) < 2 {
                    cx.join(|_| (), |_| ());
                    thread::yield_now();
                }
            },
            |_| {
                wait();
                while begun.load(Ordering::Acquire) < 2 {
                    thread::yield_now();
                }
            },
        );
    }
}
