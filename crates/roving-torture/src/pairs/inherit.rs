//! Steps with contexts and with requests to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use roving::{Cancel, CancelledError, context, task};

use super::closures::fresh;
use super::feature::Feature;
use super::jobs;
use super::kept::LeftBehind;
use super::pools::job;
use super::program::FeatureStep;
use super::strays::with_bomb;
use super::tasks::pause;
use super::world::{Canary, Cx, PartFate, call, part, sequence};

/// A value that parts inherit.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Tag(u32);

pub(super) fn run(step: &FeatureStep, cx: &Cx<'_>) {
    match step.feature {
        Feature::With => with(step, cx),
        Feature::KeptContext => kept(step, cx),
        Feature::DropsContext => drops(step, cx),
        Feature::Cancel => cancel(step, cx),
        Feature::Deadline => deadline(step, cx),
        _ => {}
    }
}

/// The part, with that tag before and after it.
fn tagged(step: &FeatureStep, cx: &Cx<'_>) {
    let check = || {
        if context::get::<Tag>() != Some(Tag(step.id)) {
            cx.world
                .complain(step, "another context than that which was entered");
        }
    };
    check();
    part(step, 0, cx);
    check();
}

fn with(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = PartFate::default();
    call(step, cx, &[&seen], || {
        context::with(Tag(step.id), || seen.watch(|| tagged(step, cx)));
    });
}

fn kept(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = PartFate::default();
    let ticket = Arc::new(cx.world.ticket());
    let context = context::with(Tag(step.id), || context::with(ticket, context::current));
    call(step, cx, &[&seen], || {
        context.run(|| seen.watch(|| tagged(step, cx)));
    });
    if step.mode == 0 {
        cx.world.keep(LeftBehind::Context(context));
    }
}

fn cancel(step: &FeatureStep, cx: &Cx<'_>) {
    let cancel = Cancel::new();
    match step.mode {
        1 => cancel.cancel(),
        2 => {
            let there = cancel.clone();
            cx.world.elsewhere(move || there.cancel());
        }
        3 => cx.world.keep(LeftBehind::Cancel(cancel.clone())),
        _ => {}
    }
    let inside = cx.cancelling();
    let result = call(step, cx, &[], || {
        let body = || {
            part(step, 0, &inside);
            if step.mode == 4 {
                cancel.cancel();
            }
        };
        match step.mode {
            3 => cancel.run_partial(body),
            _ => cancel.run(body),
        }
    });
    if step.mode == 4 && result.is_ok() {
        cx.world.complain(
            step,
            "it was cancelled before its end, and is said to be done",
        );
    }
    if step.mode == 1 && result != Err(CancelledError) {
        cx.world.complain(step, "it was cancelled before, and ran");
    }
}

fn deadline(step: &FeatureStep, cx: &Cx<'_>) {
    let soon = Duration::from_micros(20 * u64::from(step.mode));
    let cancel = match step.mode {
        2 => Cancel::after(Duration::from_secs(1000)).child_at(Instant::now() + soon),
        _ => Cancel::after(soon),
    };
    let inside = cx.cancelling();
    let result = call(step, cx, &[], || cancel.run(|| part(step, 0, &inside)));
    if step.mode == 0 && result != Err(CancelledError) {
        cx.world
            .complain(step, "its time was up before, and it ran");
    }
}

/// The part is made in a context whose value panics when the last who has it drops it.
fn drops(step: &FeatureStep, cx: &Cx<'_>) {
    let (canary, has_run) = (Canary::new(), AtomicBool::new(false));
    let run = || {
        if !has_run.swap(true, Relaxed) {
            sequence(&step.parts[0], &cx.free());
        }
        canary.check(step, &cx.world);
    };
    let paused = || {
        let (world, job) = (Arc::clone(&cx.world), job(step, 0, cx));
        async move {
            pause(3, &world).await;
            job();
        }
    };
    let [first, second] = &cx.world.pools;
    call(step, cx, &[], || match step.mode {
        0 => drop(with_bomb(cx, || first.spawn(job(step, 0, cx)))),
        1 => {
            let handle = with_bomb(cx, || jobs::spawned(step, cx, jobs::job(step, cx)));
            jobs::outcome(step, cx, false, handle.join());
        }
        2 => roving::scope(|s| with_bomb(cx, || s.spawn(|_| run()))),
        // Mostly from a thread that is none of its workers.
        3 => second.in_place_scope(|s| with_bomb(cx, || s.spawn(|_| run()))),
        4 => {
            if let Some(pool) = fresh(step, cx) {
                pool.in_place_scope(|s| with_bomb(cx, || s.spawn_broadcast(|_, _| run())));
            }
        }
        5 => task::block_on(async {
            let child = paused();
            with_bomb(cx, || drop(task::spawn(child)));
        }),
        6 => first.run(|s| async move {
            let child = paused();
            with_bomb(cx, || drop(s.spawn(child)));
        }),
        _ => {
            let kept = with_bomb(cx, context::current);
            kept.run(|| roving::join(run, || ()));
            cx.world.keep(LeftBehind::Context(kept));
        }
    });
}
