//! Pools in a child of `fork`: it has none of their threads.
#![cfg(target_os = "linux")]

#[path = "common/forks.rs"]
mod forks;

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use forks::{end_child, fork, in_child, is_refusal, is_well, message};
use roving::raw::calls::{Order, Target, set_global};
use roving::{Arena, Cancel, Pool, join};

/// Runs in the child of a task, which is the copy of a worker whose pool has no threads here.
fn in_a_pool_of_its_own() -> bool {
    let count = AtomicUsize::new(0);
    let counts = || _ = count.fetch_add(1, SeqCst);
    let refused = is_refusal(&message(|| roving::spawn(|| ())))
        && is_refusal(&message(|| roving::broadcast(|index| index)));
    let pool = Pool::new(2).unwrap();
    let installed = pool.install(|| join(|| 5, || 6)) == (5, 6);
    let broadcast = pool.broadcast(|index| index) == [0, 1];
    pool.in_place_scope(|s| {
        s.spawn(|_| counts());
        s.spawn_broadcast(|_, _| counts());
    });
    let (sender, receiver) = mpsc::channel();
    pool.spawn(move || sender.send(7).unwrap());
    let spawned = receiver.recv() == Ok(7);
    let awaited = pool.run(|_| async { 8 }) == 8;
    let blocked = roving::blocking(|| 9) == 9;
    // To drop it joins its threads.
    drop(pool);
    let arena = Arena::new(1).unwrap();
    let shared = arena.pool().build().unwrap().install(|| 10) == 10;
    refused
        && installed
        && broadcast
        && spawned
        && awaited
        && blocked
        && shared
        && count.into_inner() == 3
}

/// A child of `fork` cannot use an arena and its shares either.
fn of_an_arena() {
    let arena = Arena::new(2).unwrap();
    let share = arena.pool().build().unwrap();
    assert_eq!(share.install(|| join(|| 1, || 2)), (1, 2));
    assert!(in_child(|| is_refusal(&message(|| share.install(|| 1)))));
    assert!(in_child(|| is_refusal(&message(|| share.spawn(|| ())))));
    assert!(in_child(|| is_refusal(&message(|| share.resize(1)))));
    assert!(in_child(|| {
        let error = arena.pool().build().unwrap_err();
        is_refusal(&error.to_string())
    }));
    let fresh = || Arena::new(1).unwrap().pool().build().unwrap().install(|| 7) == 7;
    assert!(in_child(fresh));
    let mut both = Some((arena.pool().build().unwrap(), arena.clone()));
    assert!(in_child(|| {
        both = None;
        true
    }));
    assert_eq!(share.install(|| join(|| 1, || 2)), (1, 2));
    // Threads that are being started when the process forks hold locks of the standard library.
    for _ in 0..50 {
        let starting = Pool::new(4).unwrap();
        let in_arena = arena.pool().build().unwrap();
        assert!(in_child(|| arena.pool().build().is_err() && fresh()));
        drop((starting, in_arena));
    }
}

/// The figures of a pool that was left behind may be locked by threads that are not here: by one
/// that reads them without end, say.
fn of_its_figures() {
    let pool = Arc::new(Pool::builder().workers(2).profile(true).build().unwrap());
    let ends = Arc::new(AtomicBool::new(false));
    let (its_pool, its_end) = (Arc::clone(&pool), Arc::clone(&ends));
    let reader = thread::spawn(move || {
        while !its_end.load(SeqCst) {
            drop(its_pool.profile());
        }
    });
    for _ in 0..20 {
        assert!(in_child(|| is_refusal(&message(|| pool.profile()))));
        assert!(in_child(|| is_refusal(&message(|| pool.reset_profile()))));
    }
    ends.store(true, SeqCst);
    reader.join().unwrap();
    assert!(in_child(|| is_refusal(&message(|| pool.refresh_quota()))));
    // A pool without threads of its own is as good in the child.
    let in_place = Pool::builder().caller_runs().build().unwrap();
    assert!(in_child(|| !in_place.profile().workers.is_empty()));
}

/// A child waits for no thread of the parent that makes the global pool just then.
fn of_a_global_pool_that_is_made() {
    let none = set_global(
        || {
            let forks = || assert!(in_child(|| join(|| 1, || 2) == (1, 2)));
            thread::scope(|s| s.spawn(forks).join().unwrap());
            Err::<Pool, ()>(())
        },
        || unreachable!("there is none"),
    );
    assert!(none.is_err());
}

/// Calls `body` while another thread does not return from `enter`.
fn beside_one_in(enter: impl Fn(&mut (dyn FnMut() + Send)) + Send, body: impl FnOnce()) {
    let (begun, begins) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    thread::scope(|s| {
        s.spawn(move || {
            enter(&mut move || {
                begun.send(()).unwrap();
                let _ = goes.recv();
            });
        });
        begins.recv().unwrap();
        body();
        drop(go);
    });
}

/// The child's own one is another, whoever is in that of its parent.
fn of_a_global_pool_without_threads() {
    let ends_its_own = || {
        let left = roving::embed::shutdown_global().is_err();
        left && join(|| 1, || 2) == (1, 2) && roving::embed::shutdown_global().is_ok()
    };
    assert!(in_child(|| {
        let built = Pool::builder().caller_runs().build_global();
        let enter = |wait: &mut (dyn FnMut() + Send)| roving::in_place_scope(|_| wait());
        beside_one_in(enter, || assert!(in_child(ends_its_own)));
        built.is_ok()
    }));
}

/// A pool without threads is as good in the child, unless a thread is in it that is not there.
fn of_a_pool_that_another_thread_is_in() {
    let pool = Pool::builder().caller_runs().build().unwrap();
    let is_good = || pool.install(|| join(|| 1, || 2)) == (1, 2);
    assert!(in_child(is_good));
    // The one that forks is there.
    assert!(pool.install(|| in_child(is_good)));
    let enter = |wait: &mut (dyn FnMut() + Send)| pool.install(wait);
    beside_one_in(enter, || {
        assert!(in_child(|| is_refusal(&message(|| pool.install(|| 1)))));
        assert!(in_child(|| {
            // SAFETY: the child does not use it any more.
            drop(unsafe { std::ptr::read(&raw const pool) });
            true
        }));
        assert!(in_child(|| is_refusal(&message(|| pool.spawn(|| ())))));
    });
    assert!(in_child(is_good));
}

/// Those that are built on the seam are refused as well, rather than to lose tasks.
fn of_other_interfaces(pool: &Pool) {
    let target = Target::of(pool);
    assert!(in_child(|| is_refusal(&message(
        || target.spawn(Order::NewestFirst, || ())
    ))));
    assert!(in_child(|| is_refusal(&message(
        || target.spawn_broadcast(|_| ())
    ))));
}

/// A worker of the parent's whose thread has not come is none of the child's.
fn of_its_own_threads() {
    let mut kept = Vec::new();
    let pool = Pool::builder().workers(2).build_with(|worker| {
        kept.push(Some(worker));
        Ok(())
    });
    for worker in &mut kept {
        assert!(in_child(|| {
            let worker = worker.take().unwrap();
            is_refusal(&message(|| worker.run()))
        }));
    }
    assert!(in_child(|| {
        kept.clear();
        thread::scope(|s| s.spawn(|| pool.is_ok()).join().unwrap())
    }));
}

/// Wakes a thread that waits for a future outside of all pools.
struct Unparks(thread::Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Unparks>) {
        self.0.unpark();
    }
}

/// Returns when a deadline that is near has come.
fn sees_a_deadline_outside_of_pools() -> bool {
    let soon = Cancel::after(Duration::from_millis(20));
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    let mut wait = Box::pin(soon.cancelled());
    while wait
        .as_mut()
        .poll(&mut Context::from_waker(&waker))
        .is_pending()
    {
        thread::park();
    }
    true
}

/// A child that cancels wakes nobody of its parent: its waker may be locked.
fn wakes_nobody_of_its_parent() {
    let (token, woken) = (Cancel::new(), Arc::new(Woken::default()));
    let waker = Waker::from(Arc::clone(&woken));
    let mut wait = Box::pin(token.cancelled());
    let mut poll = || wait.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(poll().is_pending());
    let cancels = || {
        token.cancel();
        woken.0.load(SeqCst)
    };
    assert!(in_child(|| cancels() == 0));
    assert_eq!(cancels(), 1);
    assert!(poll().is_ready());
}

/// Who had begun to wait in the parent is woken in a child that polls it again, by the same waker.
fn goes_on_to_wait_in_a_child(token: &Cancel, cancels: bool) {
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    let mut wait = Box::pin(token.cancelled());
    let mut poll = || wait.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(poll().is_pending());
    assert!(in_child(|| {
        let mut is_over = poll().is_ready();
        thread::scope(|s| {
            s.spawn(|| cancels.then(|| token.cancel()));
            while !is_over {
                thread::park();
                is_over = poll().is_ready();
            }
        });
        true
    }));
}

/// Counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Woken>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Deadlines of the child's own are met, and nobody is woken there who waits in the parent.
fn of_its_deadlines() {
    const SOON: Duration = Duration::from_millis(100);
    let own_is_met = || {
        let pool = Pool::new(1).unwrap();
        let soon = Cancel::after(SOON);
        pool.run(|_| async move { soon.cancelled().await });
        true
    };
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let wait = |token: &Cancel| {
        let mut wait = Box::pin(token.cancelled());
        let poll = wait.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(poll.is_pending());
        wait
    };
    let (met, cancelled) = (Cancel::after(SOON), Cancel::after(100 * SOON));
    let waits = [wait(&met), wait(&cancelled)];
    // On a busy machine the parent's deadline may be met before the fork.
    let woken_here = |body: &dyn Fn() -> bool| {
        let before = woken.0.load(SeqCst);
        body().then(|| woken.0.load(SeqCst) - before)
    };
    assert!(in_child(|| {
        let woken = woken_here(&|| {
            let is_met = own_is_met();
            cancelled.cancel();
            is_met && met.is_cancelled()
        });
        woken == Some(0)
    }));
    while woken.0.load(SeqCst) == 0 {
        thread::yield_now();
    }
    // Also where the child waits for the deadline as well.
    let met = Cancel::after(10 * SOON);
    let more = wait(&met);
    assert!(in_child(|| {
        let woken = woken_here(&|| {
            let (pool, met) = (Pool::new(1).unwrap(), met.clone());
            pool.run(|_| async move { met.cancelled().await });
            true
        });
        woken == Some(0)
    }));
    while woken.0.load(SeqCst) == 1 {
        thread::yield_now();
    }
    drop((waits, more));
    // The timer may be locked by threads that are not in the child.
    let ends = AtomicBool::new(false);
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                let late = Cancel::after(Duration::from_secs(3600));
                while !ends.load(SeqCst) {
                    let mut wait = Box::pin(late.cancelled());
                    let mut context = Context::from_waker(Waker::noop());
                    assert!(wait.as_mut().poll(&mut context).is_pending());
                }
            });
        }
        let children = (0..10).map(|_| in_child(own_is_met));
        let all = panic::catch_unwind(AssertUnwindSafe(|| children.filter(|ok| *ok).count()));
        ends.store(true, SeqCst);
        assert_eq!(all.unwrap(), 10);
    });
}

/// The child has no thread that would end a task of the parent's, and hears of those that had ended
/// by the fork.
fn of_its_tasks(pool: &Pool) {
    let done = pool.spawn(|| 6);
    while !done.is_finished() {
        thread::yield_now();
    }
    let mut done = Some(done);
    assert!(in_child(|| done
        .take()
        .is_some_and(|done| matches!(done.join(), Ok(6)))));
    let begin = || {
        let (go, goes) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        let task = pool.spawn(move || {
            begun.send(()).unwrap();
            let _ = goes.recv();
        });
        begins.recv().unwrap();
        (Some(task), go)
    };
    let (mut task, go) = begin();
    assert!(in_child(|| {
        let task = task.take().unwrap();
        !task.is_finished() && is_refusal(&message(|| task.join()))
    }));
    // By a task of a pool of its own, and on a worker of that.
    assert!(in_child(|| {
        let task = task.take().unwrap();
        let own = Pool::new(1).unwrap();
        is_refusal(&message(|| own.run(|_| task)))
    }));
    assert!(in_child(|| {
        let task = task.take().unwrap();
        let own = Pool::new(1).unwrap();
        is_refusal(&message(|| own.install(|| task.join())))
    }));
    // One that nobody has begun can be ended there.
    let more = begin();
    let mut waits = Some(pool.spawn(|| 7));
    assert!(in_child(|| {
        let waits = waits.take().unwrap();
        waits.abort();
        waits.join().is_err_and(|error| error.is_cancelled())
    }));
    drop((go, more));
    assert_eq!(waits.unwrap().join().unwrap(), 7);
    task.unwrap().join().unwrap();
}

/// A thread outside forks in the closure of a scope, and the child comes to the scope's end. It is
/// told earlier, if it spawns more.
fn of_its_scope(pool: &Pool) {
    for spawns_more in [false, true] {
        let (go, goes) = mpsc::channel::<()>();
        let (mut child, mut is_refused) = (0, true);
        let told = message(|| {
            pool.in_place_scope(|s| {
                s.spawn(move |_| _ = goes.recv());
                child = fork();
                if child != 0 {
                    go.send(()).unwrap();
                } else if spawns_more {
                    is_refused = is_refusal(&message(|| s.spawn(|_| ())))
                        && is_refusal(&message(|| s.spawn_broadcast(|_, _| ())));
                }
            });
        });
        if child == 0 {
            end_child(|| is_refused && is_refusal(&told));
        }
        assert_eq!(told, "no panic");
        assert!(is_well(child));
    }
    // The closure has spawned nothing by then, so the scope ends.
    assert!(in_child_of_scope(pool, |s| is_refusal(&message(
        || s.spawn(|_| ())
    ))));
    // A worker that forks goes on with what is its own, and with nothing for all workers.
    assert!(pool.install(|| {
        in_child(|| {
            let mut is_spawned = false;
            let is_refused = roving::scope(|s| {
                s.spawn(|_| is_spawned = true);
                is_refusal(&message(|| s.spawn_broadcast(|_, _| ())))
            });
            is_refused && is_spawned
        })
    }));
}

/// Forks in the closure of a scope, and calls `body` there. False also if the scope ends in a panic
/// in the child.
fn in_child_of_scope<'scope>(
    pool: &Pool,
    body: impl FnOnce(&roving::Scope<'scope>) -> bool,
) -> bool {
    let mut child = 0;
    let is_well_there = panic::catch_unwind(AssertUnwindSafe(|| {
        pool.in_place_scope(|s| {
            child = fork();
            child != 0 || body(s)
        })
    }));
    if child == 0 {
        end_child(|| is_well_there.unwrap_or(false));
    }
    is_well(child)
}

/// A child of a worker whose schedule is deterministic has no turn to wait for.
fn of_a_deterministic_pool() {
    for (workers, seed) in [(1, 0), (2, 1), (4, 2)] {
        let builder = Pool::builder().workers(workers).deterministic(seed);
        let pool = builder.build().unwrap();
        assert!(pool.install(|| in_child(in_a_pool_of_its_own)));
        assert!(pool.install(|| in_child(|| join(|| 1, || 2) == (1, 2))));
        // Also in a section in which the worker has no turn in the parent.
        assert!(pool.install(|| fork_in_blocking(in_a_pool_of_its_own)));
        let own_is_deterministic = || {
            let own = Pool::builder().workers(2).deterministic(3).build().unwrap();
            own.install(|| join(|| 3, || 4)) == (3, 4)
        };
        assert!(pool.install(|| in_child(own_is_deterministic)));
        // A thread outside of it is refused in the child, which may drop its copy.
        let mut copy = Some(pool);
        assert!(in_child(|| {
            let pool = copy.take().unwrap();
            is_refusal(&message(|| pool.install(|| 1)))
        }));
        let pool = copy.unwrap();
        assert_eq!(pool.install(|| join(|| 5, || 6)), (5, 6));
    }
}

/// Forks in `blocking`, and calls `body` in the child when that is over there.
fn fork_in_blocking(body: impl FnOnce() -> bool) -> bool {
    let child = roving::blocking(fork);
    if child == 0 {
        end_child(body);
    }
    is_well(child)
}

/// One test: a fork is no matter for other tests of the same process.
#[test]
fn a_child_is_told_and_can_go_on() {
    // Before there is a pool that would have forks counted.
    wakes_nobody_of_its_parent();
    goes_on_to_wait_in_a_child(&Cancel::new(), true);
    goes_on_to_wait_in_a_child(&Cancel::after(Duration::from_secs(1)), false);
    assert!(sees_a_deadline_outside_of_pools());
    assert!(in_child(sees_a_deadline_outside_of_pools));
    let pool = Pool::new(2).unwrap();
    assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
    // Before the global pool is used, it is the child's to start.
    assert!(in_child(|| join(|| 1, || 2) == (1, 2)));
    of_a_global_pool_that_is_made();
    of_a_global_pool_without_threads();
    assert_eq!(join(|| 3, || 4), (3, 4));

    assert!(in_child(|| is_refusal(&message(|| pool.install(|| 1)))));
    assert!(in_child(|| is_refusal(&message(|| pool.spawn(|| ())))));
    assert!(in_child(|| is_refusal(&message(
        || pool.broadcast(|index| index)
    ))));
    assert!(in_child(|| is_refusal(&message(
        || pool.run(|_| async { 1 })
    ))));
    assert!(in_child(|| is_refusal(&message(
        || pool.in_place_scope(|s| s.spawn(|_| ()))
    ))));
    assert!(
        in_child(|| is_refusal(&message(|| join(|| 1, || 2)))),
        "the global pool"
    );
    assert!(in_child(|| is_refusal(&message(
        || roving::task::block_on(async { 1 })
    ))));

    // A pool of the child's own, also in a child of the child, and one without threads.
    let fresh = || Pool::new(2).unwrap().install(|| join(|| 5, || 6)) == (5, 6);
    assert!(in_child(fresh));
    assert!(in_child(|| fresh() && in_child(fresh)));
    let in_place = Pool::builder().caller_runs().build().unwrap();
    assert!(in_child(|| in_place.install(|| join(|| 7, || 8)) == (7, 8)));
    // To drop what was left behind does not hang. The child has its own copy of it.
    let mut one = Some(Pool::new(2).unwrap());
    assert!(in_child(|| {
        one = None;
        true
    }));

    of_an_arena();
    of_a_pool_that_another_thread_is_in();
    of_its_figures();
    of_its_deadlines();
    of_its_own_threads();
    of_other_interfaces(&pool);
    of_its_tasks(&pool);
    of_its_scope(&pool);
    of_a_deterministic_pool();
    // To stop what was left behind does not hang either, and drops nothing.
    let mut one = Some(Pool::new(2).unwrap());
    assert!(in_child(|| {
        let dropped = one.take().map(Pool::shutdown_now);
        dropped.is_some_and(|dropped| dropped.tasks() == 0 && !dropped.is_final())
    }));
    // The parent's global pool is given up, and the child has one of its own, which it can end.
    assert!(in_child(|| {
        let left = roving::embed::shutdown_global().is_err();
        left && join(|| 3, || 4) == (3, 4) && roving::embed::shutdown_global().is_ok()
    }));
    assert!(in_child(|| !roving::embed::shutdown_global_now()
        .is_final()
        && join(|| 3, || 4) == (3, 4)));

    // A child of a worker: what it does alone is done.
    assert!(pool.install(|| in_child(|| join(|| 9, || 10) == (9, 10))));
    // And a pool of its own does for it what pools do.
    assert!(pool.install(|| in_child(in_a_pool_of_its_own)));
    assert!(join(|| in_child(in_a_pool_of_its_own), || ()).0);
    roving::scope(|s| s.spawn(|_| assert!(in_child(in_a_pool_of_its_own))));
    // The parent's pools are as they were.
    assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
    assert_eq!(join(|| 3, || 4), (3, 4));
}
