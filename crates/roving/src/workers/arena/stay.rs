//! A thread's lease of a worker slot in an arena: the thread takes the slot, works as a worker
//! does, looks for work once more, and leaves. Or it visits another pool's slot for one call.
//!
//! **Sleep.** A slot without a thread is asleep in the sense of [`crate::workers::sleep`]: it is in
//! the idle set, and the want flags are up. The thread that left it did steps S1 and S2 in
//! [`super::depart`]; step S3, in the place of a park, is the change of the slot's word by
//! which the thread leaves. A thread that takes a worker out of the idle set and unparks it calls
//! the slot ([`super::word`]): either the thread that is leaving notices the call, or the board
//! gets a request. So no wake-up is lost, by the same argument as in a pool with threads of its
//! own.
//!
//! **The trip wire.** A thief writes into the line pointer of the thread that was last at its
//! victim's seat. That thread may have left meanwhile. It is alive: threads of an arena end when no
//! share is left, and a thief is a worker of a share. And an alarm that was meant for another seat
//! only sends it the slow way once. The other way round no alarm is missed: who comes to a seat
//! writes its wire, and then takes an alarm for raised
//! ([`Owner::enter`](crate::stack::owner::Owner)).

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::core::Lodger;
use super::depart::{self, Leaver};
use super::share::Station;
use super::word::SeatWord;
use crate::stats::{Activity, bump};
use crate::workers::Worker;
use crate::workers::inject::JobKind;
use crate::workers::job::Job;
use crate::workers::job_runs::Jobs;
use crate::workers::registry::Registry;
use crate::workers::seats::Desk as _;
use crate::workers::sleep::idle::Asleep;
use crate::workers::sleep::roster;
use crate::workers::thread_loop::Turn;
use crate::workers::wait::at_work_beneath;

/// How long a thread stays at a seat between whose tasks it is, while others wait for a thread.
const TURN: Duration = Duration::from_millis(1);
/// How deep calls of `install` are nested on one thread; further ones are run by another.
const VISITS_MAX: usize = 32;

#[inline]
fn station(registry: &Registry, index: usize) -> &Station {
    let desk = registry.seats[index].desk.as_ref();
    let station = desk.and_then(|desk| desk.as_any().downcast_ref());
    station.expect("each seat of a share has one")
}

impl Lodger for Registry {
    #[inline]
    fn serve(self: Arc<Registry>, seat: usize, number: usize) {
        station(&self, seat).word.take(number);
        // SAFETY: by the word, no other thread is at the seat.
        let found = unsafe {
            Worker::be(Arc::clone(&self), seat, |worker| {
                let stay = Stay(worker);
                stay.arrive();
                stay.run_callbacks_jobs();
                let began = Instant::now();
                let leaves = |ran, idles| stay.stands_down(began, ran, idles);
                Turn(worker).work(Some(&leaves));
                stay.depart()
            })
        };
        vacate(self, seat, found);
    }

    #[inline]
    fn has_urgent(&self) -> bool {
        self.injector.has_urgent()
    }
}

/// The calling thread leaves the seat; `found`: there is work for another.
#[inline]
fn vacate(registry: Arc<Registry>, index: usize, found: bool) {
    let station = station(&registry, index);
    let share = Arc::clone(&station.share);
    let left = depart::leave(&station.word, found);
    let exit = |registry| {
        drop(registry);
        share.exit();
    };
    left.pay_or(registry, |registry| share.request(registry, index), exit);
}

/// A seat of that pool that the thread with this number has taken, for a visit.
#[inline]
fn take_seat(registry: &Arc<Registry>, number: usize) -> Option<usize> {
    let idle = || registry.idle.take_one().map(Asleep::stand_in);
    let spare = || registry.spares.take_seat(registry.as_ref());
    while let Some(index) = idle().or_else(spare) {
        let station = station(registry, index);
        if !station.word.take_free(number) {
            // A thread is about to leave it, or about to come: it was promised a call.
            station.call();
        } else if station.share.enter() {
            return Some(index);
        } else {
            return None;
        }
    }
    None
}

impl Leaver for Worker {
    #[inline]
    fn word(&self) -> &SeatWord {
        &station(self.registry(), self.index()).word
    }

    #[inline]
    fn sits_out(&self) -> bool {
        let (registry, me) = (self.registry(), self.index());
        match self.is_spare() {
            true => {
                Stay(self).is_one_too_many() && registry.spares.rest_seat(registry.as_ref(), me)
            }
            false => roster::is_benched(registry.as_ref(), me),
        }
    }

    #[inline]
    fn is_reserve(&self) -> bool {
        self.registry().settings.is_reserve(self.index())
    }

    #[inline]
    fn has_own(&self) -> bool {
        !self.seat().mailbox.is_surely_empty() || self.seat().tasks.has_placed()
    }
}

/// A thread's stay at a seat: a worker that may have to leave.
#[derive(Clone, Copy)]
pub(super) struct Stay<'w>(pub(crate) &'w Worker);

impl Stay<'_> {
    #[inline]
    fn arrive(self) {
        if let Some(watch) = &self.0.registry().watch {
            watch.enlist(self.0.index());
        }
        let called = self.0.registry().idle.retract(self.0.index());
        called.waive("its thread is here, and looks around");
        self.0.owner().attach();
        self.0.clock().enter(Activity::Frame);
        Turn(self.0).handle(&self.0.registry().settings.on_start);
        self.0.clock().enter(Activity::Steal);
    }

    /// Runs what a callback of this stay has spawned, for which else the next thread would come and
    /// go in the same way.
    #[inline]
    fn run_callbacks_jobs(self) {
        while let Some(job) = self.0.seat().spawned.pop_newest() {
            Jobs(self.0).run_job((job, None));
        }
    }

    /// True if there is work left for a thread at this seat.
    #[inline]
    fn depart(self) -> bool {
        let settings = &self.0.registry().settings;
        if settings.on_exit.is_some() {
            self.0.clock().enter(Activity::Frame);
            Turn(self.0).handle(&settings.on_exit);
            self.run_callbacks_jobs();
        }
        let found = depart::look_before_leaving(self.0);
        // Without a thread it sleeps.
        bump(&self.0.tally().parks, u64::from(!found));
        self.0.clock().enter(Activity::Idle);
        found
    }

    /// Whether a spare seat is not needed.
    #[inline]
    fn is_one_too_many(self) -> bool {
        let registry = self.0.registry();
        let spares = &registry.spares;
        spares.is_one_too_many(registry.as_ref()) && registry.injector.is_hint_empty()
    }

    /// Between two tasks, at a seat of a share: whether the thread has to leave it. `ran`: it has
    /// run something here since `began`; `idles`: its last look around found nothing.
    #[inline]
    fn stands_down(self, began: Instant, ran: bool, idles: bool) -> bool {
        let (registry, me) = (self.0.registry(), self.0.index());
        if self.0.is_spare() {
            if self.is_one_too_many() {
                return true;
            }
        } else if roster::is_benched(registry.as_ref(), me) {
            while Jobs(self.0).serve_mailbox() {}
            // What has its place here goes to others.
            self.0.seat().tasks.away(|| ());
            return true;
        }
        let station = station(registry, me);
        let pressure = station.pressure();
        if pressure.is_none() {
            return false;
        }
        let turn_is_over = || pressure.is_above(station.class()) || began.elapsed() >= TURN;
        // Whatever it came for, it has looked for it.
        let has_looked = ran || idles;
        has_looked && (pressure.is_surplus() || idles || turn_is_over())
    }

    /// A seat of that pool, taken by the calling thread, which is this worker and has that number
    /// in the pool's arena: it can run a call for that pool itself. None if there is none to be
    /// had.
    #[inline]
    pub(super) fn seat_to_visit(self, registry: &Arc<Registry>, number: usize) -> Option<usize> {
        let has_room = self.0.nesting.get() < VISITS_MAX;
        has_room.then(|| take_seat(registry, number)).flatten()
    }

    /// Calls `f`, in which another worker is at work on this thread. What stands in this worker's
    /// stack is left to others meanwhile, as in a wait.
    fn away<R>(self, f: impl FnOnce() -> R) -> R {
        let wake = self.0.owner().show_all();
        self.0.wake_if(wake);
        let doing = self.0.clock().enter(Activity::Wait);
        let is_outermost = !self.0.is_blocked.replace(true);
        if is_outermost {
            self.0.registry().spares.replace_me(self.0.registry());
        }
        let result = self.0.seat().tasks.away(f);
        if is_outermost {
            self.0.is_blocked.set(false);
            self.0.registry().spares.back_again();
        }
        self.0.clock().enter(doing);
        result
    }

    /// Calls `f` as the worker at that seat, which the calling thread has taken. This worker is
    /// away meanwhile, and so is one beneath it, if it is that of a pool of this thread alone.
    #[inline]
    pub(super) fn visit(self, registry: &Arc<Registry>, index: usize, f: &mut dyn FnMut()) {
        let stay = |worker: &Worker| {
            Stay(worker).arrive();
            worker.nesting.set(self.0.nesting.get() + 1);
            worker.clock().enter(Activity::Busy);
            // The context that the thread is in goes with it.
            let run = || panic::catch_unwind(AssertUnwindSafe(f));
            let result = worker.segment(|| worker.framed(run));
            worker.clock().enter(Activity::Steal);
            (result, Stay(worker).depart())
        };
        // SAFETY: by the word, no other thread is at the seat.
        let be = || unsafe { Worker::be(Arc::clone(registry), index, stay) };
        let visits = || {
            // The one beneath may have made its own stack the thread's, to show what is there.
            self.0.owner().enter();
            let (result, found) = self.away(be);
            vacate(Arc::clone(registry), index, found);
            result
        };
        let result = match at_work_beneath(self.0) {
            None => visits(),
            Some(beneath) => Stay(beneath).away(visits),
        };
        result.unwrap_or_else(|payload| panic::resume_unwind(payload));
    }
}

/// A job that a callback of the calling thread's stay at a seat of that pool spawns runs when
/// the callback has returned, before the thread leaves. Any other is given back.
#[inline]
pub(super) fn keep_for_the_end(registry: &Arc<Registry>, job: Job) -> Option<Job> {
    Worker::with_current(|worker| match worker {
        Some(worker) if worker.in_handler.get() && Arc::ptr_eq(worker.registry(), registry) => {
            worker.seat().spawned.push(JobKind::Detached, job);
            None
        }
        _ => Some(job),
    })
}
