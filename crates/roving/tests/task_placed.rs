//! Tasks that have a place are run there, and move when another one is named.

mod common;

use std::future::poll_fn;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;

use common::{pool, watched};
use roving::adapt::{Place, spawn_placed};
use roving::{Pool, current_worker};

/// Lets others run first, once.
fn yield_now() -> impl Future<Output = ()> + Send {
    let mut yielded = false;
    poll_fn(move |context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

#[test]
fn a_task_runs_where_its_place_says() {
    watched(|| {
        for workers in [1, 2, 3] {
            let pool = pool(workers);
            let places: Vec<Place> = (0..100).map(|n| Place::new(Some(n % workers))).collect();
            let places = &places;
            pool.run(|s| async move {
                let tasks: Vec<_> = places
                    .iter()
                    .map(|place| {
                        spawn_placed(s, place, async move {
                            for _ in 0..50 {
                                assert_eq!(current_worker(), place.get());
                                yield_now().await;
                            }
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await;
                }
            });
        }
    });
}

#[test]
fn a_task_moves_when_it_next_becomes_ready() {
    watched(|| {
        let pool = pool(3);
        let place = &Place::new(Some(0));
        pool.run(|s| async move {
            spawn_placed(s, place, async move {
                for step in 1..200 {
                    let here = current_worker();
                    assert_eq!(here, place.get());
                    place.set(Some(step % 3));
                    assert_eq!(current_worker(), here, "not before it becomes ready");
                    yield_now().await;
                }
            })
            .await;
        });
    });
}

/// Anywhere, and a worker that the pool does not have.
#[test]
fn a_place_that_names_no_worker_is_any() {
    watched(|| {
        let pool = pool(2);
        for worker in [None, Some(2), Some(1 << 40)] {
            let place = &Place::new(worker);
            let sum: usize = pool.run(|s| async move {
                let tasks: Vec<_> = (0..100)
                    .map(|n| {
                        spawn_placed(s, place, async move {
                            yield_now().await;
                            n
                        })
                    })
                    .collect();
                let mut sum = 0;
                for task in tasks {
                    sum += task.await;
                }
                sum
            });
            assert_eq!(sum, 4950);
        }
    });
}

/// A ring through all workers: each hop wakes a task of another worker, from a thread that is one,
/// and below a root that itself blocks a worker.
#[test]
fn a_ring_through_all_workers() {
    fn ring(pool: &Pool, stays: bool) {
        const TASKS: usize = 60;
        const ROUNDS: usize = 100;
        let places: Vec<Place> = (0..TASKS).map(|n| Place::new(Some(n % 3))).collect();
        let turn = AtomicUsize::new(0);
        let wakers = Mutex::new(vec![None; TASKS]);
        let (places, turn, wakers) = (&places, &turn, &wakers);
        pool.run(|s| async move {
            let tasks: Vec<_> = (0..TASKS)
                .map(|me| {
                    spawn_placed(s, &places[me], async move {
                        for round in 0..ROUNDS {
                            poll_fn(|context| {
                                wakers.lock().unwrap()[me] = Some(context.waker().clone());
                                match turn.load(SeqCst) == round * TASKS + me {
                                    true => Poll::Ready(()),
                                    false => Poll::Pending,
                                }
                            })
                            .await;
                            assert!(!stays || current_worker() == Some(me % 3));
                            turn.fetch_add(1, SeqCst);
                            let next = wakers.lock().unwrap()[(me + 1) % TASKS].take();
                            if let Some(next) = next {
                                next.wake();
                            }
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await;
            }
        });
        assert_eq!(turn.load(SeqCst), TASKS * ROUNDS);
    }
    watched(|| {
        let pool = pool(3);
        ring(&pool, true);
        // A worker that is blocked has no tasks of its own.
        pool.install(|| ring(&pool, false));
        pool.install(|| roving::join(|| ring(&pool, false), || ring(&pool, false)));
        let other = common::pool(2);
        other.install(|| roving::join(|| ring(&pool, false), || ring(&pool, false)));
    });
}
