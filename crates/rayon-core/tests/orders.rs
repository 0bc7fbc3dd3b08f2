//! In which order a thread gets to what it has spawned.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, mpsc};

use common::{own_threads, pool, watched};
use rayon_core::{
    Scope, Yield, in_place_scope_fifo, join, scope, scope_fifo, spawn, spawn_fifo, yield_local,
    yield_now,
};

#[test]
fn one_thread_takes_detached_tasks_newest_first_and_fifo_ones_oldest_first() {
    watched(|| {
        for pool in [pool(1), own_threads(1)] {
            let (sender, receiver) = mpsc::channel();
            let send = |number: u32| {
                let sender = sender.clone();
                move || sender.send(number).unwrap()
            };
            pool.install(|| (0..5).for_each(|number| spawn(send(number))));
            assert!(receiver.iter().take(5).eq([4, 3, 2, 1, 0]));
            pool.install(|| (0..5).for_each(|number| spawn_fifo(send(number))));
            assert!(receiver.iter().take(5).eq(0..5));
            // The second holds the first one's place among the others.
            pool.install(|| {
                spawn_fifo(send(0));
                spawn(send(10));
                spawn_fifo(send(1));
                spawn(send(11));
            });
            assert!(receiver.iter().take(4).eq([11, 0, 10, 1]));
        }
    });
}

#[test]
fn so_it_does_in_scopes() {
    watched(|| {
        let pool = pool(1);
        let order = |f: &(dyn Fn(&Mutex<Vec<u32>>) + Sync)| {
            let order = Mutex::new(Vec::new());
            pool.install(|| f(&order));
            order.into_inner().unwrap()
        };
        let newest_first = order(&|order| {
            scope(|s| {
                for number in 0..5 {
                    s.spawn(move |_| order.lock().unwrap().push(number));
                }
            });
        });
        assert_eq!(newest_first, [4, 3, 2, 1, 0]);
        // Tasks spawn tasks, into the same queue.
        let oldest_first = order(&|order| {
            scope_fifo(|s| {
                for number in 0..3 {
                    s.spawn_fifo(move |s| {
                        order.lock().unwrap().push(number);
                        s.spawn_fifo(move |_| order.lock().unwrap().push(number + 10));
                    });
                }
            });
        });
        assert_eq!(oldest_first, [0, 1, 2, 10, 11, 12]);
        let in_place = order(&|order| {
            in_place_scope_fifo(|s| {
                for number in 0..5 {
                    s.spawn_fifo(move |_| order.lock().unwrap().push(number));
                }
            });
        });
        assert_eq!(in_place, [0, 1, 2, 3, 4]);
    });
}

/// From a thread of no pool the tasks go into one queue.
#[test]
fn a_scope_on_the_callers_thread_starts_fifo_tasks_in_order() {
    watched(|| {
        let order = Mutex::new(Vec::new());
        pool(1).in_place_scope_fifo(|s| {
            for number in 0..100 {
                let order = &order;
                s.spawn_fifo(move |_| order.lock().unwrap().push(number));
            }
        });
        assert!(order.into_inner().unwrap().into_iter().eq(0..100));
    });
}

/// All tasks of a scope end before it panics, with `op`'s payload if it has one; whoever spawned
/// them.
#[test]
fn a_panic_of_a_scope_on_the_callers_thread_waits_for_the_tasks() {
    watched(|| {
        let pool = pool(2);
        let ran = Mutex::new(0);
        let run = || {
            pool.in_place_scope(|s| {
                for number in 0..50 {
                    let ran = &ran;
                    s.spawn(move |s| {
                        s.spawn_broadcast(move |_, _| *ran.lock().unwrap() += 1);
                        assert!(number % 2 == 0, "a task");
                    });
                }
                std::panic::panic_any("op");
            });
        };
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"op"));
        assert_eq!(ran.into_inner().unwrap(), 100);
    });
}

/// Who yields runs the newest task of its innermost scope, as that scope would.
#[test]
fn who_yields_runs_its_newest_task() {
    watched(|| {
        for yields in [yield_local, yield_now] {
            let order = Mutex::new(Vec::new());
            let push = |number: u32| {
                let order = &order;
                move |_: &Scope<'_>| order.lock().unwrap().push(number)
            };
            let yields_often = |times| {
                (0..times).for_each(|_| assert_eq!(yields(), Some(Yield::Executed)));
            };
            pool(1).scope(|s| {
                (0..5).for_each(|number| s.spawn(push(number)));
                yields_often(2);
                s.spawn(push(10));
                scope(|inner| {
                    (20..23).for_each(|number| inner.spawn(push(number)));
                    yields_often(2);
                    inner.spawn(push(30));
                });
                // On top of one that yields itself.
                s.spawn(move |s| {
                    s.spawn(push(40));
                    s.spawn(push(41));
                    yields_often(1);
                });
                yields_often(1);
                join(|| s.spawn(push(50)), || s.spawn(push(51)));
                yields_often(1);
            });
            assert_eq!(pool(1).install(yields), Some(Yield::Idle));
            let order = order.into_inner().unwrap();
            assert_eq!(order, [4, 3, 22, 21, 30, 20, 41, 50, 51, 40, 10, 2, 1, 0]);
        }
    });
}

/// Any task may yield, with other workers at its tasks.
#[test]
fn nothing_is_lost_by_who_yields() {
    fn tree<'s>(s: &Scope<'s>, sum: &'s AtomicUsize, depth: usize) {
        sum.fetch_add(1, SeqCst);
        if depth == 0 {
            return;
        }
        for _ in 0..2 {
            s.spawn(move |s| tree(s, sum, depth - 1));
        }
        let yields = || match depth % 3 {
            0 => yield_now(),
            _ => yield_local(),
        };
        assert!(yields().is_some());
        join(
            || {
                s.spawn(move |s| tree(s, sum, depth - 1));
                yields();
                scope(|s| {
                    s.spawn(|_| _ = sum.fetch_add(1, SeqCst));
                    yields();
                    yields();
                });
            },
            || _ = yields(),
        );
        yields();
    }
    watched(|| {
        for threads in 1..=3 {
            for pool in [pool(threads), own_threads(threads)] {
                for _ in 0..20 {
                    let sum = AtomicUsize::new(0);
                    pool.scope(|s| tree(s, &sum, 6));
                    // Each with three below it, and one in its inner scope.
                    let (all, inner) = ((3_usize.pow(7) - 1) / 2, (3_usize.pow(6) - 1) / 2);
                    assert_eq!(sum.into_inner(), all + inner);
                }
            }
        }
    });
}
