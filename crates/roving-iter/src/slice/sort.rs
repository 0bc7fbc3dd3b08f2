//! Parallel sorting: runs that `std` sorts, and what puts them together.

use std::cmp::Ordering;

use crate::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use crate::memory::{sort_nearly_sorted, sort_runs};

/// Shorter slices are left to `std`.
const RUN_LEAST: usize = 2048;

/// Runs for each worker, so that no worker waits long for the others.
const RUNS_A_WORKER: usize = 4;

/// Calls `f` on a worker with the length of the runs into which a slice of that many items is to be
/// parted.
fn on_worker_with_run(len: usize, f: impl FnOnce(usize) + Send) {
    roving::raw::loops::run_on_worker(|| {
        let workers = roving::current_workers();
        let run = match workers {
            0 | 1 => len,
            more => len.div_ceil(more * RUNS_A_WORKER).max(RUN_LEAST),
        };
        f(run);
    });
}

/// Sorts runs and merges them.
pub(super) fn stable<T, F>(slice: &mut [T], compare: &F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if slice.len() <= RUN_LEAST {
        return slice.sort_by(compare);
    }
    on_worker_with_run(slice.len(), |run| sort_runs(slice, run, compare));
}

/// Parts the slice at medians, and sorts the parts, unless it is nearly sorted.
pub(super) fn unstable<T, F>(slice: &mut [T], compare: &F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if slice.len() <= RUN_LEAST {
        return slice.sort_unstable_by(compare);
    }
    on_worker_with_run(slice.len(), |run| {
        if !sort_nearly_sorted(slice, compare) {
            part(slice, run, compare);
        }
    });
}

fn part<T, F>(slice: &mut [T], run: usize, compare: &F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if slice.len() <= run {
        return slice.sort_unstable_by(compare);
    }
    let (lower, _, upper) = slice.select_nth_unstable_by(slice.len() / 2, compare);
    roving::join(|| part(lower, run, compare), || part(upper, run, compare));
}

/// Sorts keys with the places of their items, and then moves the items.
pub(super) fn by_cached_key<T, K, F>(slice: &mut [T], key: F)
where
    T: Send + Sync,
    K: Ord + Send,
    F: Fn(&T) -> K + Send + Sync,
{
    let items = &*slice;
    let keyed = items.par_iter().enumerate();
    let mut keyed: Vec<(K, usize)> = keyed.map(|(from, item)| (key(item), from)).collect();
    // No two places are equal, so this is stable.
    unstable(&mut keyed, &<(K, usize)>::cmp);
    let mut from: Vec<usize> = keyed.into_iter().map(|(_, from)| from).collect();
    for to in 0..slice.len() {
        let mut source = from[to];
        // What stood there has been swapped to the place that it was needed for.
        while source < to {
            source = from[source];
        }
        from[to] = source;
        slice.swap(to, source);
    }
}
