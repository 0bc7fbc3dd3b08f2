//! All that is written about the pools of a program: tables, traces, answers to a live view, and
//! reports of standstills. Without the feature of this name `absent.rs` is here.

mod decimals;
mod env_vars;
mod exit;
mod json;
mod live;
mod pools;
mod record;
mod server;
mod stall_report;
mod system;
mod table;
mod text;
mod trace_file;
mod watcher;

use std::sync::Arc;
use std::time::Duration;

use crate::workers::registry::Registry;
use crate::workers::settings::Debt;

pub(crate) use exit::settle;
pub(crate) use watcher::leave;

/// The debt of a pool: what the program wants of it, and what the environment asks for.
pub(crate) fn owed(debt: Debt) -> Debt {
    let wishes = env_vars::wishes();
    Debt {
        report: debt.report || wishes.report,
        trace: debt.trace,
        shared: wishes.trace.is_some(),
        live: wishes.top.is_some(),
        watch: debt.watch.or(wishes.watch),
    }
}

/// How long nothing moves before it is reported, if the environment asks for that.
pub(crate) fn patience() -> Option<Duration> {
    env_vars::wishes().watch
}

/// The pool has been made: whoever looks at pools hears of it.
pub(crate) fn enter(registry: &Arc<Registry>) {
    exit::enter(registry);
    watcher::enter(registry);
}

/// Ends the threads that serve pools, and that come back when they are needed: before the code is
/// unloaded.
#[inline]
pub(crate) fn rest() {
    watcher::join_retired();
    exit::rest();
}
