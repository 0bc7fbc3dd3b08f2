//! Parallel sorting: runs that `std` sorts, and what puts them together.

use std::cmp::Ordering;

use roving::raw::loops::Heed;

use crate::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use crate::memory::{sort_nearly_sorted, sort_runs};

/// Shorter slices are left to `std`.
const RUN_LEAST: usize = 2048;

/// Runs for each worker, so that no worker waits long for the others.
const RUNS_A_WORKER: usize = 4;

/// Longer runs are parted where a token may be cancelled, which is looked at between runs: `std`
/// sorts so many items in a millisecond or two.
const RUN_MOST_WITH_TOKEN: usize = if cfg!(miri) { RUN_LEAST } else { 1 << 14 };

/// Calls `f` on a worker with the length of the runs into which a slice of that many items is to be
/// parted, and with whether it is to look at a token.
fn on_worker_with_run(len: usize, f: impl FnOnce(usize, Heed) + Send) {
    let heed = Heed::of_caller();
    roving::raw::loops::run_on_worker(|| {
        heed.look();
        let workers = roving::current_workers();
        let run = match workers {
            0 | 1 => len,
            more => len.div_ceil(more * RUNS_A_WORKER).max(RUN_LEAST),
        };
        match heed.is_due() {
            true => f(run.min(RUN_MOST_WITH_TOKEN), heed),
            false => f(run, heed),
        }
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
    on_worker_with_run(slice.len(), |run, heed| {
        sort_runs(slice, run, heed, compare);
    });
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
    on_worker_with_run(slice.len(), |run, heed| {
        if !sort_nearly_sorted(slice, compare) {
            part(slice, run, heed, compare);
        }
    });
}

fn part<T, F>(slice: &mut [T], run: usize, heed: Heed, compare: &F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    heed.look();
    if slice.len() <= run {
        return slice.sort_unstable_by(compare);
    }
    let (lower, _, upper) = slice.select_nth_unstable_by(slice.len() / 2, compare);
    roving::join(
        || part(lower, run, heed, compare),
        || part(upper, run, heed, compare),
    );
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
