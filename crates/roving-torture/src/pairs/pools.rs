//! Steps about pools: of every kind, made, resized, shut down and dropped.

use std::panic;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;

use roving::testing::Explorer;
use roving::{Arena, Pool, PoolBuilder, Priority};

use super::feature::Feature;
use super::kept::LeftBehind;
use super::program::FeatureStep;
use super::world::{Cx, PartFate, WORKERS_MAX, allowed, call, part, sequence};

pub(super) fn run(step: &FeatureStep, cx: &Cx<'_>) {
    match step.feature {
        Feature::Resize => resize(step, cx),
        Feature::OtherPool => other(step, cx),
        Feature::Shutdown => shutdown(step, cx),
        Feature::KeptPool => kept(step, cx),
        Feature::Adopted => adopted(step, cx),
        Feature::CallerRuns => caller_runs(step, cx),
        Feature::Contended => contended(step, cx),
        Feature::OwnThreads => own_threads(step, cx),
        Feature::Arena => arena(step, cx),
        Feature::Handlers => handlers(step, cx),
        Feature::Replayed => replayed(step, cx),
        Feature::Global => global(step, cx),
        _ => {}
    }
}

pub(super) fn builder(step: &FeatureStep) -> PoolBuilder {
    let workers = 1 + step.id as usize % 2;
    let builder = Pool::builder().workers(workers).panic_handler(drop);
    match step.id % 3 {
        0 => builder.priority(Priority::Low),
        1 => builder.task_slots(2),
        _ => builder,
    }
}

/// A pool that nothing stands in the way of.
pub(super) fn built(step: &FeatureStep, cx: &Cx<'_>, builder: PoolBuilder) -> Option<Pool> {
    let pool = builder.build();
    pool.map_err(|error| cx.world.complain(step, format!("no pool: {error}")))
        .ok()
}

/// A job of that part, which borrows nothing.
pub(super) fn job(step: &FeatureStep, number: usize, cx: &Cx<'_>) -> impl FnOnce() + Send + use<> {
    let (later, steps, cx) = (cx.world.later(), Arc::clone(&step.parts[number]), cx.free());
    move || {
        let _later = later;
        sequence(&steps, &cx);
    }
}

fn resize(step: &FeatureStep, cx: &Cx<'_>) {
    let workers = 1 + (step.id as usize + usize::from(step.mode)) % WORKERS_MAX;
    let pool = &cx.world.pools[usize::from(step.mode) % 2];
    call(step, cx, &[], || {
        if step.mode == 2 {
            pool.refresh_quota();
        }
        if let Err(error) = pool.resize(workers) {
            cx.world.complain(step, error.to_string());
        }
        let _ = pool.profile();
    });
}

fn other(step: &FeatureStep, cx: &Cx<'_>) {
    let Some(pool) = built(step, cx, builder(step)) else {
        return;
    };
    let seen = PartFate::default();
    call(step, cx, &[&seen], || {
        pool.spawn(job(step, 1, cx));
        pool.install(|| seen.watch(|| part(step, 0, cx)));
    });
    match step.mode {
        0 | 1 => drop(pool),
        2 => cx.world.on_a_thread(move || drop(pool)),
        _ => {
            // Its own task drops it last, or almost.
            let pool = Arc::new(pool);
            let there = Arc::clone(&pool);
            let later = cx.world.later();
            pool.spawn(move || drop((there, later)));
        }
    }
}

fn shutdown(step: &FeatureStep, cx: &Cx<'_>) {
    let Some(pool) = built(step, cx, builder(step)) else {
        return;
    };
    let seen = PartFate::default();
    let inside = cx.cancelling();
    call(step, cx, &[&seen], || {
        for _ in 0..2 {
            let ticket = cx.world.later();
            pool.spawn(move || drop(ticket));
        }
        pool.spawn(job(step, 0, &inside));
        pool.install(|| seen.watch(|| part(step, 1, &inside)));
    });
    match step.mode {
        0 => {
            if !pool.shutdown_now().is_final() {
                cx.world
                    .complain(step, "a pool was not ended by shutdown_now");
            }
        }
        _ => cx.world.on_a_thread(move || {
            let _ = pool.shutdown_now();
        }),
    }
}

fn kept(step: &FeatureStep, cx: &Cx<'_>) {
    let Some(pool) = built(step, cx, builder(step)) else {
        return;
    };
    let seen = PartFate::default();
    call(step, cx, &[&seen], || {
        pool.spawn(job(step, 0, cx));
        match step.mode {
            0 => pool.install(|| seen.watch(|| part(step, 1, cx))),
            _ => pool.in_place_scope(|_| seen.watch(|| part(step, 1, cx))),
        }
    });
    cx.world.keep(LeftBehind::Pool(Box::new(pool)));
}

/// A thread becomes a worker, and is one when its pool is gone.
fn adopted(step: &FeatureStep, cx: &Cx<'_>) {
    let (with, after) = (PartFate::default(), PartFate::default());
    let there = || {
        let Some(pool) = built(step, cx, builder(step).adopt_current_thread()) else {
            return;
        };
        match step.mode {
            0 => {
                with.watch(|| part(step, 0, cx));
                drop(pool);
                after.watch(|| part(step, 1, cx));
            }
            1 => {
                with.watch(|| pool.install(|| part(step, 0, cx)));
                after.watch(|| part(step, 1, cx));
                drop(pool);
            }
            _ => {
                with.watch(|| part(step, 0, cx));
                let _ = thread::spawn(move || drop(pool)).join();
                after.watch(|| part(step, 1, cx));
            }
        }
        if step.mode != 1 {
            // Of a pool that is gone: it works, or says what is wrong. No broadcast: a worker of
            // the global pool may be the one that waits for this thread.
            let later = cx.world.later();
            allowed(step, cx, || roving::spawn(move || drop(later)));
            allowed(step, cx, || roving::join(|| 1, || 2));
        }
    };
    call(step, cx, &[&with], || {
        roving::blocking(|| {
            thread::scope(|threads| threads.spawn(there).join())
                .unwrap_or_else(|payload| panic::resume_unwind(payload));
        });
    });
}

fn caller_runs(step: &FeatureStep, cx: &Cx<'_>) {
    let Some(pool) = built(step, cx, builder(step).caller_runs()) else {
        return;
    };
    let seen = PartFate::default();
    call(step, cx, &[&seen], || {
        pool.spawn(job(step, 1, cx));
        match step.mode {
            0 => pool.install(|| seen.watch(|| part(step, 0, cx))),
            _ => pool.in_place_scope(|_| seen.watch(|| part(step, 0, cx))),
        }
    });
    drop(pool);
}

/// A worker waits to enter a pool of one thread alone, and who is in there asks the worker's pool
/// for something.
fn contended(step: &FeatureStep, cx: &Cx<'_>) {
    let place = built(step, cx, builder(step).caller_runs());
    let pool = built(step, cx, builder(step).workers(1));
    let (Some(place), Some(pool)) = (place, pool) else {
        return;
    };
    let (enters, asks) = (PartFate::default(), PartFate::default());
    let asked = || asks.watch(|| part(step, 1, cx));
    let ask = || match step.mode {
        0 => drop(pool.broadcast(|_| asked())),
        1 => pool.install(asked),
        2 => pool.in_place_scope(|s| s.spawn(|_| asked())),
        3 => pool.run(|_| async { asked() }),
        _ => {
            drop(pool.spawn(|| ()).join());
            asked();
        }
    };
    // Each is told by the drop of the other end, which a panic drops, too.
    let (is_in, hears) = mpsc::channel::<()>();
    let (comes, sees) = mpsc::channel::<()>();
    let place = &place;
    let asker = move || {
        place.install(move || {
            drop(is_in);
            let _ = sees.recv();
            ask();
        });
    };
    call(step, cx, &[&enters, &asks], || {
        roving::blocking(|| {
            thread::scope(|threads| {
                let asker = threads.spawn(asker);
                let _ = hears.recv();
                pool.install(|| {
                    drop(comes);
                    place.install(|| enters.watch(|| part(step, 0, cx)));
                });
                asker
                    .join()
                    .unwrap_or_else(|payload| panic::resume_unwind(payload));
            });
        });
    });
}

/// Threads of the user's own, of which one may never run.
fn own_threads(step: &FeatureStep, cx: &Cx<'_>) {
    let mut threads = Vec::new();
    let pool = builder(step).workers(2).build_with(|worker| {
        match (worker.index(), step.mode) {
            (1, 1) => drop(worker),
            (1, 2) => cx.world.keep(LeftBehind::Thread(worker)),
            _ => threads.push(thread::spawn(move || worker.run())),
        }
        Ok(())
    });
    let seen = PartFate::default();
    call(step, cx, &[&seen], || match pool {
        Ok(pool) => {
            pool.install(|| seen.watch(|| part(step, 0, cx)));
            if step.mode != 2 {
                drop(pool.broadcast(|index| index));
            }
        }
        Err(error) => cx.world.complain(step, format!("no pool: {error}")),
    });
    cx.world.on_a_thread(move || {
        for thread in threads {
            // A worker catches what its tasks panic with.
            let _ = thread.join();
        }
    });
}

fn arena(step: &FeatureStep, cx: &Cx<'_>) {
    let (first, second) = (PartFate::default(), PartFate::default());
    let arena = match Arena::new(2) {
        Ok(arena) => arena,
        Err(error) => return cx.world.complain(step, format!("no arena: {error}")),
    };
    let share = |workers| built(step, cx, arena.pool().workers(workers).panic_handler(drop));
    let (Some(a), Some(b)) = (share(2), share(1)) else {
        return;
    };
    if step.mode == 2 {
        drop(arena);
    }
    call(step, cx, &[&first, &second], || match step.mode {
        0 => {
            a.install(|| first.watch(|| part(step, 0, cx)));
            b.install(|| second.watch(|| part(step, 1, cx)));
        }
        _ => a.install(|| {
            first.watch(|| part(step, 0, cx));
            b.install(|| second.watch(|| part(step, 1, cx)));
        }),
    });
}

/// Each index is of one thread at a time.
fn handlers(step: &FeatureStep, cx: &Cx<'_>) {
    let here: Arc<Vec<AtomicBool>> = Arc::new((0..512).map(|_| AtomicBool::new(false)).collect());
    let (started, world) = (Arc::clone(&here), Arc::clone(&cx.world));
    let (mode, id) = (step.mode, step.clone());
    let on_start = move |index: usize| {
        if started[index].swap(true, Relaxed) {
            world.complain(&id, format!("worker {index} started when it was there"));
        }
        assert!(mode != 1, "as on_start does");
    };
    let on_exit = move |index: usize| {
        here[index].store(false, Relaxed);
        assert!(mode != 2, "as on_exit does");
    };
    let with = builder(step).on_start(on_start).on_exit(on_exit);
    let Some(pool) = built(step, cx, with) else {
        return;
    };
    let seen = PartFate::default();
    call(step, cx, &[&seen], || {
        pool.install(|| {
            roving::blocking(|| ());
            seen.watch(|| part(step, 0, cx));
        });
    });
}

/// Under two schedules that follow from a seed.
fn replayed(step: &FeatureStep, cx: &Cx<'_>) {
    let first = u64::from(step.id);
    let explorer = Explorer::new().workers(2).seeds(first..first + 2);
    call(step, cx, &[], || {
        explorer.run(|| part(step, 0, cx));
    });
}

/// The global pool is used, and shut down; the next use starts another.
fn global(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = PartFate::default();
    call(step, cx, &[&seen], || {
        roving::in_place_scope(|_| seen.watch(|| part(step, 0, cx)));
    });
    // What waits here may stand in the way of the pool's end.
    cx.world
        .on_a_thread(|| drop(roving::embed::shutdown_global()));
}
