//! The words of a barrier.
//!
//! | word | meaning | written by |
//! |---|---|---|
//! | `rounds` | how often all have come, and who sleeps until then | the last to come |
//! | `arrived` | how many have come in this round | each that comes adds one; the last sets it to 0 before the round ends |

use super::gate::Gate;
use crate::prim::{AtomicU32, Ordering, ord};

#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Barrier {
    pub(crate) rounds: Gate,
    arrived: AtomicU32,
}

impl Barrier {
    /// Forgets who has come to a barrier that was cancelled.
    pub(crate) fn reset(&self) {
        // Ordering: Relaxed; nobody is in a region of this team.
        self.arrived.store(0, Ordering::Relaxed);
    }

    /// One of so many threads comes. `Some`: it waits while that is the round. `None`: it is the
    /// last, after all that the others have done, and has to [`Barrier::open`].
    #[inline]
    pub(crate) fn arrive(&self, threads: u32) -> Option<u64> {
        let round = self.rounds.number();
        // Ordering: AcqRel: the last one comes after all that the others have done.
        let before = self.arrived.fetch_add(1, ord("arrive", Ordering::AcqRel));
        (before + 1 < threads).then_some(round)
    }

    /// All have come. Wakes those that sleep; also those that sleep elsewhere, if anybody does.
    #[inline]
    pub(crate) fn open(&self, wake: impl FnOnce()) {
        // Ordering: Relaxed; handed on with the round.
        self.arrived.store(0, Ordering::Relaxed);
        let round = self.rounds.number();
        self.rounds.set_and(round.wrapping_add(1), wake);
    }
}
