//! How many things have not ended, and what is left of a budget.

use crate::prim::{AtomicU8, AtomicUsize, Ordering, ord};

/// The number of things that have not ended. Whoever has ended the last one, or finds that none is
/// left, has seen what was done for all of them.
#[derive(Default)]
pub(crate) struct OpenCount(AtomicUsize);

impl OpenCount {
    /// So many have not ended.
    pub(crate) fn of(count: usize) -> OpenCount {
        OpenCount(AtomicUsize::new(count))
    }

    /// One more. Who asks whether all have ended hears of it by an edge of its own, or has said it.
    pub(crate) fn enter(&self) {
        // Ordering: Relaxed; what is counted has done nothing yet.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// One has ended. Returns whether it was the last.
    pub(crate) fn leave(&self) -> bool {
        // Ordering: Edge [count]: Release, of what was done for this one; Acquire, of what was done
        // for the others.
        self.0.fetch_sub(1, ord("count", Ordering::AcqRel)) == 1
    }

    /// Whether all but so many have ended.
    pub(crate) fn has_left(&self, left: usize) -> bool {
        // Ordering: Acquire. Pairs with [count].
        self.0.load(ord("see_count", Ordering::Acquire)) == left
    }
}

/// The parts of one end that have not come, a bit each.
pub(crate) struct Missing(AtomicU8);

impl Missing {
    pub(crate) fn new(parts: u8) -> Missing {
        Missing(AtomicU8::new(parts))
    }

    /// Those parts have come. Returns whether with that the last one has, which is so once: a part
    /// may come again.
    pub(crate) fn come(&self, parts: u8) -> bool {
        // Ordering: AcqRel: who brings the last part comes after what was done for the others.
        let before = self.0.fetch_and(!parts, ord("part", Ordering::AcqRel));
        before != 0 && before & !parts == 0
    }

    /// Whether that one alone is missing.
    pub(crate) fn is_only(&self, part: u8) -> bool {
        // Ordering: Relaxed. Who brings the other part rings afterwards, and who may sleep looks
        // again when it has counted itself as a sleeper: the gate orders the two. For others it is
        // a hint: another part may come meanwhile, and `come` says whether it has.
        self.0.load(Ordering::Relaxed) == part
    }
}

/// An amount of which anybody takes, and gives back what it has taken.
pub(crate) struct Budget {
    all: usize,
    taken: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(all: usize) -> Budget {
        Budget {
            all,
            taken: AtomicUsize::new(0),
        }
    }

    /// Takes so much, if there is as much left.
    pub(crate) fn take(&self, amount: usize) -> bool {
        let more = |taken: usize| taken.checked_add(amount).filter(|&sum| sum <= self.all);
        // Ordering: Relaxed, both; a number that stands for itself.
        self.taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
    }

    /// Gives so much back.
    pub(crate) fn give_back(&self, amount: usize) {
        // Ordering: Relaxed; a number that stands for itself.
        self.taken.fetch_sub(amount, Ordering::Relaxed);
    }
}
