//! A lookup from the tasks of one stack to the contexts that they were made in.
//!
//! A task has no room for a context, and no instruction to spare for it. But a context is entered
//! by a frame: whatever is pushed inside has been joined before the frame ends. So it is enough to
//! note, for each context entered, from which slot on the tasks of this stack belong to it: a
//! *segment*, which ends where the next begins. A thief that has claimed a task looks up the
//! segment that its slot lies in.
//!
//! | who | does what | when |
//! |---|---|---|
//! | owner | opens a segment at its top, closes it | the top is there again: no task of it is left, claimed ones included |
//! | thief | looks up the segment of a slot | it has claimed the task there, and not yet said that it has ended |
//!
//! The segment that covers a claimed task stays as it is until the thief has ended that task: its
//! owner waits for that first. Those above it may come and go meanwhile, and the thief may see one
//! as it is being written; but whatever stands there begins above the task, so that it is passed
//! over. What stood there before the task was pushed may begin below it; the count keeps a thief
//! from reading it.
//!
//! A seat that has entered no context costs its owner nothing, and a thief one load.

use std::ptr;
use std::sync::OnceLock;

use crate::machine::apart::Apart;
use crate::machine::prim::{AtomicPtr, AtomicUsize, Ordering, ord};

/// The segments of one stack. Only its owner opens and closes them; anybody looks them up.
pub(crate) struct Segments {
    /// How many are open.
    count: AtomicUsize,
    /// The first has room for [`FIRST`], each further one for as many as all before it together.
    blocks: [Apart<OnceLock<Box<[Segment]>>>; BLOCKS],
}

/// The tasks from a slot on belong to a context, whose address this is; null for none.
struct Segment {
    base: AtomicUsize,
    context: AtomicPtr<()>,
}

/// Segments in the first block, a power of two.
const FIRST: usize = 4;
/// Enough for one segment at each slot that a stack can have, and one above them.
const BLOCKS: usize = 13;

/// The undo record of an opened segment, for [`Segments::close`].
#[derive(Clone, Copy)]
#[must_use]
pub(crate) enum Opened {
    /// A segment was added.
    Added,
    /// The newest one began at the same slot, and had that context.
    Replaced(*mut ()),
}

/// In which block a segment stands, and where.
fn place(index: usize) -> (usize, usize) {
    match index < FIRST {
        true => (0, index),
        false => {
            let block = (index / FIRST).ilog2() as usize + 1;
            (block, index - (FIRST << (block - 1)))
        }
    }
}

impl Segments {
    pub(crate) fn new() -> Segments {
        Segments {
            count: AtomicUsize::new(0),
            blocks: [const { Apart::new(OnceLock::new()) }; BLOCKS],
        }
    }

    /// Owner: whether none is open.
    pub(crate) fn is_empty(&self) -> bool {
        // Ordering: Relaxed; the owner alone changes it.
        self.count.load(Ordering::Relaxed) == 0
    }

    fn at(&self, index: usize) -> Option<&Segment> {
        let (block, at) = place(index);
        self.blocks.get(block)?.get()?.get(at)
    }

    /// The segment at `index`, allocated if it does not exist yet.
    fn make(&self, index: usize) -> &Segment {
        let (block, at) = place(index);
        let length = FIRST << block.saturating_sub(1);
        let new = || Segment {
            base: AtomicUsize::new(0),
            context: AtomicPtr::new(ptr::null_mut()),
        };
        &self.blocks[block].get_or_init(|| (0..length).map(|_| new()).collect())[at]
    }

    /// Owner: the tasks from its top on, which is `base`, belong to that context.
    pub(crate) fn open(&self, base: usize, context: *mut ()) -> Opened {
        // Ordering: Relaxed; the owner alone changes it.
        let count = self.count.load(Ordering::Relaxed);
        if let Some(newest) = count.checked_sub(1).and_then(|newest| self.at(newest)) {
            // Ordering: Relaxed, all three: written by the owner alone, and read only by thieves of
            // tasks at or above its base, of which there are none now; what they claim is published
            // later.
            if newest.base.load(Ordering::Relaxed) == base {
                let before = newest.context.load(Ordering::Relaxed);
                newest.context.store(context, Ordering::Relaxed);
                return Opened::Replaced(before);
            }
        }
        let segment = self.make(count);
        // Ordering: Relaxed, both; [segment] and [publish] hand them over.
        segment.base.store(base, Ordering::Relaxed);
        segment.context.store(context, Ordering::Relaxed);
        // Ordering: Edge [segment]: Release, so that who reads the count reads what was written for
        // it, and not what stood there before.
        self.count
            .store(count + 1, ord("segment", Ordering::Release));
        Opened::Added
    }

    /// Owner: its top is where it was when the segment was opened, and no newer one is open.
    pub(crate) fn close(&self, opened: Opened) {
        // Ordering: Relaxed; the owner alone changes it.
        let newest = self.count.load(Ordering::Relaxed) - 1;
        match opened {
            Opened::Added => {
                // Ordering: Release, as an opening. Pairs with [segment]: what is left below the
                // count may be newer than what the thief of an older task has seen.
                let order = ord("segment_end", Ordering::Release);
                self.count.store(newest, order);
            }
            Opened::Replaced(before) => {
                if let Some(segment) = self.at(newest) {
                    // Ordering: Relaxed, as in `open`.
                    segment.context.store(before, Ordering::Relaxed);
                }
            }
        }
    }

    /// The context of the task at `slot`, which the caller has claimed, and which it has not yet
    /// said to have ended: until then it stays as it is.
    #[inline]
    pub(crate) fn covering(&self, slot: usize) -> *mut () {
        // Ordering: Acquire. Pairs with [segment], either end: the segments below the count are not
        // older than it.
        match self.count.load(ord("segment_count", Ordering::Acquire)) {
            0 => ptr::null_mut(),
            count => self.find(slot, count),
        }
    }

    #[cold]
    fn find(&self, slot: usize, count: usize) -> *mut () {
        let mut newest_first = (0..count).rev().filter_map(|index| self.at(index));
        // Ordering: Relaxed, both; what covers the slot came with the claim, and what is above it
        // begins above the slot, however old or new it is.
        let found = newest_first.find(|segment| segment.base.load(Ordering::Relaxed) <= slot);
        found.map_or(ptr::null_mut(), |segment| {
            segment.context.load(Ordering::Relaxed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(number: usize) -> *mut () {
        ptr::without_provenance_mut(number)
    }

    #[test]
    fn places_follow_each_other() {
        let mut expected = (0, 0);
        for index in 0..(FIRST << (BLOCKS - 1)) {
            assert_eq!(place(index), expected);
            let length = FIRST << expected.0.saturating_sub(1);
            expected = match expected.1 + 1 == length {
                true => (expected.0 + 1, 0),
                false => (expected.0, expected.1 + 1),
            };
        }
        const { assert!(FIRST << (BLOCKS - 1) > crate::stack::span::SLOTS_MAX) };
    }

    #[test]
    fn a_slot_belongs_to_the_newest_segment_at_or_below_it() {
        let segments = Segments::new();
        assert!(segments.covering(0).is_null());
        let outer = segments.open(3, word(1));
        let inner = segments.open(5, word(2));
        let same = segments.open(5, word(3));
        for (slot, expected) in [(2, 0), (3, 1), (4, 1), (5, 3), (99, 3)] {
            assert_eq!(segments.covering(slot), word(expected), "slot {slot}");
        }
        segments.close(same);
        assert_eq!(segments.covering(5), word(2));
        segments.close(inner);
        assert_eq!(segments.covering(5), word(1));
        segments.close(outer);
        assert!(segments.covering(5).is_null());
    }

    #[test]
    fn there_is_room_for_one_at_each_slot() {
        const COUNT: usize = if cfg!(miri) { 40 } else { 1000 };
        let segments = Segments::new();
        let opened: Vec<_> = (0..COUNT)
            .map(|slot| segments.open(slot, word(slot + 1)))
            .collect();
        for slot in 0..COUNT {
            assert_eq!(segments.covering(slot), word(slot + 1));
        }
        for opened in opened.into_iter().rev() {
            segments.close(opened);
        }
        assert!(segments.covering(COUNT - 1).is_null());
    }
}
