//! The time that each process and each worker spends: the weights by which a network is
//! partitioned.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::prim::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Adds up the time of polls. Written by whoever polls, a process by one worker at a time; read by
/// anybody, who may find one figure newer than another.
///
/// To read the clock twice takes longer than to pass a message. So a process whose polls are short
/// has only some of them timed, and each stands for those before it that were not.
#[derive(Debug)]
pub(crate) struct Meter {
    epoch: Instant,
    processes: Box<[ProcessMeter]>,
    /// The last one is for threads that are no workers.
    workers: Box<[WorkerMeter]>,
}

/// Alone on its cache line: the next one may be written by another worker.
#[derive(Debug, Default)]
#[repr(align(64))]
struct ProcessMeter {
    timed_ns: AtomicU64,
    /// When it was last seen to stop.
    stopped_ns: AtomicU64,
    has_ended: AtomicBool,
}

/// Alone on its cache lines: it is written at each poll.
#[derive(Debug, Default)]
#[repr(align(128))]
struct WorkerMeter {
    busy_ns: AtomicU64,
    /// When the poll that is going on began; 0 if there is none.
    since_ns: AtomicU64,
}

/// The time that one process has spent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// Processor time: an estimate where polls are short.
    pub(crate) time_ns: u64,
    /// Since when it has not run, as far as is known.
    pub(crate) stopped_ns: u64,
    pub(crate) has_ended: bool,
}

impl Meter {
    pub(crate) fn new(processes: usize, workers: usize) -> Meter {
        Meter {
            epoch: Instant::now(),
            processes: (0..processes).map(|_| ProcessMeter::default()).collect(),
            workers: (0..=workers).map(|_| WorkerMeter::default()).collect(),
        }
    }

    /// Since the meter was made; never 0.
    pub(crate) fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64 + 1
    }

    /// Times a poll that stands for `polls`; returns how long it took, too.
    #[cold]
    #[inline(never)]
    fn poll<T>(
        &self,
        process: usize,
        polls: u64,
        poll: impl FnOnce() -> Poll<T>,
    ) -> (Poll<T>, u64) {
        let own = &self.processes[process];
        let begin = self.now_ns();
        let last = self.workers.len() - 1;
        let worker = &self.workers[roving::current_worker().map_or(last, |index| index.min(last))];
        // Ordering: none needed here and below: the worker alone writes its meter, but for threads
        // that share the last one, whose figures are not used. A process is polled by one worker at
        // a time, and handed on by a wake-up that orders what was done. Readers want a figure,
        // whichever is current.
        let outer = worker.since_ns.load(Relaxed);
        if outer == 0 {
            // Ordering: as above.
            worker.since_ns.store(begin, Relaxed);
        }
        let result = poll();
        let end = self.now_ns();
        let spent = (end - begin).saturating_mul(polls);
        // Ordering: as above.
        own.timed_ns
            .store(own.timed_ns.load(Relaxed).saturating_add(spent), Relaxed);
        // Ordering: as above.
        own.stopped_ns.store(end, Relaxed);
        if outer == 0 {
            // Ordering: as above.
            worker.since_ns.store(0, Relaxed);
            // Ordering: as above.
            let busy_ns = worker.busy_ns.load(Relaxed).saturating_add(spent);
            // Ordering: as above.
            worker.busy_ns.store(busy_ns, Relaxed);
        }
        (result, end - begin)
    }

    #[cold]
    fn end(&self, process: usize) {
        // Ordering: none needed, it is a figure.
        self.processes[process].has_ended.store(true, Relaxed);
    }

    /// Returns the time that a process has spent.
    pub(crate) fn spent(&self, process: usize) -> Spent {
        let of = &self.processes[process];
        Spent {
            // Ordering: none needed, these are figures.
            time_ns: of.timed_ns.load(Relaxed),
            // Ordering: as above.
            stopped_ns: of.stopped_ns.load(Relaxed),
            // Ordering: as above.
            has_ended: of.has_ended.load(Relaxed),
        }
    }

    /// For how long workers have been busy until `now_ns`, all together, with the polls that are
    /// going on and are timed.
    pub(crate) fn busy_ns(&self, now_ns: u64) -> u64 {
        let workers = self.workers[..self.workers.len() - 1].iter();
        let busy = workers.map(|worker| {
            // Ordering: none needed, these are figures; a poll that ends between the two loads is
            // missed until the next look, or counted for a moment longer.
            let since = worker.since_ns.load(Relaxed);
            // Ordering: as above.
            let before = worker.busy_ns.load(Relaxed);
            before
                + if since == 0 {
                    0
                } else {
                    now_ns.saturating_sub(since)
                }
        });
        busy.sum()
    }
}

/// How many polls are left out between two that are timed.
#[derive(Clone, Copy)]
struct Pace {
    /// Of those to come.
    left: u32,
    /// Of those since the last one that was timed.
    skipped: u32,
    /// The mean of `skipped`: doubled after each short poll, and nothing after a long one.
    mean: u32,
    /// The last pseudo-random number.
    noise: u32,
}

/// A poll that takes longer than reading the clock, by far.
const LONG_NS: u64 = 2_000;
const MEAN_MAX: u32 = 32;

impl Pace {
    fn new(process: u32) -> Pace {
        Pace {
            left: 0,
            skipped: 0,
            mean: 0,
            noise: process.wrapping_mul(0x9E37_79B9) | 1,
        }
    }

    /// A poll was timed. At random times, because what a process does may be periodic: one that is
    /// long every second time would always be seen to be short.
    fn timed(&mut self, poll_ns: u64) {
        self.mean = match poll_ns < LONG_NS {
            true => (2 * self.mean + 1).min(MEAN_MAX),
            false => 0,
        };
        // Marsaglia's xorshift.
        self.noise ^= self.noise << 13;
        self.noise ^= self.noise >> 17;
        self.noise ^= self.noise << 5;
        self.skipped = self.noise % (2 * self.mean + 1);
        self.left = self.skipped;
    }
}

/// A process, with some of its polls timed.
pub(crate) struct Metered<F> {
    meter: Arc<Meter>,
    process: u32,
    pace: Pace,
    /// Pinned.
    future: F,
}

impl<F> Metered<F> {
    pub(crate) fn new(future: F, meter: &Arc<Meter>, process: u32) -> Metered<F> {
        Metered {
            meter: Arc::clone(meter),
            process,
            pace: Pace::new(process),
            future,
        }
    }
}

impl<F: Future> Future for Metered<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: nothing is moved out of it; the future is treated as pinned, below.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: it is pinned as part of this, and never moved.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        let result = match this.pace.left {
            0 => {
                let polls = u64::from(this.pace.skipped) + 1;
                let process = this.process as usize;
                let (result, poll_ns) = this.meter.poll(process, polls, || future.poll(context));
                this.pace.timed(poll_ns);
                result
            }
            _ => {
                this.pace.left -= 1;
                future.poll(context)
            }
        };
        if result.is_ready() {
            this.meter.end(this.process as usize);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::hint::black_box;
    use std::time::Duration;

    use super::*;

    fn spin(time: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < time {
            black_box(begin);
        }
    }

    #[test]
    fn a_process_is_charged_for_what_it_spins_and_not_for_what_it_waits() {
        let meter = Arc::new(Meter::new(2, 1));
        let has_worked = AtomicBool::new(false);
        // Ordering: none needed, one worker.
        let wait = poll_fn(|context| match has_worked.load(Relaxed) {
            true => Poll::Ready(()),
            false => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        });
        let work = async {
            spin(Duration::from_millis(20));
            // Ordering: as above.
            has_worked.store(true, Relaxed);
        };
        let pool = roving::Pool::new(1).unwrap();
        let both = &meter;
        pool.run(move |scope| async move {
            let first = scope.spawn(Metered::new(wait, both, 0));
            Metered::new(work, both, 1).await;
            first.await;
        });
        let spent = [meter.spent(0), meter.spent(1)];
        assert!(spent[1].time_ns >= 20_000_000, "{spent:?}");
        assert!(spent[0].time_ns < spent[1].time_ns, "{spent:?}");
        assert!(
            spent
                .iter()
                .all(|spent| spent.has_ended && spent.stopped_ns > 0)
        );
        assert!(meter.busy_ns(meter.now_ns()) >= 20_000_000);
    }

    /// Three polls of a microsecond's tenth, then one of half a millisecond, over and over.
    #[test]
    fn polls_that_are_long_now_and_then_are_not_missed() {
        let mut pace = Pace::new(7);
        let (mut told_ns, mut real_ns, mut timed) = (0, 0, 0);
        for poll in 0..100_000_u64 {
            let poll_ns = if poll % 4 == 3 { 500_000 } else { 100 };
            real_ns += poll_ns;
            if pace.left > 0 {
                pace.left -= 1;
                continue;
            }
            told_ns += poll_ns * (u64::from(pace.skipped) + 1);
            timed += 1;
            pace.timed(poll_ns);
        }
        let ratio = told_ns as f64 / real_ns as f64;
        assert!((0.95..1.05).contains(&ratio), "{ratio}");
        assert!(timed < 60_000, "{timed}");
    }

    #[test]
    fn of_short_polls_one_in_many_is_timed() {
        let mut pace = Pace::new(1);
        let mut timed = 0;
        for _ in 0..100_000 {
            match pace.left {
                0 => {
                    timed += 1;
                    pace.timed(100);
                }
                _ => pace.left -= 1,
            }
        }
        assert!((2_500..4_000).contains(&timed), "{timed}");
    }
}
