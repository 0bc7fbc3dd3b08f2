//! Workloads after what users of Rayon complain about: many small calls, sorting, nested loops,
//! uneven items.

use rayon::prelude::*;

use crate::random::Random;
use crate::work::{Scale, Work, in_place, sorted_numbers, value};

/// One multiplication of 64 by 64 bits: about a third of a nanosecond. It has no vector form, and
/// takes a processor as long wherever the loop around it lies in memory; of a loop of additions two
/// builds with the same instructions can differ by a third.
fn cheap(item: &u32) -> u64 {
    let product = u128::from(*item) * 0x9e37_79b9_7f4a_7c15_u128;
    u64::from(*item) + (product >> 64) as u64
}

/// `par_iter().map().sum()` over so many cheap items.
pub(crate) fn sum(len: usize) -> Box<dyn Work> {
    let items = Random::new(len as u64).words(len);
    value(
        items,
        |items| items.iter().map(cheap).sum::<u64>(),
        |items| items.par_iter().map(cheap).sum::<u64>(),
    )
}

fn numbers(len: usize) -> Vec<u64> {
    let mut random = Random::new(len as u64);
    (0..len).map(|_| random.bits()).collect()
}

/// `par_sort_unstable` of so many numbers.
pub(crate) fn sort(len: usize) -> Box<dyn Work> {
    in_place(
        len,
        numbers,
        |list| list.par_sort_unstable(),
        sorted_numbers,
    )
}

/// A `par_iter` in a `par_iter`, over ranges. The body is so small that the compiler needs no loop
/// for it: what is left is what Rayon does between.
pub(crate) fn nested(scale: Scale) -> Box<dyn Work> {
    value(
        scale.size(1000, 30) as u64,
        |side| {
            let row = |i: u64| (0..*side).map(|j| i * j).sum::<u64>();
            (0..*side).map(row).sum::<u64>()
        },
        |side| {
            let row = |i: u64| (0..*side).into_par_iter().map(|j| i * j).sum::<u64>();
            (0..*side).into_par_iter().map(row).sum::<u64>()
        },
    )
}

/// A `par_iter` in a `par_iter`, over the items of rows.
pub(crate) fn nested_items(scale: Scale) -> Box<dyn Work> {
    let side = scale.size(1000, 30);
    let mut random = Random::new(1);
    let rows: Vec<Vec<u32>> = (0..side).map(|_| random.words(side)).collect();
    value(
        rows,
        |rows| rows.iter().flatten().map(cheap).sum::<u64>(),
        |rows| {
            let row = |row: &Vec<u32>| row.par_iter().map(cheap).sum::<u64>();
            rows.par_iter().map(row).sum::<u64>()
        },
    )
}

/// Dependent multiplications: about a nanosecond a turn.
fn spin(turns: &u32) -> u64 {
    let mut state = u64::from(*turns) | 1;
    for _ in 0..*turns {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).rotate_left(23);
    }
    state
}

/// Turns for items of very different size: one in 64 is large, and those of the last eighth are all
/// larger than those before, so that no split in the middle is even.
fn uneven(scale: Scale) -> Vec<u32> {
    let len = scale.size(20_000, 300);
    let mut random = Random::new(3);
    let turns = |place: usize| {
        let large = if random.below(64) == 0 { 4000 } else { 0 };
        let late = if place >= len / 8 * 7 { 800 } else { 0 };
        20 + random.below(60) as u32 + large + late
    };
    (0..len).map(turns).collect()
}

fn spun(items: &[u32]) -> u64 {
    items.iter().map(spin).fold(0, u64::wrapping_add)
}

/// `par_bridge` over uneven items.
pub(crate) fn bridge(scale: Scale) -> Box<dyn Work> {
    value(
        uneven(scale),
        |items| spun(items),
        |items| {
            let each = items.iter().par_bridge().map(spin);
            each.reduce(|| 0, u64::wrapping_add)
        },
    )
}

/// `par_chunks` of uneven items.
pub(crate) fn chunks(scale: Scale) -> Box<dyn Work> {
    value(
        uneven(scale),
        |items| spun(items),
        |items| {
            items
                .par_chunks(16)
                .map(spun)
                .reduce(|| 0, u64::wrapping_add)
        },
    )
}

/// `collect` of what uneven items become.
pub(crate) fn collect(scale: Scale) -> Box<dyn Work> {
    value(
        uneven(scale),
        |items| items.iter().map(spin).collect::<Vec<u64>>(),
        |items| items.par_iter().map(spin).collect::<Vec<u64>>(),
    )
}

/// Counts by the last bits.
fn counted(mut counts: Vec<u32>, item: &u32) -> Vec<u32> {
    counts[spin(item) as usize % 256] += 1;
    counts
}

/// `fold` and `reduce` of uneven items into a histogram.
pub(crate) fn fold(scale: Scale) -> Box<dyn Work> {
    value(
        uneven(scale),
        |items| items.iter().fold(vec![0; 256], counted),
        |items| {
            let parts = items.par_iter().fold(|| vec![0; 256], counted);
            parts.reduce(
                || vec![0; 256],
                |mut left, right| {
                    left.iter_mut()
                        .zip(right)
                        .for_each(|(sum, more)| *sum += more);
                    left
                },
            )
        },
    )
}

/// A scope that spawns many small tasks.
pub(crate) fn scope(scale: Scale) -> Box<dyn Work> {
    in_place(
        scale.size(20_000, 300),
        |len| (0..len as u64).collect(),
        |list| {
            rayon::scope(|scope| {
                for item in list.iter_mut() {
                    scope.spawn(move |_| *item += spin(&20));
                }
            });
        },
        |after, before| {
            let right = before.iter().map(|item| item + spin(&20));
            let same = after.iter().copied().eq(right);
            same.then_some(())
                .ok_or_else(|| "a task did not run once".to_owned())
        },
    )
}

/// Turns of [`spin`] in a leaf of [`called`]: about 5 µs.
const LEAF_TURNS: u32 = 5000;

/// The results of so many leaves, by joins.
fn leaves(depth: u32) -> u64 {
    if depth == 0 {
        return spin(&LEAF_TURNS);
    }
    let (a, b) = rayon::join(|| leaves(depth - 1), || leaves(depth - 1));
    a.wrapping_add(b)
}

/// A serial part of so many turns of [`spin`], and then a tree of joins with 16 leaves: a program
/// that is parallel in places.
pub(crate) fn called(serial: u32) -> Box<dyn Work> {
    value(
        serial,
        |serial| spin(serial).wrapping_add(spin(&LEAF_TURNS).wrapping_mul(16)),
        |serial| spin(serial).wrapping_add(leaves(4)),
    )
}
