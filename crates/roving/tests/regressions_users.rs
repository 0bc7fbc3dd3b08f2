//! Defects that users of other runtimes reported, each in the smallest program that shows it. The
//! numbers are those of the projects' issue trackers; `docs/regressions.md` has the whole list.

mod common;

use std::cell::Cell;
use std::hint::black_box;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use common::{AMOUNTS, pool, pool_that_steals, size, tries, wait_until, watched};
use roving::Pool;

/// On pools of several sizes, with each steal amount.
fn on_pools(test: impl Fn(&Pool) + Sync) {
    watched(|| {
        for workers in [1, 2, 4] {
            AMOUNTS
                .iter()
                .for_each(|&amount| test(&pool_that_steals(workers, amount)));
        }
    });
}

/// A little work on an index.
fn touch(index: usize) {
    black_box(index);
}

fn join_both(a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
    roving::join(a, b);
}

/// Under many schedules, with forced steals.
fn under_seeds(test: impl Fn(&Pool)) {
    let explorer = roving::testing::Explorer::new();
    watched(|| explorer.seeds(0..size(100, 2)).run_on(test));
}

thread_local! {
    /// Which item the thread works on.
    static ITEM: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Works on an item, with a parallel call in the middle; the thread still works on it afterwards.
fn item(index: usize, parallel: impl FnOnce()) {
    let before = ITEM.replace(index);
    assert_eq!(before, usize::MAX, "begun on top of another item");
    parallel();
    assert_eq!(
        ITEM.replace(before),
        index,
        "another item has used the thread"
    );
}

/// root#14807, taskflow#522: a worker that waits takes up another item, which finds and changes
/// what the first has put into thread-local storage.
#[test]
fn root_14807_thread_locals_hold_across_a_loop() {
    let loops = |_: &Pool| {
        roving::par_for(0..tries(200), |index| {
            item(index, || roving::par_for(0..size(64, 8), touch));
        });
        roving::scope(|s| {
            for index in 0..tries(200) {
                s.spawn(move |_| item(index, || join_both(|| (), || ())));
            }
        });
    };
    on_pools(|pool| pool.install(|| loops(pool)));
}

/// rayon#446: so does one that waits for a call into another pool.
#[test]
fn rayon_446_thread_locals_hold_across_a_call_into_another_pool() {
    let other = pool(2);
    on_pools(|pool| {
        pool.install(|| {
            roving::par_for(0..tries(200), |index| {
                item(index, || other.install(|| roving::par_for(0..16, touch)));
            });
        });
    });
}

/// nearcore#15554, rayon#1181: a value that is made once, in parallel, by whichever item is first
/// to want it. Who makes it waits for parts, and must not begin another item that wants it.
#[test]
fn nearcore_15554_a_value_that_is_made_once_is_made_in_parallel() {
    let make = || {
        let once = OnceLock::new();
        let wanted = || {
            once.get_or_init(|| roving::map_reduce(0..size(500, 20), 0, |n| n, |a, b| a + b));
        };
        roving::par_for(0..size(50, 5), |_| wanted());
        roving::scope(|s| (0..size(50, 5)).for_each(|_| s.spawn(|_| wanted())));
        assert_eq!(once.into_inner(), Some(size(124_750, 190)));
    };
    on_pools(|pool| (0..tries(20)).for_each(|_| pool.install(make)));
    under_seeds(|pool| pool.install(make));
}

/// rayon#1142, #1311: an iterator behind a lock, from which all items are drawn, computes its next
/// item in parallel.
#[test]
fn rayon_1142_an_iterator_under_a_lock_computes_in_parallel() {
    let bridge = || {
        let source = Mutex::new(1..=size(40_u64, 5));
        let sum = AtomicUsize::new(0);
        let draw = || {
            let mut source = source.lock().unwrap();
            let next = source.next()?;
            let (a, b) = roving::join(
                || next,
                || roving::map_reduce(0..20, 0, |_| 1, |a, b| a + b),
            );
            Some(a * b)
        };
        roving::scope(|s| {
            for _ in 0..4 {
                s.spawn(|_| {
                    while let Some(item) = draw() {
                        sum.fetch_add(item as usize, Ordering::Relaxed);
                        roving::par_for(0..8, touch);
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), size(820, 15) * 20);
    };
    on_pools(|pool| (0..tries(10)).for_each(|_| pool.install(bridge)));
    under_seeds(|pool| pool.install(bridge));
}

/// rayon#1194: items with large frames, ten of which on top of each other are more than a native
/// stack.
#[test]
fn rayon_1194_large_frames_do_not_pile_up() {
    watched(|| {
        let builder = Pool::builder().workers(4).stack_size(1 << 20);
        let pool = builder.build().unwrap();
        pool.install(|| {
            roving::par_for(0..tries(500), |index| {
                let mut frame = [0_u8; size(200_000, 2_000)];
                frame[index] = 1;
                roving::par_for(0..16, touch);
                roving::join(|| black_box(1), || black_box(2));
                assert_eq!(black_box(&frame)[index], 1);
            });
        });
    });
}

/// rayon#394, #642: a tiny piece of work now and then wakes all threads of the pool, which all go
/// to sleep again.
#[test]
fn rayon_642_tiny_periodic_work_wakes_few() {
    watched(|| {
        let pool = Pool::builder().workers(8).profile(true).build().unwrap();
        let parks = || pool.profile().total().counters.parks;
        wait_until(|| parks() >= 8);
        pool.reset_profile();
        const CALLS: u64 = size(100, 3);
        for _ in 0..CALLS {
            pool.install(|| black_box(1));
            // Long enough for a worker to park; if it does not, that is fewer.
            thread::sleep(Duration::from_millis(1));
        }
        let parks = parks();
        assert!(
            parks <= 2 * CALLS,
            "{parks} workers parked after {CALLS} calls"
        );
    });
}

/// async-executor#100, bevy#6941: workers are woken one after the other, by whoever has taken a
/// task, and the last when the first are long done. Here none goes on before all have begun.
#[test]
fn async_executor_100_as_many_tasks_as_workers_begin() {
    watched(|| {
        let pool = pool(4);
        for _ in 0..tries(200) {
            let all = Barrier::new(4);
            pool.install(|| {
                roving::scope(|s| {
                    for _ in 0..3 {
                        s.spawn(|_| {
                            all.wait();
                        });
                    }
                    all.wait();
                });
            });
        }
    });
}

/// rayon#825, #1076: the panic handler is for what nobody waits for, and hears of nothing else.
#[test]
fn rayon_825_the_panic_handler_hears_of_detached_tasks_alone() {
    watched(|| {
        let heard = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&heard);
        let builder = Pool::builder().workers(2).panic_handler(move |_| {
            counts.fetch_add(1, Ordering::Relaxed);
        });
        let pool = builder.build().unwrap();
        let fail = || panic::resume_unwind(Box::new("awaited"));
        let calls: [&(dyn Fn() + Sync); 6] = [
            &|| fail(),
            &|| join_both(fail, || ()),
            &|| join_both(|| (), fail),
            &|| roving::scope(|s| s.spawn(|_| fail())),
            &|| roving::par_for(0..10, |_| fail()),
            &|| drop(roving::broadcast(|_| fail())),
        ];
        for call in calls {
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| pool.install(call)));
            assert_eq!(outcome.unwrap_err().downcast_ref(), Some(&"awaited"));
        }
        assert_eq!(heard.load(Ordering::Relaxed), 0);
        pool.spawn(|| panic::resume_unwind(Box::new("detached")));
        drop(pool);
        assert_eq!(heard.load(Ordering::Relaxed), 1);
    });
}

/// rayon#1054: a first step of every item runs before the second of any, so nothing is done until
/// all is.
#[test]
fn rayon_1054_what_a_task_spawns_is_not_left_to_the_end() {
    let steps = Mutex::new(Vec::new());
    let alone = pool(1);
    alone.install(|| {
        roving::scope(|s| {
            for index in 0..10 {
                let steps = &steps;
                s.spawn(move |s| {
                    steps.lock().unwrap().push((index, 1));
                    s.spawn(move |_| steps.lock().unwrap().push((index, 2)));
                });
            }
        });
    });
    let steps = steps.into_inner().unwrap();
    assert_eq!(steps.len(), 20);
    for pair in steps.chunks(2) {
        assert_eq!(
            (pair[0].0, pair[0].1, pair[1].1),
            (pair[1].0, 1, 2),
            "{steps:?}"
        );
    }
}

/// rayon#1204: quick items stand behind a slow one. Tasks of a scope do not, as long as there is
/// another worker.
#[test]
fn rayon_1204_quick_tasks_do_not_wait_for_a_slow_one() {
    watched(|| {
        let pool = pool(2);
        for _ in 0..tries(100) {
            let done = AtomicUsize::new(0);
            pool.install(|| {
                roving::scope(|s| {
                    for _ in 0..20 {
                        s.spawn(|_| {
                            done.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                    // The slow one lasts until half of them have ended, which is what a scope shows
                    // at least.
                    while done.load(Ordering::Relaxed) < 10 {
                        thread::yield_now();
                    }
                });
            });
            assert_eq!(done.into_inner(), 20);
        }
    });
}

/// rayon#663, #954: a sum that is another one each time.
#[test]
fn rayon_663_a_float_sum_is_the_same_each_time() {
    let term = |n: usize| 1.0 / (n as f64 + 0.3);
    let sum = || roving::reduce(0..size(50_000, 1_000), 256, || 0.0, term, |a, b| a + b).to_bits();
    let alone = pool(1).install(sum);
    watched(|| {
        for workers in [2, 3, 8] {
            let pool = pool(workers);
            (0..tries(20)).for_each(|_| assert_eq!(pool.install(sum), alone));
        }
    });
    under_seeds(|pool| assert_eq!(pool.install(sum), alone));
}

/// A pool of more workers than some runtimes can have at all.
#[test]
fn many_workers_make_one_pool() {
    watched(|| {
        let pool = pool(size(100, 12));
        let seen = pool.broadcast(|index| index);
        assert_eq!(seen, (0..size(100, 12)).collect::<Vec<_>>());
    });
}
