//! The settings of a pool, as its workers read them.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::inherit::cancelled::CancelledError;
use crate::machine::prim::thread;
use crate::machine::unwind::{drop_quietly, run_quietly};
use crate::stack::slot_state::WORKERS_MAX;
use crate::stats::Keep;
use crate::workers::frames::order::SpawnOrder;
use crate::workers::job_limit::Places;
use crate::workers::pins::Pins;
use crate::workers::sleep::lending::IndexUse;
use crate::workers::sleep::spares::StandIn;
use crate::workers::steal::amount::Amount;

/// Most compensation threads of a pool.
pub const SPARES_MAX: usize = if cfg!(miri) { 16 } else { 256 };
/// Most workers of a pool.
pub const WORKERS_LIMIT: usize = WORKERS_MAX - SPARES_MAX;

/// Called with the index of a worker.
pub(crate) type IndexHandler = Box<dyn Fn(usize) + Send + Sync>;
/// Called with what a detached task panicked with.
pub(crate) type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// The settings of a pool; made by the builder, then never changed.
pub(crate) struct Settings {
    pub(crate) workers: usize,
    /// How many of them work at first.
    pub(crate) size: usize,
    pub(crate) follow_quota: bool,
    /// So many have to start.
    pub(crate) workers_least: usize,
    pub(crate) spares: usize,
    pub(crate) stand_in: StandIn,
    pub(crate) slots: usize,
    /// How many cores the workers have to themselves; none where that is no matter of time.
    pub(crate) cores: Option<usize>,
    pub(crate) amount: Amount,
    pub(crate) spawn_order: SpawnOrder,
    pub(crate) migrate: bool,
    pub(crate) profile: bool,
    pub(crate) debt: Debt,
    pub(crate) name: String,
    pub(crate) stack_size: Option<usize>,
    pub(crate) pins: Pins,
    pub(crate) on_start: Option<IndexHandler>,
    pub(crate) on_exit: Option<IndexHandler>,
    pub(crate) panic_handler: Option<PanicHandler>,
    /// For the tasks that are tried to be spawned, where there is a limit.
    pub(crate) places: Option<Arc<Places>>,
}

impl Settings {
    /// For the thread of that worker, or spare one.
    pub(crate) fn thread(&self, index: usize) -> thread::Builder {
        let thread = thread::Builder::new().name(format!("{}-{index}", self.name));
        match self.stack_size {
            Some(size) => thread.stack_size(size),
            None => thread,
        }
    }

    pub(crate) fn keep(&self) -> Keep {
        match (self.debt.has_trace(), self.profile || self.debt.is_any()) {
            (true, _) => Keep::Trace,
            (false, true) => Keep::Times,
            (false, false) => Keep::Nothing,
        }
    }

    /// How the thread of that worker, or spare one, uses its index.
    pub(crate) fn index_use(&self, index: usize) -> IndexUse {
        self.stand_in.index_use(index, self.workers)
    }

    /// Whether the worker has the injector, the mailboxes and the detached tasks for itself: half
    /// of the compensation threads, or all of them. A job may be what all the others wait for, each
    /// with a task below it that only led to more jobs.
    pub(crate) fn is_reserve(&self, index: usize) -> bool {
        index >= self.stand_in.first_for_jobs(self.workers, self.spares)
    }

    /// Hands the panic of work that no caller waits for to the panic handler. If the handler, or
    /// the payload's drop, panics too, that panic is swallowed; the hook has printed its message.
    /// The unwinding of cancelled work is no panic and calls no handler.
    pub(crate) fn handle_panic(&self, payload: Box<dyn Any + Send>) {
        if payload.is::<CancelledError>() {
            return;
        }
        match &self.panic_handler {
            Some(handler) => run_quietly(|| handler(payload)),
            None => drop_quietly(payload),
        }
    }

    /// The processor that worker `index` is pinned to. Compensation threads are not pinned.
    pub(crate) fn processor(&self, index: usize) -> Option<usize> {
        let is_a_worker = index < self.workers;
        is_a_worker.then(|| self.pins.processor(index)).flatten()
    }
}

/// The reports that a pool owes when it ends, and while it runs.
#[derive(Clone, Default)]
pub(crate) struct Debt {
    /// A table.
    pub(crate) report: bool,
    /// A trace of its own.
    pub(crate) trace: Option<PathBuf>,
    /// A part of the program's trace.
    pub(crate) shared: bool,
    /// An answer to whoever watches it live.
    pub(crate) live: bool,
    /// How long nothing moves before it is reported.
    pub(crate) watch: Option<Duration>,
}

impl Debt {
    pub(crate) fn is_any(&self) -> bool {
        self.report || self.live || self.has_trace()
    }

    pub(crate) fn has_trace(&self) -> bool {
        self.shared || self.trace.is_some()
    }
}
