//! The pool's answers to what its registry asks.

use crate::observe::diagnostics;
use crate::workers::Worker;
use crate::workers::registry::Hooks;
use crate::workers::thread_loop::run_thread;

/// The registry is a table: who works at its seats, and who writes what it owes, is said here.
pub(super) const HOOKS: Hooks = Hooks {
    run: run_thread,
    here: Worker::index_in,
    is_worker: || Worker::with_current(|worker| worker.is_some()),
    settle: diagnostics::settle,
    leave: diagnostics::leave,
};
