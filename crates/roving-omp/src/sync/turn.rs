//! The words of a place in the ring of constructs.
//!
//! | turn | meaning | from it, by whom |
//! |---|---|---|
//! | 4k | free for construct k | to 4k + 1: the first thread to come |
//! | 4k + 1 | being set up, by that thread | to 4k + 2: the same |
//! | 4k + 2 | in use | to 4(k + ring): the last thread to leave; to 4k + 3: who comes for a later one |
//! | 4k + 3 | in use, and some of those that come next are [elsewhere](super::elsewhere) | to the first that is not: the last thread to leave |
//!
//! `left` counts the threads that have left. The last one sets it to 0 before it hands the place
//! on.

use crate::prim::{AtomicU32, AtomicU64, Ordering, ord};

const SETUP: u64 = 1;
const READY: u64 = 2;
const PASSED_BY: u64 = 3;

pub(crate) struct PlaceTurn {
    turn: AtomicU64,
    left: AtomicU32,
}

/// How a thread finds the place for its construct.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PlaceState {
    /// It has been set up.
    Ready,
    /// Nobody has come: the thread sets it up, and says [`PlaceTurn::is_set_up`].
    Free,
    /// Another thread sets it up.
    Begun,
    /// It is in use for an older construct, or has been handed on to a later one: this one has no
    /// place, or waits for it.
    Elsewhere,
}

impl PlaceTurn {
    /// For the construct with that number.
    pub(crate) fn new(k: u64) -> PlaceTurn {
        PlaceTurn {
            turn: AtomicU64::new(4 * k),
            left: AtomicU32::new(0),
        }
    }

    /// Whether nobody has come since it was made for construct `k`. Asked when nobody uses it.
    pub(crate) fn is_unused(&self, k: u64) -> bool {
        // Ordering: Relaxed; who asks hears of the last region by an edge of its own.
        self.turn.load(Ordering::Relaxed) == 4 * k
    }

    /// It is for construct `k`. Nobody uses it.
    pub(crate) fn reset(&self, k: u64) {
        // Ordering: Relaxed, both; who comes hears of the region by an edge of its own ([dock]).
        self.left.store(0, Ordering::Relaxed);
        self.turn.store(4 * k, Ordering::Relaxed);
    }

    /// It has been set up for construct 0 before anybody comes.
    pub(crate) fn begin(&self) {
        // Ordering: Relaxed; as in `reset`.
        self.turn.store(READY, Ordering::Relaxed);
    }

    /// Whether it has been set up for construct `k`.
    #[inline]
    pub(crate) fn is_ready(&self, k: u64) -> bool {
        // Ordering: Acquire. Pairs with [share].
        self.turn.load(ord("see_share", Ordering::Acquire)) == 4 * k + READY
    }

    /// Comes for construct `k`.
    pub(crate) fn find(&self, k: u64) -> PlaceState {
        // Ordering: Acquire. Pairs with [share].
        let turn = self.turn.load(ord("see_share", Ordering::Acquire));
        if turn == 4 * k + READY || turn == 4 * k + PASSED_BY {
            return PlaceState::Ready;
        }
        if turn < 4 * k || turn > 4 * k + PASSED_BY {
            return PlaceState::Elsewhere;
        }
        // Ordering: Relaxed, both; the value was read with Acquire, and is written only once.
        let begins = turn == 4 * k
            && self
                .turn
                .compare_exchange(turn, turn + SETUP, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        match begins {
            true => PlaceState::Free,
            false => PlaceState::Begun,
        }
    }

    /// The calling thread, which found it free, has set it up.
    pub(crate) fn is_set_up(&self, k: u64) {
        // Ordering: Edge [share]: Release, of what was set up, or cleared.
        self.turn
            .store(4 * k + READY, ord("share", Ordering::Release));
    }

    /// One of so many threads has no more to do here. True: it was the last one, clears the place
    /// and says [`PlaceTurn::hand_on`].
    #[inline]
    pub(crate) fn leave(&self, threads: u32) -> bool {
        // Ordering: AcqRel: the last thread comes after all uses by the others.
        let before = self.left.fetch_add(1, ord("leave_share", Ordering::AcqRel));
        before + 1 == threads
    }

    /// Construct `k` finds the place in use for an older one, which all threads have begun that
    /// come to `k`. Whoever hands it on is told so. False: it has been handed on.
    pub(crate) fn pass_by(&self, k: u64) -> bool {
        // Ordering: Relaxed, both; the lock of those that are elsewhere orders it with the other
        // half, and who finds the place in use after this reads what was stored with the turn.
        let passed = |turn: u64| (turn < 4 * k && turn & READY != 0).then_some(turn | PASSED_BY);
        self.turn
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, passed)
            .is_ok()
    }

    /// The place, which was for construct `k`, is for construct `next` from now on. False: others
    /// have passed it by, and it is to be [handed on](PlaceTurn::hand_on_to) under their lock.
    pub(crate) fn hand_on(&self, k: u64, next: u64) -> bool {
        // Ordering: Relaxed; handed on with the turn.
        self.left.store(0, Ordering::Relaxed);
        // Ordering: Release: [share]. Relaxed: the lock orders the rest.
        self.turn
            .compare_exchange(
                4 * k + READY,
                4 * next,
                ord("hand_on", Ordering::Release),
                Ordering::Relaxed,
            )
            .is_ok()
    }

    /// The place is for construct `next` from now on. Said under the lock of those that pass by.
    pub(crate) fn hand_on_to(&self, next: u64) {
        // Ordering: Release: [share].
        self.turn
            .store(4 * next, ord("hand_on_to", Ordering::Release));
    }
}
