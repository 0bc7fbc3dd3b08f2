//! The order in which a thief searches the other workers.

use std::cell::Cell;

use crate::workers::Worker;

/// A worker's choice of victims: the last one that had something, then all others from a random
/// one on.
pub(crate) struct Victims {
    last: Cell<usize>,
    random: Cell<u64>,
}

impl Victims {
    pub(crate) fn new(index: usize) -> Victims {
        // Any odd seed will do; workers differ.
        let seed = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Victims {
            last: Cell::new(usize::MAX),
            random: Cell::new(seed),
        }
    }

    /// xorshift64 (Marsaglia 2003): cheap, and good enough to spread thieves.
    fn next(&self) -> u64 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x
    }
}

impl Worker {
    /// Every other seat once.
    pub(crate) fn victims(&self) -> impl Iterator<Item = usize> + use<> {
        let seats = self.registry().in_use.count();
        let (me, last) = (self.index(), self.victim_choice().last.get());
        let start = self.victim_choice().next() as usize % seats;
        let others = (start..seats)
            .chain(0..start)
            .filter(move |&seat| seat != last);
        let first = (last < seats).then_some(last);
        first
            .into_iter()
            .chain(others)
            .filter(move |&seat| seat != me)
    }

    pub(crate) fn remember_victim(&self, victim: usize) {
        self.victim_choice().last.set(victim);
    }
}
