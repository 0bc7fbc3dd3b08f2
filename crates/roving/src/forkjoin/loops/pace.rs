//! How many items a loop does between two looks around.
//!
//! Items may become a thousand times slower from one to the next, and a block whose size was found
//! on quick ones then takes long. So a block is a small part of what is done between two readings
//! of the clock.

use std::time::{Duration, Instant};

use crate::workers::Worker;

/// A loop reads the clock about this often.
const CLOCK_TIME: Duration = Duration::from_micros(4);

/// Looks around for each reading of the clock, which takes ten times as long as a look.
const LOOKS_PER_CLOCK: u32 = 10;

/// After each of its first items a loop looks around without reading the clock, which would take
/// longer than all of a short loop.
const UNCLOCKED: u8 = 16;

/// The first time that is measured is that of so many items, one by one.
const FIRST_CLOCKED: u8 = 4;

/// From one reading of the clock to the next there are at most so many times as many items.
const GROWTH_MAX: u32 = 32;

/// Half of what is left is given away if it takes about this long, as far as that is known: less is
/// done sooner than it is taken.
const CUT_TIME: Duration = Duration::from_micros(1);

/// While somebody asks in vain, a block takes at least this part of [`CUT_TIME`].
const BLOCKS_ASKED: usize = 16;

/// How many items until the next look around.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    block: usize,
    /// How many looks are still without the clock.
    unclocked: u8,
    /// How many looks there are for each reading of the clock.
    looks: u8,
    /// So many items take [`CUT_TIME`]; 1 as long as nothing is known.
    worth: usize,
    /// The last look with the clock.
    before: Option<Instant>,
}

impl Pace {
    #[inline]
    pub(super) fn new() -> Pace {
        Pace {
            block: 1,
            unclocked: UNCLOCKED,
            looks: UNCLOCKED + 1,
            worth: 1,
            before: None,
        }
    }

    /// For a part of a loop of which another part has found out how many items a block may have, if
    /// it has: 0 if not.
    #[inline]
    pub(super) fn with_block(block: usize) -> Pace {
        match block {
            0 => Pace::new(),
            _ => Pace {
                block,
                unclocked: FIRST_CLOCKED - 1,
                looks: FIRST_CLOCKED,
                ..Pace::new()
            },
        }
    }

    /// Returns what [`Self::with_block`] wants, if it was found out by the clock.
    #[inline]
    pub(super) fn known(&self) -> Option<usize> {
        self.before.map(|_| self.block)
    }

    /// Returns the number of items of the next block.
    #[inline]
    pub(super) fn block(&self) -> usize {
        self.block
    }

    /// After a block.
    #[inline]
    pub(super) fn adjust(&mut self, worker: &Worker) {
        match self.unclocked.checked_sub(1) {
            Some(left) => self.unclocked = left,
            None => self.read_clock(worker, self.looks),
        }
    }

    /// Whether half of so many items is worth giving away to somebody who asks.
    #[inline]
    pub(super) fn is_worth_a_cut(&mut self, worker: &Worker, left: usize) -> bool {
        left / 2 >= self.worth || self.is_worth_a_cut_now(worker, left)
    }

    /// The items may have become slower since the clock was read, and the others may after the next
    /// block: it is read now and then.
    #[inline(never)]
    fn is_worth_a_cut_now(&mut self, worker: &Worker, left: usize) -> bool {
        match self.looks - 1 - self.unclocked {
            0 => {}
            blocks => self.read_clock(worker, blocks),
        }
        let is_worth = left / 2 >= self.worth;
        if !is_worth {
            let block = (left / 2).max(self.worth / BLOCKS_ASKED).max(1);
            self.block = self.block.min(block);
            (self.looks, self.unclocked) = (1, 0);
        }
        is_worth
    }

    /// After so many blocks since the last reading.
    #[inline(never)]
    fn read_clock(&mut self, worker: &Worker, blocks: u8) {
        if let Some(block) = worker.registry().kind.block() {
            self.block = block;
            return;
        }
        let now = Instant::now();
        let done = self.block.saturating_mul(blocks.into());
        match self.before.replace(now) {
            Some(before) => self.adjust_to(done, now.duration_since(before)),
            None => (self.looks, self.unclocked) = (FIRST_CLOCKED, FIRST_CLOCKED - 1),
        }
    }

    /// So many items took so long.
    fn adjust_to(&mut self, done: usize, took: Duration) {
        let nanos = |time: Duration| u32::try_from(time.as_nanos()).unwrap_or(u32::MAX).max(1);
        let (took, clock) = (nanos(took), nanos(CLOCK_TIME));
        let worth = done.saturating_mul(nanos(CUT_TIME) as usize) / took as usize;
        self.worth = worth.max(1);
        // Half as many if that took longer than it should, else as many times more as fit.
        let (clocked, takes) = match (clock / took).min(GROWTH_MAX) {
            0 => ((done / 2).max(1), took / 2),
            times => (done.saturating_mul(times as usize), took * times),
        };
        let looks = (takes / (clock / LOOKS_PER_CLOCK)).clamp(1, LOOKS_PER_CLOCK);
        self.looks = clocked.min(looks as usize) as u8;
        self.block = clocked / usize::from(self.looks);
        self.unclocked = self.looks - 1;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{CLOCK_TIME, CUT_TIME, GROWTH_MAX, Pace};

    #[test]
    fn blocks_of_quick_items_grow_and_little_is_not_worth_a_cut() {
        let mut pace = Pace::new();
        assert_eq!(pace.worth, 1, "before the clock is read anything is");
        pace.adjust_to(4, Duration::from_nanos(40));
        let looks = |pace: &Pace| usize::from(pace.unclocked) + 1;
        let growth = 4 * GROWTH_MAX as usize;
        assert!(pace.block * looks(&pace) <= growth && pace.block > 1);
        let a_nanosecond_each = CLOCK_TIME.as_nanos() as usize;
        pace.adjust_to(a_nanosecond_each, CLOCK_TIME);
        assert!(looks(&pace) > 5, "{}", pace.unclocked);
        assert!(pace.block * looks(&pace) <= a_nanosecond_each);
        assert_eq!(pace.worth, CUT_TIME.as_nanos() as usize);
    }

    #[test]
    fn after_one_slow_item_all_is_worth_a_cut() {
        let mut pace = Pace::new();
        pace.adjust_to(100_000, Duration::from_micros(4));
        pace.adjust_to(1, Duration::from_millis(1));
        assert_eq!((pace.block, pace.worth, pace.unclocked), (1, 1, 0));
        pace.adjust_to(1, Duration::from_secs(100));
        assert_eq!((pace.block, pace.worth), (1, 1));
    }
}
