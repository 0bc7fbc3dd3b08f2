//! Steps with contexts and with requests to stop.

use std::time::{Duration, Instant};

use roving::{Cancel, CancelledError, context};

use super::feature::Feature;
use super::kept::LeftBehind;
use super::program::FeatureStep;
use super::world::{Cx, PartFate, call, part};

/// A value that parts inherit.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Tag(u32);

pub(super) fn run(step: &FeatureStep, cx: &Cx<'_>) {
    match step.feature {
        Feature::With => with(step, cx),
        Feature::KeptContext => kept(step, cx),
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
    let ticket = std::sync::Arc::new(cx.world.ticket());
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
