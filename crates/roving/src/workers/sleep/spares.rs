//! Compensation threads: who has to park in a wait gives its core to one of them.

use std::sync::Arc;

use super::parts::Parts;
use crate::machine::prim::{AtomicUsize, Mutex, Ordering, mutant, park};

/// How a pool replaces a worker that is parked in a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(loom, allow(unreachable_pub, reason = "`raw` is not built for loom"))]
pub enum StandIn {
    /// A compensation thread takes its core, for tasks and jobs alike; half of the compensation
    /// threads, for jobs alone.
    ForAll,
    /// A compensation thread is brought in when a job waits for a worker, and runs jobs only. So
    /// tasks run on the pool's own workers alone.
    ForJobs,
    /// The worker itself runs a job that waits, on top of its frame. For pools whose threads are
    /// the user's own, which start no other. Gives up contract 4 as far as jobs are concerned.
    Nobody,
}

/// Keeps as many threads at work as the pool has workers, while some of these are parked in waits.
/// Not fewer where the machine has fewer cores: who asks for more workers than cores may do so
/// because tasks block, and nobody but the user knows.
pub(crate) struct Spares {
    /// Threads that run or look for tasks, or sleep for want of them: not parked in a wait.
    active: AtomicUsize,
    /// How many of those there should be.
    target: AtomicUsize,
    pub(crate) stand_in: StandIn,
    bench: Mutex<Bench>,
}

/// The compensation threads that are off duty.
struct Bench {
    started: usize,
    resting: Vec<usize>,
}

impl Spares {
    /// For that many workers that work. Those that are benched do not count: they take nobody's
    /// core.
    pub(crate) fn new(workers: usize, stand_in: StandIn) -> Spares {
        Spares {
            active: AtomicUsize::new(workers),
            target: AtomicUsize::new(workers),
            stand_in,
            bench: Mutex::new(Bench {
                started: 0,
                resting: Vec::new(),
            }),
        }
    }

    /// The pool has `workers` workers from now on, and had `before`.
    ///
    /// A worker that waits got nobody in its place while enough others were at work. If those are
    /// the ones that are benched now, it gets somebody here: nobody else would look.
    ///
    /// One thread is to be at work even when the last worker has left: who stands in for that one
    /// may wait for a job.
    pub(crate) fn resize(&self, pool: &Arc<impl Parts>, before: usize, workers: usize) {
        // Ordering: Relaxed; it steers, as the count does.
        self.target.store(workers.max(1), Ordering::Relaxed);
        let change = workers.wrapping_sub(before);
        // Ordering: Relaxed; a count that steers. It wraps while workers that wait are taken away.
        let active = self.active.fetch_add(change, Ordering::Relaxed);
        let active = active.wrapping_add(change) as isize;
        if self.is_needed(pool.as_ref()) && !mutant("resize_replaces") {
            (active..workers as isize).for_each(|_| self.bring_in_one(pool));
        }
    }

    /// Whether who waits is to have somebody in its place now.
    fn is_needed(&self, pool: &impl Parts) -> bool {
        match self.stand_in {
            StandIn::ForAll => true,
            StandIn::ForJobs => pool.has_jobs(),
            StandIn::Nobody => false,
        }
    }

    fn is_short(&self, active: usize) -> bool {
        // Ordering: Relaxed; it steers, as the count does.
        (active as isize) < self.target.load(Ordering::Relaxed) as isize
    }

    /// The calling worker is about to park in a wait: another thread takes its core.
    pub(crate) fn replace_me(&self, pool: &Arc<impl Parts>) {
        // Ordering: Relaxed; a count that steers. Where jobs hang on it, their queues' locks order
        // it: who adds a job reads the count after, who leaves looks for jobs after.
        let active = self.active.fetch_sub(1, Ordering::Relaxed).wrapping_sub(1);
        let needed = self.is_needed(pool.as_ref());
        if self.is_short(active) && needed {
            self.bring_in_one(pool);
        }
    }

    /// The calling worker goes on. A compensation thread that is now too many leaves by itself.
    pub(crate) fn back_again(&self) {
        // Ordering: Relaxed; a count that steers, nothing hangs on it.
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    /// A job has been added, and no worker was idle to be woken for it. Whether a thread was
    /// called.
    pub(crate) fn job_waits(&self, pool: &Arc<impl Parts>) -> bool {
        // Ordering: Relaxed, as in `replace_me`.
        let short = || self.is_short(self.active.load(Ordering::Relaxed));
        let calls = self.stand_in == StandIn::ForJobs && short();
        if calls {
            self.bring_in_one(pool);
        }
        calls
    }

    /// One more thread, if there is one to be had.
    pub(crate) fn bring_in_one(&self, pool: &Arc<impl Parts>) {
        if pool.has_lent_threads() {
            if let Some(index) = self.take_seat(pool.as_ref()) {
                pool.unpark(index);
            }
            return;
        }
        let mut bench = self.bench.lock();
        if let Some(index) = bench.resting.pop() {
            // Ordering: Relaxed; a count that steers, nothing hangs on it.
            self.active.fetch_add(1, Ordering::Relaxed);
            drop(bench);
            pool.unpark(index);
            return;
        }
        let index = pool.workers() + bench.started;
        // Without a thread to be had, the core stays idle until a wait is over.
        if index < pool.most() {
            // Ordering: Relaxed; a count that steers, nothing hangs on it. Counted first: the
            // thread may park in a wait before this one goes on.
            self.active.fetch_add(1, Ordering::Relaxed);
            if matches!(pool.start_thread(index), Ok(true)) {
                bench.started += 1;
            } else {
                // Ordering: Relaxed, as above.
                self.active.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// A spare seat of a share, for the caller to call or to take.
    pub(crate) fn take_seat(&self, pool: &impl Parts) -> Option<usize> {
        let mut bench = self.bench.lock();
        let index = bench.resting.pop().or_else(|| {
            let index = pool.workers() + bench.started;
            let is_made = index < pool.most() && pool.make_seat(index);
            bench.started += usize::from(is_made);
            is_made.then_some(index)
        })?;
        // Ordering: Relaxed; a count that steers, nothing hangs on it.
        self.active.fetch_add(1, Ordering::Relaxed);
        Some(index)
    }

    /// The thread at a spare seat of a share is about to leave it. True if it is not needed, and
    /// waits on the bench to be brought in.
    pub(crate) fn rest_seat(&self, pool: &impl Parts, index: usize) -> bool {
        let mut bench = self.bench.lock();
        let rests = self.may_rest(pool);
        if rests {
            bench.resting.push(index);
        }
        rests
    }

    /// The calling compensation thread, which has nothing to do, rests until it is brought in
    /// again, or the pool closes, unless it turns out to be needed.
    pub(crate) fn rest(&self, pool: &impl Parts, index: usize) {
        let mut bench = self.bench.lock();
        if !self.may_rest(pool) {
            return;
        }
        bench.resting.push(index);
        while bench.resting.contains(&index) && !pool.crew().is_closing() {
            drop(bench);
            park();
            bench = self.bench.lock();
        }
        bench.resting.retain(|&resting| resting != index);
    }

    /// Whether that seat's thread rests.
    pub(crate) fn is_resting(&self, seat: usize) -> bool {
        let bench = self.bench.lock();
        bench.resting.contains(&seat)
    }

    /// Takes the calling thread out of the count, if it can be spared.
    fn may_rest(&self, pool: &impl Parts) -> bool {
        if self.stand_in == StandIn::ForAll {
            // Ordering: Relaxed; it steers, as the count does.
            let target = self.target.load(Ordering::Relaxed) as isize;
            let one_less = |active| (active as isize > target).then(|| active - 1);
            // Ordering: Relaxed; one change of the count decides who may rest.
            let rests = self
                .active
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
            return rests.is_ok();
        }
        // Ordering: Relaxed, as in `replace_me`. Who adds a job either sees the count and waits for
        // the bench, or the job is seen here.
        self.active.fetch_sub(1, Ordering::Relaxed);
        let needed = !mutant("rest_looks_for_jobs") && pool.has_jobs();
        if needed {
            self.back_again();
        }
        !needed
    }

    /// Whether a compensation thread should look if it can rest. A hint.
    pub(crate) fn is_one_too_many(&self) -> bool {
        // Ordering: Relaxed; hints.
        let target = self.target.load(Ordering::Relaxed) as isize;
        self.stand_in != StandIn::ForAll || self.active.load(Ordering::Relaxed) as isize > target
    }
}
