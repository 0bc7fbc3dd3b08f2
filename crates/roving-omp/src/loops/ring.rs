//! The ring of what the threads of a team share at a time: a thread may be many constructs ahead of
//! another, since not each ends in a barrier.
//!
//! All threads of a team meet the same constructs in the same order, and count them. Construct `k`
//! has the place `k % RING` of the ring, whose turn says what it is for, or is [`Elsewhere`] where
//! that is in use when the first thread comes. Nobody waits for a place: who has it may wait for
//! what the thread does that is ahead.

use std::ptr;

use super::share::{Setup, SharedConstruct};
use crate::sync::elsewhere::Elsewhere;

/// Constructs that have places.
const RING: usize = 8;

pub(crate) struct ConstructRing {
    places: [SharedConstruct; RING],
    elsewhere: Elsewhere<SharedConstruct>,
}

impl ConstructRing {
    pub(crate) fn new() -> ConstructRing {
        ConstructRing {
            places: std::array::from_fn(|index| SharedConstruct::new(index as u64)),
            elsewhere: Elsewhere::default(),
        }
    }

    /// The place of construct `k`, if it has one.
    #[inline]
    pub(crate) fn place(&self, k: u64) -> &SharedConstruct {
        &self.places[k as usize % RING]
    }

    /// Construct `k`, which did not find its place for it, if it is elsewhere. It stays until all
    /// threads have left it, and one more that could have had its place. `None`: it has its place
    /// by now.
    #[cold]
    pub(crate) fn elsewhere(&self, k: u64) -> Option<&SharedConstruct> {
        let place = self.place(k);
        let make = || SharedConstruct::new(k);
        let found = self.elsewhere.find(k, place.turn(), make);
        // SAFETY: it is dropped when the calling thread has left it.
        found.map(|found| unsafe { &*found })
    }

    /// One of the team's threads has no more to do at construct `k`; the last one frees it.
    #[inline]
    pub(crate) fn leave(&self, k: u64, share: &SharedConstruct, threads: u32) {
        if share.turn().leave(threads) {
            share.clear();
            match ptr::eq(share, self.place(k)) {
                true => self.elsewhere.hand_on(share.turn(), k, RING as u64),
                // Memory is used a little longer than its construct, but not until the next one.
                false => self.elsewhere.forget(k.saturating_sub(RING as u64)),
            }
        }
    }

    /// Sets up the first construct of a region, before its threads come.
    pub(crate) fn begin(&self, setup: impl FnOnce(&mut Setup<'_>)) {
        self.places[0].begin(setup);
    }

    /// For another region. No thread is in one.
    pub(crate) fn reset(&self) {
        for (index, place) in self.places.iter().enumerate() {
            place.reset(index as u64);
        }
        self.elsewhere.clear();
    }
}
