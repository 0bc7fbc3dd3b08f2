//! Steps that hold on to a pool while it goes: references that are kept, pools that a part of the
//! program drops which works in them, pools that are resized all the time.

use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::Poll;
use std::thread::{self, ThreadId};
use std::time::Duration;

use roving::raw::panics;
use roving::{Arena, Cancel, Pool, PoolRef, context, task};
use roving_flow::{In, Network};
use roving_iter::prelude::*;

use super::checked::{MESSAGES, run_in_this_pool};
use super::feature::Feature;
use super::pools::{builder, built, job};
use super::program::FeatureStep;
use super::world::{Cx, PartFate, WORKERS_MAX, allowed, call, lock, part};

pub(super) fn run(step: &FeatureStep, cx: &Cx<'_>) {
    match step.feature {
        Feature::PoolRef => reference(step, cx),
        Feature::Stopped => of_dropped(step, &cx.cancelling(), |pool| _ = pool.shutdown_now()),
        Feature::AdoptedDrops => adopted_drops(step, cx),
        Feature::Resized => resized(step, cx),
        _ => {}
    }
}

/// Uses a pool in each way; `part` runs in it.
fn use_all(step: &FeatureStep, cx: &Cx<'_>, pool: &Pool, seen: &PartFate) {
    let ticket = cx.world.later();
    pool.spawn(move || drop(ticket));
    // That a job was cancelled is no panic.
    pool.install(|| seen.watch_process(|| part(step, 0, cx)));
    if pool.run(|_| async { 7 }) != 7 || pool.in_place_scope(|_| 8) != 8 {
        cx.world.complain(step, "a pool computed something else");
    }
    let _ = (pool.workers(), pool.profile());
}

/// A reference to a pool is used while that pool ends, or when the thread has left it.
fn reference(step: &FeatureStep, cx: &Cx<'_>) {
    match step.mode {
        0 => of_dropped(step, cx, drop),
        1 => of_global(step, cx),
        2 => of_left(step, cx),
        3 => of_caller(step, cx),
        _ => of_share(step, cx),
    }
}

/// A job asks for its pool, which another thread drops meanwhile.
fn of_dropped(step: &FeatureStep, cx: &Cx<'_>, end: fn(Pool)) {
    let Some(pool) = built(step, cx, builder(step)) else {
        return;
    };
    let seen = Arc::new(PartFate::default());
    let (told, has_begun) = mpsc::channel();
    let (later, free) = (cx.world.later(), cx.free());
    let (step_there, seen_there) = (step.clone(), Arc::clone(&seen));
    // A job that was dropped unrun has told nobody.
    let handle = pool.spawn(move || {
        let _later = later;
        let here: PoolRef = Pool::current();
        let _ = told.send(());
        use_all(&step_there, &free, &here, &seen_there);
        // The pool serves what it is asked for, or drops it: it is not lost.
        let ticket = free.world.later();
        here.spawn(move || drop(ticket));
    });
    let complain = |text: &str| match cx.cancels {
        true => {}
        false => cx.world.complain(step, text),
    };
    call(step, cx, &[&seen], || {
        let begins = || roving::blocking(|| has_begun.recv());
        if begins().is_err() {
            return complain("a job was dropped, and nobody has asked");
        }
        cx.world.on_a_thread(move || end(pool));
        if let Err(error) = handle.join() {
            match error.try_into_panic() {
                Ok(payload) => panic::resume_unwind(payload),
                Err(_) => complain("a job that has begun was dropped"),
            }
        }
    });
}

/// The global pool is shut down while somebody holds it, and waits for him.
fn of_global(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = PartFate::default();
    let pool = Pool::global();
    // What waits here may stand in the way of the pool's end.
    cx.world
        .on_a_thread(|| drop(roving::embed::shutdown_global()));
    call(step, cx, &[&seen], || use_all(step, cx, &pool, &seen));
    drop(pool);
    drop(Pool::global());
}

/// A thread that a pool has adopted drops it, and uses what it has kept.
fn of_left(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = PartFate::default();
    let there = || {
        let Some(pool) = built(step, cx, builder(step).adopt_current_thread()) else {
            return;
        };
        let kept = Pool::current();
        use_all(step, cx, &kept, &seen);
        drop(pool);
        let used = panic::catch_unwind(AssertUnwindSafe(|| kept.install(|| ())));
        let says_so = |payload: &(dyn std::any::Any + Send)| {
            panics::text(payload)
                .is_some_and(|text| text.contains("ask for the current pool again"))
        };
        if !used.is_err_and(|payload| says_so(&*payload)) {
            cx.world
                .complain(step, "a thread that has left its pool is not told");
        }
        drop(format!("{kept:?}"));
        drop(kept);
        drop(Pool::current());
    };
    call(step, cx, &[&seen], || on_thread(there));
}

/// In a pool that has no threads.
fn of_caller(step: &FeatureStep, cx: &Cx<'_>) {
    let Some(pool) = built(step, cx, builder(step).caller_runs()) else {
        return;
    };
    let seen = PartFate::default();
    call(step, cx, &[&seen], || {
        pool.install(|| {
            let here = Pool::current();
            use_all(step, cx, &here, &seen);
        });
    });
}

/// In a share of an arena of which nobody has the handle any more.
fn of_share(step: &FeatureStep, cx: &Cx<'_>) {
    let Ok(arena) = Arena::new(2) else {
        return cx.world.complain(step, "no arena");
    };
    let Some(pool) = built(step, cx, arena.pool().workers(1).panic_handler(drop)) else {
        return;
    };
    drop(arena);
    let seen = PartFate::default();
    call(step, cx, &[&seen], || {
        pool.install(|| {
            let here = Pool::current();
            use_all(step, cx, &here, &seen);
        });
    });
}

/// Calls `f` on a thread that is no worker, and waits for it as one that lets others run.
fn on_thread(f: impl FnOnce() + Send) {
    roving::blocking(|| {
        thread::scope(|threads| threads.spawn(f).join())
            .unwrap_or_else(|payload| panic::resume_unwind(payload));
    });
}

/// The program in an adopted thread: a part of it drops the pool that it works in.
struct Dropping<'a, 'e> {
    step: &'a FeatureStep,
    cx: &'a Cx<'e>,
    pool: Mutex<Option<Pool>>,
    /// The adopted thread.
    thread: OnceLock<ThreadId>,
    with: PartFate,
    after: PartFate,
}

impl Dropping<'_, '_> {
    /// The part that drops the pool, wherever it runs, and goes on in what is left of it.
    fn part(&self) {
        let Dropping { step, cx, .. } = self;
        self.with.watch(|| part(step, 0, cx));
        let pool = lock(&self.pool).take();
        // A drop by another thread does not wait for the adopted one, but for the pool's others.
        // Under the lock of a bridge those may wait for this part.
        let is_there = self.thread.get() == Some(&thread::current().id()) && step.mode != 6;
        match step.id % 3 {
            0 if is_there => roving::blocking(|| drop(thread::spawn(move || drop(pool)).join())),
            0 | 1 => cx.world.on_a_thread(move || drop(pool)),
            _ => drop(pool),
        }
        self.after.watch(|| part(step, 1, cx));
    }

    fn check(&self, is_so: bool, what: &str) {
        if !is_so {
            self.cx.world.complain(self.step, what);
        }
    }

    /// Everything that has parts, of which one drops the pool.
    fn run(&self) {
        const TURNS: usize = 9;
        let turn = |index: usize| {
            if index == TURNS / 2 {
                self.part();
            }
            index
        };
        const SUM: usize = TURNS * (TURNS - 1) / 2;
        match self.step.mode {
            0 => drop(roving::join(|| (), || self.part())),
            1 => drop(roving::join(|| self.part(), || ())),
            2 => roving::scope(|s| {
                s.spawn(|_| self.part());
                (0..4).for_each(|_| s.spawn(|_| _ = roving::join(|| (), || ())));
            }),
            3 => roving::par_for(0..TURNS, |index| _ = turn(index)),
            4 => {
                let sum: usize = (0..TURNS).into_par_iter().map(turn).sum();
                self.check(sum == SUM, "the sum of an iterator is another");
            }
            5 => {
                let begun = AtomicBool::new(false);
                let mut values: Vec<usize> = (0..100).rev().collect();
                values.par_sort_by(|one, other| {
                    if !begun.swap(true, Relaxed) {
                        self.part();
                    }
                    one.cmp(other)
                });
                self.check(values.is_sorted(), "a sort has lost the order");
            }
            6 => {
                let sum: usize = (0..TURNS).map(turn).par_bridge().sum();
                self.check(sum == SUM, "the sum of a bridge is another");
            }
            7 => task::block_on(self.pending()),
            8 => task::scope(|s| async move {
                let (one, other) = (s.spawn(self.pending()), s.fork(async { 1 }).await);
                other.await;
                one.await;
            }),
            9 => self.network(),
            10 => {
                let sum = roving::map_reduce(0..TURNS, 0, turn, |a, b| a + b);
                self.check(sum == SUM, "the sum of a reduction is another");
            }
            11 => context::with(self.step.id, || {
                let ran = Cancel::after(Duration::from_secs(100_000)).run(|| self.part());
                self.check(ran.is_ok(), "it was cancelled, and nobody has");
            }),
            12 => Pool::current().install(|| self.part()),
            _ => roving::in_place_scope(|s| {
                s.spawn(|_| roving::blocking(|| ()));
                self.part();
                s.spawn(|_| ());
            }),
        }
    }

    /// A task that is woken once, and then drops the pool.
    async fn pending(&self) {
        let mut is_first = true;
        poll_fn(|context| match std::mem::replace(&mut is_first, false) {
            true => {
                let waker = context.waker().clone();
                self.cx.world.elsewhere(move || waker.wake());
                Poll::Pending
            }
            false => Poll::Ready(()),
        })
        .await;
        self.part();
    }

    fn network(&self) {
        let mut network = Network::new();
        let (out, numbers) = network.bounded("numbers", 1);
        network.source("source", out, 0..MESSAGES);
        network.process("takes", numbers, |mut numbers: In<u64>| async move {
            let mut sum = numbers.recv().await.unwrap_or(0);
            self.part();
            while let Some(number) = numbers.recv().await {
                sum += number;
            }
            self.check(
                sum == super::checked::SUM,
                "the sum of a network is another",
            );
        });
        run_in_this_pool(self.step, self.cx, network);
    }
}

/// A thread that a pool has adopted works in that pool, and drops it in the midst of something.
fn adopted_drops(step: &FeatureStep, cx: &Cx<'_>) {
    let dropping = Dropping {
        step,
        cx,
        pool: Mutex::new(None),
        thread: OnceLock::new(),
        with: PartFate::default(),
        after: PartFate::default(),
    };
    let there = || {
        let Some(pool) = built(step, cx, builder(step).adopt_current_thread()) else {
            return;
        };
        let later = cx.world.later();
        pool.spawn(move || drop(later));
        *lock(&dropping.pool) = Some(pool);
        let _ = dropping.thread.set(thread::current().id());
        dropping.run();
        // Whatever it is now: it works, or says what is wrong.
        let later = cx.world.later();
        allowed(step, cx, || roving::spawn(move || drop(later)));
        if roving::join(|| 1, || 2) != (1, 2) {
            cx.world.complain(step, "a join came to something else");
        }
        drop(Pool::current());
    };
    let seen = [&dropping.with, &dropping.after];
    call(step, cx, &seen, || on_thread(there));
}

/// A pool is resized all the time while the part runs in it, and something else that was spawned.
fn resized(step: &FeatureStep, cx: &Cx<'_>) {
    let fresh = match step.mode {
        0 | 1 => None,
        _ => built(step, cx, builder(step).workers_max(WORKERS_MAX)),
    };
    let pool = fresh
        .as_ref()
        .unwrap_or(&cx.world.pools[usize::from(step.mode) % 2]);
    let (seen, is_over) = (PartFate::default(), AtomicBool::new(false));
    let resizes = || {
        for turn in step.id as usize.. {
            if is_over.load(Relaxed) {
                return;
            }
            if let Err(error) = pool.resize(1 + turn % WORKERS_MAX) {
                cx.world.complain(step, error.to_string());
            }
            thread::sleep(Duration::from_micros(20));
        }
    };
    call(step, cx, &[&seen], || {
        thread::scope(|threads| {
            threads.spawn(resizes);
            let result = panic::catch_unwind(AssertUnwindSafe(|| {
                pool.spawn(job(step, 1, cx));
                pool.install(|| seen.watch(|| part(step, 0, cx)));
            }));
            is_over.store(true, Relaxed);
            result.unwrap_or_else(|payload| panic::resume_unwind(payload));
        });
    });
}
