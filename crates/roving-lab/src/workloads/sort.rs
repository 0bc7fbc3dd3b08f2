//! `sort`: cilksort. Four quarters are sorted in parallel and merged in pairs; the merges are
//! parallel too, each split at the middle of its longer half.

use roving::task::{Scope, Task};

use super::part::SlicePart;
use super::{Evidence, RunAnswer, Workload};
use crate::forms::fork_join::{ForkJoin, Serial};
use crate::forms::tasks::BranchOrder;
use crate::io::input::{BadInput, number_in};
use crate::machine::memory;

/// Fewer keys than this are sorted by the standard library's unstable sort.
const SORT_MIN: usize = 2048;
/// Fewer keys than this are merged serially.
const MERGE_MIN: usize = 2048;

/// The keys 0, 1, 2, … shuffled, to be sorted again.
#[derive(Debug)]
pub(crate) struct Sort {
    shuffled: Vec<u32>,
    keys: Vec<u32>,
    scratch: Vec<u32>,
}

/// Sorts `keys`; `scratch` is as long, and what it holds afterwards means nothing.
fn sort<C: ForkJoin>(cx: &mut C, keys: &mut [u32], scratch: &mut [u32]) {
    if keys.len() < SORT_MIN {
        keys.sort_unstable();
        return;
    }
    let half = keys.len() / 2;
    let (k_low, k_high) = keys.split_at_mut(half);
    let (s_low, s_high) = scratch.split_at_mut(half);
    cx.join(
        |cx| sort_halves_into(cx, k_low, s_low),
        |cx| sort_halves_into(cx, k_high, s_high),
    );
    merge(cx, s_low, s_high, keys);
}

/// Sorts `keys` into `sorted`: each half in its place, then both merged.
fn sort_halves_into<C: ForkJoin>(cx: &mut C, keys: &mut [u32], sorted: &mut [u32]) {
    let quarter = keys.len() / 2;
    let (k_low, k_high) = keys.split_at_mut(quarter);
    let (s_low, s_high) = sorted.split_at_mut(quarter);
    cx.join(|cx| sort(cx, k_low, s_low), |cx| sort(cx, k_high, s_high));
    merge(cx, k_low, k_high, sorted);
}

/// Merges two sorted slices into `merged`, which is as long as both.
fn merge<C: ForkJoin>(cx: &mut C, a: &[u32], b: &[u32], merged: &mut [u32]) {
    let (longer, shorter) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    if merged.len() < MERGE_MIN || shorter.is_empty() {
        return merge_serially(longer, shorter, merged);
    }
    let middle = longer.len() / 2;
    let split = shorter.partition_point(|key| *key < longer[middle]);
    let (longer_low, longer_high) = longer.split_at(middle);
    let (shorter_low, shorter_high) = shorter.split_at(split);
    let (low, high) = merged.split_at_mut(middle + split);
    cx.join(
        |cx| merge(cx, longer_low, shorter_low, low),
        |cx| merge(cx, longer_high, shorter_high, high),
    );
}

/// The parts that a task was given, given back.
type Two<'scope> = (SlicePart<'scope, u32>, SlicePart<'scope, u32>);
type Three<'scope> = (
    SlicePart<'scope, u32>,
    SlicePart<'scope, u32>,
    SlicePart<'scope, u32>,
);

/// [`sort`] as async tasks.
fn sort_task<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    mut keys: SlicePart<'scope, u32>,
    scratch: SlicePart<'scope, u32>,
) -> impl Task<Two<'scope>> + 'scope {
    async move {
        if keys.len() < SORT_MIN {
            keys.sort_unstable();
            return (keys, scratch);
        }
        let half = keys.len() / 2;
        let (k_low, k_high) = keys.split_at(half);
        let (s_low, s_high) = scratch.split_at(half);
        let low = O::branch(scope, sort_halves_task::<O>(scope, k_low, s_low)).await;
        let high = scope
            .call(sort_halves_task::<O>(scope, k_high, s_high))
            .await;
        let ((k_low, s_low), (k_high, s_high)) = (low.await, high);
        let keys = k_low.rejoin(k_high);
        let merged = scope
            .call(merge_task::<O>(scope, s_low, s_high, keys))
            .await;
        let (s_low, s_high, keys) = merged;
        (keys, s_low.rejoin(s_high))
    }
}

/// [`sort_halves_into`] as async tasks.
fn sort_halves_task<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    keys: SlicePart<'scope, u32>,
    sorted: SlicePart<'scope, u32>,
) -> impl Task<Two<'scope>> + 'scope {
    async move {
        let quarter = keys.len() / 2;
        let (k_low, k_high) = keys.split_at(quarter);
        let (s_low, s_high) = sorted.split_at(quarter);
        let low = O::branch(scope, sort_task::<O>(scope, k_low, s_low)).await;
        let high = scope.call(sort_task::<O>(scope, k_high, s_high)).await;
        let ((k_low, s_low), (k_high, s_high)) = (low.await, high);
        let sorted = s_low.rejoin(s_high);
        let merged = scope
            .call(merge_task::<O>(scope, k_low, k_high, sorted))
            .await;
        let (k_low, k_high, sorted) = merged;
        (k_low.rejoin(k_high), sorted)
    }
}

/// [`merge`] as async tasks.
fn merge_task<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    a: SlicePart<'scope, u32>,
    b: SlicePart<'scope, u32>,
    mut merged: SlicePart<'scope, u32>,
) -> impl Task<Three<'scope>> + 'scope {
    async move {
        let exchanged = a.len() < b.len();
        let (longer, shorter) = if exchanged { (b, a) } else { (a, b) };
        let (longer, shorter, merged) = if merged.len() < MERGE_MIN || shorter.is_empty() {
            merge_serially(&longer, &shorter, &mut merged);
            (longer, shorter, merged)
        } else {
            let middle = longer.len() / 2;
            let split = shorter.partition_point(|key| *key < longer[middle]);
            let (longer_low, longer_high) = longer.split_at(middle);
            let (shorter_low, shorter_high) = shorter.split_at(split);
            let (low, high) = merged.split_at(middle + split);
            let low = merge_task::<O>(scope, longer_low, shorter_low, low);
            let low = O::branch(scope, low).await;
            let high = merge_task::<O>(scope, longer_high, shorter_high, high);
            let high = scope.call(high).await;
            let low = low.await;
            (
                low.0.rejoin(high.0),
                low.1.rejoin(high.1),
                low.2.rejoin(high.2),
            )
        };
        if exchanged {
            (shorter, longer, merged)
        } else {
            (longer, shorter, merged)
        }
    }
}

fn merge_serially(mut a: &[u32], mut b: &[u32], merged: &mut [u32]) {
    for place in 0..merged.len() {
        let ([first_a, rest_a @ ..], [first_b, rest_b @ ..]) = (a, b) else {
            // One is empty, so the other fills what is left.
            merged[place..].copy_from_slice(if a.is_empty() { b } else { a });
            return;
        };
        if first_a <= first_b {
            merged[place] = *first_a;
            a = rest_a;
        } else {
            merged[place] = *first_b;
            b = rest_b;
        }
    }
}

/// 0 to `count - 1`, each exchanged twice with another, by the generator of cilksort.
fn shuffled(count: usize) -> Vec<u32> {
    let mut keys: Vec<u32> = (0..count as u32).collect();
    let mut state = 1u64;
    for _ in 0..2 {
        for place in 0..count {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            keys.swap(place, (state % count as u64) as usize);
        }
    }
    keys
}

impl Sort {
    /// How many keys.
    pub(crate) fn count(&self) -> usize {
        self.keys.len()
    }
}

impl Workload for Sort {
    const NAME: &'static str = "sort";
    const ABOUT: &'static str = "cilksort: merge sort with parallel merges, 32-bit keys";
    const INPUTS: &'static [(&'static str, &'static str)] = &[
        ("4e6", "4,000,000 keys"),
        ("1e5", "100,000 keys"),
        ("8388608", "8,388,608 keys, as BOTS' test input"),
        ("33554432", "33,554,432 keys, as BOTS' small input"),
    ];
    const PARAMS: &'static str = "keys, from 1 to 1e9";
    const ITEMS: &'static str = "keys";
    const FIGURES: &'static [&'static str] = &["keys in place"];

    fn parse(input: &str) -> Result<Self, BadInput> {
        let count = number_in("sort input", input, 1..=1_000_000_000, "take sort 4e6")? as usize;
        // Shuffled keys, sorted ones, and scratch.
        memory::require(Self::NAME, input, count as u64 * 12, "take sort 4e6")?;
        let shuffled = shuffled(count);
        let keys = shuffled.clone();
        Ok(Sort {
            shuffled,
            keys,
            scratch: vec![0; count],
        })
    }

    fn input(&self) -> String {
        self.count().to_string()
    }

    fn prepare(&mut self) {
        self.keys.copy_from_slice(&self.shuffled);
    }

    fn run<C: ForkJoin>(&mut self, cx: &mut C) {
        sort(cx, &mut self.keys, &mut self.scratch);
    }

    fn task<'scope, O: BranchOrder>(
        &'scope mut self,
        scope: Scope<'scope>,
    ) -> impl Task<()> + 'scope {
        async move {
            let (keys, scratch) = (
                SlicePart::new(&mut self.keys),
                SlicePart::new(&mut self.scratch),
            );
            sort_task::<O>(scope, keys, scratch).await;
        }
    }

    fn run_serial(&mut self) {
        self.run(&mut Serial);
    }

    fn answer(&self) -> RunAnswer {
        let in_place = self
            .keys
            .iter()
            .zip(0..)
            .filter(|(key, place)| *key == place)
            .count();
        RunAnswer([in_place as u64, 0, 0])
    }

    fn expected(&self) -> Option<(RunAnswer, Evidence)> {
        Some((RunAnswer([self.count() as u64, 0, 0]), Evidence::Definition))
    }

    fn items(&self, _: &RunAnswer) -> u64 {
        self.count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::fork_join::{Counting, Roving};

    fn is_sorted(work: &Sort) -> bool {
        work.expected() == Some((work.answer(), Evidence::Definition))
    }

    #[test]
    fn any_length_is_sorted() {
        for count in [
            "1", "2", "3", "2047", "2048", "2049", "8191", "50000", "131072",
        ] {
            let mut work = Sort::parse(count).unwrap();
            work.prepare();
            work.run_serial();
            assert!(is_sorted(&work), "{count}");
        }
    }

    #[test]
    fn prepared_keys_are_shuffled_and_a_lost_key_is_seen() {
        let mut work = Sort::parse("1e5").unwrap();
        work.prepare();
        assert!(work.answer().0[0] < 100);
        let mut cx = Counting::default();
        work.run(&mut cx);
        assert!(is_sorted(&work) && cx.spawns > 100);
        work.keys[500] = work.keys[501];
        assert!(!is_sorted(&work));
    }

    #[test]
    fn in_a_pool() {
        let pool = roving::Pool::builder().workers(4).build().unwrap();
        let mut work = Sort::parse("1e5").unwrap();
        work.prepare();
        pool.install(|| work.run(&mut Roving));
        assert!(is_sorted(&work));
    }

    #[test]
    fn equal_keys_and_one_empty_side_are_merged() {
        let mut merged = [0; 7];
        merge_serially(&[1, 3, 3, 9], &[3, 3, 4], &mut merged);
        assert_eq!(merged, [1, 3, 3, 3, 3, 4, 9]);
        let long: Vec<u32> = (0..5000).collect();
        let mut merged = vec![0; 5000];
        merge(&mut Serial, &[], &long, &mut merged);
        assert_eq!(merged, long);
        // All keys of one before all of the other, where the split falls at an end.
        let mut merged = vec![0; 5000];
        merge(&mut Serial, &long[2500..], &long[..2500], &mut merged);
        assert_eq!(merged, long);
    }
}
