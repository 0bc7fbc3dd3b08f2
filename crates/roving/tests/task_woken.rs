//! Where and when a task runs that another one of its root has woken.

mod common;
#[path = "common/signal.rs"]
mod signal;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use common::{
    AMOUNTS, holds_within, pool, pool_that_steals, size, tries, wait_until, watched, yield_now,
};
use roving::raw::calls::{StandIn, stand_in};
use roving::raw::tasks::{Place, spawn_placed, yield_to_woken};
use roving::task::{Forked, block_on, fork, spawn};
use roving::{Arena, Cancel, Pool, Priority};
use signal::Signal;

/// Two tasks that keep waking each other are run newest first, and keep the one that would end
/// them waiting; but not for ever.
#[test]
fn tasks_that_keep_waking_each_other_let_others_run() {
    watched(|| {
        let pool = pool(1);
        pool.run(async |_| {
            let stop = Arc::new(AtomicBool::new(false));
            let ball: Arc<[Signal; 2]> = Arc::default();
            // The oldest on the stack, and so the last to run there.
            let stopper = spawn({
                let stop = Arc::clone(&stop);
                async move { stop.store(true, SeqCst) }
            });
            let players = [0, 1].map(|me| {
                let (ball, stop) = (Arc::clone(&ball), Arc::clone(&stop));
                spawn(async move {
                    let mut hits = 0_u64;
                    while !stop.load(SeqCst) {
                        ball[1 - me].set();
                        ball[me].wait().await;
                        ball[me].is_set.store(false, SeqCst);
                        hits += 1;
                    }
                    ball[1 - me].set();
                    hits
                })
            });
            for player in players {
                assert!(player.await > 0);
            }
            stopper.await;
        });
    });
}

/// Yields once to what the calling task has woken.
async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| match std::mem::replace(&mut has_yielded, true) {
        true => Poll::Ready(()),
        false => {
            yield_to_woken(context);
            Poll::Pending
        }
    })
    .await;
}

/// A task that yields to one that it keeps waking.
async fn take_turns(turns: u64) {
    let ball: Arc<Signal> = Arc::default();
    let taken = Arc::new(AtomicU64::new(0));
    let (woken, counted) = (Arc::clone(&ball), Arc::clone(&taken));
    let player = spawn(async move {
        while counted.fetch_add(1, SeqCst) < turns {
            woken.wait().await;
            woken.is_set.store(false, SeqCst);
        }
    });
    while taken.load(SeqCst) <= turns {
        ball.set();
        yield_once().await;
    }
    player.await;
}

/// It takes its turns with that, whoever runs them.
#[test]
fn who_yields_to_a_woken_task_goes_on_after_it() {
    const TURNS: u64 = size(3000, 10);
    watched(|| {
        for amount in AMOUNTS {
            pool_that_steals(4, amount).run(async |_| take_turns(TURNS).await);
        }
    });
}

/// In pools of all kinds, below roots of all kinds.
#[test]
fn who_yields_goes_on_in_any_pool() {
    const TURNS: u64 = size(50, 2);
    watched(|| {
        let arena = Arena::new(2).unwrap();
        let drawn = |seed| Pool::builder().deterministic(seed).workers(3);
        let mut builders: Vec<_> = (0..size(10, 1)).map(drawn).collect();
        builders.extend([Pool::builder().caller_runs(), arena.pool()]);
        builders.extend([1, 2].map(|workers| Pool::builder().workers(workers)));
        for builder in builders {
            let pool = builder.build().unwrap();
            pool.run(async |_| take_turns(TURNS).await);
            pool.install(|| {
                let below = || block_on(take_turns(TURNS));
                roving::join(below, || roving::scope(|_| below()));
                assert!(Cancel::new().run(below).is_ok());
            });
            // A worker that waits for one root, in a poll of another.
            pool.run(async |_| {
                let others = spawn(take_turns(TURNS));
                block_on(take_turns(TURNS));
                fork(take_turns(TURNS)).await.await;
                others.await;
            });
        }
    });
}

/// It does not keep others waiting for ever: neither what came from outside nor what stands on the
/// stack.
#[test]
fn who_yields_to_woken_tasks_lets_others_run() {
    watched(|| {
        let pool = pool(1);
        pool.run(async |_| {
            let stops: Arc<[AtomicBool; 2]> = Arc::default();
            let seen = Arc::clone(&stops);
            let has_stopped = move || seen.iter().all(|stop| stop.load(SeqCst));
            let ball: Arc<Signal> = Arc::default();
            let stopper = spawn({
                let stops = Arc::clone(&stops);
                async move { stops[0].store(true, SeqCst) }
            });
            let player = spawn({
                let (ball, has_stopped) = (Arc::clone(&ball), has_stopped.clone());
                async move {
                    while !has_stopped() {
                        ball.wait().await;
                        ball.is_set.store(false, SeqCst);
                    }
                }
            });
            let stopped = Arc::clone(&stops);
            roving::spawn(move || stopped[1].store(true, SeqCst));
            while !has_stopped() {
                ball.set();
                yield_once().await;
            }
            ball.set();
            player.await;
            stopper.await;
        });
    });
}

/// Who yields is in the hands of others while its worker runs a closure that the poll has left on
/// the stack.
#[test]
fn who_yields_before_a_closure_does_not_wait_for_it() {
    watched(|| {
        let pool = pool(2);
        let (has_begun, goes_on) = (AtomicBool::new(false), AtomicBool::new(false));
        let is_busy = Arc::new(AtomicBool::new(false));
        let (busy, begun) = (Arc::clone(&is_busy), &has_begun);
        let run = || {
            roving::scope(|s| {
                // The other worker takes nothing before the closure has begun here.
                s.spawn(move |_| {
                    busy.store(true, SeqCst);
                    wait_until(|| begun.load(SeqCst));
                });
                wait_until(|| is_busy.load(SeqCst));
                block_on(async {
                    s.spawn(|_| {
                        has_begun.store(true, SeqCst);
                        let limit = Duration::from_secs(120);
                        assert!(holds_within(limit, || goes_on.load(SeqCst)), "it is kept");
                    });
                    yield_once().await;
                    goes_on.store(true, SeqCst);
                });
            });
        };
        pool.install(run);
    });
}

/// A task with a place is not stolen while the one runs that it has yielded to.
#[test]
fn who_has_a_place_yields_there() {
    watched(|| {
        let pool = pool(2);
        let place = &Place::new(Some(0));
        pool.run(|s| async move {
            spawn_placed(s, place, async move {
                let ball: Arc<Signal> = Arc::default();
                let (woken, is_over) = (Arc::clone(&ball), Arc::new(AtomicBool::new(false)));
                let over = Arc::clone(&is_over);
                let player = spawn(async move {
                    while !over.load(SeqCst) {
                        woken.wait().await;
                        woken.is_set.store(false, SeqCst);
                        // A thief would have time.
                        thread::sleep(Duration::from_millis(1));
                    }
                });
                let mut elsewhere = 0;
                for _ in 0..tries(100) {
                    ball.set();
                    yield_once().await;
                    elsewhere += u32::from(roving::current_worker() != Some(0));
                }
                is_over.store(true, SeqCst);
                ball.set();
                player.await;
                assert_eq!(elsewhere, 0);
            })
            .await;
        });
    });
}

/// Nor those that have their place with its worker.
#[test]
fn who_yields_lets_those_with_a_place_run() {
    watched(|| {
        let (pool, place) = (pool(1), &Place::new(Some(0)));
        let (turns, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let (turns, is_over) = (&turns, &is_over);
        let before = pool.run(|s| async move {
            let placed = spawn_placed(s, place, async move {
                is_over.store(true, SeqCst);
                turns.load(SeqCst)
            });
            play_until(is_over, turns).await;
            placed.await
        });
        assert!(before < 20, "{before} turns before its own");
    });
}

/// Keeps waking another task that works for a while, and yields to it. Counts how often.
async fn play_until(is_over: &AtomicBool, turns: &AtomicU64) {
    let (ball, is_done) = (
        Arc::new(Signal::default()),
        Arc::new(AtomicBool::new(false)),
    );
    let (woken, done) = (Arc::clone(&ball), Arc::clone(&is_done));
    let player = spawn(async move {
        while !done.load(SeqCst) {
            woken.wait().await;
            woken.is_set.store(false, SeqCst);
            thread::sleep(Duration::from_millis(1));
        }
    });
    while !is_over.load(SeqCst) {
        ball.set();
        yield_once().await;
        turns.fetch_add(1, SeqCst);
    }
    is_done.store(true, SeqCst);
    ball.set();
    player.await;
}

/// A worker that is no longer to work does not go on because of a task that keeps yielding to one
/// that it wakes.
#[test]
fn who_yields_leaves_a_worker_that_is_benched() {
    watched(|| {
        let pool = pool(2);
        let (started, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let turns = AtomicU64::new(0);
        let over = || is_over.load(SeqCst);
        // The worker that stays is busy.
        let stay = || {
            started.fetch_add(1, SeqCst);
            wait_until(|| started.load(SeqCst) == 2);
            wait_until(|| over() || roving::current_worker() != Some(0));
        };
        let more = thread::scope(|threads| {
            (0..2).for_each(|_| drop(threads.spawn(|| pool.install(stay))));
            wait_until(|| started.load(SeqCst) == 2);
            threads.spawn(|| pool.run(async |_| play_until(&is_over, &turns).await));
            wait_until(|| turns.load(SeqCst) > 20);
            pool.resize(1).unwrap();
            let before = turns.load(SeqCst);
            thread::sleep(Duration::from_millis(200));
            let more = turns.load(SeqCst) - before;
            is_over.store(true, SeqCst);
            more
        });
        assert!(more < 10, "{more} more turns");
    });
}

/// A thread of an arena does not stay with one of its pools for that, while another one waits for
/// it.
#[test]
fn who_yields_leaves_a_thread_that_another_pool_waits_for() {
    watched(|| {
        let arena = Arena::new(1).unwrap();
        let low = arena.pool().workers(1).priority(Priority::Low);
        let high = arena.pool().workers(1).priority(Priority::High);
        let (low, high) = (low.build().unwrap(), high.build().unwrap());
        let (turns, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let more = thread::scope(|threads| {
            threads.spawn(|| low.run(async |_| play_until(&is_over, &turns).await));
            wait_until(|| turns.load(SeqCst) > 20);
            // This thread may lose its core before it has called, but not each time.
            let more = (0..20).map(|_| {
                let before = turns.load(SeqCst);
                high.install(|| turns.load(SeqCst)) - before
            });
            let more = more.min().unwrap();
            is_over.store(true, SeqCst);
            more
        });
        assert!(more < 100, "{more} more turns");
    });
}

/// Who is woken by a closure of a `join` does not run on top of that join.
#[test]
fn a_wake_inside_of_a_join_runs_after_it() {
    watched(|| {
        let pool = pool(1);
        pool.run(async |_| {
            let signal = Arc::new(Signal::default());
            let joining = Arc::new(AtomicBool::new(false));
            let woken = spawn({
                let (signal, joining) = (Arc::clone(&signal), Arc::clone(&joining));
                async move {
                    signal.wait().await;
                    assert!(!joining.load(SeqCst), "it runs on top of a join");
                }
            });
            while signal.wakers.lock().unwrap().is_empty() {
                yield_now().await;
            }
            joining.store(true, SeqCst);
            roving::join(|| signal.set(), || ());
            joining.store(false, SeqCst);
            woken.await;
        });
    });
}

/// Nor on top of a `scope`: a lock may be held across either.
#[test]
fn a_wake_inside_of_a_scope_runs_after_it() {
    runs_after(|signal| roving::scope(|_| signal.set()));
    runs_after(|signal| roving::scope(|s| s.spawn(|_| signal.set())));
    runs_after(|signal| roving::join(|| roving::scope(|_| signal.set()), || ()).0);
}

/// A wake inside of a join runs after it, also when the poll has taken back a child that it had
/// spawned.
#[test]
fn a_wake_inside_of_a_join_after_a_child_was_asked_for_runs_after_it() {
    watched(|| {
        let pool = pool(1);
        pool.run(async |_| {
            let (signal, busy, woken) = waiting_task().await;
            let mut child = spawn(async {});
            poll_fn(|context| {
                let asked = Pin::new(&mut child).poll(context);
                busy.store(true, SeqCst);
                roving::join(|| signal.set(), || ());
                busy.store(false, SeqCst);
                asked
            })
            .await;
            woken.await;
        });
    });
}

/// A task that waits for the signal, and must not go on while the flag is set.
async fn waiting_task() -> (Arc<Signal>, Arc<AtomicBool>, Forked<()>) {
    let signal = Arc::new(Signal::default());
    let busy = Arc::new(AtomicBool::new(false));
    let woken = spawn({
        let (signal, busy) = (Arc::clone(&signal), Arc::clone(&busy));
        async move {
            signal.wait().await;
            assert!(!busy.load(SeqCst), "it runs on top of a waiting frame");
        }
    });
    while signal.wakers.lock().unwrap().is_empty() {
        yield_now().await;
    }
    (signal, busy, woken)
}

/// Who is woken in `wakes` is not polled before that has returned.
fn runs_after(wakes: impl Fn(&Signal) + Sync) {
    watched(|| {
        let pool = pool(1);
        let wakes = &wakes;
        pool.run(|_| async move {
            let (signal, busy, woken) = waiting_task().await;
            busy.store(true, SeqCst);
            wakes(&signal);
            busy.store(false, SeqCst);
            woken.await;
        });
    });
}

/// A task may wake another and then wait, in a root of its own, for what that does.
#[test]
fn a_task_that_was_woken_runs_while_its_waker_waits_for_it() {
    watched(|| {
        for amount in AMOUNTS {
            wakes_and_waits(&pool_that_steals(2, amount));
        }
        wakes_and_waits(&pool(1));
        let for_jobs = stand_in(Pool::builder().workers(1), StandIn::ForJobs);
        wakes_and_waits(&for_jobs.build().unwrap());
        let nobody = stand_in(Pool::builder().workers(1), StandIn::Nobody);
        wakes_and_waits(&nobody.build().unwrap());
    });
}

fn wakes_and_waits(pool: &Pool) {
    pool.run(async |_| {
        let (ping, pong) = (Arc::new(Signal::default()), Arc::new(Signal::default()));
        let woken = spawn({
            let (ping, pong) = (Arc::clone(&ping), Arc::clone(&pong));
            async move {
                ping.wait().await;
                pong.set();
            }
        });
        while ping.wakers.lock().unwrap().is_empty() {
            yield_now().await;
        }
        ping.set();
        block_on(pong.wait());
        woken.await;
    });
}

/// Whoever is woken while a long poll goes on is not hidden from an idle worker.
#[test]
fn a_task_that_was_woken_can_be_stolen() {
    watched(|| {
        let pool = pool(2);
        for _ in 0..size(20, 2) {
            let signal = Arc::new(Signal::default());
            let has_run = Arc::new(AtomicBool::new(false));
            pool.run(|_| {
                let (signal, has_run) = (Arc::clone(&signal), Arc::clone(&has_run));
                async move {
                    let woken = spawn({
                        let (signal, has_run) = (Arc::clone(&signal), Arc::clone(&has_run));
                        async move {
                            signal.wait().await;
                            has_run.store(true, SeqCst);
                        }
                    });
                    while signal.wakers.lock().unwrap().is_empty() {
                        fork(async {}).await.await;
                        thread::yield_now();
                    }
                    signal.set();
                    // This poll does not end before the other worker has come.
                    while !has_run.load(SeqCst) {
                        thread::yield_now();
                    }
                    woken.await;
                }
            });
        }
    });
}

/// A task yields by the waker that it is polled with, which may be that of a set of futures in it.
#[test]
fn a_future_that_has_a_waker_of_its_own_yields_by_that() {
    use futures_util::stream::{FuturesUnordered, StreamExt as _};
    watched(|| {
        let polled = || {
            let mut polls = 0;
            poll_fn(move |context| {
                polls += 1;
                if polls == 3 {
                    return Poll::Ready(polls);
                }
                yield_to_woken(context);
                Poll::Pending
            })
        };
        let set: FuturesUnordered<_> = (0..3).map(|_| polled()).collect();
        let polls = pool(1).run(|_| set.collect::<Vec<i32>>());
        assert_eq!(polls, [3; 3]);
    });
}
