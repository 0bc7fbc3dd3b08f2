//! Leaving a seat that has no thread of its own: steps S1 and S2 of [`crate::workers::sleep`], and,
//! in the place of a park, the change of the seat's word.

use super::word::{Request, SeatWord};
use crate::machine::duty::Due;
use crate::machine::prim::mutant;
use crate::workers::sleep::Parts;
use crate::workers::sleep::sleep_loop::{Sleeper, cease_to_look, last_look};

/// A thread that is about to leave its seat.
pub(crate) trait Leaver: Sleeper {
    fn word(&self) -> &SeatWord;
    /// Whether the seat is to stay without a thread, although there may be work: it is benched, or
    /// a spare one that is not needed, and has been put away.
    fn sits_out(&self) -> bool;
    /// Whether the worker steals nothing, but runs jobs alone.
    fn is_reserve(&self) -> bool;
    /// Whether something is addressed to this very seat.
    fn has_own(&self) -> bool;
}

/// Looks around for the last time. True if there is work left for a thread at this seat.
#[inline]
pub(crate) fn look_before_leaving(worker: &impl Leaver) -> bool {
    let (pool, me) = (worker.pool(), worker.index());
    worker.word().heed();
    cease_to_look(worker);
    let sits_out = worker.sits_out();
    if !sits_out && !mutant("depart_announces") {
        pool.idle().announce(me);
    }
    let for_any = last_look(worker, !worker.is_reserve());
    let own = !mutant("depart_looks_for_mail") && worker.has_own();
    if sits_out {
        // Somebody may have called this one for it.
        if for_any {
            pool.pass_on();
        }
        return own;
    }
    let found = for_any || own;
    if found {
        // Somebody meant to call this seat for other work than what was just seen.
        pool.idle().retract(me).pay(|| worker.wake_another());
    }
    found
}

/// The thread leaves; `found`: there is work for another.
#[inline]
pub(crate) fn leave(word: &SeatWord, found: bool) -> Due<Request> {
    if found {
        return word.leave_called();
    }
    let left = word.leave();
    if mutant("leave_heeds_calls") {
        left.waive("a mutant");
        return Due::none();
    }
    left
}
