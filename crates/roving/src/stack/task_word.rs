//! The word by which who has a task and who waits for it meet. [`super::slot_state`] says who may
//! change it to what.

use super::slot_state::{Phase, SlotState};
use crate::machine::duty::Due;
use crate::machine::prim::{AtomicU64, Ordering, mutant, ord};

/// The duty of who has ended a task: its owner is parked until then, and is to be unparked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unpark {}

/// The word of a task: that of a slot, or of what a loop waits for.
pub(crate) struct TaskWord(AtomicU64);

impl TaskWord {
    pub(crate) fn new() -> TaskWord {
        TaskWord(AtomicU64::new(0))
    }

    /// The word, fresh enough to act on what `Started` and `Done` imply.
    pub(crate) fn state(&self) -> SlotState {
        // Ordering: Pairs with [finish] for the result, and with [begin] for leapfrogging: who
        // sees `Started` sees the holder's stack as it was then, without older runs in it.
        SlotState(self.0.load(ord("slot_state", Ordering::Acquire)))
    }

    /// Thief: begins the task that it has claimed and not offered.
    pub(crate) fn begin(&self, holder: usize, base: usize) {
        // Ordering: Relaxed; nobody else may change the word of a claimed task.
        let ready = SlotState(self.0.load(Ordering::Relaxed));
        // Ordering: Edge [begin]: Release, so that a leapfrogger which reads `Started` also sees
        // every earlier retirement in the holder's stack. The payload came with the claim.
        self.0.store(
            ready.started(holder, base).0,
            ord("begin", Ordering::Release),
        );
    }

    /// Thief: leaves the task that it has claimed to who comes first; [`Self::begin_offered`] needs
    /// what this returns.
    pub(crate) fn offer(&self) -> SlotState {
        // Ordering: Relaxed; nobody else may change the word of a claimed task, and what its
        // payload needs is passed on with the offer.
        let offered = SlotState(self.0.load(Ordering::Relaxed)).offered();
        // Ordering: Edge [offer]: Release, so that the thief's look at the task
        // ([`will_run`](super::slot::Slot::will_run)) comes before the slot's next one is put in.
        self.0.store(offered.0, ord("offer", Ordering::Release));
        offered
    }

    /// Begins an offered task. False when somebody else has, or the owner took it back.
    #[must_use]
    pub(crate) fn begin_offered(&self, offered: SlotState, holder: usize, base: usize) -> bool {
        let started = offered.started(holder, base);
        // Ordering: Release, as [begin].
        let order = ord("begin_offered", Ordering::Release);
        self.0
            .compare_exchange(offered.0, started.0, order, Ordering::Relaxed)
            .is_ok()
    }

    /// Thief: the task has ended and its result is in the payload. The slot may be
    /// the owner's again at once.
    pub(crate) fn finish(&self) -> Due<Unpark> {
        // Ordering: Relaxed; the holder itself wrote the word, bar the waiter bit.
        let started = SlotState(self.0.load(Ordering::Relaxed));
        // Ordering: Edge [finish]: Release hands the result to the owner's acquire in `state`.
        let before = self
            .0
            .swap(started.done().0, ord("finish", Ordering::Release));
        Due::when(SlotState(before).has_waiter())
    }

    /// Owner: takes a claimed task back that is offered. False when somebody has begun it, or its
    /// thief has not said yet what it does.
    #[must_use]
    pub(crate) fn take_back(&self) -> bool {
        // Ordering: Relaxed; the payload was never anybody else's.
        let offered = SlotState(self.0.load(Ordering::Relaxed));
        if offered.phase() != Phase::Offered {
            return false;
        }
        let next = match mutant("keep_generation") {
            true => offered.same_generation(),
            false => offered.next_generation(),
        };
        // Ordering: Relaxed, as above; atomicity alone decides between owner and thief. That the
        // offer was made is seen by `state` before. Pairs with [offer] there, or with [finish] if
        // the offer was begun, which is in the same release sequence.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        self.0
            .compare_exchange(offered.0, next.0, success, failure)
            .is_ok()
    }

    /// Owner: announces that it parks until the run that it sees has ended. False when it has ended
    /// meanwhile.
    #[must_use]
    pub(crate) fn announce_waiter(&self, started: SlotState) -> bool {
        // Ordering: Relaxed; whether the thief sees the bit or this call the end is decided by both
        // being read-modify-writes, and the result is looked for with `state`.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let waited_for = started.with_waiter();
        self.0
            .compare_exchange(started.0, waited_for.0, success, failure)
            .is_ok()
    }

    /// Owner: the task has ended, its result is out; the slot is free again.
    pub(super) fn retire(&self) {
        // Ordering: Relaxed; the next publication of the span releases it.
        let state = SlotState(self.0.load(Ordering::Relaxed));
        debug_assert!(state.is_done());
        // Ordering: Relaxed, as above. Nobody changes the word of a task that is done.
        self.0.store(state.next_generation().0, Ordering::Relaxed);
    }

    /// Begins a run in a free word that several threads may try for. False when it was not free.
    #[must_use]
    pub(crate) fn begin_free(&self, holder: usize, base: usize) -> bool {
        // Ordering: Relaxed; the compare-and-swap decides.
        let ready = SlotState(self.0.load(Ordering::Relaxed));
        ready.phase() == Phase::Ready && self.begin_offered(ready, holder, base)
    }

    /// Holder: the run that it began in a free word has ended, and the word is free again.
    pub(crate) fn leave(&self) {
        // Ordering: Relaxed, both: nobody else may change the word of a run, and its end hands over
        // nothing.
        let started = SlotState(self.0.load(Ordering::Relaxed));
        self.0.store(started.next_generation().0, Ordering::Relaxed);
    }
}
