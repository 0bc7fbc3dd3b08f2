//! In which order a thread gets to what it has spawned.

mod common;

use std::sync::{Mutex, mpsc};

use common::{own_threads, pool, watched};
use rayon_core::{in_place_scope_fifo, scope, scope_fifo, spawn, spawn_fifo};

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
