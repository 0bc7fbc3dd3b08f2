//! An unstable sort of what is nearly in order: the few items that are not are put aside, sorted
//! by themselves, and merged back.
//!
//! Items only change places until the merge, so an end halfway leaves a slice with all of them.

use std::cmp::Ordering;
use std::mem::ManuallyDrop;
use std::ptr;

/// One item in so many may be out of order.
const ASIDE: usize = 16;
/// How many pairs of neighbours are looked at first, in groups of [`GROUP`].
const LOOKS: usize = if cfg!(miri) { 64 } else { 512 };
const GROUP: usize = 32;

/// Sorts a slice if it is nearly in order. False if it is not: then its items may have changed
/// places. Whether it is worth trying is seen by some of the pairs, all over the slice.
pub(crate) fn sort_nearly_sorted<T, F>(slice: &mut [T], compare: &F) -> bool
where
    F: Fn(&T, &T) -> Ordering,
{
    if slice.len() < 4 * LOOKS || size_of::<T>() == 0 || !looks_sorted(slice, compare) {
        return false;
    }
    let Some(kept) = put_aside(slice, compare) else {
        return false;
    };
    slice[kept..].sort_unstable_by(compare);
    merge_tail(slice, kept, compare);
    true
}

fn looks_sorted<T, F>(slice: &[T], compare: &F) -> bool
where
    F: Fn(&T, &T) -> Ordering,
{
    let groups = slice.chunks(slice.len() / (LOOKS / GROUP));
    let looks = groups.flat_map(|group| group.windows(2).take(GROUP));
    let descends = looks.filter(|pair| compare(&pair[0], &pair[1]).is_gt());
    descends.count() <= LOOKS / ASIDE
}

/// Moves an ascending sequence to the front, and returns its length; none if that leaves too many.
fn put_aside<T, F>(slice: &mut [T], compare: &F) -> Option<usize>
where
    F: Fn(&T, &T) -> Ordering,
{
    let most = slice.len() / ASIDE;
    // Between `kept` and `next` stands what was put aside, the last `streak` of it in a row.
    let (mut kept, mut streak) = (1, 0);
    for next in 1..slice.len() {
        if compare(&slice[kept - 1], &slice[next]).is_le() {
            slice.swap(kept, next);
            (kept, streak) = (kept + 1, 0);
            continue;
        }
        // What is out of order are the last that were kept, or those that came since: the fewer.
        let below = last_place(&slice[..kept], |item| compare(item, &slice[next]).is_gt());
        if kept - below <= streak + 1 {
            slice.swap(below, next);
            (kept, streak) = (below + 1, 0);
        } else {
            streak += 1;
        }
        if next + 1 - kept > most {
            return None;
        }
    }
    Some(kept)
}

/// Merges the two ascending parts of a slice, the second of which is short.
fn merge_tail<T, F>(slice: &mut [T], middle: usize, compare: &F)
where
    F: Fn(&T, &T) -> Ordering,
{
    let short = slice.len() - middle;
    let mut aside: Vec<ManuallyDrop<T>> = Vec::with_capacity(short);
    let start = slice.as_mut_ptr();
    // SAFETY: the vector has room for the items of the second part, whose places are a gap from
    // now on; as `ManuallyDrop` it drops none of them.
    unsafe {
        ptr::copy_nonoverlapping(start.add(middle), aside.as_mut_ptr().cast(), short);
        aside.set_len(short);
    }
    // A gap of as many places as items lie aside stands between what is merged and the rest of the
    // first part; whenever this is dropped, they go there.
    let mut gap = Gap {
        start,
        first: middle,
        aside,
    };
    while let Some(largest) = gap.aside.last() {
        // SAFETY: the first part up to the gap is initialized, and nobody else uses the slice.
        let before = unsafe { std::slice::from_raw_parts(start, gap.first) };
        let at = last_place(before, |item| compare(item, largest).is_gt());
        let (moved, places) = (gap.first - at, gap.aside.len());
        // SAFETY: the items after `at` move up to the end of the gap, which has `places` places
        // behind `first`; then it stands before them, one place shorter, for the item that follows
        // what has moved no more has its own place: the last of the gap.
        unsafe {
            ptr::copy(start.add(at), start.add(at + places), moved);
            let item = gap.aside.pop().map(ManuallyDrop::into_inner);
            gap.first = at;
            if let Some(item) = item {
                start.add(at + places - 1).write(item);
            }
        }
    }
}

/// The first of the items at the end of an ascending slice that `are_above`: looked for from the
/// end, in steps that double.
fn last_place<T>(items: &[T], are_above: impl Fn(&T) -> bool) -> usize {
    let (mut above, mut step) = (items.len(), 1);
    while above > 0 {
        let look = above.saturating_sub(step);
        if !are_above(&items[look]) {
            return look + 1 + items[look + 1..above].partition_point(|item| !are_above(item));
        }
        above = look;
        step *= 2;
    }
    0
}

/// Places of a slice whose items lie aside.
struct Gap<T> {
    start: *mut T,
    first: usize,
    aside: Vec<ManuallyDrop<T>>,
}

impl<T> Drop for Gap<T> {
    fn drop(&mut self) {
        let count = self.aside.len();
        // SAFETY: the gap has as many places as items lie aside, which are dropped nowhere else.
        unsafe {
            let from = self.aside.as_ptr().cast::<T>();
            ptr::copy_nonoverlapping(from, self.start.add(self.first), count);
        }
    }
}
