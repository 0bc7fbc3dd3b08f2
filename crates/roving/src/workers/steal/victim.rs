//! The order in which a thief searches the other workers.

use std::cell::Cell;

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

    /// Every other of that many seats once.
    pub(crate) fn others(&self, me: usize, seats: usize) -> impl Iterator<Item = usize> + use<> {
        let last = self.last.get();
        let start = self.next() as usize % seats;
        let others = (start..seats)
            .chain(0..start)
            .filter(move |&seat| seat != last);
        let first = (last < seats).then_some(last);
        first
            .into_iter()
            .chain(others)
            .filter(move |&seat| seat != me)
    }

    /// That one had something.
    pub(crate) fn remember(&self, victim: usize) {
        self.last.set(victim);
    }
}
