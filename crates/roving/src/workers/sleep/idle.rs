//! The set of idle workers: those that are asleep, or about to be.

use crate::machine::prim::{AtomicU64, Ordering};

/// A set of worker indices, each set by its worker before it goes to sleep, and cleared by
/// whoever takes it upon himself to wake that worker, or by the worker that thinks better of it.
pub(crate) struct IdleSet {
    words: Box<[AtomicU64]>,
}

impl IdleSet {
    pub(crate) fn new(workers: usize) -> IdleSet {
        IdleSet {
            words: (0..workers.div_ceil(64))
                .map(|_| AtomicU64::new(0))
                .collect(),
        }
    }

    fn place(&self, worker: usize) -> (&AtomicU64, u64) {
        (&self.words[worker / 64], 1 << (worker % 64))
    }

    /// The worker will sleep unless it finds work in a last look.
    pub(crate) fn announce(&self, worker: usize) {
        let (word, bit) = self.place(worker);
        // Ordering: Edge [idle_announce]: Relaxed; the worker's want flags ([want]) and the
        // injector's lock release it to whoever brings work.
        word.fetch_or(bit, Ordering::Relaxed);
    }

    /// The worker will not sleep after all. False when somebody has undertaken to wake it.
    pub(crate) fn retract(&self, worker: usize) -> bool {
        let (word, bit) = self.place(worker);
        // Ordering: Relaxed, as in `contains`.
        word.fetch_and(!bit, Ordering::Relaxed) & bit != 0
    }

    /// Whether nobody has undertaken to wake the worker yet.
    pub(crate) fn contains(&self, worker: usize) -> bool {
        let (word, bit) = self.place(worker);
        // Ordering: Relaxed; who is woken looks for the reason with read-modify-writes and locks.
        word.load(Ordering::Relaxed) & bit != 0
    }

    /// Whether there seems to be nobody in it.
    pub(crate) fn is_empty(&self) -> bool {
        // Ordering: Relaxed; a hint.
        self.words
            .iter()
            .all(|word| word.load(Ordering::Relaxed) == 0)
    }

    /// Takes one idle worker out, for the caller to wake. Lower indices first, so that spare
    /// threads come last.
    #[must_use]
    pub(crate) fn take_one(&self) -> Option<usize> {
        for (number, word) in self.words.iter().enumerate() {
            // Ordering: Relaxed; what makes the caller look here also made the bit visible.
            let mut bits = word.load(Ordering::Relaxed);
            while bits != 0 {
                let bit = bits & bits.wrapping_neg();
                // Ordering: Relaxed, as in `contains`.
                bits = word.fetch_and(!bit, Ordering::Relaxed);
                if bits & bit != 0 {
                    return Some(number * 64 + bit.trailing_zeros() as usize);
                }
            }
        }
        None
    }
}
