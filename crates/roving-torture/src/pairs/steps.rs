//! Steps that are networks of ready-made processes: stages that may fail, filters, copies for all.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use roving_flow::{Error, Network};

use super::checked::{MESSAGES, SUM, check_sum, run_here};
use super::feature::Feature;
use super::program::FeatureStep;
use super::world::{Cx, call, part};

pub(super) fn run(step: &FeatureStep, cx: &Cx<'_>) {
    match step.feature {
        Feature::TryStage => try_stage(step, cx),
        Feature::Filter => filter(step, cx),
        Feature::ToAll => to_all(step, cx),
        _ => {}
    }
}

/// A stage whose function returns an error at some message, or at none.
fn try_stage(step: &FeatureStep, cx: &Cx<'_>) {
    let sum = AtomicU64::new(0);
    let mut network = Network::new();
    let (out, numbers) = network.bounded("numbers", 2);
    let (more, results) = network.bounded("results", 1);
    network.source("source", out, 0..MESSAGES);
    let fails_at = [MESSAGES, 2, 0][usize::from(step.mode) % 3];
    let each = |number: u64| {
        part(step, 0, cx);
        match number == fails_at {
            true => Err(std::fmt::Error),
            false => Ok(number),
        }
    };
    network.try_stage("stage", 2, numbers, more, each);
    network.sink("sink", results, |number: u64| {
        sum.fetch_add(number, Relaxed);
    });
    call(step, cx, &[], || {
        if step.mode == 0 {
            if run_here(step, cx, network, false) {
                check_sum(step, cx, &sum, SUM);
            }
            return;
        }
        match network.run(&cx.world.pools[0]) {
            Err(Error::Failed { process, .. }) if process.starts_with("stage/") => {}
            Err(Error::Cancelled) if cx.cancels => {}
            Err(Error::Panicked { payload, .. }) => std::panic::resume_unwind(payload.into_panic()),
            other => {
                let text = format!("a stage that fails came to {other:?}");
                cx.world.complain(step, text);
            }
        }
    });
    // A message before the one that failed may not have come.
    if sum.load(Relaxed) > SUM {
        cx.world.complain(step, "a message came twice");
    }
}

/// Some messages are left out, or become several.
fn filter(step: &FeatureStep, cx: &Cx<'_>) {
    let sum = AtomicU64::new(0);
    let mut network = Network::new();
    let (out, numbers) = network.bounded("numbers", 1);
    let (more, results) = network.bounded("results", 1);
    network.source("source", out, 0..MESSAGES);
    match step.mode {
        0 => network.filter("filter", numbers, more, |number| {
            part(step, 0, cx);
            number % 2 == 0
        }),
        _ => network.flat_map("twice", numbers, more, |number: u64| {
            part(step, 0, cx);
            [number, number]
        }),
    }
    network.sink("sink", results, |number: u64| {
        sum.fetch_add(number, Relaxed);
    });
    call(step, cx, &[], || {
        if run_here(step, cx, network, false) {
            let expected = [6, 2 * SUM][usize::from(step.mode) % 2];
            check_sum(step, cx, &sum, expected);
        }
    });
}

/// Each message goes to all of some processes, of which one may not want more.
fn to_all(step: &FeatureStep, cx: &Cx<'_>) {
    let sums = [const { AtomicU64::new(0) }; 3];
    let mut network = Network::new();
    let (out, numbers) = network.bounded("numbers", 1);
    network.source("source", out, 0..MESSAGES);
    let [one, other, last] = [1, 2, 64].map(|room| network.bounded("copies", room));
    network.broadcast("to all", numbers, [one.0, other.0, last.0]);
    let sums_there = &sums;
    network.sink("one", one.1, |number: u64| {
        part(step, 0, cx);
        sums_there[0].fetch_add(number, Relaxed);
    });
    network.sink("other", other.1, |number: u64| {
        sums_there[1].fetch_add(number, Relaxed);
    });
    match step.mode {
        0 => network.sink("last", last.1, |number: u64| {
            sums_there[2].fetch_add(number, Relaxed);
        }),
        1 => drop(last.1),
        _ => network.process("last", last.1, |mut last| async move {
            if let Some(number) = last.recv().await {
                sums_there[2].fetch_add(number, Relaxed);
            }
        }),
    }
    call(step, cx, &[], || {
        if run_here(step, cx, network, false) {
            check_sum(step, cx, &sums[0], SUM);
            check_sum(step, cx, &sums[1], SUM);
            if step.mode == 0 {
                check_sum(step, cx, &sums[2], SUM);
            }
        }
    });
}
