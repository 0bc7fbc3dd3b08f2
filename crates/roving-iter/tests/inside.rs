//! Iterators inside the items of others, and behind others: how one part ends all the others.

mod common;

use std::hint::black_box;
use std::iter::{empty, once};

use common::{Signal, size, watched};
use roving::{Cancel, Pool};
use roving_iter::prelude::*;

const HUGE: u64 = 1 << 60;

/// Two parts with a plain iterator in each, one of them without an end. The only item of the other
/// waits until that one has begun.
fn endless_and_short(endless: usize, begun: &Signal) -> impl ParallelIterator<Item = usize> {
    let parts = (0..2_usize).into_par_iter().with_max_len(1);
    parts.flat_map_iter(move |part| {
        let items = if part == endless { u64::MAX } else { 1 };
        (0..items).map(move |n| {
            match part == endless {
                true => begun.set(),
                false => begun.wait(),
            }
            black_box(n);
            part
        })
    })
}

/// The whole inner iterator was one block, which nobody ended.
#[test]
fn a_plain_iterator_inside_an_item_ends_with_the_others() {
    let pool = Pool::new(2).unwrap();
    let run = |search: &(dyn Fn(&Signal) + Sync)| {
        for _ in 0..size(3, 1) {
            watched(|| pool.install(|| search(&Signal::default())));
        }
    };
    run(&|begun| {
        let found = endless_and_short(0, begun).find_any(|part| *part == 1);
        assert_eq!(found, Some(1));
    });
    run(&|begun| assert!(!endless_and_short(0, begun).all(|part| part == 0)));
    run(&|begun| {
        let found = endless_and_short(0, begun).find_last(|part| *part == 1);
        assert_eq!(found, Some(1));
    });
    run(&|begun| {
        let found = endless_and_short(1, begun).find_first(|part| *part == 0);
        assert_eq!(found, Some(0));
    });
    run(&|begun| {
        let totals = endless_and_short(0, begun).fold(|| 0, |sum, part| sum + part);
        assert_eq!(totals.find_any(|sum| *sum == 1), Some(1));
    });
    run(&|begun| {
        let add = |sum: usize, part| (part == 0).then_some(sum);
        let totals = endless_and_short(0, begun).try_fold(|| 0, add);
        assert_eq!(totals.try_reduce(|| 0, |a, _| Some(a)), None);
    });
    run(&|begun| {
        let cancel = Cancel::new();
        let outcome = cancel.run(|| {
            endless_and_short(0, begun).for_each(|part| {
                if part == 1 {
                    cancel.cancel();
                }
            });
        });
        assert!(outcome.is_err());
    });
}

/// An item of the upper part tells that this has begun; from then on each of the lower one is
/// wanted.
fn is_wanted(n: u64, begun: &Signal) -> bool {
    if black_box(n) >= HUGE {
        begun.set();
    }
    n < HUGE && begun.is_set()
}

/// The parts of an inner iterator stood at one place, that of their item, and those behind a chain
/// that is too long to be numbered at its end.
#[test]
fn the_first_ends_what_is_behind_it_in_the_same_item() {
    let pool = Pool::new(2).unwrap();
    let run = |search: &(dyn Fn(&Signal) -> Option<u64> + Sync)| {
        for _ in 0..size(3, 1) {
            let begun = Signal::default();
            let found = watched(|| pool.install(|| search(&begun)));
            assert!(found.is_some_and(|n| n < HUGE), "{found:?}");
        }
    };
    let one = || (0..1_u8).into_par_iter();
    run(&|begun| {
        let all = one().flat_map(|_| 0..u64::MAX);
        all.find_first(|n| is_wanted(*n, begun))
    });
    run(&|begun| {
        let all = one().flat_map(|_| (0..HUGE).into_par_iter().chain(HUGE..u64::MAX));
        all.find_first(|n| is_wanted(*n, begun))
    });
    run(&|begun| {
        let all = empty().par_bridge().chain(0..HUGE).chain(HUGE..u64::MAX);
        all.find_first(|n| is_wanted(*n, begun))
    });
    run(&|begun| {
        let all = one().flat_map(|_| one().flat_map(|_| 0..u64::MAX));
        all.find_first(|n| is_wanted(*n, begun))
    });
}

/// From the other end.
#[test]
fn the_last_ends_what_is_before_it_in_the_same_item() {
    let pool = Pool::new(2).unwrap();
    let run = |search: &(dyn Fn(&Signal) -> Option<u64> + Sync)| {
        for _ in 0..size(3, 1) {
            let begun = Signal::default();
            let found = watched(|| pool.install(|| search(&begun)));
            assert_eq!(found, Some(7));
        }
    };
    let seven = |n: u64, begun: &Signal| {
        begun.set();
        black_box(n) == 7
    };
    let one = || (0..1_u8).into_par_iter();
    let wait = |begun: &Signal| {
        begun.wait();
        7
    };
    run(&|begun| {
        let last = || once(()).par_bridge().map(|()| wait(begun));
        let all = one().flat_map(|_| (8..HUGE).into_par_iter().chain(last()));
        all.find_last(|n| seven(*n, begun))
    });
    run(&|begun| {
        let last = || (0..1_u8).into_par_iter().map(|_| wait(begun));
        let all = (8..u64::MAX).into_par_iter().chain(8..HUGE).chain(last());
        all.find_last(|n| seven(*n, begun))
    });
}

/// Any nesting, cut anywhere: the first is the first, and the last the last.
#[test]
fn the_first_and_the_last_among_nested_iterators() {
    let len = |n: u64| n * 7 % 5;
    for seed in 0..size(20, 2) {
        let pool = Pool::builder().deterministic(seed).build().unwrap();
        let is_wanted = |n: &u64| n.wrapping_mul(seed + 3) % 11 == 5;
        macro_rules! check {
            ($all:expr, $serial:expr) => {
                let serial: &[u64] = $serial;
                let first = serial.iter().copied().find(is_wanted);
                let last = serial.iter().copied().rfind(is_wanted);
                let both = || [$all.find_first(is_wanted), $all.find_last(is_wanted)];
                assert_eq!(
                    pool.install(both),
                    [first, last],
                    "{} {seed}",
                    stringify!($all)
                );
            };
        }
        let start = seed * 100;
        let range = move || start..start + 40;
        let inner = move |n: u64| n * 10..n * 10 + len(n);
        let flat = move || range().flat_map(inner).collect::<Vec<u64>>();
        let par = || range().into_par_iter();
        check!(par().flat_map(inner), &flat());
        check!(par().flat_map_iter(inner), &flat());
        let two = || flat().into_iter().flat_map(inner).collect::<Vec<u64>>();
        check!(par().flat_map(inner).flat_map(inner), &two());
        check!(par().flat_map_iter(inner).flat_map(inner), &two());
        check!(par().flat_map(inner).flat_map_iter(inner), &two());
        let gather = |mut all: Vec<u64>, n| {
            all.push(n);
            all
        };
        let totals = || par().flat_map_iter(inner).fold(Vec::new, gather);
        check!(totals().flatten(), &flat());
        check!(totals().flatten_iter().flat_map(inner), &two());
        let chain = |n| inner(n).into_par_iter().chain(inner(n + 2));
        let serial = range().chain(range());
        let serial: Vec<u64> = serial.flat_map(|n| inner(n).chain(inner(n + 2))).collect();
        check!(par().chain(par()).flat_map(chain), &serial);
    }
}

/// A panic of one part, while another one is in a loop of its own.
#[test]
fn a_panic_ends_the_other_loops_of_its_iterator() {
    let pool = Pool::new(2).unwrap();
    let run = |iterate: &(dyn Fn(&Signal) + Sync)| {
        for _ in 0..size(3, 1) {
            let begun = Signal::default();
            let iterate = std::panic::AssertUnwindSafe(|| pool.install(|| iterate(&begun)));
            let payload = watched(|| std::panic::catch_unwind(iterate)).unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&"as it should"));
        }
    };
    fn panics(begun: &Signal) -> u64 {
        begun.wait();
        panic!("as it should")
    }
    let go_on = |n: u64, begun: &Signal| {
        begun.set();
        _ = black_box(n);
    };
    run(&|begun| {
        let first = (0..1_u8).into_par_iter().map(|_| panics(begun));
        first.chain(0..u64::MAX).for_each(|n| go_on(n, begun));
    });
    run(&|begun| {
        let last = (0..1_u8).into_par_iter().map(|_| panics(begun));
        let all = (0..u64::MAX).into_par_iter().chain(last);
        all.for_each(|n| go_on(n, begun));
    });
    let parts = || (0..2_u32).into_par_iter().with_max_len(1);
    run(&|begun| {
        let all = parts().flat_map(|part| {
            let numbers = (0..u64::MAX).into_par_iter();
            numbers.map(move |n| if part == 0 { panics(begun) } else { n })
        });
        all.for_each(|n| go_on(n, begun));
    });
    // In the closure of the outer one.
    run(&|begun| {
        let all = parts().flat_map(|part| match part {
            0 => 0..panics(begun),
            _ => 0..u64::MAX,
        });
        all.for_each(|n| go_on(n, begun));
    });
    // Where two outcomes are combined.
    run(&|begun| {
        let parts = (0..4_u32).into_par_iter().with_max_len(1);
        let all = parts.flat_map(|part| 0..if part == 2 { u64::MAX } else { 1 });
        let all = all.map(|n| {
            if n > 0 {
                begun.set();
            }
            black_box(n)
        });
        let combine = |a, b| if b == 0 { panics(begun) } else { a };
        _ = all.reduce_with(combine);
    });
    run(&|begun| {
        let all = parts().flat_map_iter(|part| {
            (0..u64::MAX).map(move |n| if part == 0 { panics(begun) } else { n })
        });
        all.for_each(|n| go_on(n, begun));
    });
}
