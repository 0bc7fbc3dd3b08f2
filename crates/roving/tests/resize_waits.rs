//! Pools with fewer workers at work than they can have, whose workers wait.

mod common;

use std::sync::Mutex;
use std::sync::mpsc;

use common::{pool, tries, watched};
use roving::{Pool, blocking, join, scope};

fn small(most: usize) -> Pool {
    let builder = Pool::builder().workers(1).workers_max(most);
    builder.build().unwrap()
}

#[test]
fn a_task_comes_back_to_a_pool_whose_one_worker_waits() {
    watched(|| {
        for most in [1, 2, 6] {
            let (a, b) = (small(most), pool(1));
            for _ in 0..tries(1000) {
                let mut ran = false;
                a.install(|| b.install(|| a.in_place_scope(|s| s.spawn(|_| ran = true))));
                assert!(ran);
            }
        }
    });
}

#[test]
fn a_call_comes_back_to_a_pool_whose_one_worker_waits() {
    watched(|| {
        for most in [1, 2, 6] {
            let (a, b) = (small(most), pool(1));
            for _ in 0..tries(1000) {
                let both = a.install(|| b.install(|| a.install(|| join(|| 1, || 2))));
                assert_eq!(both, (1, 2));
            }
        }
    });
}

#[test]
fn a_detached_task_runs_while_the_one_worker_blocks() {
    watched(|| {
        for most in [1, 2, 6] {
            let pool = small(most);
            for _ in 0..tries(1000) {
                pool.install(|| {
                    let (sender, receiver) = mpsc::channel();
                    roving::spawn(move || sender.send(1).unwrap());
                    assert_eq!(blocking(|| receiver.recv()), Ok(1));
                });
            }
        }
    });
}

/// The pool grows and shrinks while all that is going on.
#[test]
fn a_pool_is_resized_while_its_workers_wait() {
    watched(|| {
        let (a, b) = (small(6), pool(2));
        for round in 0..tries(2000) {
            let sum = Mutex::new(0);
            a.install(|| {
                a.resize(1 + round % 6).unwrap();
                scope(|s| {
                    for _ in 0..3 {
                        s.spawn(|_| {
                            a.resize(1 + round % 5).unwrap();
                            let inner = b.install(|| {
                                a.in_place_scope(|s| s.spawn(|_| *sum.lock().unwrap() += 1));
                                a.install(|| join(|| 1, || a.resize(1).map_or(0, |()| 2)))
                            });
                            assert_eq!(inner, (1, 2));
                        });
                    }
                });
            });
            assert_eq!(sum.into_inner().unwrap(), 3);
        }
    });
}
