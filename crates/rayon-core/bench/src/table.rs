//! All workloads, by name.

#[cfg(feature = "whole")]
use crate::demo::tree;
use crate::demo::{
    factorial, find, joins, life, maps, matmul, nbody, pythagoras, sieve, sorts, split, tsp,
    vectors,
};
use crate::rows;
use crate::work::{Scale, Work};

/// Where a workload comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// A row of the table of what must be reached.
    Row,
    /// After one of Rayon's own demonstration programs.
    Demo,
}

impl Group {
    /// The word for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Group::Row => "row",
            Group::Demo => "demo",
        }
    }
}

/// One workload.
pub(crate) struct NamedWorkload {
    /// The word by which it is asked for.
    pub(crate) name: &'static str,
    /// Where it comes from.
    pub(crate) group: Group,
    /// How many runs make one timed repetition: as many as fill a few milliseconds.
    pub(crate) runs: usize,
    /// Makes its input, and finds the right answer serially.
    pub(crate) make: fn(Scale) -> Box<dyn Work>,
}

const fn row(name: &'static str, runs: usize, make: fn(Scale) -> Box<dyn Work>) -> NamedWorkload {
    let group = Group::Row;
    NamedWorkload {
        name,
        group,
        runs,
        make,
    }
}

const fn demo(name: &'static str, runs: usize, make: fn(Scale) -> Box<dyn Work>) -> NamedWorkload {
    let group = Group::Demo;
    NamedWorkload {
        name,
        group,
        runs,
        make,
    }
}

/// All of them, those of the table first.
pub(crate) const ENTRIES: &[NamedWorkload] = &[
    row("sum-1e3", 500, |_| rows::sum(1000)),
    row("sum-1e4", 300, |_| rows::sum(10_000)),
    row("sum-1e6", 20, |scale| {
        rows::sum(scale.size(1_000_000, 100_000))
    }),
    row("sum-1e8", 1, |scale| {
        rows::sum(scale.size(100_000_000, 300_000))
    }),
    row("sort-1e4", 50, |_| rows::sort(10_000)),
    row("sort-1e6", 1, |scale| {
        rows::sort(scale.size(1_000_000, 50_000))
    }),
    row("sort-1e8", 1, |scale| {
        rows::sort(scale.size(100_000_000, 100_000))
    }),
    row("nested", 20, rows::nested),
    row("nested-items", 10, rows::nested_items),
    row("bridge", 1, rows::bridge),
    row("chunks", 1, rows::chunks),
    row("collect", 1, rows::collect),
    row("fold", 1, rows::fold),
    row("scope", 1, rows::scope),
    row("called", 200, |_| rows::called(0)),
    row("called-50us", 100, |_| rows::called(50_000)),
    row("called-500us", 20, |_| rows::called(500_000)),
    demo("nbody", 1, nbody::by_body),
    demo("nbody-reduce", 1, nbody::by_pair),
    demo("matmul", 2, matmul::product),
    demo("mergesort", 1, sorts::mergesort),
    demo("quicksort", 1, sorts::quicksort),
    #[cfg(feature = "whole")]
    demo("quicksort-split", 1, sorts::quicksort_split),
    demo("life", 1, life::by_cell),
    demo("life-bridge", 1, life::by_bridge),
    demo("sieve", 1, sieve::sieve),
    demo("tsp", 3, tsp::tsp),
    demo("fibonacci-large-first", 1, joins::fibonacci_large_first),
    demo("fibonacci-small-first", 1, joins::fibonacci_small_first),
    #[cfg(feature = "whole")]
    demo("fibonacci-split", 1, joins::fibonacci_split),
    #[cfg(feature = "whole")]
    demo(
        "fibonacci-split-iterative",
        300,
        joins::fibonacci_split_iterative,
    ),
    demo("join-recursively", 6, joins::recursive),
    demo("increment", 8, joins::increment),
    demo("increment-min", 8, joins::increment_min),
    demo("increment-max", 8, joins::increment_max),
    demo("increment-atoms", 3, joins::increment_atoms),
    demo("increment-whole", 8, joins::increment_whole),
    demo("pythagoras", 1, pythagoras::both),
    demo("pythagoras-outer", 1, pythagoras::outer),
    demo("pythagoras-inner", 1, pythagoras::inner),
    demo("vec-collect", 16, vectors::collect),
    demo("vec-filtered", 2, vectors::filtered),
    demo("vec-reused", 16, vectors::reused),
    demo("vec-folded", 2, vectors::folded),
    demo("vec-linked", 3, vectors::linked),
    demo("map-collect", 3, maps::collect),
    demo("map-mutex", 2, maps::mutex),
    demo("map-folded", 2, maps::folded),
    demo("str-split-char", 4, split::char),
    demo("str-split-function", 4, split::function),
    demo("str-lines", 4, split::lines),
    demo("find-any-start", 200, |scale| find::any(scale, 0)),
    demo("find-any-third", 4, |scale| find::any(scale, 4)),
    demo("find-any-middle", 200, |scale| find::any(scale, 6)),
    demo("find-any-end", 4, |scale| find::any(scale, 12)),
    demo("find-any-missing", 4, |scale| find::any(scale, 13)),
    demo("find-any-common", 200, find::common),
    demo("find-first-start", 200, |scale| find::first(scale, 0)),
    demo("find-first-middle", 4, |scale| find::first(scale, 6)),
    demo("find-first-end", 4, |scale| find::first(scale, 12)),
    demo("find-first-missing", 4, |scale| find::first(scale, 13)),
    demo("factorial-reduced", 1, factorial::reduced),
    demo("factorial-folded", 1, factorial::folded),
    demo("factorial-joined", 1, factorial::joined),
    #[cfg(feature = "whole")]
    demo("tree-prefix-collect", 3, tree::prefix_collect),
    #[cfg(feature = "whole")]
    demo("tree-postfix-collect", 3, tree::postfix_collect),
    #[cfg(feature = "whole")]
    demo("tree-prefix-sum", 4, tree::prefix_sum),
    #[cfg(feature = "whole")]
    demo("tree-postfix-sum", 4, tree::postfix_sum),
    demo("sort-stable-ascending", 4, sorts::stable_ascending),
    demo("sort-stable-random", 1, sorts::stable_random),
    demo("sort-stable-strings", 1, sorts::stable_strings),
    demo("sort-stable-large", 1, sorts::stable_large),
    demo("sort-stable-expensive", 1, sorts::stable_expensive),
    demo("sort-unstable-ascending", 4, sorts::unstable_ascending),
    demo("sort-unstable-strings", 1, sorts::unstable_strings),
];

/// The workload of that name; else one line that says what there is.
pub(crate) fn find(name: &str) -> Result<&'static NamedWorkload, String> {
    let found = ENTRIES.iter().find(|entry| entry.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
        let names = names.join(", ");
        format!("workload `{name}` is not allowed: want one of {names}; `list` shows them")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::Caller;

    #[test]
    fn each_workload_finds_the_right_answer() {
        let caller = Caller::outside();
        for entry in ENTRIES {
            let mut work = (entry.make)(Scale::Quick);
            let time = caller.time(&mut *work, 2);
            assert!(time.is_ok(), "{}: {:?}", entry.name, time);
        }
    }

    #[test]
    fn names_differ_and_are_one_word() {
        for (place, entry) in ENTRIES.iter().enumerate() {
            assert!(entry.runs > 0 && !entry.name.contains(char::is_whitespace));
            assert!(
                ENTRIES[..place]
                    .iter()
                    .all(|other| other.name != entry.name)
            );
        }
        let error = find("sum-1e5").err();
        assert!(error.is_some_and(|line| line.contains("`sum-1e5`") && line.contains("sum-1e4")));
    }
}
