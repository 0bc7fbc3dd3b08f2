//! The registry: the shared state of one pool's threads.

use std::fmt;
use std::io;
use std::sync::{Arc, Weak};

use super::seats::{Seat, Seats, TaskSettings};
use super::size::Size;
use crate::inherit::token::Token;
use crate::machine::apart::Apart;
use crate::machine::faults;
use crate::machine::meeting_points::{At, meet};
use crate::machine::os;
use crate::machine::prim::{AtomicUsize, Padded};
use crate::stack::policy::Shown;
use crate::stack::{Showing, TaskStack};
use crate::stats::lane::Event;
use crate::stats::{Activity, Keep};
use crate::workers::inject::{Injector, JobKind, JobQueue};
use crate::workers::job::Job;
use crate::workers::pool_kind::PoolKind;
use crate::workers::priority::Priority;
use crate::workers::settings::Settings;
use crate::workers::sleep::Parts;
use crate::workers::sleep::crew::Crew;
use crate::workers::sleep::idle::IdleSet;
use crate::workers::sleep::in_use::InUse;
use crate::workers::sleep::lending::Lending;
use crate::workers::sleep::lookers::Lookers;
use crate::workers::sleep::roster::{self, Roster};
use crate::workers::sleep::spares::Spares;
use crate::workers::steal::patience::Others;
use crate::workers::stopping::Stopping;
use crate::workers::watched_parks::ParkTable;

/// The settings of a pool, and its kind.
pub(crate) type Plan = (Apart<Box<Settings>>, Box<dyn PoolKind>);

/// In the place of [`os::forks`]: the pool can be used in any process.
pub(crate) const ANY: usize = usize::MAX;

/// The functions of a pool that its registry calls: the registry is a table, and knows nobody who
/// works at it.
#[derive(Clone, Copy)]
pub(crate) struct Hooks {
    /// A thread, from start to end, at the seat with that index.
    pub(crate) run: fn(Arc<Registry>, usize),
    /// Which worker of this pool the calling thread is, if it is one.
    pub(crate) here: fn(&Registry) -> Option<usize>,
    /// Whether the calling thread is a worker, of whatever pool.
    pub(crate) is_worker: fn() -> bool,
    /// Called when the pool has ended, with what its workers have counted.
    pub(crate) settle: fn(&Registry),
    /// Called when nobody works in the pool any more, before its end.
    pub(crate) leave: fn(&Registry),
}

/// A pool's shared state. The pool and each of its threads hold it.
pub(crate) struct Registry {
    pub(crate) seats: Apart<Seats>,
    pub(crate) settings: Apart<Box<Settings>>,
    pub(crate) kind: Box<dyn PoolKind>,
    pub(crate) hooks: Hooks,
    pub(crate) idle: IdleSet,
    /// Workers that are parked in a wait and would run a job, in pools without compensation
    /// threads.
    pub(crate) waiting: IdleSet,
    /// How many workers follow others, see [`crate::workers::wait`].
    pub(crate) following: AtomicUsize,
    pub(crate) lending: Lending,
    pub(crate) injector: Injector,
    pub(crate) spares: Spares,
    pub(crate) in_use: InUse,
    lookers: Padded<Lookers>,
    pub(crate) others: Padded<Others>,
    pub(crate) crew: Crew,
    pub(crate) stopping: Stopping,
    /// Where its workers wait, if that is asked for.
    pub(crate) watch: Option<ParkTable>,
    /// Everything that runs here belongs to it.
    pub(crate) cancel: Arc<Token>,
    /// [`os::forks`] when the threads were started.
    forks: usize,
    pub(crate) mark: PoolMark,
    pub(crate) size: Size,
}

/// Tells a pool from others, also when it is gone: its address, and in the lowest bits in which
/// process it can be used. So a task need not keep its pool to know that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolMark(usize);

impl PoolMark {
    /// These bits of an address are 0. A process that is so many forks further down takes a pool
    /// for its own.
    const PROCESS: usize = 0x3f;

    fn new(pool: *const Registry, forks: usize) -> PoolMark {
        const { assert!(align_of::<Registry>() > PoolMark::PROCESS) };
        PoolMark(pool.addr() | PoolMark::process(forks))
    }

    fn process(forks: usize) -> usize {
        match forks {
            ANY => PoolMark::PROCESS,
            forks => forks % PoolMark::PROCESS,
        }
    }

    /// As [`Registry::check_is_here`].
    ///
    /// # Panics
    /// If the pool was left behind.
    pub(crate) fn check_is_here(self) {
        let process = self.0 & PoolMark::PROCESS;
        if process != PoolMark::process(os::forks()) && process != PoolMark::PROCESS {
            panic!(
                "the task's pool has no threads in this process, which was forked after the pool was \
                 built: build one in the child"
            );
        }
    }
}

impl Registry {
    /// The plan comes back when there is no memory.
    pub(crate) fn new((settings, kind): Plan, hooks: Hooks) -> Result<Arc<Registry>, Plan> {
        let workers = settings.workers;
        let spares = settings.stand_in.spares(kind.spares(settings.spares));
        let least = settings.amount.least();
        let shown = Shown::of(workers, least);
        let showing = Showing {
            slots: settings.slots,
            unasked: shown.unasked,
            thieves: shown.thieves,
            wide: shown.wide,
            least,
            everything: settings.amount != crate::workers::steal::amount::Amount::One,
            watched: settings.keep() != Keep::Nothing,
        };
        let showing = kind.showing(showing);
        let tasks = TaskSettings {
            order: settings.spawn_order,
            migrate: settings.migrate,
        };
        let (seats, size) = ((workers, spares), settings.size.min(workers));
        let Some(seats) = Seats::new(
            showing,
            settings.keep(),
            tasks,
            &|seat| kind.desk(seat),
            seats,
        ) else {
            kind.unmade();
            return Err((settings, kind));
        };
        let forks = kind.forks();
        Ok(Arc::new_cyclic(|this: &Weak<Registry>| Registry {
            seats: Apart::new(seats),
            idle: IdleSet::new(workers + spares),
            waiting: IdleSet::new(workers + spares),
            following: AtomicUsize::new(0),
            lending: Lending::new(),
            injector: Injector::new(),
            spares: Spares::new(size, settings.stand_in),
            in_use: InUse::new(workers),
            lookers: Padded(Lookers::new()),
            others: Padded(Others::new()),
            crew: Crew::new(),
            stopping: Stopping::default(),
            watch: ParkTable::of(&settings.debt),
            cancel: Token::new(None, None),
            forks,
            mark: PoolMark::new(this.as_ptr(), forks),
            kind,
            size: Size::new(size),
            settings,
            hooks,
        }))
    }

    pub(crate) fn workers(&self) -> usize {
        self.settings.workers
    }

    /// Whether the pool cannot be used in this process, which was forked after the pool was built:
    /// its threads are not here, or a thread of the parent was in it that is not.
    pub(crate) fn is_left_behind(&self) -> bool {
        let here = os::forks();
        match self.forks {
            ANY => here != 0 && self.is_lost(),
            forks => forks != here,
        }
    }

    #[cold]
    #[inline(never)]
    fn is_lost(&self) -> bool {
        self.kind.is_lost(self)
    }

    /// Of a pool that was left behind even the figures may be locked by threads that are not here.
    ///
    /// # Panics
    /// If it is one.
    #[inline]
    pub(crate) fn check_is_here(&self) {
        if self.is_left_behind() {
            panic!("{}", self.left_behind());
        }
    }

    /// Nobody would run what is given to a pool that was left behind, and its locks may be held by
    /// threads that are not here; nor what is given to one whose workers are all gone. One whose
    /// only worker was an adopted thread that has ended gets a thread of its own here.
    ///
    /// # Panics
    /// If it is one of these, or that thread cannot be started.
    #[inline]
    pub(crate) fn check_has_threads(self: &Arc<Registry>) {
        self.check_is_here();
        let first = &self.seats[0];
        if self.size.roster.is_orphaned() {
            if let Err(error) = roster::replace_adopted(self) {
                self.has_no_thread(&error);
            }
        }
        // The first has a thread, mostly.
        if first.is_vacant() {
            self.check_has_others();
        }
    }

    /// Of a pool whose first worker has no thread any more.
    #[cold]
    fn check_has_others(&self) {
        // A thread that stands in for a worker may still be at work when that one has gone.
        if roster::manned(self).next().is_none() && !self.crew.is_at_work() {
            self.has_no_thread(&"its workers were dropped");
        }
    }

    #[cold]
    fn has_no_thread(&self, why: &dyn fmt::Display) -> ! {
        let name = &self.settings.name;
        panic!("the pool `{name}` has no thread any more, and none could be started: {why}")
    }

    /// Resizes the pool to what the process may use now. Returns how many workers work then.
    pub(crate) fn refresh(self: &Arc<Registry>) -> usize {
        // A pinned worker's own mask says nothing of the process.
        if !(self.settings.pins.is_there() && (self.hooks.is_worker)()) {
            let allowed = os::processors();
            roster::resize(self, allowed.clamp(1, self.workers()));
        }
        roster::working(self.as_ref())
    }

    #[cold]
    pub(crate) fn left_behind(&self) -> String {
        format!(
            "the pool `{}` has no threads in this process, which was forked after the pool was built: \
             build one in the child (and do not use the global pool before the fork)",
            self.settings.name
        )
    }

    /// Gives the pool a job from outside the task stacks. False if there was nobody to call for it.
    pub(crate) fn inject(self: &Arc<Registry>, kind: JobKind, job: Job) -> bool {
        self.inject_in(Priority::Normal, kind, job)
    }

    /// Injects a job of the given class.
    pub(crate) fn inject_in(
        self: &Arc<Registry>,
        class: Priority,
        kind: JobKind,
        job: Job,
    ) -> bool {
        if self.settings.follow_quota && self.size.is_due() {
            self.refresh();
        }
        self.injector.push(class, kind, job);
        let is_called = self.job_was_added();
        meet(At::Told);
        is_called
    }

    /// Injects a job that goes before all others: the thread that waits for it may hold them up.
    pub(crate) fn inject_urgent(self: &Arc<Registry>, job: Job) -> bool {
        self.injector.push_urgent(job);
        self.job_was_added()
    }

    /// Gives a job to one worker. If that has no thread, or none any more, the job is dropped.
    pub(crate) fn post(self: &Arc<Registry>, index: usize, kind: JobKind, job: Job) {
        let is_here = || (self.hooks.here)(self) == Some(index);
        roster::post(self.as_ref(), index, kind, job, is_here);
        roster::look_for_orphan(self);
        meet(At::Told);
    }

    /// The calling thread is that of the seat from now on. Under the lock, so that `close` either
    /// finds it to unpark, or is seen by it.
    pub(crate) fn enlist(&self, index: usize) {
        if let Some(watch) = &self.watch {
            watch.enlist(index);
        }
        self.crew.enlist(|| self.seats[index].sit_down());
    }

    /// Tells all threads to end once nothing is left to do.
    #[inline(never)]
    pub(crate) fn close(&self) {
        let closed = self.crew.close();
        if self.kind.close(self) {
            return closed.waive("no thread of its own sleeps");
        }
        self.crew.end_if_empty();
        closed.pay(|| self.unpark_all());
    }

    /// The calling thread is adopted.
    pub(crate) fn adopt(&self) {
        self.crew.adopt();
        self.enlist(0);
    }

    /// The pool is closed, and its adopted thread may come to nothing before the rest is done: it
    /// waits for the calling thread, say. Another thread takes its place, if there is something
    /// left to do, and whoever waits later gets somebody in its own place.
    pub(crate) fn do_without_adopted(self: &Arc<Registry>) {
        self.spares.do_without_one(self);
    }

    /// The pool is closed, and its adopted thread has added a job: sees to it that there is a
    /// thread for what is left to do. False if there is none to be had.
    pub(crate) fn call_for_the_rest(self: &Arc<Registry>) -> bool {
        if !self.crew.has_threads() && self.has_jobs() {
            self.spares.bring_in_one(self);
        }
        self.crew.has_threads()
    }

    /// Whether that has been done. If not, the calling thread is unparked later.
    pub(crate) fn is_quiet(&self) -> bool {
        self.spares
            .is_wait_over(|| self.crew.is_quiet(|| self.has_mail()))
    }

    /// Whether no worker will come to a job, because their threads are gone.
    pub(crate) fn has_lost_its_workers(&self) -> bool {
        self.crew.is_closing() && roster::manned(self).next().is_none()
    }

    /// Whether that seat's thread sleeps for want of work, as far as can be told by looking.
    pub(crate) fn rests(&self, seat: usize) -> bool {
        let place = &self.seats[seat];
        let is_left = place.desk.as_ref().is_some_and(|desk| desk.is_left());
        is_left
            || self.idle.contains(seat)
            || self.spares.is_resting(seat)
            || roster::is_benched(self, seat)
    }

    /// The thread of a worker that was expected will not come.
    #[inline]
    pub(crate) fn expect_no_thread(&self) {
        let ended = self.crew.expect_no_thread(|| self.has_mail());
        ended.pay(|| self.unpark_all());
    }

    /// Whether one of those from that seat on has mail, and a thread.
    pub(crate) fn has_mail_from(&self, first: usize) -> bool {
        let has_mail = |seat: &Seat| seat.thread().is_some() && !seat.mailbox.is_surely_empty();
        self.seats.iter().skip(first).any(has_mail)
    }

    /// All workers sleep, since no thread has been there.
    pub(crate) fn put_to_sleep(&self) {
        for index in 0..self.workers() {
            self.seats[index].clock.enter(Activity::Idle);
            if index < self.size.roster.size() {
                self.idle.announce(index);
            }
            let _ = self.seats[index].stack.want();
        }
    }
}

impl Parts for Registry {
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
        &self.size.roster
    }

    fn stack(&self, seat: usize) -> &TaskStack {
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
        self.seats[seat].works_for()
    }

    #[inline(never)]
    fn unpark(&self, seat: usize) {
        let seat = &self.seats[seat];
        seat.clock.note(|at| Event::Woken {
            by: (self.hooks.here)(self),
            at,
        });
        seat.unpark();
    }

    fn is_vacant(&self, seat: usize) -> bool {
        self.seats[seat].is_vacant()
    }

    fn set_vacant(&self, seat: usize) {
        self.seats[seat].vacate();
    }

    fn close_place(&self, seat: usize) {
        self.seats[seat].tasks.close_place();
    }

    fn workers(&self) -> usize {
        self.settings.workers
    }

    fn most(&self) -> usize {
        self.seats.most()
    }

    fn has_mail(&self) -> bool {
        self.kind.has_mail(self)
    }

    #[inline(never)]
    fn unpark_all(&self) {
        self.seats.iter().for_each(Seat::unpark);
    }

    fn start_thread(self: &Arc<Registry>, index: usize) -> io::Result<bool> {
        self.crew.start(|| {
            if !self.seats.make(index, &|seat| self.kind.desk(seat)) {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            let registry = Arc::clone(self);
            let run = self.hooks.run;
            let run = move || run(registry, index);
            self.kind.expect_thread(index);
            let thread = faults::start(self.settings.thread(index), run);
            if thread.is_err() {
                self.kind.expect_no_thread(index);
                // Nobody works there, unless a later try succeeds.
                self.seats[index].clock.enter(Activity::Idle);
            }
            let thread = thread?;
            self.in_use.take(index);
            Ok(thread)
        })
    }

    /// The caller holds a lock.
    fn make_seat(&self, index: usize) -> bool {
        if !self.seats.make(index, &|seat| self.kind.desk(seat)) {
            return false;
        }
        self.in_use.take(index);
        // In the name of those that sleep.
        let _ = self.seats[index].stack.want();
        true
    }

    fn has_lent_threads(&self) -> bool {
        self.seats[0].desk.is_some()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        (self.hooks.settle)(self);
    }
}

#[cfg(test)]
mod tests {
    use crate::Pool;
    use crate::workers::inject::JobKind;
    use crate::workers::job::Job;
    use crate::workers::sleep::Parts;

    /// The crew's threads are played by this one: worker 0 is asleep while worker 1 posts something
    /// to it and then finds nothing more to do.
    #[test]
    fn a_pool_ends_when_nobody_has_mail() {
        let mut threads = Vec::new();
        let pool = Pool::builder().workers(2).build_with(|thread| {
            threads.push(thread);
            Ok(())
        });
        let pool = pool.unwrap();
        let registry = pool.registry();
        registry.enlist(0);
        registry.close();
        registry.go_quiet();
        registry.post(0, JobKind::Awaited, Job::new(|| ()));
        registry.go_quiet();
        assert!(!registry.crew.has_ended(), "worker 0 has mail");
        assert!(!registry.crew().has_ended_or_be_busy(), "worker 0 wakes");
        registry.seats[0].mailbox.pop().expect("its mail").run();
        registry.go_quiet();
        assert!(registry.crew.has_ended());
    }
}
