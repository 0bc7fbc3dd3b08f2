//! Steps with detached jobs and their handles: joined, aborted, kept, refused.

use std::any::Any;
use std::panic;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Waker;
use std::thread;

use roving::raw::panics;
use roving::{JoinError, JoinHandle, Pool, Priority, task};

use super::closures;
use super::feature::Feature;
use super::kept::LeftBehind;
use super::program::FeatureStep;
use super::strays;
use super::world::{Cx, PartFate, call, part, sequence};

pub(super) fn run(step: &FeatureStep, cx: &Cx<'_>) {
    match step.feature {
        Feature::TrySpawn => try_spawn(step, cx),
        Feature::Joined => joined(step, cx),
        Feature::Aborted => aborted(step, cx),
        Feature::KeptJob => kept(step, cx),
        Feature::Apart => apart(step, cx),
        Feature::Loud => loud(step, cx),
        _ => {}
    }
}

/// The value of a job: none other may come out of its handle.
fn value(step: &FeatureStep) -> u64 {
    0x5EED_0000 + u64::from(step.id)
}

/// A job of that part, which borrows nothing.
pub(super) fn job(step: &FeatureStep, cx: &Cx<'_>) -> impl FnOnce() -> u64 + Send + use<> {
    let (later, steps, cx) = (cx.world.later(), Arc::clone(&step.parts[0]), cx.free());
    let value = value(step);
    move || {
        let _later = later;
        sequence(&steps, &cx);
        value
    }
}

/// One that remembers what comes of it.
fn watched(
    step: &FeatureStep,
    cx: &Cx<'_>,
    seen: &Arc<PartFate>,
) -> impl FnOnce() -> u64 + Send + use<> {
    let (job, seen) = (job(step, cx), Arc::clone(seen));
    // That it was cancelled is no panic.
    move || seen.watch_process(job)
}

/// Spawns it where the mode says.
pub(super) fn spawned(
    step: &FeatureStep,
    cx: &Cx<'_>,
    job: impl FnOnce() -> u64 + Send + 'static,
) -> JoinHandle<u64> {
    match step.mode % 4 {
        0 => roving::spawn(job),
        1 => cx.world.pools[0].spawn(job),
        2 => cx.world.pools[1].spawn_with(Priority::High, job),
        _ => Pool::current().spawn(job),
    }
}

/// Checks the outcome of a handle: the value, the panic of the job, or that it was ended before it
/// began. Returns whether it came to a value.
pub(super) fn outcome(
    step: &FeatureStep,
    cx: &Cx<'_>,
    may_end: bool,
    result: Result<u64, JoinError>,
) -> bool {
    match result {
        Ok(found) if found == value(step) => true,
        Ok(found) => {
            cx.world
                .complain(step, format!("the handle gave {found:x}"));
            true
        }
        Err(error) if error.is_panic() => {
            if let Ok(payload) = error.try_into_panic() {
                panic::resume_unwind(payload);
            }
            false
        }
        Err(_) => {
            if !may_end && !cx.cancels {
                cx.world.complain(step, "a job was ended, and nobody has");
            }
            false
        }
    }
}

/// Waits for a job.
fn joined(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = Arc::new(PartFate::default());
    call(step, cx, &[&seen], || {
        let handle = spawned(step, cx, watched(step, cx, &seen));
        let _ = handle.is_finished();
        let came = outcome(step, cx, false, handle.join());
        if came && seen.has_thrown() {
            cx.world.complain(step, "the panic of a job was lost");
        }
    });
}

/// A job on top of a task is no part of that task: what it spawns is no child, and is refused.
fn apart(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = Arc::new(PartFate::default());
    let joined = || {
        let job = watched(step, cx, &seen);
        let (step_there, there) = (step.clone(), cx.free());
        let handle = spawned(step, cx, move || {
            check_apart(&step_there, &there);
            job()
        });
        outcome(step, cx, false, handle.join());
    };
    call(step, cx, &[&seen], || match step.mode / 4 {
        0 => joined(),
        1 => cx.world.pools[0].run(|_| async { joined() }),
        _ => broadcast_apart(step, cx, &seen),
    });
}

/// Nor is a part of a broadcast that is run by a worker which waits in a task.
fn broadcast_apart(step: &FeatureStep, cx: &Cx<'_>, seen: &PartFate) {
    let Some(pool) = closures::fresh(step, cx) else {
        return;
    };
    pool.run(|_| async {
        roving::scope(|s| s.spawn_broadcast(|_, _| check_apart(step, cx)));
    });
    seen.watch(|| part(step, 0, cx));
}

fn check_apart(step: &FeatureStep, cx: &Cx<'_>) {
    let made = panic::catch_unwind(|| drop(task::spawn(async {})));
    let is_told = |payload: Box<dyn Any + Send>| {
        panics::text(&*payload).is_some_and(|text| text.starts_with("not inside a task"))
    };
    if !made.is_err_and(is_told) {
        cx.world
            .complain(step, "a job made a child of a task that it is no part of");
    }
}

/// Awaits a job.
pub(super) async fn awaited(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = Arc::new(PartFate::default());
    let handle = spawned(step, cx, watched(step, cx, &seen));
    let result = match step.mode {
        0 => handle.await,
        1 => {
            let _ = handle.is_finished();
            handle.abort_on_drop().await
        }
        // By a task of its own.
        _ => task::spawn(handle).await,
    };
    let came = outcome(step, cx, false, result);
    if came && seen.has_thrown() {
        cx.world.complain(step, "the panic of a job was lost");
    }
}

/// Ends a job, which may have begun.
fn aborted(step: &FeatureStep, cx: &Cx<'_>) {
    let handle = spawned(step, cx, job(step, cx));
    match (step.id + u32::from(step.mode)) % 4 {
        0 => {
            handle.abort();
            // One that runs may wait for this step: another thread joins it.
            let (world, step) = (Arc::clone(&cx.world), step.clone());
            cx.world.on_a_thread(move || {
                outcome(&step, &Cx::new(&world), true, handle.join());
            });
        }
        1 => drop(handle.abort_on_drop()),
        2 => {
            let handle = handle.abort_on_drop();
            cx.world.elsewhere(move || drop(handle));
        }
        _ => {
            handle.abort();
            handle.abort();
            cx.world.keep(LeftBehind::Job(handle));
        }
    }
}

/// A handle that is kept beyond the step that has it.
fn kept(step: &FeatureStep, cx: &Cx<'_>) {
    let mut handle = spawned(step, cx, job(step, cx));
    match (step.id + u32::from(step.mode)) % 4 {
        0 => {}
        1 => {
            // One that is ready must not be polled again.
            if poll_once(&mut handle, &strays::waker(step, cx)) {
                return;
            }
        }
        2 => handle = handle.abort_on_drop(),
        _ => {
            cx.world.elsewhere(move || drop(handle));
            return;
        }
    }
    cx.world.keep(LeftBehind::Job(handle));
}

/// Polls a handle, and returns whether it is ready.
fn poll_once(handle: &mut JoinHandle<u64>, waker: &Waker) -> bool {
    strays::poll(waker, |context| Pin::new(handle).poll(context)).is_ready()
}

/// A job that may be refused: then it is done here.
fn try_spawn(step: &FeatureStep, cx: &Cx<'_>) {
    let job = job(step, cx);
    call(step, cx, &[], || {
        let result = match step.mode {
            0 => roving::try_spawn(job),
            1 => cx.world.pools[1].try_spawn(job),
            2 => cx.world.pools[1].try_spawn_with(Priority::Low, job),
            _ => Pool::current().try_spawn(job),
        };
        if let Err(refused) = result.map(drop)
            && refused.into_closure()() != value(step)
        {
            cx.world.complain(step, "what was refused is another job");
        }
    });
}

/// How often a step looks whether a job has ended, at most.
const LOOKS: u32 = 100;

/// A handle is polled with a waker that panics, and then joined, aborted or kept.
fn loud(step: &FeatureStep, cx: &Cx<'_>) {
    let mut handle = spawned(step, cx, job(step, cx));
    // One that is ready must not be polled again.
    if poll_once(&mut handle, &strays::loud(cx)) {
        return;
    }
    match step.mode / 4 {
        0 => {
            // Most often a worker ends it, and calls the waker.
            let mut looks = 0..LOOKS;
            while !handle.is_finished() && looks.next().is_some() {
                thread::yield_now();
            }
            call(step, cx, &[], || {
                outcome(step, cx, false, handle.join());
            });
        }
        1 => call(step, cx, &[], || handle.abort()),
        _ => cx.world.keep(LeftBehind::Job(handle)),
    }
}
