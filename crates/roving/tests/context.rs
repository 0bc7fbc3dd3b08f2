//! Inheritance of contexts by everything made inside, on any worker; and that nothing shows
//! outside.

mod common;

use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::{
    AMOUNTS, Random, join_stolen, pool, pool_that_steals, size, tries, wait_until, watched,
    yield_now,
};
use roving::task::{Forked, Scope as Token, Task, block_on, branch, call, fork, spawn};
use roving::{Arena, Pool, context, join, par_for, scope};

/// Which node of a tree of contexts it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Path(u64);

#[track_caller]
fn expect(path: u64) {
    assert_eq!(context::get::<Path>(), Some(Path(path)));
}

#[track_caller]
fn expect_nothing() {
    assert_eq!(context::get::<Path>(), None);
}

fn child(path: u64, number: u64) -> u64 {
    Random(path.wrapping_mul(31) + number).next()
}

#[test]
fn a_stolen_half_is_in_the_context_of_its_join() {
    watched(|| {
        let pool = pool(2);
        for _ in 0..tries(50) {
            pool.install(|| {
                let inner = || join_stolen(|| expect(2), || expect(2));
                context::with(Path(1), || {
                    join_stolen(
                        || expect(1),
                        || {
                            expect(1);
                            context::with(Path(2), inner);
                            expect(1);
                        },
                    );
                });
                join_stolen(expect_nothing, expect_nothing);
            });
        }
        assert!(pool.profile().total().counters.tasks_stolen >= tries(50) as u64);
    });
}

/// Two tasks of different contexts on one stack, with a plain one below them: whichever is stolen.
#[test]
fn neighbours_on_a_stack_keep_their_contexts() {
    const ROUNDS: u64 = size(8, 2);
    watched(|| {
        for amount in AMOUNTS {
            let pool = pool_that_steals(4, amount);
            let seen = Mutex::new(Vec::new());
            let see = |number: u64| {
                let path = context::get::<Path>().map_or(0, |path| path.0);
                seen.lock().unwrap().push((number, path));
            };
            pool.install(|| {
                let see = &see;
                scope(|s| {
                    for round in 0..ROUNDS {
                        s.spawn(move |_| see(0));
                        context::with(Path(round + 1), || {
                            scope(|inner| {
                                for _ in 0..4 {
                                    inner.spawn(move |_| see(round + 1));
                                }
                                roving::blocking(|| thread::sleep(Duration::from_micros(200)));
                            });
                        });
                    }
                });
            });
            let seen = seen.into_inner().unwrap();
            assert_eq!(seen.len(), ROUNDS as usize * 5);
            assert!(seen.iter().all(|(number, path)| number == path), "{seen:?}");
        }
    });
}

/// The state of a random tree.
struct World {
    elsewhere: Pool,
    detached: Arc<AtomicUsize>,
}

/// Enters the context of that child of `path`, and comes out of it again.
fn enter(world: &World, depth: u32, path: u64, number: u64) {
    let inner = child(path, number);
    expect(path);
    context::with(Path(inner), || node(world, depth - 1, inner));
    expect(path);
}

/// Every construct makes something in this context, or in one of its own.
fn node(world: &World, depth: u32, path: u64) {
    expect(path);
    if depth == 0 {
        if path % 8 == 0 {
            // Shows all that the worker has, and leaves the core to somebody else.
            roving::blocking(|| thread::sleep(Duration::from_micros(100)));
        }
        return expect(path);
    }
    match Random(path).below(10) {
        0 | 1 => drop(join(
            || enter(world, depth, path, 0),
            || enter(world, depth, path, 1),
        )),
        2 => drop(join(
            || node(world, depth - 1, path),
            || node(world, depth - 1, path),
        )),
        3 => scope(|s| {
            for number in 0..3 {
                let inner = child(path, number);
                s.spawn(move |_| node(world, depth - 1, path));
                context::with(Path(inner), || {
                    s.spawn(move |s| {
                        node(world, depth - 1, inner);
                        s.spawn(move |_| expect(inner));
                    });
                });
            }
            s.spawn_broadcast(move |_, _| expect(path));
        }),
        4 => par_for(0..size(64, 16), |index| match index % 16 {
            0 => node(world, depth - 1, path),
            _ => expect(path),
        }),
        5 => world.elsewhere.install(|| node(world, depth - 1, path)),
        6 => panics(world, depth, path),
        7 => world.elsewhere.run(|s| task_node(s, depth - 1, path)),
        8 => roving::task::scope(|s| task_node(s, depth - 1, path)),
        _ => {
            world.detached.fetch_add(1, SeqCst);
            let open = Arc::clone(&world.detached);
            roving::spawn(move || {
                expect(path);
                open.fetch_sub(1, SeqCst);
            });
            assert!(roving::broadcast(|_| expect(path)).len() < 9);
        }
    }
    expect(path);
}

/// Panics go through contexts, and leave none behind.
fn panics(world: &World, depth: u32, path: u64) {
    let inner = child(path, 7);
    let caught = panic::catch_unwind(AssertUnwindSafe(|| {
        context::with(Path(inner), || {
            join(
                || node(world, depth - 1, inner),
                || {
                    expect(inner);
                    panic::resume_unwind(Box::new(inner));
                },
            )
        })
    }));
    assert_eq!(caught.unwrap_err().downcast_ref(), Some(&inner));
    expect(path);
}

fn task_node<'s>(s: Token<'s>, depth: u32, path: u64) -> impl Task<()> {
    async move {
        expect(path);
        if depth == 0 {
            yield_now().await;
            return expect(path);
        }
        let inner = child(path, 3);
        let forked = s.fork(task_node(s, depth - 1, path)).await;
        expect(path);
        let elsewhere = context::with(Path(inner), || {
            join(|| expect(inner), || expect(inner));
            s.spawn(task_node(s, depth - 1, inner))
        });
        expect(path);
        let branched = s.branch(task_node(s, depth - 1, path)).await;
        yield_now().await;
        expect(path);
        let spawned = s.spawn(async move { expect(path) });
        join(|| expect(path), || expect(path));
        elsewhere.await;
        expect(path);
        s.call(task_node(s, depth - 1, path)).await;
        expect(path);
        spawned.await;
        branched.await;
        forked.await;
        expect(path);
    }
}

fn run_trees(pool: &Pool, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let world = World {
            elsewhere: common::pool(2),
            detached: Arc::default(),
        };
        let path = child(seed, 0);
        pool.install(|| {
            expect_nothing();
            context::with(Path(path), || node(&world, 5, path));
            expect_nothing();
        });
        assert!(
            pool.broadcast(|_| context::get::<Path>())
                .iter()
                .all(Option::is_none)
        );
        wait_until(|| world.detached.load(SeqCst) == 0);
        expect_nothing();
    }
}

#[test]
fn random_trees_on_any_number_of_workers() {
    watched(|| {
        for workers in 1..=8 {
            let pool = pool_that_steals(workers, AMOUNTS[workers % 3]);
            let first = workers as u64 * 1000;
            run_trees(&pool, first..first + tries(12) as u64);
        }
    });
}

#[test]
fn random_trees_whose_parents_move_at_each_fork() {
    watched(|| {
        for workers in [1, 2, 4] {
            let builder = Pool::builder().workers(workers).migrate_at_each_fork();
            run_trees(&builder.build().unwrap(), 0..tries(10) as u64);
        }
    });
}

#[test]
fn random_trees_in_place() {
    watched(|| {
        let pool = Pool::builder().caller_runs().build().unwrap();
        run_trees(&pool, 0..tries(20) as u64);
    });
}

/// A pool that a thread enters in a context is in it, and runs what others have left there outside
/// of it.
#[test]
fn an_in_place_pool_is_in_the_context_of_its_caller() {
    let pool = Pool::builder().caller_runs().build().unwrap();
    context::with(Path(1), || {
        pool.install(|| {
            expect(1);
            pool.spawn(|| expect(1));
            // As a thief of its own stack.
            join(
                || assert_eq!(roving::raw::waits::run_one(true), Some(true)),
                || expect(1),
            );
        });
        assert_eq!(pool.install(context::get::<Path>), Some(Path(1)));
    });
    pool.install(expect_nothing);
}

/// A broadcast runs on top of a worker that waits, and comes from elsewhere.
#[test]
fn what_runs_on_top_of_a_waiting_frame_is_not_in_its_context() {
    watched(|| {
        let pool = pool(2);
        let (begun, served) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|threads| {
            threads.spawn(|| {
                pool.install(|| {
                    context::with(Path(1), || {
                        join(
                            || wait_until(|| begun.load(SeqCst) == 1),
                            || {
                                begun.store(1, SeqCst);
                                wait_until(|| served.load(SeqCst) == 1);
                                expect(1);
                            },
                        );
                        expect(1);
                    });
                });
            });
            wait_until(|| begun.load(SeqCst) == 1);
            pool.broadcast(|_| {
                expect_nothing();
                join(expect_nothing, expect_nothing);
                served.store(1, SeqCst);
            });
        });
    });
}

#[test]
fn a_job_that_is_run_on_top_is_not_in_that_context() {
    watched(|| {
        let (sender, receiver) = std::sync::mpsc::channel();
        pool(1).install(|| {
            roving::spawn(move || {
                sender.send(context::get::<Path>()).unwrap();
                let _ = join(|| sender.send(context::get()), || ());
            });
            context::with(Path(1), || {
                while roving::raw::waits::run_one(false) == Some(true) {}
                expect(1);
            });
        });
        assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [None, None]);
    });
}

#[test]
fn a_thread_of_ones_own_gets_it_by_hand() {
    let pool = pool(1);
    let outer = context::with(Path(1), context::current);
    let seen = context::with(Path(2), || {
        thread::scope(|threads| {
            let thread = threads.spawn(|| {
                expect_nothing();
                outer.run(|| (pool.install(context::get::<Path>), context::get()))
            });
            thread.join().unwrap()
        })
    });
    assert_eq!(seen, (Some(Path(1)), Some(Path(1))));
    assert_eq!(outer.get::<Path>(), Some(Path(1)));
}

/// A context that is entered in a poll is left before the poll goes on, also when a panic ends it.
#[test]
fn a_poll_leaves_what_it_enters() {
    watched(|| {
        let pool = pool(2);
        let ended = panic::catch_unwind(AssertUnwindSafe(|| {
            pool.run(|_| async {
                expect_nothing();
                let child = context::with(Path(1), || spawn(async { expect(1) }));
                expect_nothing();
                child.await;
                let child = context::with(Path(2), || {
                    spawn(async {
                        yield_now().await;
                        expect(2);
                        panic::resume_unwind(Box::new("of a child"));
                    })
                });
                let _: () = child.await;
            });
        }));
        assert_eq!(ended.unwrap_err().downcast_ref(), Some(&"of a child"));
        pool.install(expect_nothing);
    });
}

/// An async child belongs where it is started.
#[test]
fn a_fork_that_is_made_elsewhere_belongs_to_who_awaits_it() {
    block_on(async {
        let made = context::with(Path(1), || fork(async { context::get::<Path>() }));
        assert_eq!(made.await.await, None);
        let made = context::with(Path(1), || call(async { context::get::<Path>() }));
        assert_eq!(made.await, None);
        let made = context::with(Path(1), || branch(async { context::get::<Path>() }));
        assert_eq!(made.await.await, None);
        let spawned = context::with(Path(1), || spawn(async { context::get::<Path>() }));
        assert_eq!(spawned.await, Some(Path(1)));
    });
}

/// A task that is spawned into a context of its own ends before its root does, whatever becomes of
/// its handle.
#[test]
fn a_root_waits_for_what_was_spawned_in_another_context() {
    const TASKS: u64 = size(10, 4);
    watched(|| {
        let pool = pool(4);
        for _ in 0..tries(200) {
            let ended = AtomicUsize::new(0);
            let ended = &ended;
            pool.run(|s| async move {
                for number in 0..TASKS {
                    let later = context::with(Path(number), || {
                        s.spawn(async move {
                            yield_now().await;
                            let nested = context::with(Path(100 + number), || {
                                s.spawn(async move {
                                    yield_now().await;
                                    expect(100 + number);
                                    ended.fetch_add(1, SeqCst);
                                })
                            });
                            drop(nested);
                            yield_now().await;
                            expect(number);
                            ended.fetch_add(1, SeqCst);
                        })
                    });
                    drop(later);
                }
            });
            assert_eq!(ended.load(SeqCst), 2 * TASKS as usize);
        }
    });
}

/// More nested contexts than a stack has slots, and deeper joins. ThreadSanitizer keeps 65,536
/// calls a thread, and each such level takes some thirty when nothing is inlined.
#[test]
fn contexts_nest_as_deep_as_joins() {
    const DEPTH: u64 = if cfg!(roving_tsan) {
        1_000
    } else {
        size(10_000, 50)
    };
    fn nest(depth: u64) {
        if depth > 0 {
            context::with(Path(depth), || {
                join(|| nest(depth - 1), || expect(depth));
                expect(depth);
            });
        }
    }
    watched(|| {
        let pool = Pool::builder()
            .workers(2)
            .stack_size(1 << 26)
            .build()
            .unwrap();
        pool.install(|| nest(DEPTH));
    });
}

/// The values of a context go when nothing is left in it.
#[test]
fn values_are_dropped() {
    watched(|| {
        let value = Arc::new(());
        let pool = pool(2);
        context::with(Arc::clone(&value), || {
            pool.spawn(|| assert!(context::get::<Arc<()>>().is_some()));
            pool.run(|_| async { spawn(async { yield_now().await }).await });
            pool.install(|| scope(|s| s.spawn(|_| ())));
        });
        drop(pool);
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

/// A job for a seat that its thread has further out is in its own context: not in that in which the
/// thread has left the seat, whatever it is in by then.
#[test]
fn what_a_seat_further_out_is_sent_inherits_nothing_from_who_waits_there() {
    watched(|| {
        let arena = Arena::new(2).unwrap();
        let [a, b] = [(); 2].map(|()| arena.pool().workers(2).build().unwrap());
        let outside = context::current();
        let stolen = || join_stolen(context::get::<u8>, context::get::<u8>);
        let mut hits = 0;
        for _ in 0..tries(200) {
            let seen = a.install(|| {
                let mine = roving::current_worker();
                let both = |index| (Some(index) == mine).then(stolen);
                context::with(7_u8, || b.install(|| outside.run(|| a.broadcast(both))))
            });
            // None where the job was at a spare seat.
            for seen in seen.into_iter().flatten() {
                assert_eq!(seen, (None, None));
                hits += 1;
            }
        }
        assert!(hits > 0);
    });
}

/// Each task spawns the next in a context of its own, and ends: when the last one does, all their
/// roots are over.
#[test]
fn contexts_below_each_other_end_one_after_the_other() {
    fn link(left: u32) -> Pin<Box<dyn Task<()>>> {
        Box::pin(async move {
            // Suspended, so that it does not run on top of who spawns it.
            yield_now().await;
            if left > 0 {
                context::with(left, || drop(spawn(link(left - 1))));
            }
        })
    }
    watched(|| {
        let builder = Pool::builder().workers(2).stack_size(256 << 10);
        let pool = builder.build().unwrap();
        pool.run(|_| link(size(10_000, 10)));
    });
}

/// A thread that comes for a call brings the context of the call, which is nothing to the
/// callbacks, nor to what they spawn.
#[test]
fn callbacks_are_in_no_context() {
    watched(|| {
        let arena = Arena::new(1).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let note = |seen: &Arc<Mutex<Vec<Option<u8>>>>| {
            let seen = Arc::clone(seen);
            move || {
                seen.lock().unwrap().push(context::get::<u8>());
                let seen = Arc::clone(&seen);
                roving::spawn(move || seen.lock().unwrap().push(context::get::<u8>()));
            }
        };
        let (came, left) = (note(&seen), note(&seen));
        let inner = arena.pool().workers(1).on_start(move |_| came());
        let inner = inner.on_exit(move |_| left()).build().unwrap();
        let outer = arena.pool().workers(1).build().unwrap();
        let inside = || inner.install(context::get::<u8>);
        let got = outer.install(|| context::with(7_u8, inside));
        assert_eq!(got, Some(7), "the call itself is in it");
        drop(inner);
        let seen = seen.lock().unwrap();
        assert!(
            seen.len() >= 4 && seen.iter().all(Option::is_none),
            "{seen:?}"
        );
    });
}

/// Each task is spawned in a context of its own, and so has a root of its own below that of the one
/// before; the handle of the last, which has failed, outlives them all.
#[test]
fn a_handle_keeps_no_chain_of_roots() {
    const LENGTH: usize = size(100_000, 15);
    type Kept = Arc<Mutex<Option<Forked<()>>>>;
    fn next(left: usize, kept: Kept) -> impl Task<()> {
        async move {
            // The one before leaves its context meanwhile.
            yield_now().await;
            if left == 0 {
                panic::resume_unwind(Box::new("nobody awaits it"));
            }
            let child = context::with(left, || spawn(next(left - 1, Arc::clone(&kept))));
            if left == 1 {
                *kept.lock().unwrap() = Some(child);
            }
        }
    }
    let kept = Kept::default();
    pool(2).run(|_| next(LENGTH, Arc::clone(&kept)));
    let last = kept.lock().unwrap().take().expect("the last was spawned");
    assert!(last.is_ended());
    drop(last);
}
