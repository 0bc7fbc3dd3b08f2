//! The time that each process and each worker spends: the weights by which a network is
//! partitioned.

use std::task::Poll;
use std::time::Instant;

use crate::machine::prim::{AtomicU64, Ordering::Relaxed};

/// Adds up the time of polls. Written by whoever polls, a process by one worker at a time; read by
/// anybody, who may find one figure newer than another.
///
/// To read the clock twice takes longer than to pass a message. So a process whose polls are short
/// has only some of them timed, and each stands for those before it that were not.
#[derive(Debug)]
pub(crate) struct Meter {
    epoch: Instant,
    processes: Box<[ProcessMeter]>,
    /// From one process's meter to the next.
    stride: usize,
    /// The last one is for threads that are no workers.
    workers: Box<[WorkerMeter]>,
}

/// Of networks up to that size each process has a cache line for its meter, because the next one's
/// may be written by another worker. In larger ones processes have others beside them anyway, and
/// memory counts.
const PROCESSES_APART: usize = 1 << 10;

#[derive(Debug, Default)]
#[repr(align(16))]
struct ProcessMeter {
    timed_ns: AtomicU64,
    /// When it was last seen to stop; odd if it has ended.
    stopped_ns: AtomicU64,
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
        let stride = match processes <= PROCESSES_APART {
            true => 64 / size_of::<ProcessMeter>(),
            false => 1,
        };
        let meters = 0..processes * stride;
        Meter {
            epoch: Instant::now(),
            processes: meters.map(|_| ProcessMeter::default()).collect(),
            stride,
            workers: (0..=workers).map(|_| WorkerMeter::default()).collect(),
        }
    }

    fn of(&self, process: usize) -> &ProcessMeter {
        &self.processes[process * self.stride]
    }

    /// Since the meter was made; never 0.
    pub(crate) fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64 + 1
    }

    /// Times a poll that stands for `polls`; returns how long it took, too.
    #[cold]
    #[inline(never)]
    pub(crate) fn poll<T>(
        &self,
        process: usize,
        polls: u64,
        poll: impl FnOnce() -> Poll<T>,
    ) -> (Poll<T>, u64) {
        let own = self.of(process);
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
        own.stopped_ns.store(end & !1, Relaxed);
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

    /// The process has ended.
    #[cold]
    pub(crate) fn end(&self, process: usize) {
        let stopped = &self.of(process).stopped_ns;
        // Ordering: none needed, it is a figure, which the worker that polls alone writes.
        stopped.store(stopped.load(Relaxed) | 1, Relaxed);
    }

    /// Returns the time that a process has spent.
    pub(crate) fn spent(&self, process: usize) -> Spent {
        let of = self.of(process);
        // Ordering: none needed, these are figures.
        let stopped_ns = of.stopped_ns.load(Relaxed);
        Spent {
            // Ordering: as above.
            time_ns: of.timed_ns.load(Relaxed),
            stopped_ns: stopped_ns & !1,
            has_ended: stopped_ns & 1 != 0,
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
