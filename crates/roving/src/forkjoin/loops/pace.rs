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
const LOOKS_PER_CLOCK: usize = 16;

/// Blocks of so many items are not made smaller, or loops over few quick items would take longer.
const BLOCK_LEAST: usize = 64;

/// After each of its first items a loop looks around without reading the clock, which would take
/// longer than all of a short loop.
const UNCLOCKED: u8 = 16;

/// How many items until the next look around.
pub(super) struct Pace {
    block: usize,
    /// How many looks are still without the clock.
    unclocked: u8,
    /// How many looks there are for each reading of the clock.
    looks: u8,
    /// The last look with the clock.
    before: Option<Instant>,
}

impl Pace {
    #[inline]
    pub(super) fn new() -> Pace {
        Pace {
            block: 1,
            unclocked: UNCLOCKED,
            looks: 1,
            before: None,
        }
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
            None => self.adjust_by_clock(worker),
        }
    }

    #[inline(never)]
    fn adjust_by_clock(&mut self, worker: &Worker) {
        if let Some(block) = worker.registry().kind.block() {
            self.block = block;
            return;
        }
        let now = Instant::now();
        let Some(before) = self.before.replace(now) else {
            return;
        };
        let took = now.duration_since(before);
        let mut clocked = self.block.saturating_mul(self.looks.into());
        if took < CLOCK_TIME / 8 {
            clocked = clocked.saturating_mul(4);
        } else if took < CLOCK_TIME / 2 {
            clocked = clocked.saturating_mul(2);
        } else if took > CLOCK_TIME {
            clocked = (clocked / 2).max(1);
        }
        self.looks = (clocked / BLOCK_LEAST).clamp(1, LOOKS_PER_CLOCK) as u8;
        self.block = clocked / usize::from(self.looks);
        self.unclocked = self.looks - 1;
    }
}
