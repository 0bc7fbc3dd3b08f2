//! What a builder promises, and what can be done with a pool.

mod common;
#[path = "common/system.rs"]
mod system;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::{AMOUNTS, Census, Random, pool, pool_that_steals, tries, wait_until, watched};
use roving::{
    Amount, Pool, WorkerLocal, current_worker, current_workers, join, map_reduce, par_chunks_mut,
    par_for, scope,
};

// The builder.

#[test]
fn errors_name_the_value_the_range_and_the_remedy() {
    let error = |builder: roving::PoolBuilder| builder.build().unwrap_err().to_string();
    for workers in [0, 769, usize::MAX] {
        let text = error(Pool::builder().workers(workers));
        let expected = format!("{workers} workers cannot be started: say 1 to 768");
        assert_eq!(text, expected);
        assert_eq!(Pool::new(workers).unwrap_err().to_string(), expected);
    }
    for d in [0, 65, usize::MAX] {
        let text = error(Pool::builder().workers(1).steal(Amount::Fixed(d)));
        let expected = format!("steal amount fixed:{d} is out of range: D is 1 to 64");
        assert_eq!(text, expected);
    }
    assert!(
        Pool::builder()
            .workers(1)
            .steal(Amount::Fixed(64))
            .build()
            .is_ok()
    );
}

/// A thread that cannot be started is an error, and those that were started are ended.
#[test]
fn a_thread_that_cannot_be_started_is_an_error() {
    watched(|| {
        let builder = Pool::builder()
            .workers(2)
            .name("too-big")
            .stack_size(1 << 60);
        let text = builder.build().unwrap_err().to_string();
        let start = "the thread of worker 0 could not be started (";
        assert!(text.starts_with(start), "{text}");
        assert!(text.contains("a smaller stack_size"), "{text}");
        assert!(!text.contains('\n'), "{text}");
    });
}

#[test]
fn threads_have_names() {
    watched(|| {
        let name = |_| thread::current().name().map(str::to_owned);
        let builder = Pool::builder().workers(2).name("search");
        let names = builder.build().unwrap().broadcast(name);
        assert_eq!(names, [Some("search-0".into()), Some("search-1".into())]);
        assert_eq!(pool(1).broadcast(name), [Some("roving-0".into())]);
    });
}

/// A recursion that needs more than the usual 2 MiB.
#[test]
fn stack_size_is_what_workers_get() {
    fn deep(depth: usize) -> usize {
        let frame = std::hint::black_box([depth as u8; 1024]);
        match depth {
            0 => 0,
            _ => deep(depth - 1) + usize::from(std::hint::black_box(frame)[7] == depth as u8),
        }
    }
    watched(|| {
        let builder = Pool::builder().workers(2).stack_size(64 << 20);
        let pool = builder.build().unwrap();
        assert_eq!(pool.broadcast(|_| deep(10_000)), [10_000; 2]);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn pin_keeps_each_worker_on_one_processor() {
    fn allowed() -> BTreeSet<usize> {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let list = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let numbers = |text: &str| -> usize { text.parse().unwrap() };
        let ranges = list.unwrap().trim().split(',');
        let ranges = ranges.map(|range| match range.split_once('-') {
            Some((first, last)) => numbers(first)..=numbers(last),
            None => numbers(range)..=numbers(range),
        });
        ranges.flatten().collect()
    }
    watched(|| {
        let all = allowed();
        let builder = Pool::builder().workers(all.len() * 2).pin(true);
        let pinned = builder.build().unwrap().broadcast(|_| allowed());
        let in_turn = all.iter().chain(&all).map(|&one| BTreeSet::from([one]));
        assert!(pinned.into_iter().eq(in_turn));
        // Nobody else is.
        assert_eq!(allowed(), all);
        assert_eq!(pool(2).broadcast(|_| allowed()), [all.clone(), all]);
    });
}

#[test]
fn on_start_and_on_exit_are_called_once_by_each_worker() {
    watched(|| {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let note = |what: &'static str| {
            let calls = Arc::clone(&calls);
            move |index: usize| {
                let name = thread::current().name().map(str::to_owned);
                assert_eq!(name, Some(format!("roving-{index}")));
                calls.lock().unwrap().push((what, index));
            }
        };
        let builder = Pool::builder().workers(3);
        let builder = builder.on_start(note("start")).on_exit(note("exit"));
        let pool = builder.build().unwrap();
        pool.broadcast(|index| {
            let calls = calls.lock().unwrap();
            assert!(calls.contains(&("start", index)), "before it works");
            assert!(!calls.contains(&("exit", index)), "after its last task");
        });
        drop(pool);
        let mut calls = std::mem::take(&mut *calls.lock().unwrap());
        calls.sort_unstable();
        let each = |what| (0..3).map(move |index| (what, index));
        assert!(calls.into_iter().eq(each("exit").chain(each("start"))));
    });
}

#[test]
fn a_pool_in_place_runs_everything_on_the_calling_thread() {
    watched(|| {
        let builder = Pool::builder().workers(7).name("in-place");
        let pool = builder.use_current_thread().build().unwrap();
        assert_eq!(pool.workers(), 1);
        let here = thread::current().id();
        let check = || {
            assert_eq!(thread::current().id(), here);
            assert_eq!(current_worker(), Some(0));
            assert_eq!(current_workers(), 1);
        };
        pool.install(|| {
            check();
            join(check, check);
            scope(|s| (0..10).for_each(|_| s.spawn(|_| check())));
            par_for(0..10, |_| check());
            roving::broadcast(|index| assert_eq!(index, 0));
        });
        assert_eq!(current_worker(), None);
        let ran = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&ran);
        pool.spawn(move || {
            assert_eq!(thread::current().id(), here);
            count.fetch_add(1, SeqCst);
        });
        pool.install(|| ());
        assert_eq!(ran.load(SeqCst), 1);
        let threads = system::used_by_threads("in-place").map_or(0, |used| used.threads);
        assert_eq!(threads, 0, "it has started a thread");
    });
}

/// Calls from several threads take turns.
#[test]
fn a_pool_in_place_has_one_worker_at_a_time() {
    watched(|| {
        let pool = Pool::builder().use_current_thread().build().unwrap();
        let inside = AtomicUsize::new(0);
        thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    for _ in 0..20 {
                        pool.install(|| {
                            assert_eq!(inside.fetch_add(1, SeqCst), 0);
                            join(thread::yield_now, thread::yield_now);
                            inside.fetch_sub(1, SeqCst);
                        });
                    }
                });
            }
        });
    });
}

/// What is shown of a pool and its parts names them.
#[test]
fn debug_texts() {
    let pool = Pool::builder().workers(2).name("shown").build().unwrap();
    let text = format!("{pool:?}");
    assert_eq!(
        text,
        r#"Pool { workers: 2, steal: One, name: "shown", .. }"#
    );
    let text = scope(|s| format!("{s:?}"));
    assert_eq!(text, "Scope { cancelled: false, .. }");
}

// Install, scope, broadcast.

#[test]
fn install_goes_to_its_pool_and_comes_back() {
    watched(|| {
        let (two, three) = (pool(2), pool(3));
        let outside = thread::current().id();
        two.install(|| {
            let thread = thread::current().id();
            assert_ne!(thread, outside);
            assert_eq!(current_workers(), 2);
            // In its own pool it stays where it is.
            two.install(|| assert_eq!(thread::current().id(), thread));
            let (workers, inner) = three.install(|| {
                assert_ne!(thread::current().id(), thread);
                let inner = two.install(current_workers);
                join(current_workers, || inner)
            });
            assert_eq!((workers, inner), (3, 2));
            assert_eq!(thread::current().id(), thread);
            assert_eq!(current_workers(), 2);
        });
        assert_eq!(current_worker(), None);
        // It may borrow, change what it borrows, and return what borrows.
        let mut text = String::from("a");
        let borrowed: &mut String = two.install(|| {
            text.push('b');
            &mut text
        });
        borrowed.push('c');
        assert_eq!(text, "abc");
    });
}

#[test]
fn scopes_take_tasks_from_foreign_threads_and_from_other_pools() {
    watched(|| {
        for workers in [1, 2, 4] {
            let (here, there) = (pool(workers), pool(2));
            let ran: Vec<AtomicUsize> = (0..60).map(|_| AtomicUsize::new(0)).collect();
            let count = |number: usize| {
                let workers_here = current_workers();
                assert_eq!(
                    workers_here, workers,
                    "tasks run in the pool of their scope"
                );
                ran[number].fetch_add(1, SeqCst);
            };
            here.install(|| {
                scope(|s| {
                    let count = &count;
                    thread::scope(|threads| {
                        for thread in 0..2 {
                            threads.spawn(move || {
                                for task in 0..10 {
                                    s.spawn(move |_| count(thread * 10 + task));
                                }
                            });
                        }
                    });
                    there.install(|| {
                        join(
                            || (20..30).for_each(|task| s.spawn(move |_| count(task))),
                            || (30..40).for_each(|task| s.spawn(move |_| count(task))),
                        );
                    });
                    (40..50).for_each(|task| {
                        s.spawn(move |s| {
                            count(task);
                            s.spawn(move |_| count(task + 10));
                        });
                    });
                });
            });
            assert!(ran.into_iter().all(|count| count.into_inner() == 1));
        }
    });
}

#[test]
fn a_scope_returns_what_its_body_returns() {
    watched(|| {
        let pool = pool(2);
        let mut parts = [0; 100];
        let sum = pool.install(|| {
            let text = scope(|s| {
                for (number, part) in parts.iter_mut().enumerate() {
                    s.spawn(move |_| *part = number);
                }
                String::from("body")
            });
            assert_eq!(text, "body");
            parts.iter().sum::<usize>()
        });
        assert_eq!(sum, 4950);
    });
}

/// What has not started when a scope is cancelled is dropped: not run, and not leaked.
#[test]
fn cancel_drops_what_has_not_started() {
    watched(|| {
        for workers in [1, 2, 4] {
            for amount in AMOUNTS {
                let pool = pool_that_steals(workers, amount);
                let (census, ran) = (Census::default(), AtomicUsize::new(0));
                let after = pool.install(|| {
                    scope(|s| {
                        for task in 0..1_000 {
                            let (owned, ran) = (census.one(), &ran);
                            s.spawn(move |s| {
                                let _owned = owned;
                                ran.fetch_add(1, SeqCst);
                                assert!(task != 500 || workers > 1 || !s.is_cancelled());
                                thread::yield_now();
                            });
                        }
                        assert!(!s.is_cancelled());
                        s.cancel();
                        assert!(s.is_cancelled());
                        ran.load(SeqCst)
                    })
                });
                // Those that had started, and at most one more on each worker.
                let ran = ran.into_inner();
                assert!(
                    ran <= after + workers,
                    "{ran} ran, {after} before the cancel"
                );
                census.check();
            }
        }
    });
}

#[test]
fn cancel_reaches_tasks_that_run_and_no_other_scope() {
    watched(|| {
        let pool = pool(2);
        let inner_ran = AtomicUsize::new(0);
        pool.install(|| {
            scope(|s| {
                s.spawn(|s| wait_until(|| s.is_cancelled()));
                scope(|inner| {
                    s.cancel();
                    assert!(!inner.is_cancelled());
                    inner.spawn(|_| {
                        inner_ran.fetch_add(1, SeqCst);
                    });
                });
            });
        });
        // One worker runs the task that waits, or drops it.
        assert_eq!(inner_ran.into_inner(), 1);
    });
}

#[test]
fn spawn_stays_in_the_pool_that_it_is_called_in() {
    watched(|| {
        let pool = Pool::builder().workers(2).name("stays").build().unwrap();
        let names = Arc::new(Mutex::new(Vec::new()));
        let note = {
            let names = Arc::clone(&names);
            move || {
                names
                    .lock()
                    .unwrap()
                    .push(thread::current().name().map(str::to_owned))
            }
        };
        pool.spawn(note.clone());
        pool.install(|| roving::spawn(note.clone()));
        pool.install(|| roving::spawn(move || roving::spawn(note)));
        drop(pool);
        let names = names.lock().unwrap();
        assert_eq!(names.len(), 3);
        let stays = |name: &Option<String>| name.as_ref().unwrap().starts_with("stays-");
        assert!(names.iter().all(stays), "{names:?}");
    });
}

#[test]
fn broadcast_visits_each_worker_on_its_own_thread() {
    watched(|| {
        let (pool, other) = (pool(4), pool(2));
        let visit = |index: usize| {
            assert_eq!(current_worker(), Some(index));
            // Joins and scopes work there too.
            let (a, b) = join(|| 1, || 2);
            scope(|s| s.spawn(|_| ()));
            (thread::current().id(), a + b)
        };
        let threads = pool.broadcast(visit);
        let distinct = |threads: &[(thread::ThreadId, i32)]| {
            (0..4).all(|i| (0..i).all(|j| threads[i].0 != threads[j].0))
        };
        assert!(distinct(&threads) && threads.iter().all(|&(_, sum)| sum == 3));
        assert_eq!(pool.install(|| roving::broadcast(visit)), threads);
        assert_eq!(other.install(|| pool.broadcast(visit)), threads);
        assert_eq!(
            pool.install(|| join(|| 0, || roving::broadcast(visit)).1),
            threads
        );
    });
}

// WorkerLocal.

#[test]
fn each_worker_has_its_own_value() {
    watched(|| {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let pool = pool(4);
        let mut local = pool.install(|| {
            WorkerLocal::new(|| {
                MADE.fetch_add(1, SeqCst);
                Cell::new(0_u64)
            })
        });
        assert_eq!(MADE.load(SeqCst), 0, "made when first asked for");
        for _ in 0..3 {
            pool.broadcast(|index| {
                let visit = |value: &Cell<u64>| value.set(value.get() + index as u64);
                assert_eq!(local.with(visit), Some(()));
            });
        }
        assert_eq!(MADE.load(SeqCst), 4);
        assert!(local.with(|_| ()).is_none(), "no worker");
        let other = common::pool(1);
        assert!(
            other.install(|| local.with(|_| ()).is_none()),
            "another pool's worker"
        );
        local.iter_mut().for_each(|value| *value.get_mut() += 1);
        assert!(local.into_iter().map(Cell::into_inner).eq([1, 4, 7, 10]));
    });
}

#[test]
fn worker_locals_add_up_and_are_dropped_once() {
    watched(|| {
        static CENSUS: Census = Census::new();
        for workers in [1, 3, 8] {
            let pool = pool(workers);
            let local = pool.install(|| WorkerLocal::new(|| (CENSUS.one(), Cell::new(0))));
            pool.install(|| {
                par_for(0..10_000, |i| {
                    local.with(|(_, sum)| sum.set(sum.get() + i)).unwrap();
                });
            });
            let sum: usize = local.into_iter().map(|(_, sum)| sum.get()).sum();
            assert_eq!(sum, 49_995_000);
            CENSUS.check();
            let unused = pool.install(|| WorkerLocal::new(|| CENSUS.one()));
            pool.broadcast(|_| assert!(unused.with(|_| ()).is_some()));
            drop(pool);
            drop(unused);
            CENSUS.check();
        }
    });
}

// Loops.

/// Sizes around powers of two, primes, and none at all.
const SIZES: [usize; 14] = [0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 997, 1_000, 4_097, 30_011];

fn on_loop_pools(test: impl Fn() + Send + Sync) {
    watched(|| {
        for workers in [1, 2, 5] {
            pool_that_steals(workers, AMOUNTS[workers % 3]).install(&test);
        }
    });
}

#[test]
fn par_for_visits_each_index_once() {
    on_loop_pools(|| {
        for size in SIZES {
            for start in [0, 5, usize::MAX - size] {
                let visits: Vec<AtomicUsize> = (0..size).map(|_| AtomicUsize::new(0)).collect();
                par_for(start..start + size, |i| {
                    visits[i - start].fetch_add(1, SeqCst);
                });
                assert!(visits.into_iter().all(|visits| visits.into_inner() == 1));
            }
        }
        let (from, to) = (5, 3);
        par_for(from..to, |_| unreachable!("the range is empty"));
    });
}

#[test]
fn par_chunks_mut_gives_out_each_chunk_once() {
    on_loop_pools(|| {
        for size in SIZES {
            for chunk_len in [1, 2, 7, 64, 1_000, usize::MAX] {
                if size / chunk_len > 5_000 {
                    continue;
                }
                let mut parallel = vec![0_u64; size];
                let mut serial = parallel.clone();
                let fill = |number: usize, chunk: &mut [u64]| {
                    let length = chunk.len() as u64;
                    for (offset, item) in chunk.iter_mut().enumerate() {
                        *item += number as u64 * 1_000_003 + offset as u64 + length * 77;
                    }
                };
                par_chunks_mut(&mut parallel, chunk_len, fill);
                let chunks = serial.chunks_mut(chunk_len).enumerate();
                chunks.for_each(|(number, chunk)| fill(number, chunk));
                assert!(parallel == serial, "{size} in chunks of {chunk_len}");
            }
        }
    });
}

#[test]
#[should_panic(expected = "chunk_len is 0: say 1 or more")]
fn chunks_of_nothing_are_refused() {
    par_chunks_mut(&mut [1, 2, 3], 0, |_, _| ());
}

/// Concatenation is associative, and not commutative: the order shows.
#[test]
fn map_reduce_keeps_the_order() {
    on_loop_pools(|| {
        for size in SIZES.into_iter().filter(|&size| size <= 4_097) {
            let parallel = map_reduce(
                10..10 + size,
                String::new(),
                |i| {
                    if i % 64 == 0 {
                        thread::yield_now();
                    }
                    format!("{i},")
                },
                |a, b| a + &b,
            );
            let serial: String = (10..10 + size).map(|i| format!("{i},")).collect();
            assert!(parallel == serial, "{size}");
        }
    });
}

/// A loop is shared out, though nobody has said how.
#[test]
fn loops_are_shared_by_demand() {
    watched(|| {
        let pool = pool(2);
        let shares = [AtomicUsize::new(0), AtomicUsize::new(0)];
        pool.install(|| {
            par_for(0..200, |_| {
                shares[current_worker().unwrap()].fetch_add(1, SeqCst);
                thread::sleep(Duration::from_micros(500));
            });
        });
        let shares = shares.map(AtomicUsize::into_inner);
        assert!(shares.iter().all(|&share| share >= 20), "{shares:?}");
    });
}

// The profile.

fn tree(depth: u32, leaf: &(dyn Fn() + Sync)) {
    if depth == 0 {
        return leaf();
    }
    join(|| tree(depth - 1, leaf), || tree(depth - 1, leaf));
}

/// A worker is in exactly one state at a time, so the times add up to workers times wall time. The
/// figures are read one after the other: where the reader is interrupted meanwhile, they do not.
#[test]
fn profile_times_add_up() {
    let leaf = || {
        let until = Instant::now() + Duration::from_micros(20);
        while Instant::now() < until {}
    };
    let work = |pool: &Pool| {
        for _ in 0..3 {
            pool.install(|| tree(9, &leaf));
            thread::sleep(Duration::from_millis(20));
        }
    };
    // How far the sum is off, as a share of the wall time.
    let error = |pool: &Pool| {
        let profile = pool.profile();
        let total = profile.total();
        assert!(total.busy >= Duration::from_millis(20), "{total:?}");
        assert!(total.idle > Duration::ZERO, "{total:?}");
        let sum = total.busy + total.steal + total.idle + total.switch + total.frame;
        let all = profile.wall * u32::try_from(pool.workers()).unwrap();
        sum.abs_diff(all).as_secs_f64() / all.as_secs_f64()
    };
    watched(|| {
        for workers in [1, 2, 4] {
            for reset in [false, true] {
                let mut errors = (0..5).map(|_| {
                    let builder = Pool::builder().workers(workers).profile(true);
                    let pool = builder.build().unwrap();
                    if reset {
                        work(&pool);
                        pool.reset_profile();
                    }
                    work(&pool);
                    error(&pool)
                });
                let least = errors.by_ref().find(|&error| error < 0.01);
                assert!(least.is_some(), "{workers} workers, reset: {reset}");
            }
        }
    });
}

#[test]
fn a_pool_without_a_profile_keeps_no_times() {
    watched(|| {
        let pool = pool(2);
        pool.install(|| tree(8, &|| ()));
        let total = pool.profile().total();
        let times = [
            total.busy,
            total.steal,
            total.idle,
            total.switch,
            total.frame,
        ];
        assert_eq!(times, [Duration::ZERO; 5]);
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
            let counters = pool.profile().total().counters;
            // Each join pushes one; what a theft of several offers on is pushed again.
            let own = (1 << 10) - 1;
            let offered = counters.tasks_stolen - counters.steals_won;
            let tasks = counters.tasks;
            assert!((own..=own + offered).contains(&tasks), "{counters:?}");
            assert!(counters.max_depth >= 10 && counters.max_depth <= 10 + 64);
            assert!(counters.tasks_stolen >= counters.steals_won);
            let looks = counters.steals_won + counters.steals_busy + counters.steals_empty;
            // A look may be under way on each worker.
            assert!(counters.steals_tried.abs_diff(looks) <= 2, "{counters:?}");
            pool.reset_profile();
            let counters = pool.profile().total().counters;
            assert_eq!((counters.tasks, counters.max_depth), (0, 0));
        }
    });
}

/// The thief finds a flat scope with everything public or to be had, and takes what its amount says.
#[test]
fn a_theft_takes_what_the_amount_says() {
    let tasks_per_steal = |amount: Amount| {
        let pool = pool_that_steals(2, amount);
        pool.install(|| {
            let ran = AtomicUsize::new(0);
            let meet = Barrier::new(2);
            scope(|s| {
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
                for _ in 0..100 {
                    thread::sleep(Duration::from_micros(100));
                    s.spawn(|_| {
                        ran.fetch_add(1, SeqCst);
                    });
                }
            });
            assert_eq!(ran.into_inner(), 1_100);
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

/// The texts of amounts, to and fro, and those that are refused.
#[test]
fn amounts_as_text() {
    for amount in [
        Amount::One,
        Amount::Half,
        Amount::Fixed(1),
        Amount::Fixed(64),
    ] {
        assert_eq!(amount.to_string().parse(), Ok(amount));
    }
    let mut random = Random(1);
    for _ in 0..200 {
        let d = 65 + random.below(1 << 40);
        assert!(format!("fixed:{d}").parse::<Amount>().is_err());
    }
    for text in [
        "", "One", "fixed", "fixed:", "fixed:0", "fixed:65", "fixed:-1", "half ",
    ] {
        let error = text.parse::<Amount>().unwrap_err().to_string();
        let expected =
            format!("{text:?} is no steal amount: say one, half, or fixed:D with D from 1 to 64");
        assert_eq!(error, expected);
    }
}
