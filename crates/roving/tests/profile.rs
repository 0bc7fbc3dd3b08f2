//! The profile of a pool.

mod common;
#[path = "common/system.rs"]
mod system;

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use common::{AMOUNTS, pool, pool_that_steals, size, tries, wait_until, watched};
use roving::policy::Amount;
use roving::{Pool, join, scope};

// The builder.

fn tree(depth: u32, leaf: &(dyn Fn() + Sync)) {
    if depth == 0 {
        return leaf();
    }
    join(|| tree(depth - 1, leaf), || tree(depth - 1, leaf));
}

/// A worker is in exactly one state at a time, so its times add up to the wall time, whoever is
/// interrupted while they are read.
#[test]
fn profile_times_add_up() {
    let leaf = || {
        let until = Instant::now() + Duration::from_micros(20);
        while Instant::now() < until {}
    };
    let work = |pool: &Pool| {
        for _ in 0..size(3, 1) {
            let before = pool.profile().total().idle;
            pool.install(|| tree(size(9, 5), &leaf));
            thread::sleep(Duration::from_millis(20));
            // On a loaded machine it takes a worker long to look around often enough.
            wait_until(|| pool.profile().total().idle > before);
        }
    };
    let check = |pool: &Pool| {
        let profile = pool.profile();
        let total = profile.total();
        assert!(total.busy >= Duration::from_millis(20), "{total:?}");
        assert!(total.idle > Duration::ZERO, "{total:?}");
        // Compensation threads that were started come after the workers, and have times of their
        // own.
        for of in &profile.workers[..pool.workers()] {
            let sum = of.busy + of.steal + of.idle + of.switch + of.frame;
            assert_eq!(sum, profile.wall, "{of:?}");
        }
    };
    watched(|| {
        for &workers in size(&[1, 2, 4][..], &[2]) {
            for reset in [false, true] {
                let builder = Pool::builder().workers(workers).profile(true);
                let pool = builder.build().unwrap();
                if reset {
                    work(&pool);
                    pool.reset_profile();
                }
                work(&pool);
                check(&pool);
            }
        }
    });
}

#[test]
fn a_pool_is_quiet_while_all_its_workers_are_idle() {
    watched(|| {
        let builder = Pool::builder().workers(2).profile(true);
        let pool = builder.build().unwrap();
        let quiet = || pool.profile().quiet;
        for _ in 0..2 {
            let before = quiet();
            wait_until(|| quiet() > before);
            let (first, second) = pool.install(|| {
                let first = quiet();
                thread::sleep(Duration::from_millis(2));
                (first, quiet())
            });
            assert_eq!(first, second, "a worker was busy");
            wait_until(|| quiet() > second);
            assert!(quiet() < pool.profile().wall);
            pool.reset_profile();
        }
    });
}

#[test]
fn a_pool_without_a_profile_keeps_no_times() {
    watched(|| {
        let pool = pool(2);
        pool.install(|| tree(size(8, 4), &|| ()));
        let total = pool.profile().total();
        let times = [
            total.busy,
            total.steal,
            total.idle,
            total.switch,
            total.frame,
        ];
        assert_eq!(times, [Duration::ZERO; 5]);
        assert_eq!([total.waiting, pool.profile().quiet], [Duration::ZERO; 2]);
        assert_eq!(total.counters.tasks, 0);
    });
}

#[test]
fn counters_count() {
    watched(|| {
        for amount in AMOUNTS {
            let builder = Pool::builder().workers(2).steal(amount).profile(true);
            let pool = builder.build().unwrap();
            pool.reset_profile();
            pool.install(|| tree(10, &thread::yield_now));
            let read = || {
                let profile = pool.profile();
                (profile.total().counters, profile.workers.len() as u64)
            };
            // What is read is not of one moment: until nobody has done anything meanwhile.
            let mut seen = read();
            let (counters, threads) = loop {
                thread::sleep(Duration::from_millis(1));
                let now = read();
                if seen == now {
                    break now;
                }
                seen = now;
            };
            // Each join pushes one; tasks that a steal of several offers on are pushed again.
            let own = (1 << 10) - 1;
            let offered = counters.tasks_stolen - counters.steals_won;
            let tasks = counters.tasks;
            assert!((own..=own + offered).contains(&tasks), "{counters:?}");
            assert!(counters.max_depth >= 10 && counters.max_depth <= 10 + 64);
            assert!(counters.tasks_stolen >= counters.steals_won);
            let looks = counters.steals_won + counters.steals_busy + counters.steals_empty;
            // A look may be under way on each thread.
            assert!(
                counters.steals_tried.abs_diff(looks) <= threads,
                "{counters:?}"
            );
            pool.reset_profile();
            let counters = pool.profile().total().counters;
            assert_eq!((counters.tasks, counters.max_depth), (0, 0));
        }
    });
}

/// The thief finds a flat scope with everything public or to be had, and takes what its amount
/// says.
#[test]
fn a_theft_takes_what_the_amount_says() {
    let tasks_per_steal = |amount: Amount| {
        let pool = pool_that_steals(2, amount);
        pool.install(|| {
            let ran = AtomicUsize::new(0);
            let meet = Barrier::new(2);
            let more = scope(|s| {
                // The thief is away until all is spawned, then it has asked, and is answered.
                s.spawn(|_| {
                    meet.wait();
                });
                for _ in 0..1_000 {
                    s.spawn(|_| {
                        ran.fetch_add(1, SeqCst);
                        thread::sleep(Duration::from_micros(20));
                    });
                }
                meet.wait();
                // On a busy machine it may be long until the thief has a core to steal with.
                let has_stolen = || pool.profile().total().counters.steals_won >= 5;
                let mut more = 0;
                while more < 100 || !has_stolen() {
                    thread::sleep(Duration::from_micros(100));
                    s.spawn(|_| {
                        ran.fetch_add(1, SeqCst);
                    });
                    more += 1;
                }
                more
            });
            assert_eq!(ran.into_inner(), 1_000 + more);
        });
        let counters = pool.profile().total().counters;
        assert!(counters.steals_won > 0, "{counters:?}");
        counters.tasks_stolen as f64 / counters.steals_won as f64
    };
    watched(|| {
        for _ in 0..tries(5) {
            assert_eq!(tasks_per_steal(Amount::One), 1.0);
            let four = tasks_per_steal(Amount::Fixed(4));
            assert!((1.2..=4.0).contains(&four), "fixed:4 took {four} a theft");
            let half = tasks_per_steal(Amount::Half);
            assert!((1.2..=64.0).contains(&half), "half took {half} a theft");
        }
    });
}
