//! A stable sort: adjacent runs merged in parallel, through a second memory.
//!
//! Runs are sorted where they stand, by `std`. Merges copy the bits of the items to and fro between
//! the slice, *home*, and memory of the same length, *away*; each level of merges reads one and
//! writes the other. Whatever happens, the items belong to home: away is forgotten in the end.
//!
//! * A merge from home to away leaves home as it is. If the comparison panics there, home has all
//!   items still.
//! * A merge from away to home reads a range of away that holds each item of the same range of
//!   home once. If the comparison panics, that range is copied back as a whole.
//! * Within one merge no item is compared again once it has been copied, and merges that run at the
//!   same time share no item. So a comparison that changes an item through a `Cell` changes the one
//!   copy that is looked at later, and no item is looked at by two threads at a time.

use std::cmp::Ordering;
use std::mem;
use std::ops::Range;
use std::ptr;
use std::slice;

use roving::raw::loops::Heed;

/// Merges of fewer items are not parted.
const MERGE_LEAST: usize = 4096;

/// Sorts `home` stably in runs of at most `run` items, which are merged. Before each run and each
/// merge it looks whether it is to end: as if a comparison had panicked there.
pub(crate) fn sort_runs<T, F>(home: &mut [T], run: usize, heed: Heed, compare: &F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if size_of::<T>() == 0 || home.len() <= run.max(1) {
        home.sort_by(compare);
        return;
    }
    let mut away: Vec<T> = Vec::with_capacity(home.len());
    let memory = TwoMemories {
        home: home.as_mut_ptr(),
        away: away.as_mut_ptr(),
    };
    let sort = Sort {
        memory,
        run: run.max(1),
        heed,
        compare,
    };
    // SAFETY: both memories have room for `home.len()` items, those of `home` are initialized, and
    // nobody else touches either before this call returns. Two halves of a range have no item in
    // common, and the range is the whole.
    unsafe { sort.range(0..home.len(), HomeOrAway::Home) };
}

/// Where the items of a range are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HomeOrAway {
    Home,
    Away,
}

impl HomeOrAway {
    fn other(self) -> HomeOrAway {
        match self {
            HomeOrAway::Home => HomeOrAway::Away,
            HomeOrAway::Away => HomeOrAway::Home,
        }
    }
}

/// The two memories.
struct TwoMemories<T> {
    home: *mut T,
    away: *mut T,
}

impl<T> Clone for TwoMemories<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for TwoMemories<T> {}

// SAFETY: the pointers are what asks for this. They are used only within the ranges that the
// functions below were given, which they do not share with another thread; the items move between
// threads, so `T: Send`.
unsafe impl<T: Send> Send for TwoMemories<T> {}
// SAFETY: as said for `Send`: a reference to this gives another thread the pointers, whose use is
// divided by ranges, and `T: Send` lets each range be used by another thread.
unsafe impl<T: Send> Sync for TwoMemories<T> {}

impl<T> TwoMemories<T> {
    fn at(&self, side: HomeOrAway) -> *mut T {
        match side {
            HomeOrAway::Home => self.home,
            HomeOrAway::Away => self.away,
        }
    }
}

struct Sort<'f, T, F> {
    memory: TwoMemories<T>,
    run: usize,
    heed: Heed,
    compare: &'f F,
}

/// Two adjacent runs, and where their merge begins on the other side.
#[derive(Clone, Debug)]
struct Runs {
    left: Range<usize>,
    right: Range<usize>,
    to: usize,
}

impl<T, F> Sort<'_, T, F>
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    /// Sorts a range of home; the result is on side `to`. If this unwinds, the range of home has
    /// all its items.
    ///
    /// # Safety
    /// The range lies inside both memories. Home has its items there, initialized. Nobody else
    /// uses the range of either memory meanwhile.
    unsafe fn range(&self, range: Range<usize>, to: HomeOrAway) {
        let (start, len) = (range.start, range.len());
        if len <= self.run {
            self.heed.look();
            // SAFETY: by the conditions, the range lies inside home, is initialized, and is this
            // call's alone.
            let run = unsafe { slice::from_raw_parts_mut(self.memory.home.add(start), len) };
            run.sort_by(self.compare);
            if to == HomeOrAway::Away {
                // SAFETY: the range lies inside both memories, which do not overlap; home's is
                // initialized. Away never drops what it holds, so nothing is there twice.
                unsafe { self.copy(HomeOrAway::Home, range) };
            }
            return;
        }
        let middle = start + len / 2;
        let (left, right) = (start..middle, middle..range.end);
        let from = to.other();
        let (lower, upper) = (left.clone(), right.clone());
        roving::join(
            // SAFETY: half of this call's range; the other closure has the other half.
            || unsafe { self.range(lower, from) },
            // SAFETY: half of this call's range; the other closure has the other half.
            || unsafe { self.range(upper, from) },
        );
        let runs = Runs {
            left,
            right,
            to: start,
        };
        // Only what is written into home would be missed there.
        let back = (to == HomeOrAway::Home).then(|| CopyBack { sort: self, range });
        // SAFETY: both runs are sorted and on side `from`, initialized; what is written is the
        // same range of the other side, and both are this call's.
        unsafe { self.merge(from, runs) };
        mem::forget(back);
    }

    /// Copies the bits of a range from this side to the other.
    ///
    /// # Safety
    /// The range lies inside both memories, is initialized on side `from`, and nobody else uses it.
    unsafe fn copy(&self, from: HomeOrAway, range: Range<usize>) {
        // SAFETY: by the conditions; the two memories are two allocations.
        unsafe {
            let source = self.memory.at(from).add(range.start);
            let target = self.memory.at(from.other()).add(range.start);
            ptr::copy_nonoverlapping(source, target, range.len());
        }
    }

    /// Merges two runs from side `from` to the other side, in parallel if they are long.
    ///
    /// # Safety
    /// The runs lie inside both memories and are initialized on side `from`. What is written lies
    /// inside as well: as many items as both have, from `runs.to` on. Nobody else uses the runs on
    /// side `from`, nor that range of the other side.
    unsafe fn merge(&self, from: HomeOrAway, runs: Runs) {
        self.heed.look();
        let Runs { left, right, to } = runs.clone();
        if left.len() + right.len() <= MERGE_LEAST {
            // SAFETY: the conditions are the same.
            unsafe { self.merge_here(from, runs) };
            return;
        }
        let source = self.memory.at(from);
        // SAFETY: by the conditions, both runs are initialized and used by nobody else; nothing
        // is written on side `from`, so they may be read as slices.
        let (l, r) = unsafe {
            (
                slice::from_raw_parts(source.add(left.start), left.len()),
                slice::from_raw_parts(source.add(right.start), right.len()),
            )
        };
        // Of equal items those of the left run come first, on either side of the middle.
        let (l_len, r_len) = if l.len() >= r.len() {
            let middle = l.len() / 2;
            let pivot = &l[middle];
            let below = |item: &T| (self.compare)(item, pivot) == Ordering::Less;
            (middle, r.partition_point(below))
        } else {
            let middle = r.len() / 2;
            let pivot = &r[middle];
            let upto = |item: &T| (self.compare)(item, pivot) != Ordering::Greater;
            (l.partition_point(upto), middle)
        };
        // An order that contradicts itself may say anything, but not more than there is.
        let lower = Runs {
            left: left.start..left.start + l_len,
            right: right.start..right.start + r_len,
            to,
        };
        let upper = Runs {
            left: lower.left.end..left.end,
            right: lower.right.end..right.end,
            to: to + l_len + r_len,
        };
        roving::join(
            // SAFETY: parts of both runs that the other closure does not have, and as many items
            // of the other side, from `to` on, before those of the other closure.
            || unsafe { self.merge(from, lower) },
            // SAFETY: the rest of both runs, and of the range of the other side.
            || unsafe { self.merge(from, upper) },
        );
    }

    /// Merges two runs on this thread.
    ///
    /// # Safety
    /// As for [`Self::merge`].
    unsafe fn merge_here(&self, from: HomeOrAway, runs: Runs) {
        let source = self.memory.at(from);
        let target = self.memory.at(from.other());
        let (mut l, mut r, mut to) = (runs.left.start, runs.right.start, runs.to);
        while l < runs.left.end && r < runs.right.end {
            // SAFETY: `l` and `r` are inside their runs, which are initialized and not written.
            // `to` counts the items copied, so it stays below the number of both from `runs.to`
            // on, which is this call's range of the other memory.
            unsafe {
                let (left, right) = (source.add(l), source.add(r));
                let is_right = (self.compare)(&*right, &*left) == Ordering::Less;
                let next = if is_right { right } else { left };
                ptr::copy_nonoverlapping(next, target.add(to), 1);
                r += usize::from(is_right);
                l += usize::from(!is_right);
            }
            to += 1;
        }
        let (left, right) = (runs.left.end - l, runs.right.end - r);
        // SAFETY: what is left of both runs, of which one is empty, and as many items of the
        // other memory behind those copied: together as many as both runs had.
        unsafe {
            ptr::copy_nonoverlapping(source.add(l), target.add(to), left);
            ptr::copy_nonoverlapping(source.add(r), target.add(to + left), right);
        }
    }
}

/// Copies a range from away to home, should the merge into home unwind.
struct CopyBack<'s, 'f, T, F>
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    sort: &'s Sort<'f, T, F>,
    range: Range<usize>,
}

impl<T, F> Drop for CopyBack<'_, '_, T, F>
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    fn drop(&mut self) {
        // SAFETY: made by `Sort::range` for its own range before a merge from away to home, of
        // which all parts have ended when this is dropped. Away was complete then and has only been
        // read since. Bits of items that the merge has written to home are overwritten, not
        // dropped.
        unsafe { self.sort.copy(HomeOrAway::Away, self.range.clone()) };
    }
}
