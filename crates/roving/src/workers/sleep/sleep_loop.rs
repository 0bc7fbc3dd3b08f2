//! The loop in which a worker sleeps: S1 to S3 as code.

use std::sync::Arc;

use super::lookers::Looking;
use super::parts::Parts;
use super::roster::is_benched;
use crate::machine::meeting_points::{At, meet, park};
use crate::machine::prim::mutant;
use crate::stats::Activity;

/// A worker that has found nothing to do, as its way to sleep sees it.
pub(crate) trait Sleeper {
    type Pool: Parts;

    fn pool(&self) -> &Arc<Self::Pool>;
    fn index(&self) -> usize;
    /// The other workers, each once.
    fn victims(&self) -> impl Iterator<Item = usize>;
    /// Whether it would steal any of that many public tasks.
    fn takes_of(&self, public: usize) -> bool;
    fn wake_another(&self);
    /// Whether it is one of those that look around.
    fn looking(&self) -> &Looking;
    /// Runs one job that is addressed to this worker. False if there is none.
    fn serve_mailbox(&self) -> bool;
    /// Its thread is about to park: a count.
    fn count_park(&self);
    /// Records the worker's activity from now on, for the profile.
    fn turn_to(&self, activity: Activity);
}

/// The reason for which a sleeping worker was woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Woken {
    ToWork,
    ToEnd,
}

/// S2, after the worker has entered the idle set: asks each stack for tasks, if `steals`, and looks
/// for jobs. True if there is something.
pub(crate) fn last_look(worker: &impl Sleeper, steals: bool) -> bool {
    let pool = worker.pool();
    pool.in_use().see();
    if steals && !mutant("last_look") {
        let shows = |victim: usize| worker.takes_of(pool.stack(victim).want());
        if worker.victims().any(shows) {
            return true;
        }
    }
    !mutant("last_look_for_jobs") && pool.has_jobs()
}

/// The worker has found something. What was left to it may be something else: then another one is
/// woken for that.
#[inline(always)]
pub(crate) fn has_found(worker: &impl Sleeper) {
    if worker.looking().is_on() {
        look_no_more(worker);
    }
}

#[cold]
#[inline(never)]
fn look_no_more(worker: &impl Sleeper) {
    let left = worker.looking().end(worker.pool().lookers());
    match mutant("looker_calls_another") {
        true => left.waive("a mutant"),
        false => left.pay(|| worker.wake_another()),
    }
}

/// The worker looks around for the last time after this: what others show from now on is not left
/// to it any more, and what was left to it is there then.
pub(crate) fn cease_to_look(worker: &impl Sleeper) {
    if !mutant("cease_to_look") {
        let left = worker.looking().end(worker.pool().lookers());
        left.waive("the last look is still to come");
    }
}

/// Parks the calling thread until it is woken for work, or the pool ends; see
/// [`crate::workers::sleep`] for S1 to S3.
pub(crate) fn sleep(worker: &impl Sleeper) -> Woken {
    let (pool, me) = (worker.pool(), worker.index());
    cease_to_look(worker);
    pool.idle().announce(me);
    meet(At::Sleep);
    if last_look(worker, true) {
        // Another thread meant to wake this worker for other work than what it has just seen.
        pool.idle().retract(me).pay(|| worker.wake_another());
        return Woken::ToWork;
    }
    worker.turn_to(Activity::Idle);
    let closing = pool.crew().is_closing();
    if closing {
        pool.go_quiet();
    }
    while pool.idle().contains(me) && !pool.crew().has_ended() {
        let has_mail = !mutant("look_for_mail") && !pool.mailbox(me).is_surely_empty();
        if pool.crew().is_closing() != closing || has_mail {
            let called = pool.idle().retract(me);
            called.waive("it looks for work next, as one that was called does");
            break;
        }
        worker.count_park();
        park();
    }
    worker.turn_to(Activity::Steal);
    match closing && pool.crew().has_ended_or_be_busy() {
        true => Woken::ToEnd,
        false => Woken::ToWork,
    }
}

/// Parks the calling thread as [`sleep`] does, but also until `done`: whoever makes that true
/// unparks the thread afterwards, which need not be in the idle set by then.
pub(crate) fn sleep_until(worker: &impl Sleeper, done: impl Fn() -> bool) {
    let (pool, me) = (worker.pool(), worker.index());
    pool.idle().announce(me);
    meet(At::Sleep);
    if !last_look(worker, true) {
        worker.turn_to(Activity::Idle);
        while pool.idle().contains(me) && !done() {
            worker.count_park();
            park();
        }
        worker.turn_to(Activity::Steal);
    }
    // A worker that leaves because of `done` looks for no work: who called it for some calls
    // another one.
    pool.idle().retract(me).pay(|| {
        if done() {
            worker.wake_another();
        }
    });
}

/// The calling compensation thread rests until it is brought in again, or the pool closes, unless
/// it is needed.
///
/// It may have been woken for work that is now left to the threads that there should be. So it
/// looks around as it would before it sleeps, and passes the wake-up on to one that sleeps: of two
/// compensation threads that sleep, the one that is woken may be the one that is not needed. If
/// nobody sleeps, as many as there should be are at work, and look around before they sleep; who
/// parks in a wait brings in another thread. In a pool where such threads run jobs only, they are
/// there for a job that waits.
pub(crate) fn rest_unless_needed(worker: &impl Sleeper) {
    let (pool, spares) = (worker.pool(), worker.pool().spares());
    if !spares.is_one_too_many(pool.as_ref()) || pool.crew().is_closing() {
        return;
    }
    cease_to_look(worker);
    if !pool.idle().is_empty() && last_look(worker, true) && !mutant("rest_passes_on") {
        pool.wake_one();
    }
    worker.turn_to(Activity::Idle);
    spares.rest(pool.as_ref(), worker.index());
    worker.turn_to(Activity::Steal);
}

/// Sleeps outside of the idle set until this worker is to work again, or the pool closes. What it
/// may have been called for is left to another; what is addressed to it runs.
pub(crate) fn bench(worker: &impl Sleeper) {
    let (pool, me) = (worker.pool(), worker.index());
    if !mutant("benched_ends_look") {
        let left = worker.looking().end(pool.lookers());
        left.waive("another one is called in any case");
    }
    if !mutant("benched_passes_on") {
        pool.pass_on();
    }
    worker.turn_to(Activity::Idle);
    while is_benched(pool.as_ref(), me) && !pool.crew().is_closing() {
        // The last look is under the lock, as before any sleep.
        let has_mail = !mutant("benched_looks_for_mail") && !pool.mailbox(me).is_surely_empty();
        if !(worker.serve_mailbox() || has_mail) {
            worker.count_park();
            park();
        }
    }
    worker.turn_to(Activity::Steal);
}
