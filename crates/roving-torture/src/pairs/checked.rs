//! Runs of networks, and the checks of what came of them.

use std::panic;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use roving::Pool;
use roving_flow::{Error, Network, Report};

use super::program::FeatureStep;
use super::world::Cx;

/// Messages of a source.
pub(super) const MESSAGES: u64 = 5;
/// Their sum.
pub(super) const SUM: u64 = 10;

pub(super) fn pool<'c>(step: &FeatureStep, cx: &'c Cx<'_>) -> &'c Pool {
    &cx.world.pools[step.id as usize % 2]
}

/// Runs it; a panic of a process goes on here. `cancels`: it may have been cancelled by then.
pub(super) fn run_here(
    step: &FeatureStep,
    cx: &Cx<'_>,
    network: Network<'_>,
    cancels: bool,
) -> bool {
    is_whole(step, cx, network.run(pool(step, cx)), cancels)
}

/// Runs it in the pool that one is in.
pub(super) fn run_in_this_pool(step: &FeatureStep, cx: &Cx<'_>, network: Network<'_>) -> bool {
    is_whole(step, cx, network.run(&Pool::current()), false)
}

/// Whether all of it ran.
fn is_whole(step: &FeatureStep, cx: &Cx<'_>, result: Result<Report, Error>, cancels: bool) -> bool {
    match result {
        Ok(_) => true,
        Err(Error::Panicked { payload, .. }) => panic::resume_unwind(payload.into_panic()),
        Err(Error::Cancelled) if cx.cancels || cancels => false,
        Err(error) => {
            cx.world.complain(step, format!("the network: {error}"));
            false
        }
    }
}

pub(super) fn check_sum(step: &FeatureStep, cx: &Cx<'_>, sum: &AtomicU64, expected: u64) {
    let sum = sum.load(Relaxed);
    if sum != expected {
        cx.world
            .complain(step, format!("the sum is {sum} and not {expected}"));
    }
}
