//! The count of worker slots that have ever had a thread.

use crate::machine::prim::{AtomicUsize, Ordering, mutant, ord};

/// The number of worker slots in use: those of the workers, and those of the compensation threads
/// that were started so far. It only grows.
pub(crate) struct InUse(AtomicUsize);

impl InUse {
    pub(crate) fn new(workers: usize) -> InUse {
        InUse(AtomicUsize::new(workers))
    }

    /// A thief looks at the slots below this number.
    pub(crate) fn count(&self) -> usize {
        // Ordering: Acquire. Pairs with [seat_in_use].
        self.0.load(ord("count_seats", Ordering::Acquire))
    }

    /// For a worker that is about to sleep: either it sees a slot that is being taken into use, or
    /// the thread there sees what this worker has written before.
    pub(crate) fn see(&self) {
        if mutant("see_seats") {
            return;
        }
        // Ordering: AcqRel, by a read-modify-write, because the other side's is one too. Pairs with
        // [seat_in_use].
        self.0
            .fetch_add(0, ord("see_seats_order", Ordering::AcqRel));
    }

    /// The slot `index` is made, and its thread is started or about to start.
    pub(crate) fn take(&self, index: usize) {
        // Ordering: Edge [seat_in_use]: Release, so that a thief that looks at the slot finds it
        // made; Acquire, so that the new thread sees which workers sleep without having looked at
        // it.
        self.0
            .fetch_max(index + 1, ord("seat_in_use", Ordering::AcqRel));
    }
}
