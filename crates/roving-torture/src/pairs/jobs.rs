//! Steps with detached jobs and their handles: joined, aborted, kept, refused.

use std::sync::Arc;
use std::task::{Context, Waker};

use roving::{JoinError, JoinHandle, Pool, Priority};

use super::feature::Feature;
use super::kept::{Deaf, LeftBehind};
use super::program::FeatureStep;
use super::world::{Cx, PartFate, call, sequence};

pub(super) fn run(step: &FeatureStep, cx: &Cx<'_>) {
    match step.feature {
        Feature::TrySpawn => try_spawn(step, cx),
        Feature::Joined => joined(step, cx),
        Feature::Aborted => aborted(step, cx),
        Feature::KeptJob => kept(step, cx),
        _ => {}
    }
}

/// The value of a job: none other may come out of its handle.
fn value(step: &FeatureStep) -> u64 {
    0x5EED_0000 + u64::from(step.id)
}

/// A job of that part, which borrows nothing.
fn job(step: &FeatureStep, cx: &Cx<'_>) -> impl FnOnce() -> u64 + Send + use<> {
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
fn spawned(
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
fn outcome(step: &FeatureStep, cx: &Cx<'_>, may_end: bool, result: Result<u64, JoinError>) -> bool {
    match result {
        Ok(found) if found == value(step) => true,
        Ok(found) => {
            cx.world
                .complain(step, format!("the handle gave {found:x}"));
            true
        }
        Err(error) if error.is_panic() => {
            if let Ok(payload) = error.try_into_panic() {
                std::panic::resume_unwind(payload);
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
        _ => roving::task::spawn(handle).await,
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
            let waker = Waker::from(Arc::new(Deaf));
            // One that is ready must not be polled again.
            if poll_once(&mut handle, &mut Context::from_waker(&waker)) {
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

fn poll_once(handle: &mut JoinHandle<u64>, context: &mut Context<'_>) -> bool {
    std::pin::Pin::new(handle).poll(context).is_ready()
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
