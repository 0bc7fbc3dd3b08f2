//! Defects that users of Rayon reported, by the numbers of its issue tracker, in programs that know
//! Rayon's interface alone: on threads, and under schedules that are a function of a seed.

mod common;

use std::cell::Cell;
use std::hint::black_box;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use common::{pool, watched};
use rayon_core::{ThreadPoolBuilder, current_num_threads, current_thread_index, join, scope};
use roving::testing::Explorer;

/// On pools of several sizes, and under seeds.
fn everywhere(program: impl Fn() + Sync + Send) {
    watched(|| {
        for threads in [1, 2, 4] {
            let pool = pool(threads);
            (0..10).for_each(|_| pool.install(&program));
        }
        Explorer::new().seeds(0..50).run(&program);
    });
}

fn sum(from: u64, to: u64) -> u64 {
    if to - from <= 4 {
        return (from..to).sum();
    }
    let middle = from.midpoint(to);
    let (a, b) = join(|| sum(from, middle), || sum(middle, to));
    a + b
}

/// Calls `f` for each index, by halves, as parallel iterators do.
fn for_each(from: u64, to: u64, f: &(impl Fn(u64) + Sync)) {
    if to - from == 1 {
        return f(from);
    }
    let middle = from.midpoint(to);
    join(|| for_each(from, middle, f), || for_each(middle, to, f));
}

/// rayon#592: items of a loop each hold the lock while they run a loop.
#[test]
fn rayon_592_a_loop_under_a_lock_in_a_loop() {
    everywhere(|| {
        let total = Mutex::new(0);
        for_each(0, 40, &|_| {
            let mut total = total.lock().unwrap();
            *total += sum(0, 64);
        });
        assert_eq!(total.into_inner().unwrap(), 40 * 2016);
    });
}

/// rayon#1205: items hold the lock for reading, others for writing.
#[test]
fn rayon_1205_readers_and_writers_compute_in_parallel() {
    everywhere(|| {
        let total = RwLock::new(0);
        for_each(0, 40, &|index| match index % 4 {
            0 => *total.write().unwrap() += sum(0, 64),
            _ => {
                let total = total.read().unwrap();
                assert_eq!((*total + sum(0, 64)) % 2016, 0);
            }
        });
        assert_eq!(total.into_inner().unwrap(), 10 * 2016);
    });
}

/// rayon#1181 and others: a value that is made once, in parallel, by who first wants it.
#[test]
fn rayon_1181_a_value_that_is_made_once_is_made_in_parallel() {
    everywhere(|| {
        let once = OnceLock::new();
        for_each(0, 40, &|_| {
            assert_eq!(*once.get_or_init(|| sum(0, 64)), 2016)
        });
        scope(|s| {
            let once = &once;
            (0..10).for_each(|_| s.spawn(move |_| assert_eq!(once.get(), Some(&2016))));
        });
    });
}

/// rayon#446: what an item has put into thread-local storage is there after it has waited, also for
/// another pool.
#[test]
fn rayon_446_thread_locals_hold_across_waiting() {
    thread_local! {
        static ITEM: Cell<u64> = const { Cell::new(u64::MAX) };
    }
    let other = pool(2);
    let check = |index, waits: &dyn Fn()| {
        assert_eq!(
            ITEM.replace(index),
            u64::MAX,
            "begun on top of another item"
        );
        waits();
        assert_eq!(ITEM.replace(u64::MAX), index);
    };
    watched(|| {
        let pool = pool(4);
        for _ in 0..20 {
            pool.install(|| {
                for_each(0, 40, &|index| {
                    check(index, &|| drop(black_box(vec![sum(0, 64)])))
                });
                for_each(0, 40, &|index| {
                    check(index, &|| assert_eq!(other.install(|| sum(0, 64)), 2016));
                });
            });
        }
    });
}

/// rayon#854: tasks that each run a loop, on small native stacks.
#[test]
fn rayon_854_loops_in_many_tasks_need_little_stack() {
    watched(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(4)
            .stack_size(256 << 10);
        pool.build().unwrap().install(|| {
            scope(|s| {
                for _ in 0..10_000 {
                    s.spawn(|_| {
                        let frame = black_box([1_u8; 4096]);
                        assert_eq!(sum(0, 16), 120);
                        assert_eq!(black_box(&frame)[7], 1);
                    });
                }
            });
        });
    });
}

/// rayon#271: what a task owns panics when it is dropped; Rayon aborts.
#[test]
fn rayon_271_a_panic_in_the_drop_of_what_a_task_owns() {
    struct Fails(&'static AtomicUsize);
    impl Drop for Fails {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            panic::resume_unwind(Box::new("in drop"));
        }
    }
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    watched(|| {
        let pool = pool(2);
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| {
                let owned = Fails(&DROPS);
                scope(|s| s.spawn(move |_| drop(owned)));
            });
        }));
        assert_eq!(outcome.unwrap_err().downcast_ref(), Some(&"in drop"));
        assert_eq!(DROPS.load(Ordering::Relaxed), 1);
        assert_eq!(pool.install(|| sum(0, 64)), 2016);
    });
}

/// rayon#825: the panic handler is for what nobody waits for.
#[test]
fn rayon_825_the_panic_handler_hears_of_detached_tasks_alone() {
    watched(|| {
        let heard = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&heard);
        let builder = ThreadPoolBuilder::new()
            .num_threads(2)
            .panic_handler(move |_| {
                counts.fetch_add(1, Ordering::Relaxed);
            });
        let pool = builder.build().unwrap();
        let fail = || panic::resume_unwind(Box::new("awaited"));
        let awaited: [&(dyn Fn() + Sync); 3] =
            [&|| fail(), &|| for_each(0, 10, &|_| fail()), &|| {
                scope(|s| s.spawn(|_| fail()))
            }];
        for call in awaited {
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| pool.install(call)));
            assert!(outcome.is_err());
        }
        assert_eq!(heard.load(Ordering::Relaxed), 0);
        pool.spawn(|| panic::resume_unwind(Box::new("detached")));
        common::wait_until(|| heard.load(Ordering::Relaxed) == 1);
    });
}

/// rayon#663: schedules of programs for Rayon come from a seed as well.
#[test]
fn a_program_for_rayon_has_a_schedule_for_each_seed() {
    let run = |seed| {
        let builder = roving::Pool::builder().deterministic(seed).workers(3);
        let pool = builder.log_schedule(true).build().unwrap();
        let order = Mutex::new(Vec::new());
        pool.install(|| {
            assert_eq!(current_num_threads(), 3);
            for_each(0, 16, &|index| {
                let thread = current_thread_index().expect("a worker");
                order.lock().unwrap().push((index, thread));
            });
        });
        (order.into_inner().unwrap(), pool.schedule_log())
    };
    let mut orders = std::collections::HashSet::new();
    for seed in 0..50 {
        let (order, log) = run(seed);
        assert_eq!(run(seed), (order.clone(), log));
        orders.insert(order);
    }
    assert!(orders.len() > 45, "{} of 50 differ", orders.len());
}
