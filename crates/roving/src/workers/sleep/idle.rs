//! The set of idle workers: those that are asleep, or about to be.

use std::mem;

use crate::machine::duty::Due;
use crate::machine::prim::{AtomicU64, Ordering};

/// The duty of a worker that was called and leaves the set by itself: it does what it was called
/// for, or calls another.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heed {}

/// A worker that was taken out of the set: the caller has undertaken to wake it.
#[must_use = "nobody else wakes the worker"]
pub(crate) struct Asleep(usize);

impl Asleep {
    /// Wakes it by `unpark`.
    #[inline]
    pub(crate) fn wake(self, unpark: impl FnOnce(usize)) {
        unpark(self.stand_in());
    }

    /// The caller takes its place instead, or calls for it in another way.
    #[inline]
    pub(crate) fn stand_in(self) -> usize {
        let worker = self.0;
        mem::forget(self);
        worker
    }
}

#[cfg(debug_assertions)]
impl Drop for Asleep {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "a worker sleeps on");
    }
}

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

    /// The worker will not sleep after all. Something is due when somebody has undertaken to wake
    /// it.
    pub(crate) fn retract(&self, worker: usize) -> Due<Heed> {
        let (word, bit) = self.place(worker);
        // Ordering: Relaxed, as in `contains`.
        Due::when(word.fetch_and(!bit, Ordering::Relaxed) & bit == 0)
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

    /// Takes one idle worker out. Lower indices first, so that spare
    /// threads come last.
    pub(crate) fn take_one(&self) -> Option<Asleep> {
        // Most look in vain.
        // Ordering: Relaxed; what makes the caller look here also made the bit visible.
        let is_some = |word: &AtomicU64| word.load(Ordering::Relaxed) != 0;
        let first = self.words.iter().position(is_some)?;
        self.take_from(first)
    }

    #[inline(never)]
    fn take_from(&self, first: usize) -> Option<Asleep> {
        for (number, word) in self.words.iter().enumerate().skip(first) {
            // Ordering: Relaxed; what makes the caller look here also made the bit visible.
            let mut bits = word.load(Ordering::Relaxed);
            while bits != 0 {
                let bit = bits & bits.wrapping_neg();
                // Ordering: Relaxed, as in `contains`.
                bits = word.fetch_and(!bit, Ordering::Relaxed);
                if bits & bit != 0 {
                    let worker = number * 64 + bit.trailing_zeros() as usize;
                    return Some(Asleep(worker));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_set_from_which_the_lowest_is_taken_first() {
        let set = IdleSet::new(130);
        assert!(set.is_empty() && set.take_one().is_none());
        for worker in [129, 64, 3] {
            assert!(!set.contains(worker));
            set.announce(worker);
            assert!(set.contains(worker) && !set.is_empty());
        }
        for worker in [3, 64, 129] {
            assert!(!set.is_empty());
            assert_eq!(set.take_one().map(Asleep::stand_in), Some(worker));
            assert!(!set.contains(worker));
        }
        assert!(set.is_empty());
    }
}
