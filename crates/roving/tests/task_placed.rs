//! Tasks that have a place are run there, and move when another one is named.

mod common;

use std::future::poll_fn;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, LazyLock, Mutex};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use common::{pool, size, watched, yield_now};
use roving::raw::tasks::{Place, spawn_placed};
use roving::{Pool, current_worker, task};

#[test]
fn a_task_runs_where_its_place_says() {
    watched(|| {
        for workers in [1, 2, 3] {
            let pool = pool(workers);
            let places: Vec<Place> = (0..size(100, 9))
                .map(|n| Place::new(Some(n % workers)))
                .collect();
            let places = &places;
            pool.run(|s| async move {
                let tasks: Vec<_> = places
                    .iter()
                    .map(|place| {
                        spawn_placed(s, place, async move {
                            for _ in 0..size(50, 4) {
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
                for step in 1..size(200, 12) {
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
                let tasks: Vec<_> = (0..size(100, 10))
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
            assert_eq!(sum, size(4950, 45));
        }
    });
}

/// A ring through all workers: each hop wakes a task of another worker, from a thread that is one,
/// and below a root that itself blocks a worker.
#[test]
fn a_ring_through_all_workers() {
    fn ring(pool: &Pool, stays: bool) {
        const TASKS: usize = size(60, 6);
        const ROUNDS: usize = size(100, 3);
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

/// A task that another thread wakes, in waits in which the worker named by the place does not look
/// for its mail.
#[test]
fn a_place_whose_worker_does_not_look_is_any() {
    watched(|| {
        let in_place = Pool::builder().caller_runs().build().unwrap();
        in_place.run(|s| waits_at(s, &PLACES[0]));

        // Its worker never comes to an end of what is ready in the root that it waits for.
        let pool = pool(1);
        pool.install(|| {
            pool.run(|s| async move {
                let task = spawn_placed(s, &PLACES[0], elsewhere());
                while !task.is_ended() {
                    yield_now().await;
                }
            });
        });
    });
}

/// Tasks that keep their worker busy with each other do so for a while, and then it looks around.
#[test]
fn tasks_with_a_place_let_a_detached_one_run() {
    watched(|| {
        let told = Arc::new(AtomicBool::new(false));
        pool(1).run(|s| {
            let told = &told;
            async move {
                let turns = || {
                    spawn_placed(s, &PLACES[0], async move {
                        while !told.load(SeqCst) {
                            yield_now().await;
                        }
                    })
                };
                let (first, second) = (turns(), turns());
                let there = Arc::clone(told);
                drop(roving::spawn(move || there.store(true, SeqCst)));
                first.await;
                second.await;
            }
        });
    });
}

/// A thread that was adopted looks for tasks only when it waits.
#[test]
fn a_place_with_an_adopted_thread_is_any() {
    watched(|| {
        let adopted = || {
            let pool = Pool::builder().workers(2).adopt_current_thread();
            let pool = pool.build().unwrap();
            thread::scope(|threads| {
                threads.spawn(|| pool.run(|s| waits_at(s, &PLACES[0])));
            });
            pool.run(|s| waits_at(s, &PLACES[0]));
            pool.run(|s| waits_at(s, &PLACES[1]));
        };
        thread::spawn(adopted).join().unwrap();
    });
}

/// So is one whose worker has no thread, or none any more.
#[test]
fn a_place_without_a_thread_is_any() {
    watched(|| {
        let mut threads = Vec::new();
        let pool = Pool::builder().workers(2).build_with(|thread| {
            if thread.index() == 0 {
                threads.push(thread::spawn(|| thread.run()));
            }
            Ok(())
        });
        pool.unwrap().run(|s| waits_at(s, &PLACES[1]));
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());

        let exit = |index: usize| {
            if index == 1 {
                // The other one has ended.
                thread::sleep(Duration::from_millis(20));
            }
            task::scope(|s| waits_at(s, &PLACES[1 - index]));
        };
        drop(Pool::builder().workers(2).on_exit(exit).build().unwrap());
    });
}

static PLACES: [LazyLock<Place>; 2] = [
    LazyLock::new(|| Place::new(Some(0))),
    LazyLock::new(|| Place::new(Some(1))),
];

/// Something that another thread, of no pool, wakes once.
async fn elsewhere() {
    let mut asked = false;
    poll_fn(|context| {
        if mem::replace(&mut asked, true) {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        thread::spawn(|| {
            thread::sleep(Duration::from_millis(5));
            waker.wake();
        });
        Poll::Pending
    })
    .await;
}

async fn waits_at<'scope>(s: task::Scope<'scope>, place: &'scope Place) {
    spawn_placed(s, place, elsewhere()).await;
}
