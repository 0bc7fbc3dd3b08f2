//! Compensation threads: who has to park in a wait gives its core to one of them.
//!
//! What takes the place of such a worker differs from pool to pool ([`StandIn`]). All that hangs on
//! it is decided here: workers, sleepers and wakers say what has happened to them, and do what they
//! are told.

use std::sync::Arc;

use super::lending::IndexUse;
use super::parts::Parts;
use crate::machine::meeting_points::park;
use crate::machine::prim::{AtomicBool, AtomicUsize, Mutex, Ordering, mutant};
use crate::workers::priority::Priority;

/// How a pool replaces a worker that is parked in a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandIn {
    /// A compensation thread takes its core, for tasks and jobs alike; half of the compensation
    /// threads, for jobs alone.
    ForAll,
    /// A compensation thread is brought in when a job waits while a worker does, and runs jobs
    /// only, each with the index of such a worker. So tasks run on the pool's own workers alone.
    /// When all compensation threads wait as well, workers do as in [`StandIn::Nobody`].
    ForJobs,
    /// The worker itself runs a job that waits, on top of its frame. For pools whose threads are
    /// the user's own, which start no other. Gives up contract 4 as far as jobs are concerned.
    Nobody,
}

impl StandIn {
    /// How many compensation threads there can be, where the pool could have so many.
    pub(crate) fn spares(self, most: usize) -> usize {
        match self {
            StandIn::ForAll | StandIn::ForJobs => most,
            StandIn::Nobody => 0,
        }
    }

    /// How the thread at that seat uses its index.
    pub(crate) fn index_use(self, seat: usize, workers: usize) -> IndexUse {
        match self {
            StandIn::ForJobs if seat < workers => IndexUse::Lends,
            StandIn::ForJobs => IndexUse::Borrows,
            StandIn::ForAll | StandIn::Nobody => IndexUse::Keeps,
        }
    }

    /// The first seat whose thread runs jobs only.
    pub(crate) fn first_for_jobs(self, workers: usize, spares: usize) -> usize {
        match self {
            StandIn::ForAll => workers + spares.div_ceil(2),
            StandIn::ForJobs | StandIn::Nobody => workers,
        }
    }
}

/// Keeps as many threads at work as the pool has workers, while some of these are parked in waits.
/// Not fewer where the machine has fewer cores: who asks for more workers than cores may do so
/// because tasks block, and nobody but the user knows.
pub(crate) struct Spares {
    /// Threads that run or look for tasks, or sleep for want of them: not parked in a wait.
    active: AtomicUsize,
    /// How many of those there should be.
    target: AtomicUsize,
    stand_in: StandIn,
    bench: Mutex<Bench>,
    /// A job waited, and no compensation thread was to be had for it; none has rested since.
    all_away: AtomicBool,
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
            all_away: AtomicBool::new(false),
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

    /// A worker that is at work, as far as anybody knows, may never look for a job again. It counts
    /// no more, and when it leaves it counts one too few: then somebody may be brought in who is
    /// not needed.
    pub(crate) fn do_without_one(&self, pool: &Arc<impl Parts>) {
        // Ordering: Relaxed, as in `replace_me`.
        let active = self.active.fetch_sub(1, Ordering::Relaxed).wrapping_sub(1);
        if self.is_short(active) && pool.has_jobs() {
            self.bring_in_one(pool);
        }
    }

    /// The calling worker goes on. A compensation thread that is now too many leaves by itself.
    pub(crate) fn back_again(&self) {
        // Ordering: Relaxed; a count that steers, nothing hangs on it.
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    /// A job is there, and no worker was idle to be woken for it. Whether a thread was called.
    pub(crate) fn job_waits(&self, pool: &Arc<impl Parts>) -> bool {
        match self.stand_in {
            StandIn::ForAll => false,
            StandIn::ForJobs => {
                // Ordering: Relaxed, as in `replace_me`.
                let calls = self.is_short(self.active.load(Ordering::Relaxed));
                if calls {
                    self.bring_in_one(pool);
                }
                calls
            }
            StandIn::Nobody => pool.wake_one_of(pool.waiting()),
        }
    }

    /// A call from a worker of another pool was injected, and `woken` says whether somebody was
    /// woken for it. All may be busy, some with waiting for what this call is part of (a lock that
    /// a frame further out holds, say): so it gets a thread of its own. (Where threads stand in for
    /// jobs, it gets one when a worker waits, whose index that thread can show.)
    pub(crate) fn call_waits(&self, pool: &Arc<impl Parts>, woken: bool) {
        match self.stand_in {
            StandIn::ForAll if !woken => self.bring_in_one(pool),
            StandIn::ForAll | StandIn::ForJobs | StandIn::Nobody => {}
        }
    }

    /// A worker of another pool calls, from within so many calls that keep a thread each. Returns
    /// how many these are with this one, which keeps none where a worker that waits runs it when
    /// all compensation threads wait as well.
    pub(crate) fn nest_call(&self, within: usize) -> usize {
        match self.stand_in {
            StandIn::ForAll => within + 1,
            StandIn::ForJobs | StandIn::Nobody => within,
        }
    }

    /// Whether who drops a pool beside its adopted thread has waited for long enough: until what is
    /// left has been done, as `is_quiet` says. Not at all where compensation threads may need the
    /// index of that thread, which can be elsewhere.
    pub(crate) fn is_wait_over(&self, is_quiet: impl FnOnce() -> bool) -> bool {
        match self.stand_in {
            StandIn::ForJobs => true,
            StandIn::ForAll | StandIn::Nobody => is_quiet(),
        }
    }

    /// Whether somebody takes every task of a worker that waits, where thieves leave fewer than
    /// `least` alone: a compensation thread for tasks takes whatever they take. As a job a task
    /// would run in any case.
    #[inline]
    pub(crate) fn takes_any(&self, least: usize) -> bool {
        match self.stand_in {
            StandIn::ForAll => least == 1,
            StandIn::ForJobs | StandIn::Nobody => false,
        }
    }

    /// The calling worker parks because its task is away. It does so `alone` if a compensation
    /// thread takes what that task leads to. Otherwise it has to run that itself, so it parks
    /// `following` those who have it. True if there was something to run before it could park.
    pub(crate) fn park_awaiting(
        &self,
        alone: impl FnOnce(),
        following: impl FnOnce() -> bool,
    ) -> bool {
        match self.stand_in {
            StandIn::ForAll => {
                alone();
                false
            }
            StandIn::ForJobs | StandIn::Nobody => following(),
        }
    }

    /// The calling worker looks for work a last time before it parks in a wait. From here on it is
    /// on call for jobs, if nobody stands in for it.
    pub(crate) fn on_call(&self, pool: &impl Parts, me: usize) {
        match self.stand_in {
            StandIn::ForAll | StandIn::ForJobs => {}
            StandIn::Nobody => pool.waiting().announce(me),
        }
    }

    /// The calling thread, which is on call for that class and above, can run a job on top of its
    /// frame by `run`, of what class at least. Whether it has. When all compensation threads wait,
    /// they may wait for a job of any class, which they would have run.
    pub(crate) fn run_on_call(
        &self,
        pool: &impl Parts,
        me: usize,
        class: Priority,
        run: impl FnOnce(Priority) -> bool,
    ) -> bool {
        match self.stand_in {
            StandIn::ForAll => false,
            // Ordering: Relaxed; who sets it unparks this thread then.
            StandIn::ForJobs => {
                let is_called = me < pool.workers() && self.all_away.load(Ordering::Relaxed);
                is_called && run(Priority::Low)
            }
            StandIn::Nobody => run(class),
        }
    }

    /// Whether a job is left to the calling worker, which is on call for that class and above.
    /// Looks under the locks, as before any sleep.
    pub(crate) fn leaves_job(&self, pool: &impl Parts, class: Priority) -> bool {
        match self.stand_in {
            StandIn::ForAll | StandIn::ForJobs => false,
            StandIn::Nobody => !mutant("waiting_looks_for_jobs") && pool.has_jobs_from(class),
        }
    }

    /// The calling worker's wait is over. A job for which it may have been called meanwhile goes to
    /// another one.
    pub(crate) fn off_call(&self, pool: &Arc<impl Parts>, me: usize) {
        match self.stand_in {
            StandIn::ForAll | StandIn::ForJobs => {}
            StandIn::Nobody => pool.waiting().retract(me).pay(|| {
                if pool.has_jobs() && !mutant("waiting_passes_on") {
                    self.job_waits(pool);
                }
            }),
        }
    }

    /// One more thread, if there is one to be had. If there is none, workers that wait run jobs
    /// themselves until one rests.
    pub(crate) fn bring_in_one(&self, pool: &Arc<impl Parts>) {
        if pool.has_lent_threads() {
            match self.take_seat(pool.as_ref()) {
                Some(index) => pool.unpark(index),
                None => self.call_workers(pool.as_ref()),
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
                return;
            }
            // Ordering: Relaxed, as above.
            self.active.fetch_sub(1, Ordering::Relaxed);
        }
        self.note_all_away();
        drop(bench);
        self.call_workers(pool.as_ref());
    }

    /// No compensation thread is to be had. Under the bench's lock, so that one that rests after
    /// this look, and can be had then, takes it back.
    fn note_all_away(&self) {
        if !mutant("all_away_is_told") {
            // Ordering: Relaxed; the unpark that follows carries it.
            self.all_away.store(true, Ordering::Relaxed);
        }
    }

    /// All compensation threads wait, or are at work and about to look for jobs. Workers that wait
    /// look whether there is a job for them.
    #[cold]
    fn call_workers(&self, pool: &impl Parts) {
        match self.stand_in {
            StandIn::ForJobs => pool.unpark_all(),
            StandIn::ForAll | StandIn::Nobody => {}
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
        });
        let Some(index) = index else {
            self.note_all_away();
            return None;
        };
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
            self.put_to_rest(&mut bench, index);
        }
        rests
    }

    fn put_to_rest(&self, bench: &mut Bench, index: usize) {
        bench.resting.push(index);
        // Ordering: Relaxed; a hint from here on.
        self.all_away.store(false, Ordering::Relaxed);
    }

    /// The calling compensation thread, which has nothing to do, rests until it is brought in
    /// again, or the pool closes, unless it turns out to be needed.
    pub(crate) fn rest(&self, pool: &impl Parts, index: usize) {
        let mut bench = self.bench.lock();
        if !self.may_rest(pool) {
            return;
        }
        self.put_to_rest(&mut bench, index);
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
        // the bench, or the job is seen here. If as many are at work as should be, one of those
        // takes it, and who parks in a wait before looks for jobs.
        let active = self.active.fetch_sub(1, Ordering::Relaxed).wrapping_sub(1);
        let looks = !mutant("rest_looks_for_jobs");
        let needed = looks && self.is_short(active) && pool.has_jobs();
        if needed {
            self.back_again();
        }
        !needed
    }

    /// Whether a compensation thread should look if it can rest: one for tasks if more are at work
    /// than should be, one for jobs if there is none. A hint.
    pub(crate) fn is_one_too_many(&self, pool: &impl Parts) -> bool {
        // Ordering: Relaxed; hints.
        let target = self.target.load(Ordering::Relaxed) as isize;
        // Ordering: Relaxed, as above.
        let is_too_many = self.active.load(Ordering::Relaxed) as isize > target;
        match self.stand_in {
            StandIn::ForAll => is_too_many,
            StandIn::ForJobs | StandIn::Nobody => is_too_many || pool.injector().is_hint_empty(),
        }
    }
}
