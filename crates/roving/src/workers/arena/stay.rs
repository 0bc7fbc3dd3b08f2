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

use super::depart::{self, Leaver};
use super::share::{Request, Station};
use super::word::SeatWord;
use crate::stats::{Activity, bump};
use crate::workers::Worker;
use crate::workers::inject::Kind;
use crate::workers::job::Job;
use crate::workers::registry::Registry;
use crate::workers::sleep::idle::Asleep;

/// How long a thread stays at a seat between whose tasks it is, while others wait for a thread.
const TURN: Duration = Duration::from_millis(1);
/// How deep calls of `install` are nested on one thread; further ones are run by another.
const VISITS_MAX: usize = 32;

fn station(registry: &Registry, index: usize) -> &Station {
    let station = registry.seats[index].station.as_ref();
    station.expect("each seat of a share has one")
}

/// A thread of the arena has taken a request: it is that seat's worker until it leaves.
pub(super) fn serve(request: Request, number: usize) {
    let Request { registry, index } = request;
    station(&registry, index).word.take(number);
    // SAFETY: by the word, no other thread is at the seat.
    let found = unsafe {
        Worker::be(Arc::clone(&registry), index, |worker| {
            worker.arrive();
            worker.run_callbacks_jobs();
            worker.work();
            worker.depart()
        })
    };
    vacate(registry, index, found);
}

/// The calling thread leaves the seat; `found`: there is work for another.
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
    fn word(&self) -> &SeatWord {
        &station(self.registry(), self.index()).word
    }

    fn sits_out(&self) -> bool {
        let (registry, me) = (self.registry(), self.index());
        match self.is_spare() {
            true => self.is_one_too_many() && registry.spares.rest_seat(registry.as_ref(), me),
            false => registry.is_benched(me),
        }
    }

    fn is_reserve(&self) -> bool {
        self.is_reserve()
    }

    fn has_own(&self) -> bool {
        !self.seat().mailbox.is_surely_empty() || self.has_placed()
    }
}

impl Worker {
    fn arrive(&self) {
        if let Some(watch) = &self.registry().watch {
            watch.enlist(self.index());
        }
        let called = self.registry().idle.retract(self.index());
        called.waive("its thread is here, and looks around");
        self.owner().attach();
        self.clock().enter(Activity::Frame);
        self.handle(&self.registry().settings.on_start);
        self.clock().enter(Activity::Steal);
    }

    /// Runs what a callback of this stay has spawned, for which else the next thread would come and
    /// go in the same way.
    fn run_callbacks_jobs(&self) {
        while let Some(job) = self.seat().spawned.pop_newest() {
            self.run_job((job, None));
        }
    }

    /// True if there is work left for a thread at this seat.
    fn depart(&self) -> bool {
        let settings = &self.registry().settings;
        if settings.on_exit.is_some() {
            self.clock().enter(Activity::Frame);
            self.handle(&settings.on_exit);
            self.run_callbacks_jobs();
        }
        let found = depart::look_before_leaving(self);
        // Without a thread it sleeps.
        bump(&self.tally().parks, u64::from(!found));
        self.clock().enter(Activity::Idle);
        found
    }

    /// A job that a callback of the calling thread's stay at a seat of that pool spawns runs when
    /// the callback has returned, before the thread leaves. Any other is given back.
    #[inline]
    pub(crate) fn keep_for_the_end(registry: &Arc<Registry>, job: Job) -> Option<Job> {
        Worker::with_current(|worker| match worker {
            Some(worker) if worker.is_in_handler() && Arc::ptr_eq(worker.registry(), registry) => {
                worker.seat().spawned.push(Kind::Detached, job);
                None
            }
            _ => Some(job),
        })
    }

    /// Whether a spare seat is not needed.
    fn is_one_too_many(&self) -> bool {
        let registry = self.registry();
        registry.spares.is_one_too_many() && registry.injector.is_hint_empty()
    }

    /// Whether the thread is to come out of what it runs soon, because it may have to leave: a
    /// hint, of few loads.
    pub(crate) fn may_have_to_leave(&self) -> bool {
        let registry = self.registry();
        let is_pressed = || !station(registry, self.index()).pressure().is_none();
        let is_elsewhere_wanted = registry.share.is_some() && is_pressed();
        self.is_spare() || registry.is_benched(self.index()) || is_elsewhere_wanted
    }

    /// Between two tasks, at a seat of a share: whether the thread has to leave it. `ran`: it has
    /// run something here since `began`; `idles`: its last look around found nothing.
    pub(crate) fn stands_down(&self, began: Instant, ran: bool, idles: bool) -> bool {
        let (registry, me) = (self.registry(), self.index());
        if self.is_spare() {
            if self.is_one_too_many() {
                return true;
            }
        } else if registry.is_benched(me) {
            while self.serve_mailbox() {}
            // What has its place here goes to others.
            self.away(|| ());
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

    /// The number of the calling thread, which is this worker, in the arena of that pool, and a
    /// seat there that it has taken: it can run a call for that pool itself. None if it is not of
    /// that arena, or no seat is to be had.
    pub(crate) fn seat_to_visit(&self, registry: &Arc<Registry>) -> Option<usize> {
        let share = registry.share.as_ref()?;
        let number = share.core.number_here()?;
        let has_room = self.nesting().get() < VISITS_MAX;
        has_room.then(|| take_seat(registry, number)).flatten()
    }

    /// Calls `f` as the worker at that seat, which the calling thread has taken. What stands in
    /// this worker's stack is left to others meanwhile, as in a wait.
    pub(crate) fn visit<R>(
        &self,
        registry: &Arc<Registry>,
        index: usize,
        f: impl FnOnce() -> R,
    ) -> R {
        let wake = self.owner().show_all();
        self.wake_if(wake);
        let doing = self.clock().enter(Activity::Wait);
        let is_outermost = !self.is_blocked().replace(true);
        if is_outermost {
            self.registry().spares.replace_me(self.registry());
        }
        let stay = |worker: &Worker| {
            worker.arrive();
            worker.nesting().set(self.nesting().get() + 1);
            worker.clock().enter(Activity::Busy);
            // The context that the thread is in goes with it.
            let run = || panic::catch_unwind(AssertUnwindSafe(f));
            let result = worker.segment(|| worker.framed(run));
            worker.clock().enter(Activity::Steal);
            (result, worker.depart())
        };
        // SAFETY: by the word, no other thread is at the seat.
        let be = || unsafe { Worker::be(Arc::clone(registry), index, stay) };
        let (result, found) = self.away(be);
        vacate(Arc::clone(registry), index, found);
        if is_outermost {
            self.is_blocked().set(false);
            self.registry().spares.back_again();
        }
        self.clock().enter(doing);
        result.unwrap_or_else(|payload| panic::resume_unwind(payload))
    }

    /// Runs one job that is addressed to a seat which the calling thread has further out, beneath
    /// what it waits in. False if there is none.
    pub(crate) fn serve_further_out(&self) -> bool {
        for worker in self.outwards().skip(1) {
            let is_here = !worker.registry().is_left_behind();
            if is_here && !worker.seat().mailbox.is_hint_empty() {
                // Also where the thread has left the context that it was in at this seat, for none.
                let run = |worker: &Worker| worker.segment(|| worker.serve_mailbox_parked());
                // SAFETY: the calling thread is that worker further out.
                if unsafe { Worker::be(Arc::clone(worker.registry()), worker.index(), run) } {
                    return true;
                }
            }
        }
        false
    }
}
