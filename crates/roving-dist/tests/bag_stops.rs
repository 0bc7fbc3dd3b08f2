//! Bags that are cancelled: what they return is all that there is, or an error.

mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::{hash, watched};
use roving::Pool;
use roving_dist::{Bag, Checkpoints, Local, World};

/// A pool of two workers, of which the second waits for the end of what is returned with it: what
/// is offered to it nobody takes.
fn half_busy_pool() -> (Pool, mpsc::Sender<()>) {
    let pool = Pool::new(2).unwrap();
    let (waits, is_over) = mpsc::channel::<()>();
    let (begins, has_begun) = mpsc::channel();
    pool.spawn(move || {
        begins.send(()).unwrap();
        let _ended = is_over.recv();
    });
    has_begun.recv().unwrap();
    (pool, waits)
}

/// The last task that runs cancels the bag while the other one is offered to a worker that does not
/// take it: it never runs, so the bag has not ended, and its checkpoint stays.
#[test]
fn a_bag_whose_offered_tasks_were_dropped_has_not_ended() {
    watched(Duration::from_secs(120), || {
        let name = format!("roving-offered-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let later = Duration::from_secs(1000);
        // A run that leaves a checkpoint; one that comes to its end but for what is dropped; a
        // whole one.
        for (every, is_cancelled) in [(Duration::ZERO, true), (later, true), (later, false)] {
            let checkpoints = Checkpoints::to(&directory).every(every).resume(true);
            let found = World::threads(1, |world| {
                let (pool, _waits) = half_busy_pool();
                let cancel = roving::Cancel::new();
                let bag = Bag::new(&world).checkpoints(checkpoints.clone());
                let work = |(): (), local: &mut Local<'_, (), u64>| {
                    while is_cancelled && !checkpoints.is_there() {
                        thread::sleep(Duration::from_millis(1));
                    }
                    if is_cancelled {
                        cancel.cancel();
                    }
                    *local.result() += 1;
                };
                let run = || bag.run(&pool, [(); 2], work, |a, b| a + b);
                cancel.run_partial(run).unwrap()
            });
            match &found[0] {
                Err(error) if is_cancelled => {
                    assert!(error.to_string().contains("was cancelled"), "{error}");
                    assert!(checkpoints.is_there());
                }
                found => assert_eq!((found, is_cancelled), (&Ok(2), false)),
            }
        }
        std::fs::remove_dir_all(&directory).unwrap();
    });
}

/// A task goes on where it finds that its own tasks were dropped: that is not all of it.
#[test]
fn a_bag_of_which_a_task_has_lost_its_own_tasks_has_not_ended() {
    let found = World::threads(1, |world| {
        let (pool, cancel) = (Pool::new(1).unwrap(), roving::Cancel::new());
        let work = |(): (), local: &mut Local<'_, (), u64>| {
            let ran = AtomicU64::new(0);
            roving::scope(|scope| {
                cancel.cancel();
                // Ordering: Relaxed; read when the scope has ended.
                scope.spawn(|_| ran.store(1, Ordering::Relaxed));
            });
            *local.result() += ran.into_inner();
        };
        let run = || Bag::new(&world).run(&pool, [()], work, |a, b| a + b);
        cancel.run_partial(run).unwrap()
    });
    assert!(found[0].is_err(), "{found:?}");
}

/// The token comes at any moment: what a bag says that it has found is all that there is.
#[test]
fn a_bag_that_is_cancelled_at_any_moment_has_all_or_an_error() {
    watched(Duration::from_secs(300), || {
        for seed in 0..200 {
            let ranks = 1 + seed as usize % 2;
            let found = World::threads(ranks, |world| {
                let (pool, _waits) = half_busy_pool();
                let work = |(): (), local: &mut Local<'_, (), u64>| {
                    thread::sleep(Duration::from_micros(200));
                    *local.result() += 1;
                };
                let wait = Duration::from_micros(hash(seed) % 4000);
                let cancel = roving::Cancel::after(wait);
                let run = || Bag::new(&world).run(&pool, [(); 8], work, |a, b| a + b);
                cancel.run_partial(run)
            });
            for found in found.into_iter().flatten().flatten() {
                assert_eq!(found, 8, "seed {seed}");
            }
        }
    });
}

/// A task that panics when it is dropped, unless it has run.
#[derive(serde::Serialize, serde::Deserialize)]
struct Bomb(bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0, "a bomb");
    }
}

/// Several panic when they are dropped, one after the other.
#[test]
fn tasks_that_are_left_over_may_panic_when_they_are_dropped() {
    watched(Duration::from_secs(120), || {
        for workers in [1, 2] {
            let found = World::threads(1, |world| {
                let pool = Pool::new(workers).unwrap();
                let cancel = roving::Cancel::new();
                let work = |mut bomb: Bomb, _: &mut Local<'_, Bomb, u64>| {
                    bomb.0 = false;
                    cancel.cancel();
                };
                let roots = (0..16).map(|_| Bomb(true));
                let run = || Bag::new(&world).run(&pool, roots, work, |a, b| a + b);
                cancel
                    .run_partial(run)
                    .unwrap()
                    .map_err(|error| error.to_string())
            });
            let error = found[0].as_ref().unwrap_err();
            assert!(error.contains("was cancelled"), "{error}");
        }
    });
}

/// Where results meet, the program may have all workers do something.
#[test]
fn results_may_be_reduced_by_the_whole_pool() {
    watched(Duration::from_secs(120), || {
        let pool = Pool::new(2).unwrap();
        let rounds = if cfg!(miri) { 2 } else { 200 };
        World::threads(1, |world| {
            for _ in 0..rounds {
                let work = |depth: u32, local: &mut Local<'_, u32, u64>| {
                    *local.result() += 1;
                    (0..2 * u32::from(depth > 0)).for_each(|_| local.push(depth - 1));
                    thread::sleep(Duration::from_micros(20));
                };
                let reduce = |a, b| {
                    roving::broadcast(|_| thread::sleep(Duration::from_micros(50)));
                    a + b
                };
                let count = Bag::new(&world).run(&pool, [5], work, reduce).unwrap();
                assert_eq!(count, 63);
            }
        });
    });
}
