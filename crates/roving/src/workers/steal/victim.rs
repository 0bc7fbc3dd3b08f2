//! The order in which a thief searches the other workers.

use std::cell::Cell;

/// A worker's choice of victims: the last one that had something, then all others from a random
/// one on. Half of the times, those that share a cache with it come before the others: a task from
/// there is sooner here. But not always: work that is far away would spread by chance alone.
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

    /// Every other of that many seats, once; those that are `near` twice where they come first.
    pub(crate) fn others<'n>(&self, me: usize, seats: usize, near: &'n [usize]) -> Others<'n> {
        let random = self.next();
        Others {
            me,
            last: self.last.get(),
            seats,
            near: if random >> 63 == 0 { near } else { &[] },
            start: random as usize % seats,
            looks: 0,
        }
    }

    /// That one had something.
    pub(crate) fn remember(&self, victim: usize) {
        self.last.set(victim);
    }
}

/// The seats that a thief looks at, in their order.
pub(crate) struct Others<'n> {
    me: usize,
    last: usize,
    seats: usize,
    near: &'n [usize],
    start: usize,
    /// So many have been taken, or passed over.
    looks: usize,
}

impl Iterator for Others<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let near = self.near.len();
        while self.looks <= near + self.seats {
            let look = self.looks;
            self.looks += 1;
            let (seat, is_first) = match look.checked_sub(1) {
                None => (self.last, true),
                Some(place) if place < near => (self.near[(self.start + place) % near], false),
                Some(place) => ((self.start + place - near) % self.seats, false),
            };
            if seat < self.seats && seat != self.me && (is_first || seat != self.last) {
                return Some(seat);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_other_is_visited_and_those_near_come_first_half_of_the_times() {
        let victims = Victims::new(2);
        let near = [5, 2, 3];
        let mut near_first = 0;
        for _ in 0..1000 {
            let mut order: Vec<usize> = victims.others(2, 6, &near).collect();
            near_first += usize::from(order.len() == 7);
            if order.len() == 7 {
                assert!(order[..2] == [3, 5] || order[..2] == [5, 3], "{order:?}");
            }
            order.sort_unstable();
            order.dedup();
            assert_eq!(order, [0, 1, 3, 4, 5]);
        }
        assert!((400..600).contains(&near_first), "{near_first}");
    }

    #[test]
    fn the_last_one_comes_first_and_no_seat_that_is_not_in_use() {
        let victims = Victims::new(0);
        victims.remember(4);
        for _ in 0..100 {
            let order: Vec<usize> = victims.others(0, 5, &[0, 4, 1, 7]).collect();
            assert_eq!((order[0], order.iter().max()), (4, Some(&4)), "{order:?}");
            let fewer: Vec<usize> = victims.others(0, 3, &[]).collect();
            assert_eq!(fewer.len(), 2);
        }
    }
}
