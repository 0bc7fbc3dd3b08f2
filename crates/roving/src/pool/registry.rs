//! What the threads of one pool share.

use std::any::Any;
use std::io;
use std::iter;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::Instant;

use super::builder::Settings;
use super::lending::Lending;
use super::seats::{Seat, Seats, TaskSettings};
use super::size::Size;
use super::stop::Stopping;
use crate::arena::{Share, Station};
use crate::context::Cancelled;
use crate::context::token::Token;
use crate::faults;
use crate::inject::{Injector, Job, Kind};
use crate::os;
use crate::prim::{AtomicBool, AtomicUsize, Ordering};
use crate::priority::Priority;
use crate::sleep::idle::IdleSet;
use crate::sleep::spares::{Spares, StandIn};
use crate::stack::Showing;
use crate::stats::lane::Lane;
use crate::stats::{Activity, Keep, Profile, WorkerProfile};
use crate::trace;
use crate::unwind::drop_quietly;
use crate::watch::Watch;
use crate::worker::run_thread;

/// A pool's shared state. The pool and each of its threads hold it.
pub(crate) struct Registry {
    pub(crate) seats: Seats,
    pub(crate) settings: Box<Settings>,
    pub(crate) idle: IdleSet,
    /// Workers that are parked in a wait and would run a job, in pools without spare threads.
    pub(crate) waiting: IdleSet,
    /// How many workers follow others, see [`crate::wait`].
    pub(crate) following: AtomicUsize,
    pub(crate) lending: Lending,
    pub(crate) injector: Injector,
    pub(crate) spares: Spares,
    /// How many seats have had a thread: the workers, and the spare threads started so far.
    in_use: AtomicUsize,
    crew: Mutex<Crew>,
    /// No work will come from outside any more.
    closing: AtomicBool,
    pub(crate) stopping: Stopping,
    /// Where its workers wait, if that is asked for.
    pub(crate) watch: Option<Watch>,
    /// Everything that runs here belongs to it.
    cancel: Arc<Token>,
    started: Mutex<Instant>,
    /// [`os::forks`] when the threads were started.
    forks: usize,
    /// The lock of an in-place pool: who holds it is the pool's worker.
    pub(crate) in_place: Mutex<()>,
    /// In a share of an arena, what its seats have in the place of threads.
    pub(crate) share: Option<Arc<Share>>,
    pub(super) size: Size,
}

/// The threads of a pool, and how many of them have nothing to do while it closes.
///
/// They end together: a thief writes into the thread-local memory of its victims, and work may
/// still come from whoever is busy. A thread counts as quiet after its last look around and until
/// it looks again, so when all are quiet, nothing runs and nothing is left.
#[derive(Default)]
struct Crew {
    threads: Vec<JoinHandle<()>>,
    started: usize,
    quiet: usize,
    ended: bool,
}

impl Registry {
    /// The settings come back when there is no memory.
    pub(crate) fn new(mut settings: Box<Settings>) -> Result<Registry, Box<Settings>> {
        let workers = settings.workers;
        let spares = match settings.in_place || settings.stand_in == StandIn::Nobody {
            true => 0,
            false => settings.spares,
        };
        // Fewer than a thief takes at once are shown to nobody.
        let least = settings.amount.least();
        let shown = |count: usize| match workers {
            1 => 0,
            _ => count.max(least.min(SHOWN_MAX)),
        };
        let showing = Showing {
            slots: settings.slots,
            unasked: shown((workers - 1).min(UNASKED_MAX)),
            thieves: shown((workers - 1).min(SHOWN_MAX)),
            wide: shown(SHOWN_MAX),
            least: settings.amount.least(),
            everything: settings.amount != crate::Amount::One,
            counting: settings.keep() != Keep::Nothing,
            drawn: settings.schedule.is_some(),
        };
        let tasks = TaskSettings {
            order: settings.spawn_order,
            migrate: settings.migrate,
        };
        let share = settings.take_share().map(Arc::new);
        let (seats, size) = ((workers, spares), settings.size.min(workers));
        let Some(seats) = Seats::new(showing, settings.keep(), tasks, share.as_ref(), seats) else {
            if let Some(share) = share {
                share.close();
            }
            return Err(settings);
        };
        if settings.schedule.is_some() {
            seats.iter().for_each(|seat| seat.tasks.stay_away());
        }
        Ok(Registry {
            seats,
            idle: IdleSet::new(workers + spares),
            waiting: IdleSet::new(workers + spares),
            following: AtomicUsize::new(0),
            lending: Lending::default(),
            injector: Injector::new(),
            spares: Spares::new(size, settings.cores, settings.stand_in),
            in_use: AtomicUsize::new(workers),
            crew: Mutex::new(Crew::default()),
            closing: AtomicBool::new(false),
            stopping: Stopping::default(),
            watch: settings.watch.map(Watch::new),
            cancel: Token::new(None, None),
            started: Mutex::new(Instant::now()),
            forks: os::forks(),
            in_place: Mutex::new(()),
            share,
            size: Size::new(size),
            settings,
        })
    }

    pub(crate) fn workers(&self) -> usize {
        self.settings.workers
    }

    /// Whether somebody takes every task of a worker that waits: thieves one alone, and a spare thread
    /// whatever there is. As a job it would run in any case.
    pub(crate) fn takes_any(&self) -> bool {
        self.settings.amount.least() == 1 && self.spares.stand_in == StandIn::ForAll
    }

    /// The seats that a thief has to look at are those below this number.
    pub(crate) fn seats_in_use(&self) -> usize {
        // Ordering: Acquire. Pairs with [seat_in_use].
        self.in_use.load(Ordering::Acquire)
    }

    /// For a worker that is about to sleep: either it sees a seat that is being taken into use, or
    /// whoever works there sees what the caller has written before.
    pub(crate) fn see_seats(&self) {
        // Ordering: AcqRel, by a read-modify-write, because the other side's is one too. Pairs with
        // [seat_in_use].
        self.in_use.fetch_add(0, Ordering::AcqRel);
    }

    /// Whether the pool was built before this process was forked, so that its threads are not here.
    pub(crate) fn is_left_behind(&self) -> bool {
        self.forks != os::forks() && !self.settings.in_place
    }

    /// Nobody would run what is given to a pool that was left behind, and its locks may be held by
    /// threads that are not here.
    ///
    /// # Panics
    /// If it was.
    #[inline]
    pub(crate) fn check_not_left_behind(&self) {
        if self.is_left_behind() {
            panic!("{}", self.left_behind());
        }
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
    pub(crate) fn inject(self: &Arc<Registry>, kind: Kind, job: Job) -> bool {
        self.inject_in(Priority::Normal, kind, job)
    }

    /// The same for a job of that class.
    pub(crate) fn inject_in(self: &Arc<Registry>, class: Priority, kind: Kind, job: Job) -> bool {
        if self.settings.follow_quota {
            self.follow_quota();
        }
        self.injector.push(class, kind, job);
        self.job_was_added()
    }

    /// The same for a job that goes before all others: somebody waits for it who may hold them up.
    pub(crate) fn inject_urgent(self: &Arc<Registry>, job: Job) -> bool {
        self.injector.push_urgent(job);
        self.job_was_added()
    }

    /// Gives a job to one worker.
    pub(crate) fn post(&self, index: usize, kind: Kind, job: Job) {
        let seat = &self.seats[index];
        seat.mailbox.push(kind, job);
        seat.unpark();
    }

    /// A job was added to a queue: sees to it that somebody runs it. False if there was nobody to
    /// call for it.
    pub(crate) fn job_was_added(self: &Arc<Registry>) -> bool {
        self.wake_one() || self.job_waits()
    }

    /// A job is there, and no worker is idle: calls who stands in for those that wait. False if there
    /// is nobody.
    pub(crate) fn job_waits(self: &Arc<Registry>) -> bool {
        if self.spares.stand_in != StandIn::Nobody {
            return self.spares.job_waits(self);
        }
        match self.waiting.take_one() {
            Some(index) => {
                self.seats[index].unpark();
                true
            }
            None => false,
        }
    }

    /// Whether a job waits for a worker, of those that any worker may run. Looks under the locks.
    pub(crate) fn has_jobs(&self) -> bool {
        self.has_jobs_from(Priority::Low)
    }

    /// The same but for jobs from outside below that class.
    pub(crate) fn has_jobs_from(&self, class: Priority) -> bool {
        let seats = 0..self.seats_in_use();
        self.injector.has_not_below(class)
            || seats
                .into_iter()
                .any(|seat| !self.seats[seat].spawned.is_surely_empty())
    }

    /// Wakes one sleeping worker, if there is one.
    pub(crate) fn wake_one(&self) -> bool {
        match self.idle.take_one() {
            Some(index) => {
                self.seats[index].unpark();
                true
            }
            None => false,
        }
    }

    /// Wakes a worker for what that seat shows: one that sleeps, or else one that waits for what that
    /// seat's worker does.
    pub(crate) fn wake_for(&self, seat: usize) -> bool {
        self.wake_one() || self.upwards(seat).any(|seat| self.wake_follower(seat))
    }

    /// Whether somebody waits for what that seat's worker does, as far as can be told by looking.
    pub(crate) fn is_followed(&self, seat: usize) -> bool {
        self.upwards(seat)
            .any(|seat| !self.seats[seat].followers.is_empty())
    }

    /// The seat, that whose task its worker runs, and so on; nothing if there are no followers.
    fn upwards(&self, seat: usize) -> impl Iterator<Item = usize> {
        // Ordering: Relaxed; a hint. A follower that is overlooked sleeps on, and nothing hangs on it.
        let any = self.following.load(Ordering::Relaxed) > 0;
        let first = any.then_some(seat);
        let links = iter::successors(first, |&seat| self.seats[seat].works_for());
        links.take(UPWARDS_MAX)
    }

    pub(crate) fn wake_follower(&self, index: usize) -> bool {
        match self.seats[index].followers.take_one() {
            Some(follower) => {
                self.seats[follower].unpark();
                true
            }
            None => false,
        }
    }

    fn crew(&self) -> MutexGuard<'_, Crew> {
        self.crew.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_closing(&self) -> bool {
        // Ordering: Relaxed; who sleeps is unparked after it was set, and looks again.
        self.closing.load(Ordering::Relaxed)
    }

    /// All that runs here is asked to end: [`crate::is_cancelled`] says so from now on, and who is
    /// suspended until then is woken.
    pub(crate) fn cancel_all(&self) {
        self.cancel.cancel();
    }

    /// Whether [`Self::cancel_all`] was called. A load.
    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_flagged()
    }

    /// The token of all that runs here.
    pub(crate) fn token(&self) -> &Arc<Token> {
        &self.cancel
    }

    /// The calling thread is that of the seat from now on. Under the lock, so that `close` either
    /// finds it to unpark, or is seen by it.
    pub(crate) fn enlist(&self, index: usize) {
        if let Some(watch) = &self.watch {
            watch.enlist(index);
        }
        let _crew = self.crew();
        self.seats[index].thread.get_or_init(thread::current);
    }

    /// Returns when each worker has its thread; at once in a share, where none has one of its own.
    pub(crate) fn wait_for_threads(&self) {
        if self.share.is_some() {
            return;
        }
        for index in 0..self.workers() {
            self.seats[index].thread.wait();
        }
    }

    /// Tells all threads to end once nothing is left to do.
    pub(crate) fn close(&self) {
        let crew = self.crew();
        // Ordering: Relaxed, as in `is_closing`.
        self.closing.store(true, Ordering::Relaxed);
        drop(crew);
        match &self.share {
            Some(share) => share.close(),
            None => self.unpark_all(),
        }
    }

    fn unpark_all(&self) {
        for seat in self.seats.iter() {
            seat.unpark();
        }
    }

    /// The pool closes, and the calling thread has found nothing to do. If all have, it has ended.
    pub(crate) fn go_quiet(&self) {
        let mut crew = self.crew();
        crew.quiet += 1;
        crew.ended = self.is_over(&crew);
        if crew.ended {
            drop(crew);
            self.unpark_all();
        }
    }

    /// Whether nothing runs and nothing is left. A quiet thread that has mail is about to wake, also
    /// if the sender has gone quiet meanwhile.
    fn is_over(&self, crew: &Crew) -> bool {
        let adopted = usize::from(self.settings.adopts);
        let has_mail = |seat: &Seat| seat.thread.get().is_some() && !seat.mailbox.is_surely_empty();
        crew.quiet == crew.started && !self.seats.iter().skip(adopted).any(has_mail)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.is_closing() && self.crew().ended
    }

    /// Unless the pool has ended, the calling thread is no longer quiet.
    pub(crate) fn has_ended_or_be_busy(&self) -> bool {
        let mut crew = self.crew();
        if !crew.ended {
            crew.quiet -= 1;
        }
        crew.ended
    }

    /// Whether that seat's thread sleeps for want of work, as far as can be told by looking.
    pub(crate) fn rests(&self, seat: usize) -> bool {
        let place = &self.seats[seat];
        let is_left = place.station.as_ref().is_some_and(Station::is_left);
        is_left || self.idle.contains(seat) || self.spares.is_resting(seat) || self.is_benched(seat)
    }

    /// Whether that is a thread of this pool, even one that is not a worker yet, or no longer.
    pub(crate) fn is_thread_of(&self, thread: ThreadId) -> bool {
        let is_it = |seat: &Seat| seat.thread.get().is_some_and(|at| at.id() == thread);
        self.seats.iter().any(is_it)
    }

    /// The threads to join: those started since the last call.
    pub(crate) fn take_threads(&self) -> Vec<JoinHandle<()>> {
        mem::take(&mut self.crew().threads)
    }

    /// What nobody waits for has panicked. A handler, or a payload's drop, that panics too has
    /// nobody left to tell; the hook has printed its message. What ends because it is cancelled tells nobody.
    pub(crate) fn handle_panic(&self, payload: Box<dyn Any + Send>) {
        if payload.is::<Cancelled>() {
            return;
        }
        match &self.settings.panic_handler {
            Some(handler) => {
                drop_quietly(panic::catch_unwind(AssertUnwindSafe(|| handler(payload))));
            }
            None => drop_quietly(payload),
        }
    }

    pub(crate) fn profile(&self) -> Profile {
        let started = *self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let profile = |seat: &Seat| {
            let mut worker = WorkerProfile::default();
            seat.clock.read(&mut worker);
            worker.counters = seat.stack.tally().read();
            worker.counters.frames_kept = seat.tasks.frames_kept();
            worker
        };
        let workers = self.seats.iter().map(profile).collect();
        Profile {
            wall: started.elapsed(),
            workers,
        }
    }

    /// The trace of each seat, in pools that keep one.
    pub(crate) fn lanes(&self) -> Vec<Lane> {
        self.seats
            .iter()
            .filter_map(|seat| seat.clock.lane())
            .collect()
    }

    /// What each seat's worker does now, in a word; `?` where nobody keeps that.
    pub(crate) fn doing(&self) -> Vec<&'static str> {
        let seats = self.seats.iter();
        seats
            .map(|seat| seat.clock.now().map_or("?", Activity::word))
            .collect()
    }

    pub(crate) fn reset_profile(&self) {
        for seat in self.seats.iter() {
            seat.clock.reset();
            seat.stack.tally().reset();
        }
        *self.started.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// The user will provide the thread of a worker.
    pub(super) fn expect_thread(&self) {
        self.crew().started += 1;
    }

    /// The thread of a worker that was expected will not come.
    pub(super) fn expect_no_thread(&self) {
        let mut crew = self.crew();
        crew.started -= 1;
        crew.ended = self.is_closing() && self.is_over(&crew);
        if crew.ended {
            drop(crew);
            self.unpark_all();
        }
    }

    /// In a share: takes a spare seat into use. Under a lock. False when there is no memory.
    pub(crate) fn make_seat(&self, index: usize) -> bool {
        if !self.seats.make(index) {
            return false;
        }
        // Ordering: AcqRel, as for the thread of a seat: what sleeps without having looked is seen. Pairs
        // with [seat_in_use].
        self.in_use.fetch_max(index + 1, Ordering::AcqRel);
        // In the name of those that sleep.
        let _ = self.seats[index].stack.want();
        true
    }

    /// In a share: all workers sleep, since no thread has been there.
    pub(super) fn put_to_sleep(&self) {
        for index in 0..self.workers() {
            self.seats[index].clock.enter(Activity::Idle);
            if index < self.size() {
                self.idle.announce(index);
            }
            let _ = self.seats[index].stack.want();
        }
    }

    /// That thread is about to be the one of a worker.
    pub(super) fn take_thread(&self, thread: JoinHandle<()>) {
        self.crew().enter(thread);
    }

    /// Starts the thread of a seat. False when the pool has ended: then none is needed.
    pub(crate) fn start_thread(self: &Arc<Registry>, index: usize) -> io::Result<bool> {
        let mut crew = self.crew();
        if crew.ended {
            return Ok(false);
        }
        if !self.seats.make(index) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let registry = Arc::clone(self);
        let run = move || run_thread(registry, index);
        let thread = faults::start(self.settings.thread(index), run)?;
        crew.enter(thread);
        // Ordering: Edge [seat_in_use]: Release, so that who looks at the seat finds it made; Acquire,
        // for the new thread, which starts under the lock, to see who sleeps without having looked.
        self.in_use.fetch_max(index + 1, Ordering::AcqRel);
        Ok(true)
    }
}

impl Crew {
    fn enter(&mut self, thread: JoinHandle<()>) {
        self.threads.push(thread);
        self.started += 1;
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        trace::exit::settle(self);
    }
}

/// Most links from a thief to its victim, to that one's victim, and so on, along which a follower is
/// looked for.
const UPWARDS_MAX: usize = 6;
/// Most joined tasks that a worker shows without being asked, when it pushes them fast. In a
/// recursion that turns to its second half at the depth of its first, the number of tasks that are
/// pushed at depth d grows like a binomial coefficient: `fib(40)` on 8 workers publishes 2.8 million
/// times with 7 shown (30 thousand with 3), a quarter of its time on two cores.
const UNASKED_MAX: usize = 3;
/// Most tasks that a worker shows without being asked.
const SHOWN_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use crate::Pool;
    use crate::inject::Kind;

    /// The crew's threads are played by this one: worker 0 is asleep while worker 1 posts something to
    /// it and then finds nothing more to do.
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
        registry.post(0, Kind::Awaited, Box::new(|| ()));
        registry.go_quiet();
        assert!(!registry.has_ended(), "worker 0 has mail");
        assert!(!registry.has_ended_or_be_busy(), "worker 0 wakes");
        registry.seats[0].mailbox.pop().expect("its mail")();
        registry.go_quiet();
        assert!(registry.has_ended());
    }
}
