//! Each method gives what the method of that name of `std` gives, whoever runs which part.

mod common;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::ops::ControlFlow;

use common::size;
use proptest::prelude::*;
use roving_iter::prelude::*;

/// Runs on pools of one worker and of more, and on the schedules of a seed, which cut anywhere.
fn everywhere(seed: u64, run: impl Fn() + Send + Sync) {
    run();
    roving::Pool::new(1).unwrap().install(&run);
    roving::Pool::new(3).unwrap().install(&run);
    // One thread is all workers there, so what these would have beside each other stands on its
    // stack: up to 2 MiB without optimization.
    let drawn = || {
        let pool = roving::Pool::builder().deterministic(seed).build();
        pool.unwrap().install(&run);
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(16 << 20);
        thread.spawn_scoped(scope, drawn).unwrap().join().unwrap();
    });
}

#[test]
fn items_that_are_skipped_are_made() {
    let made = std::sync::atomic::AtomicUsize::new(0);
    let count = || made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(
        (0..100).into_par_iter().map(|_| count()).skip(60).count(),
        40
    );
    assert_eq!(made.into_inner(), 100);
}

#[test]
fn parts_are_as_long_as_they_may_be() {
    for (least, most) in [(1, 1), (7, 3), (10, 100), (1, usize::MAX), (5_000, 1)] {
        let parts = (0..1_000)
            .into_par_iter()
            .with_min_len(least)
            .with_max_len(most);
        let lengths: Vec<usize> = parts.fold(|| 0, |count, _| count + 1).collect();
        let most = most.max(2 * least - 1);
        assert!(
            lengths
                .iter()
                .all(|n| (least.min(1_000)..=most).contains(n)),
            "{lengths:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(size(256, 2)))]

    #[test]
    fn comparisons(
        a in prop::collection::vec(0_u8..3, 0..9),
        b in prop::collection::vec(0_u8..3, 0..9),
    ) {
        let (x, y) = (|| a.par_iter(), || b.par_iter());
        assert_eq!(IndexedParallelIterator::cmp(x(), y()), a.cmp(&b));
        assert_eq!(x().partial_cmp(y()), a.partial_cmp(&b));
        assert_eq!((x().eq(y()), x().ne(y())), (a == b, a != b));
        assert_eq!((x().lt(y()), x().le(y())), (a < b, a <= b));
        assert_eq!((x().gt(y()), x().ge(y())), (a > b, a >= b));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(size(48, 1)))]

    #[test]
    fn items_of_slices(numbers in prop::collection::vec(-50_i64..50, 0..size(300, 40)), seed: u64) {
        everywhere(seed, || {
            let (par, std) = (|| numbers.par_iter(), || numbers.iter());
            assert_eq!(par().map(|n| n * 3).collect::<Vec<_>>(), std().map(|n| n * 3).collect::<Vec<_>>());
            assert_eq!(par().filter(|n| **n > 3).collect::<Vec<_>>(), std().filter(|n| **n > 3).collect::<Vec<_>>());
            assert_eq!(par().sum::<i64>(), std().sum::<i64>());
            assert_eq!(par().count(), numbers.len());
            assert_eq!(par().min(), std().min());
            assert_eq!(par().max(), std().max());
            let tens = |n: &&i64| **n / 10;
            let place = |n: Option<&i64>| n.map(std::ptr::from_ref);
            assert_eq!(place(par().min_by_key(tens)), place(std().min_by_key(tens)));
            assert_eq!(place(par().max_by_key(tens)), place(std().max_by_key(tens)));
            let is = |n: &&i64| **n % 7 == 3;
            assert_eq!(place(par().find_first(is)), place(std().find(is)));
            assert_eq!(place(par().find_last(is)), place(std().rev().find(is)));
            assert_eq!(par().find_any(is).is_some(), std().any(|n| n % 7 == 3));
            assert_eq!(par().position_first(|n| n % 7 == 3), std().position(|n| n % 7 == 3));
            assert_eq!(par().position_last(|n| n % 7 == 3), std().rposition(|n| n % 7 == 3));
            assert_eq!(par().all(|n| *n < 40), std().all(|n| *n < 40));
            assert_eq!(
                par().copied().reduce_with(|a, b| a.max(b)),
                std().copied().reduce(|a, b| a.max(b))
            );
            assert_eq!(
                par().partition::<Vec<&i64>, Vec<&i64>, _>(|n| **n > 0),
                std().partition::<Vec<_>, _>(|n| **n > 0)
            );
        });
    }

    #[test]
    fn items_that_stand_somewhere(
        numbers in prop::collection::vec(0_u32..90, 0..size(200, 40)),
        (size, skip, seed) in (1_usize..9, 0_usize..210, any::<u64>()),
    ) {
        everywhere(seed, || {
            let (par, std) = (|| numbers.par_iter().copied(), || numbers.iter().copied());
            assert_eq!(par().enumerate().collect::<Vec<_>>(), std().enumerate().collect::<Vec<_>>());
            assert_eq!(par().rev().collect::<Vec<_>>(), std().rev().collect::<Vec<_>>());
            assert_eq!(par().skip(skip).collect::<Vec<_>>(), std().skip(skip).collect::<Vec<_>>());
            assert_eq!(par().take(skip).collect::<Vec<_>>(), std().take(skip).collect::<Vec<_>>());
            assert_eq!(par().step_by(size).collect::<Vec<_>>(), std().step_by(size).collect::<Vec<_>>());
            let chunks: Vec<Vec<u32>> = numbers.chunks(size).map(<[u32]>::to_vec).collect();
            assert_eq!(par().chunks(size).collect::<Vec<_>>(), chunks);
            let reversed: Vec<Vec<u32>> = chunks.iter().rev().cloned().collect();
            assert_eq!(par().chunks(size).rev().collect::<Vec<_>>(), reversed);
            assert_eq!(
                par().zip(skip..500).collect::<Vec<_>>(),
                std().zip(skip..500).collect::<Vec<_>>()
            );
            let both = || std().chain(5..9);
            assert_eq!(par().chain(5..9).collect::<Vec<_>>(), both().collect::<Vec<_>>());
            assert_eq!(
                par().chain(5..9).rev().enumerate().skip(1).step_by(size).collect::<Vec<_>>(),
                both().rev().enumerate().skip(1).step_by(size).collect::<Vec<_>>()
            );
            assert_eq!(
                par().map(|n| n + 1).zip(par().rev()).rev().collect::<Vec<_>>(),
                std().map(|n| n + 1).zip(std().rev()).rev().collect::<Vec<_>>()
            );
            let mut target = vec![1; 3];
            par().map(|n| n * 2).collect_into_vec(&mut target);
            assert_eq!(target, std().map(|n| n * 2).collect::<Vec<_>>());
        });
    }

    #[test]
    fn parts_of_slices(
        numbers in prop::collection::vec(0_u32..90, 0..size(200, 40)),
        (size, seed) in (1_usize..9, any::<u64>()),
    ) {
        everywhere(seed, || {
            let slice = &numbers[..];
            assert_eq!(slice.par_chunks(size).collect::<Vec<_>>(), slice.chunks(size).collect::<Vec<_>>());
            assert_eq!(slice.par_rchunks(size).collect::<Vec<_>>(), slice.rchunks(size).collect::<Vec<_>>());
            assert_eq!(slice.par_windows(size).collect::<Vec<_>>(), slice.windows(size).collect::<Vec<_>>());
            assert_eq!(slice.par_windows(size).rev().collect::<Vec<_>>(), slice.windows(size).rev().collect::<Vec<_>>());
            let exact = slice.par_chunks_exact(size);
            assert_eq!(exact.remainder(), slice.chunks_exact(size).remainder());
            assert_eq!(exact.collect::<Vec<_>>(), slice.chunks_exact(size).collect::<Vec<_>>());
            let (mut par, mut std) = (numbers.clone(), numbers.clone());
            par.par_chunks_mut(size).enumerate().for_each(|(at, chunk)| chunk[0] = at as u32);
            std.chunks_mut(size).enumerate().for_each(|(at, chunk)| chunk[0] = at as u32);
            assert_eq!(par, std);
            par.par_rchunks_mut(size).enumerate().for_each(|(at, chunk)| chunk[0] = at as u32);
            std.rchunks_mut(size).enumerate().for_each(|(at, chunk)| chunk[0] = at as u32);
            assert_eq!(par, std);
            par.par_chunks_exact_mut(size).rev().enumerate().for_each(|(at, chunk)| chunk[0] = at as u32);
            std.chunks_exact_mut(size).rev().enumerate().for_each(|(at, chunk)| chunk[0] = at as u32);
            assert_eq!(par, std);
            par.par_iter_mut().for_each(|n| *n += 1);
            std.iter_mut().for_each(|n| *n += 1);
            assert_eq!(par, std);
        });
    }

    #[test]
    fn texts(text in "[a-cäß€ \t,\r\n]{0,120}", seed: u64) {
        everywhere(seed, || {
            assert_eq!(text.par_chars().collect::<Vec<_>>(), text.chars().collect::<Vec<_>>());
            assert_eq!(text.par_char_indices().collect::<Vec<_>>(), text.char_indices().collect::<Vec<_>>());
            assert_eq!(text.par_bytes().collect::<Vec<_>>(), text.bytes().collect::<Vec<_>>());
            assert_eq!(text.par_lines().collect::<Vec<_>>(), text.lines().collect::<Vec<_>>());
            assert_eq!(
                text.par_split_whitespace().collect::<Vec<_>>(),
                text.split_whitespace().collect::<Vec<_>>()
            );
            assert_eq!(text.par_split(',').collect::<Vec<_>>(), text.split(',').collect::<Vec<_>>());
            let either = ['ä', ' '];
            assert_eq!(text.par_split(either).collect::<Vec<_>>(), text.split(either).collect::<Vec<_>>());
            assert_eq!(text.par_chars().collect::<String>(), text);
            assert_eq!(text.par_lines().collect::<String>(), text.lines().collect::<String>());
            assert_eq!(text.par_chars().find_last(|c| *c == 'a'), text.chars().rfind(|c| *c == 'a'));
        });
    }

    #[test]
    fn collections(numbers in prop::collection::vec(0_u32..90, 0..size(200, 40)), seed: u64) {
        everywhere(seed, || {
            let par = || numbers.par_iter().copied();
            let pairs = || par().map(|n| (n, n / 2));
            let set: BTreeSet<u32> = numbers.iter().copied().collect();
            let map: BTreeMap<u32, u32> = set.iter().map(|n| (*n, n / 2)).collect();
            assert_eq!(par().collect::<BTreeSet<_>>(), set);
            assert_eq!(par().collect::<HashSet<_>>(), set.iter().copied().collect());
            assert_eq!(pairs().collect::<BTreeMap<_, _>>(), map);
            assert_eq!(pairs().collect::<HashMap<_, _>>(), map.clone().into_iter().collect());
            assert_eq!(par().collect::<LinkedList<_>>(), numbers.iter().copied().collect());
            assert_eq!(par().collect::<VecDeque<_>>(), numbers.iter().copied().collect::<VecDeque<_>>());
            assert_eq!(par().collect::<Box<[_]>>()[..], numbers[..]);
            assert_eq!(map.par_iter().map(|(k, v)| k + v).sum::<u32>(), map.iter().map(|(k, v)| k + v).sum());
            assert_eq!(map.clone().into_par_iter().collect::<BTreeMap<_, _>>(), map);
            let (keys, values): (Vec<u32>, Vec<u32>) = pairs().unzip();
            assert_eq!(keys, numbers);
            assert_eq!(values, numbers.iter().map(|n| n / 2).collect::<Vec<_>>());
            let all: Option<Vec<u32>> = par().map(|n| n.checked_sub(1)).collect();
            assert_eq!(all, numbers.iter().map(|n| n.checked_sub(1)).collect());
            let all: Result<Vec<u32>, ()> = par().map(|n| n.checked_sub(1).ok_or(())).collect();
            assert_eq!(all, numbers.iter().map(|n| n.checked_sub(1).ok_or(())).collect());
            let mut bag: Vec<u32> = numbers.iter().copied().par_bridge().collect();
            bag.par_sort_unstable();
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            assert_eq!(bag, sorted);
        });
    }

    #[test]
    fn many_items_of_one(numbers in prop::collection::vec(0_usize..12, 0..80), seed: u64) {
        everywhere(seed, || {
            let std: Vec<usize> = numbers.iter().flat_map(|n| 0..*n).collect();
            let par = || numbers.par_iter().flat_map(|n| 0..*n);
            assert_eq!(par().collect::<Vec<_>>(), std);
            assert_eq!(numbers.par_iter().flat_map_iter(|n| 0..*n).collect::<Vec<_>>(), std);
            assert_eq!(par().filter(|n| n % 2 == 1).map(|n| n * 3).sum::<usize>(), std.iter().filter(|n| **n % 2 == 1).map(|n| n * 3).sum());
            assert_eq!(par().find_first(|n| *n == 7), std.iter().copied().find(|n| *n == 7));
            assert_eq!(par().find_last(|n| *n < 3), std.iter().rev().copied().find(|n| *n < 3));
            assert_eq!(par().chain(par()).count(), 2 * std.len());
            let nested: Vec<Vec<usize>> = numbers.iter().map(|n| (0..*n).collect()).collect();
            assert_eq!(nested.into_par_iter().flatten().collect::<Vec<_>>(), std);
        });
    }

    #[test]
    fn folds(numbers in prop::collection::vec(0_u8..60, 0..size(200, 40)), most in 1_usize..20, seed: u64) {
        everywhere(seed, || {
            let par = || numbers.par_iter().copied();
            let std: String = numbers.iter().map(|n| char::from(n + 48)).collect();
            let push = |mut text: String, n: u8| {
                text.push(char::from(n + 48));
                text
            };
            assert_eq!(par().fold(String::new, push).collect::<String>(), std);
            assert_eq!(par().fold_with(String::new(), push).reduce(String::new, |a, b| a + &b), std);
            let lengths: Vec<usize> = par().with_max_len(most).fold(|| 0, |n, _| n + 1).collect();
            assert!(lengths.iter().all(|n| *n <= most) && lengths.iter().sum::<usize>() == numbers.len());
            let sum = par().try_fold(|| 0_u8, u8::checked_add).try_reduce(|| 0, u8::checked_add);
            assert_eq!(sum, numbers.iter().try_fold(0_u8, |a, b| a.checked_add(*b)));
            let stops = par().try_for_each(|n| match n {
                59 => ControlFlow::Break(n),
                _ => ControlFlow::Continue(()),
            });
            assert_eq!(stops.is_break(), numbers.contains(&59));
        });
    }

    #[test]
    fn ranges(start in -20_i8..20, end in -20_i8..20, seed: u64) {
        everywhere(seed, || {
            macro_rules! same {
                ($($int:ident)+) => {$(
                    let (start, end) = (start as $int, end as $int);
                    assert_eq!(
                        (start..end).into_par_iter().take_all(), (start..end).collect::<Vec<_>>()
                    );
                )+};
            }
            trait TakeAll: ParallelIterator {
                fn take_all(self) -> Vec<Self::Item> {
                    self.collect()
                }
            }
            impl<I: ParallelIterator> TakeAll for I {}
            same!(i8 i16 i32 i64 i128 isize);
            let (start, end) = (start.unsigned_abs(), end.unsigned_abs());
            same!(u8 u16 u32 u64 u128 usize);
            assert_eq!((start..=end).into_par_iter().take_all(), (start..=end).collect::<Vec<_>>());
            let (start, end) = (u8::MAX - start, u8::MAX - end);
            assert_eq!((start..=end).into_par_iter().take_all(), (start..=end).collect::<Vec<_>>());
            let (start, end) = (char::from(start), char::from(end));
            assert_eq!((start..=end).into_par_iter().take_all(), (start..=end).collect::<Vec<_>>());
        });
    }
}
