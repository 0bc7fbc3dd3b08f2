//! The word of a seat that has no thread of its own: who is there, and whether somebody was called.

use super::board::Board;
use crate::machine::duty::Due;
use crate::machine::prim::{AtomicUsize, Ordering, ord};

/// Which thread of the arena is at a seat, and whether somebody has called for one since it last
/// looked.
///
/// | word | thread | called | meaning |
/// |---|---|---|---|
/// | 0 | none | no | asleep, as a parked worker is |
/// | 1 | none | yes | a request is on the arena's board, or about to be |
/// | 2t + 2 | t | no | thread t works there, or waits in a frame there |
/// | 2t + 3 | t | yes | the same, and it has to look around once more before it leaves |
///
/// | transition | by | from | to |
/// |---|---|---|---|
/// | [`Self::call`] | anybody | any | called |
/// | [`Self::take`] | the thread that has the request | 1 | 2t + 2 |
/// | [`Self::take_free`] | a thread that visits | 0 | 2t + 2 |
/// | [`Self::heed`] | the thread, before its last look | 2t + 2, 2t + 3 | 2t + 2 |
/// | [`Self::leave`] | the thread, after it | 2t + 2, 2t + 3 | 0, 1 |
/// | [`Self::leave_called`] | the thread, if there is work left | 2t + 2, 2t + 3 | 1 |
///
/// The test `every_step_of_a_seat_keeps_its_promises` has this table as data, and holds the code to
/// it.
///
/// Who makes it 1 puts a request on the board, so there is one request for each seat that is in
/// state 1, and none for any other. All changes are read-modify-writes. So each call is followed by
/// a change of the seat's thread, `take` or `heed`, that acquires what was written before the call,
/// and by a look after that.
pub(crate) struct SeatWord(AtomicUsize);

const CALLED: usize = 1;

/// The duty of a thread that leaves a seat to which it was called: it asks the board for another.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {}

/// The result of a call to a worker slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Called {
    /// A seat without a thread: the caller asks the board for one.
    Nobody,
    /// Somebody has called already, and no thread is there yet.
    Already,
    /// The thread with that number is there: the caller unparks it.
    Thread(usize),
}

impl SeatWord {
    #[inline]
    pub(crate) fn new() -> SeatWord {
        SeatWord(AtomicUsize::new(0))
    }

    #[cfg(test)]
    pub(super) fn of(word: usize) -> SeatWord {
        SeatWord(AtomicUsize::new(word))
    }

    #[cfg(test)]
    pub(super) fn value(&self) -> usize {
        // Ordering: Relaxed; one thread.
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    fn taken_by(thread: usize) -> usize {
        (thread + 1) << 1
    }

    /// Whether no thread is there, as far as can be told by looking.
    #[inline]
    pub(crate) fn is_left(&self) -> bool {
        // Ordering: Relaxed; a hint.
        self.0.load(Ordering::Relaxed) <= CALLED
    }

    #[inline]
    pub(crate) fn call(&self) -> Called {
        // Ordering: Edge [call]: Release hands what the caller has written to who looks around at
        // the seat next.
        let before = self.0.fetch_or(CALLED, ord("call", Ordering::Release));
        match before >> 1 {
            0 if before == 0 => Called::Nobody,
            0 => Called::Already,
            thread => Called::Thread(thread - 1),
        }
    }

    /// Has a thread look around at the seat: the one that is there, or else one for which `request`
    /// asks the board.
    #[inline]
    pub(crate) fn call_thread<R>(&self, board: &Board<R>, request: impl FnOnce()) {
        match self.call() {
            Called::Nobody => request(),
            Called::Already => {}
            Called::Thread(number) => board.unpark(number),
        }
    }

    /// The thread has the request that was made for this seat.
    #[inline]
    pub(crate) fn take(&self, thread: usize) {
        // Ordering: Acquire. Pairs with [call]: the reason is seen. Pairs with [vacate]: so is all
        // that the last thread did here.
        let order = ord("take", Ordering::Acquire);
        let before = self.0.swap(SeatWord::taken_by(thread), order);
        debug_assert_eq!(before, CALLED);
    }

    /// The thread comes without a request. False if the seat is not free.
    #[inline]
    pub(crate) fn take_free(&self, thread: usize) -> bool {
        let order = ord("take_free", Ordering::Acquire);
        // Ordering: Acquire. Pairs with [vacate], as in `take`.
        self.0
            .compare_exchange(0, SeatWord::taken_by(thread), order, Ordering::Relaxed)
            .is_ok()
    }

    /// The seat's thread is about to look around for the last time: who calls from now on is heard
    /// by `leave`.
    #[inline]
    pub(crate) fn heed(&self) {
        // Ordering: Acquire. Pairs with [call]: what was called for so far is seen by the look.
        self.0.fetch_and(!CALLED, ord("heed", Ordering::Acquire));
    }

    /// The seat's thread leaves. A request is due if somebody has called since it has heeded.
    #[inline]
    pub(crate) fn leave(&self) -> Due<Request> {
        // Ordering: Edge [vacate]: Release hands the seat's own memory to the next thread. Acquire.
        // Pairs with [call]: whether the call is urgent is seen.
        let before = self.0.fetch_and(CALLED, ord("leave", Ordering::AcqRel));
        Due::when(before & CALLED != 0)
    }

    /// The seat's thread leaves, in the state that asks for another.
    #[inline]
    pub(crate) fn leave_called(&self) -> Due<Request> {
        // Ordering: Release, as in `leave`. Pairs with [vacate].
        self.0.swap(CALLED, ord("leave_called", Ordering::Release));
        Due::when(true)
    }
}
