//! Workers that block, and say so.

mod common;

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use common::{size, wait_until_quiet, watched};
use roving::{Pool, blocking, join, scope, spawn, task};

/// Both ends for tasks that wait for each other.
fn pipe<T>() -> (Mutex<Sender<T>>, Mutex<Receiver<T>>) {
    let (sender, receiver) = mpsc::channel();
    (Mutex::new(sender), Mutex::new(receiver))
}

fn recv<T>(receiver: &Mutex<Receiver<T>>) -> T {
    let patience = Duration::from_secs(60);
    blocking(|| receiver.lock().unwrap().recv_timeout(patience)).expect("nobody has sent it")
}

#[test]
fn tasks_that_wait_for_later_ones_get_them() {
    watched(|| {
        for workers in [1, 2, 3] {
            let pool = Pool::new(workers).unwrap();
            // As many as there are workers wait for tasks that are spawned after them.
            let (sender, receiver) = pipe();
            let sum = AtomicUsize::new(0);
            pool.install(|| {
                scope(|s| {
                    for _ in 0..2 * workers {
                        s.spawn(|_| {
                            // Ordering: Relaxed; read after the scope.
                            sum.fetch_add(recv(&receiver), Ordering::Relaxed);
                        });
                    }
                    for number in 0..2 * workers {
                        let sender = &sender;
                        s.spawn(move |_| sender.lock().unwrap().send(number).unwrap());
                    }
                });
            });
            let expected = (0..2 * workers).sum();
            // Ordering: Relaxed, as above.
            assert_eq!(sum.load(Ordering::Relaxed), expected, "{workers} workers");
        }
    });
}

#[test]
fn a_barrier_of_many_is_met() {
    watched(|| {
        let pool = Pool::new(2).unwrap();
        let barrier = Barrier::new(size(40, 5));
        pool.install(|| {
            scope(|s| {
                for _ in 0..size(40, 5) {
                    s.spawn(|_| {
                        blocking(|| barrier.wait());
                    });
                }
            });
        });
    });
}

#[test]
fn both_sides_of_a_join_may_wait_for_each_other() {
    watched(|| {
        let pool = Pool::new(1).unwrap();
        let (to_b, from_a) = pipe();
        let (to_a, from_b) = pipe();
        let (a, b) = pool.install(|| {
            join(
                || {
                    to_b.lock().unwrap().send(1).unwrap();
                    recv(&from_b)
                },
                || {
                    let got = recv(&from_a);
                    to_a.lock().unwrap().send(got + 1).unwrap();
                    got
                },
            )
        });
        assert_eq!((a, b), (2, 1));
    });
}

#[test]
fn a_panic_comes_out_and_the_worker_goes_on() {
    watched(|| {
        let pool = Pool::new(2).unwrap();
        for _ in 0..size(20, 3) {
            let call = || pool.install(|| blocking(|| panic!("inside")));
            let payload = panic::catch_unwind(AssertUnwindSafe(call)).unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&"inside"));
            assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
        }
    });
}

#[test]
fn regions_nest_and_may_fork() {
    watched(|| {
        fn fib(n: u32) -> u64 {
            if n < 2 {
                return n.into();
            }
            let (a, b) = join(|| fib(n - 1), || blocking(|| fib(n - 2)));
            a + b
        }
        let pool = Pool::new(2).unwrap();
        assert_eq!(
            pool.install(|| blocking(|| blocking(|| fib(size(12, 5))))),
            size(144, 5)
        );
    });
}

#[test]
fn a_task_may_block_in_its_poll() {
    watched(|| {
        let pool = Pool::new(1).unwrap();
        let (sender, receiver) = pipe();
        let (sender, receiver) = (&sender, &receiver);
        let got = pool.run(|s| async move {
            let sends = s.spawn(async move { sender.lock().unwrap().send(3).unwrap() });
            let got = recv(receiver);
            sends.await;
            got
        });
        assert_eq!(got, 3);
        assert_eq!(task::block_on(async { blocking(|| 4) }), 4);
    });
}

#[test]
fn outside_of_pools_it_just_calls() {
    watched(|| {
        assert_eq!(blocking(|| 5), 5);
        let pool = Pool::builder().caller_runs().build().unwrap();
        assert_eq!(pool.install(|| blocking(|| 6)), 6);
    });
}

/// The worker beneath gives its core away, however many in-place pools lie between.
#[test]
fn inside_of_in_place_pools_the_worker_beneath_is_replaced() {
    watched(|| {
        let pool = Pool::new(1).unwrap();
        let in_place = || Pool::builder().caller_runs().build().unwrap();
        let (first, second) = (in_place(), in_place());
        let (sender, receiver) = mpsc::channel();
        let (outer, first, second) = (&pool, &first, &second);
        let waits = move || {
            outer.spawn(move || sender.send(7).unwrap());
            blocking(|| receiver.recv().unwrap())
        };
        let within = move || first.install(move || second.install(waits));
        assert_eq!(pool.install(within), 7);
    });
}

/// One region after another needs one spare thread, however many there are.
#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn regions_one_after_the_other_share_a_spare_thread() {
    /// The threads of this process with that name.
    fn threads(name: &str) -> usize {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")));
        names
            .filter(|found| matches!(found, Ok(found) if found.starts_with(name)))
            .count()
    }
    watched(|| {
        let builder = Pool::builder().workers(1).name("oneafter");
        let pool = builder.profile(true).build().unwrap();
        let most = (0..30).map(|_| {
            pool.install(|| {
                let (sender, receiver) = mpsc::channel();
                spawn(move || sender.send(()).unwrap());
                blocking(|| receiver.recv().unwrap());
            });
            // The spare thread rests.
            wait_until_quiet(&pool);
            threads("oneafter")
        });
        let most = most.max().unwrap();
        // One more may be needed while another is about to rest.
        assert!((1..=3).contains(&most), "{most} threads");
    });
}

#[test]
fn more_than_there_are_spare_threads() {
    watched(|| {
        let pool = Pool::new(1).unwrap();
        let done = Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = mpsc::channel();
        for _ in 0..size(1_000, 20) {
            let (done, sender) = (Arc::clone(&done), sender.clone());
            pool.install(|| {
                spawn(move || {
                    blocking(|| std::thread::sleep(Duration::from_micros(50)));
                    // Ordering: Relaxed; the channel orders it.
                    done.fetch_add(1, Ordering::Relaxed);
                    sender.send(()).unwrap();
                });
            });
        }
        for _ in 0..size(1_000, 20) {
            receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        // Ordering: Relaxed, as above.
        assert_eq!(done.load(Ordering::Relaxed), size(1_000, 20));
    });
}
