//! Where the workers of a pool are pinned, and which of them are near each other there.

use std::fs;

/// The processors that the workers of a pool are pinned to, one after the other, and for each
/// worker those that share its last-level cache.
#[derive(Default)]
pub(crate) struct Pins {
    processors: Vec<usize>,
    /// The workers, those that share a cache side by side; empty where all do, or none.
    by_cache: Vec<usize>,
    /// Where those near each worker stand in there, itself among them.
    near: Vec<(usize, usize)>,
}

impl Pins {
    /// Asks the system which processors share a cache. That takes some 20 µs for each of them.
    #[inline]
    pub(crate) fn of_machine(processors: Vec<usize>, workers: usize) -> Pins {
        Pins::new(processors, workers, last_cache)
    }

    /// To these processors, of whose caches nothing is known.
    pub(crate) fn alone(processors: Vec<usize>) -> Pins {
        Pins {
            processors,
            ..Pins::default()
        }
    }

    /// `cache` says the same of processors that share one.
    #[inline]
    pub(crate) fn new(
        processors: Vec<usize>,
        workers: usize,
        cache: impl Fn(usize) -> String,
    ) -> Pins {
        let alone = Pins::alone(processors);
        if alone.processors.is_empty() {
            return alone;
        }
        let caches: Vec<String> = alone.processors.iter().map(|&of| cache(of)).collect();
        let of = |worker: usize| &caches[worker % caches.len()];
        let mut by_cache: Vec<usize> = (0..workers).collect();
        by_cache.sort_by_key(|&worker| of(worker));
        let mut near = vec![(0, 0); workers];
        let (mut groups, mut start) = (0, 0);
        for group in by_cache.chunk_by(|&a, &b| of(a) == of(b)) {
            let end = start + group.len();
            for &worker in group {
                near[worker] = (start, end);
            }
            (groups, start) = (groups + 1, end);
        }
        if groups == 1 || groups == workers {
            return alone;
        }
        Pins {
            by_cache,
            near,
            ..alone
        }
    }

    pub(crate) fn is_there(&self) -> bool {
        !self.processors.is_empty()
    }

    /// The processor of worker `index`, which is not a compensation thread.
    pub(crate) fn processor(&self, index: usize) -> Option<usize> {
        let processors = &self.processors;
        (!processors.is_empty()).then(|| processors[index % processors.len()])
    }

    /// The workers that share a cache with worker `index`, itself among them; none where that says
    /// nothing, because all workers do, or where nothing is known.
    #[inline]
    pub(crate) fn near(&self, index: usize) -> &[usize] {
        match self.near.get(index) {
            Some(&(start, end)) => &self.by_cache[start..end],
            None => &[],
        }
    }
}

/// The processors that share the last cache of this one, in the words of Linux; empty where the
/// system says nothing.
#[inline]
fn last_cache(processor: usize) -> String {
    let list = |cache| {
        let name =
            format!("/sys/devices/system/cpu/cpu{processor}/cache/index{cache}/shared_cpu_list");
        fs::read_to_string(name).ok()
    };
    // 0 and 1 are the first caches, for data and for instructions.
    [3, 2].into_iter().find_map(list).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(pins: &Pins, index: usize) -> Vec<usize> {
        pins.near(index).to_vec()
    }

    #[test]
    fn those_that_share_a_cache_are_near() {
        // Two caches, and two threads of each core that are far from each other in number.
        let cache = |of: usize| ["a", "b"][of / 2 % 2].to_owned();
        let pins = Pins::new((0..8).collect(), 8, cache);
        assert_eq!(near(&pins, 0), [0, 1, 4, 5]);
        assert_eq!(near(&pins, 5), [0, 1, 4, 5]);
        assert_eq!(near(&pins, 3), [2, 3, 6, 7]);
        assert_eq!(pins.processor(9), Some(1));
        // A compensation thread is nowhere.
        assert!(pins.near(8).is_empty());
        // More workers than processors go round.
        let pins = Pins::new(vec![0, 2], 3, cache);
        assert_eq!([near(&pins, 0), near(&pins, 1)], [vec![0, 2], vec![1]]);
    }

    #[test]
    fn nothing_is_near_where_all_are_or_none() {
        for cache in [|_| String::new(), |of: usize| of.to_string()] {
            let pins = Pins::new(vec![3, 4, 5], 3, cache);
            assert!((0..3).all(|index| pins.near(index).is_empty()));
            assert!(pins.is_there() && pins.processor(1) == Some(4));
        }
        let none = Pins::new(Vec::new(), 3, |_| String::new());
        assert!(!none.is_there() && none.near(0).is_empty() && none.processor(0).is_none());
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn processors_of_this_machine_are_in_their_own_lists() {
        let list = last_cache(0);
        assert!(list.is_empty() || list.trim().starts_with('0'), "{list}");
    }
}
