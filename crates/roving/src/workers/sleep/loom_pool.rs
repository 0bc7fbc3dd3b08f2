//! A pool for the model checker: the parts that sleepers, wakers and waiting workers meet in,
//! threads of loom, and nothing else.

use std::io;
use std::sync::Arc;

use super::crew::Crew;
use super::idle::IdleSet;
use super::in_use::InUse;
use super::lookers::{Lookers, Looking};
use super::parts::Parts;
use super::roster::{Roster, post};
use super::sleep_loop::Sleeper;
use super::spares::{Spares, StandIn};
use crate::machine::meeting_points::park;
use crate::machine::prim::thread::{self, Thread, spawn};
use crate::machine::prim::{AtomicBool, AtomicUsize, OnceLock, Ordering};
use crate::stack::loom_tests::{self, Made, not_run};
use crate::stack::owner::Owner;
use crate::stack::thief::Claim;
use crate::stack::{Showing, TaskStack};
use crate::stats::Activity;
use crate::workers::inject::{Injector, JobKind, JobQueue};
use crate::workers::job::Job;
use crate::workers::priority::Priority;

pub(crate) struct SmallPool {
    idle: IdleSet,
    waiting: IdleSet,
    in_use: InUse,
    lookers: Lookers,
    crew: Crew,
    spares: Spares,
    injector: Injector,
    following: AtomicUsize,
    roster: Roster,
    workers: usize,
    seats: Vec<SmallSeat>,
    /// Calls a thread for a seat that has none of its own.
    calls: Option<Box<dyn Fn(usize) + Send + Sync>>,
    /// A thread that is none of its workers adds jobs until it leaves.
    adopts: bool,
    /// The main function of a spare worker's thread.
    run_spare: fn(SmallWorker),
    /// Written when a spare worker is made, read by those who look at its stack.
    made: Made,
    /// How many jobs have run.
    ran: AtomicUsize,
}

struct SmallSeat {
    stack: TaskStack,
    mailbox: JobQueue,
    spawned: JobQueue,
    followers: IdleSet,
    works_for: AtomicUsize,
    vacant: AtomicBool,
    thread: OnceLock<Thread>,
}

impl SmallPool {
    /// One spare worker, beyond those.
    pub(crate) fn new(
        workers: usize,
        stand_in: StandIn,
        run_spare: fn(SmallWorker),
    ) -> Arc<SmallPool> {
        Arc::new(SmallPool::with((workers, 1), stand_in, run_spare))
    }

    /// One worker, for which nobody is to be had who stands in for jobs.
    pub(crate) fn without_spares() -> Arc<SmallPool> {
        let no_spare = |_| unreachable!("there is no seat for one");
        Arc::new(SmallPool::with((1, 0), StandIn::ForJobs, no_spare))
    }

    /// Two spare workers.
    pub(crate) fn with_two_spares(workers: usize, run_spare: fn(SmallWorker)) -> Arc<SmallPool> {
        Arc::new(SmallPool::with((workers, 2), StandIn::ForAll, run_spare))
    }

    /// A pool that has adopted the calling thread.
    pub(crate) fn adopting(workers: usize, run_spare: fn(SmallWorker)) -> Arc<SmallPool> {
        let mut pool = SmallPool::with((workers, 1), StandIn::ForAll, run_spare);
        pool.adopts = true;
        pool.crew.adopt();
        Arc::new(pool)
    }

    /// A pool whose seats have no threads, and are all asleep; `calls` asks for one.
    pub(crate) fn lent(
        workers: usize,
        calls: impl Fn(usize) + Send + Sync + 'static,
    ) -> Arc<SmallPool> {
        let no_spare = |_| unreachable!("no thread of its own");
        let mut pool = SmallPool::with((workers, 1), StandIn::ForJobs, no_spare);
        pool.calls = Some(Box::new(calls));
        for seat in 0..workers {
            pool.idle.announce(seat);
            let _ = pool.seats[seat].stack.want();
        }
        Arc::new(pool)
    }

    fn with(
        (workers, spares): (usize, usize),
        stand_in: StandIn,
        run_spare: fn(SmallWorker),
    ) -> SmallPool {
        let showing = Showing::SMALL;
        let most = workers + spares;
        let seat = |_| SmallSeat {
            stack: TaskStack::new(showing),
            mailbox: JobQueue::new(),
            spawned: JobQueue::new(),
            followers: IdleSet::new(most),
            works_for: AtomicUsize::new(usize::MAX),
            vacant: AtomicBool::new(false),
            thread: OnceLock::new(),
        };
        SmallPool {
            idle: IdleSet::new(most),
            waiting: IdleSet::new(most),
            in_use: InUse::new(workers),
            lookers: Lookers::new(),
            crew: Crew::new(),
            spares: Spares::new(workers, stand_in),
            injector: Injector::new(),
            following: AtomicUsize::new(0),
            roster: Roster::new(workers),
            workers,
            adopts: false,
            seats: (0..most).map(seat).collect(),
            calls: None,
            run_spare,
            made: Made::new(),
            ran: AtomicUsize::new(0),
        }
    }

    /// A job that counts itself.
    pub(crate) fn inject(self: &Arc<SmallPool>) {
        self.injector
            .push(Priority::Normal, JobKind::Detached, self.job());
        self.job_was_added();
    }

    /// Injects a job as that worker's own.
    pub(crate) fn spawn(self: &Arc<SmallPool>, worker: usize) {
        self.seats[worker]
            .spawned
            .push(JobKind::Detached, self.job());
        self.job_was_added();
    }

    /// Posts a job that is for that worker alone.
    pub(crate) fn post(self: &Arc<SmallPool>, worker: usize) {
        post(self.as_ref(), worker, JobKind::Awaited, self.job(), || {
            false
        });
    }

    /// Adds a job that unparks the calling thread when it has run.
    pub(crate) fn inject_awaited(self: &Arc<SmallPool>) {
        self.injector
            .push(Priority::Normal, JobKind::Awaited, self.awaited());
        self.job_was_added();
    }

    /// Posts such a job to that worker.
    pub(crate) fn post_awaited(self: &Arc<SmallPool>, worker: usize) {
        post(
            self.as_ref(),
            worker,
            JobKind::Awaited,
            self.awaited(),
            || false,
        );
    }

    fn awaited(self: &Arc<SmallPool>) -> Job {
        let (job, waits) = (self.job(), thread::current());
        Job::new(move || {
            job.run();
            waits.unpark();
        })
    }

    /// Returns when that many jobs have run, of which the last one was awaited.
    pub(crate) fn wait_until_run(&self, jobs: usize) {
        while self.has_run() < jobs {
            park();
        }
    }

    fn job(self: &Arc<SmallPool>) -> Job {
        let pool = Arc::clone(self);
        Job::new(move || {
            // Ordering: Relaxed; read after the threads were joined, or as a hint.
            pool.ran.fetch_add(1, Ordering::Relaxed);
        })
    }

    /// Counts what a thread has run that is no job.
    pub(crate) fn count_run(&self) {
        // Ordering: Relaxed; a hint.
        self.ran.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn has_run(&self) -> usize {
        // Ordering: Relaxed, as where it is written.
        self.ran.load(Ordering::Relaxed)
    }

    /// Returns when nobody looks into a stack of the calling thread any more, where no jobs run:
    /// as in a real pool, its thread ends only then.
    pub(crate) fn wait_for_thieves(&self) {
        self.wait_until_run(1);
    }

    /// Nobody looks into the stack of that seat any more.
    pub(crate) fn no_thieves_of(&self, seat: usize) {
        self.count_run();
        self.unpark(seat);
    }

    /// Starts the thread of a worker, as a real pool does.
    pub(crate) fn start(self: &Arc<SmallPool>, index: usize, run: fn(SmallWorker)) {
        let pool = Arc::clone(self);
        let begin = move || run(SmallWorker::begin(&pool, index));
        let started = self.crew.start(|| Ok::<_, ()>(spawn(begin)));
        assert_eq!(started, Ok(true));
    }

    /// Nothing will come from outside any more.
    pub(crate) fn close(&self) {
        self.crew.close().pay(|| self.unpark_all());
    }

    /// The adopted thread leaves.
    pub(crate) fn let_go(&self) {
        let ended = self.crew.let_go(|| self.has_mail());
        ended.pay(|| self.unpark_all());
    }

    pub(crate) fn join(&self) {
        for thread in self.crew.take_threads() {
            thread.join().unwrap();
        }
    }

    pub(crate) fn set_works_for(&self, seat: usize, other: usize) {
        // Ordering: Relaxed; a hint, as in the real one.
        self.seats[seat].works_for.store(other, Ordering::Relaxed);
    }
}

impl Parts for SmallPool {
    fn idle(&self) -> &IdleSet {
        &self.idle
    }

    fn waiting(&self) -> &IdleSet {
        &self.waiting
    }

    fn in_use(&self) -> &InUse {
        &self.in_use
    }

    fn lookers(&self) -> &Lookers {
        &self.lookers
    }

    fn crew(&self) -> &Crew {
        &self.crew
    }

    fn spares(&self) -> &Spares {
        &self.spares
    }

    fn injector(&self) -> &Injector {
        &self.injector
    }

    fn following(&self) -> &AtomicUsize {
        &self.following
    }

    fn roster(&self) -> &Roster {
        &self.roster
    }

    fn is_vacant(&self, seat: usize) -> bool {
        // Ordering: Relaxed, as in the real one.
        self.seats[seat].vacant.load(Ordering::Relaxed)
    }

    fn close_place(&self, _: usize) {}

    fn set_vacant(&self, seat: usize) {
        // Ordering: Relaxed, as in the real one.
        self.seats[seat].vacant.store(true, Ordering::Relaxed);
    }

    fn stack(&self, seat: usize) -> &TaskStack {
        if seat >= self.workers {
            self.made.see();
        }
        &self.seats[seat].stack
    }

    fn mailbox(&self, seat: usize) -> &JobQueue {
        &self.seats[seat].mailbox
    }

    fn spawned(&self, seat: usize) -> &JobQueue {
        &self.seats[seat].spawned
    }

    fn followers(&self, seat: usize) -> &IdleSet {
        &self.seats[seat].followers
    }

    fn works_for(&self, seat: usize) -> Option<usize> {
        // Ordering: Relaxed; a hint.
        let other = self.seats[seat].works_for.load(Ordering::Relaxed);
        (other != usize::MAX).then_some(other)
    }

    fn unpark(&self, seat: usize) {
        match &self.calls {
            Some(calls) => calls(seat),
            None => {
                if let Some(thread) = self.seats[seat].thread.get() {
                    thread.unpark();
                }
            }
        }
    }

    fn workers(&self) -> usize {
        self.workers
    }

    fn most(&self) -> usize {
        self.seats.len()
    }

    fn has_mail(&self) -> bool {
        let has_mail =
            |seat: &SmallSeat| seat.thread.get().is_some() && !seat.mailbox.is_surely_empty();
        self.seats.iter().any(has_mail) || self.adopts && self.has_jobs()
    }

    fn unpark_all(&self) {
        (0..self.seats.len()).for_each(|seat| self.unpark(seat));
    }

    fn start_thread(self: &Arc<SmallPool>, index: usize) -> io::Result<bool> {
        let (pool, run) = (Arc::clone(self), self.run_spare);
        self.crew.start(|| {
            self.made.make();
            let thread = spawn(move || run(SmallWorker::begin(&pool, index)));
            self.in_use.take(index);
            Ok(thread)
        })
    }

    fn make_seat(&self, _: usize) -> bool {
        false
    }

    fn has_lent_threads(&self) -> bool {
        false
    }
}

/// One of its workers.
pub(crate) struct SmallWorker {
    pub(crate) pool: Arc<SmallPool>,
    pub(crate) index: usize,
    pub(crate) looking: Looking,
}

impl SmallWorker {
    /// The calling thread becomes that worker, in the steps of a real one.
    pub(crate) fn begin(pool: &Arc<SmallPool>, index: usize) -> SmallWorker {
        let seat = &pool.seats[index];
        pool.crew.enlist(|| {
            seat.thread.get_or_init(thread::current);
        });
        let _ = seat.stack.want();
        let pool = Arc::clone(pool);
        let looking = Looking::default();
        SmallWorker {
            pool,
            index,
            looking,
        }
    }

    /// Its stack, attached to the calling thread.
    pub(crate) fn owner(&self) -> Owner<'_> {
        loom_tests::owner(&self.pool.seats[self.index].stack)
    }

    /// Pushes a task, and wakes a worker if that says so.
    pub(crate) fn push(&self, owner: &Owner<'_>, payload: u64) {
        let (_, wake) = owner.push(not_run, payload).expect("room");
        wake.pay(|| {
            self.pool.wake_for_shown(self.index);
        });
    }

    /// Runs one job: of its mailbox, from outside, or spawned by any worker.
    pub(crate) fn run_job(&self) -> bool {
        let (pool, me) = (&self.pool, self.index);
        let job = pool.seats[me].mailbox.pop();
        let job = job.or_else(|| pool.injector.pop().map(|(job, _)| job));
        let job = job.or_else(|| pool.seats.iter().find_map(|seat| seat.spawned.pop()));
        let is_one = job.is_some();
        if let Some(job) = job {
            job.run();
        }
        is_one
    }

    /// Runs a task of that seat, whose worker blocks and has shown all that it has.
    pub(crate) fn run_task_of(&self, seat: usize) -> bool {
        let stack = self.pool.stack(seat);
        loop {
            match stack.claim(0, |_| 1) {
                Claim::Won { index, remind, .. } => {
                    remind.waive("the owner blocks, and has shown all");
                    let slot = stack.slot(index);
                    slot.begin(self.index, 0);
                    let (_, ended) = loom_tests::run_and_finish(slot);
                    ended.pay(|| self.pool.unpark(seat));
                    self.pool.count_run();
                    self.pool.unpark(seat);
                    return true;
                }
                Claim::Busy => thread::yield_now(),
                Claim::Empty => return false,
            }
        }
    }
}

impl Sleeper for SmallWorker {
    type Pool = SmallPool;

    fn pool(&self) -> &Arc<SmallPool> {
        &self.pool
    }

    fn index(&self) -> usize {
        self.index
    }

    fn victims(&self) -> impl Iterator<Item = usize> {
        (0..self.pool.in_use.count()).filter(|&seat| seat != self.index)
    }

    fn takes_of(&self, public: usize) -> bool {
        public > 0
    }

    fn wake_another(&self) {
        self.pool.wake_one();
    }

    fn looking(&self) -> &Looking {
        &self.looking
    }

    fn serve_mailbox(&self) -> bool {
        let job = self.pool.mailbox(self.index).pop();
        job.map(Job::run).is_some()
    }

    fn count_park(&self) {}

    fn turn_to(&self, _: Activity) {}
}
