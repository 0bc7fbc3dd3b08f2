//! Tables and traces of what the workers of any program did, without changing the program.
//!
//! | set in the environment | shown at the end of the program, unless the row says otherwise |
//! |---|---|
//! | `ROVING_PROFILE=1` | to standard error: for each pool, where the time of its workers went, its counters, and what the time was lost to in which the pool had work |
//! | `ROVING_TOP=1` or `=SOCKET` | (while it runs) what each worker does now, to `roving top PID` or `roving top SOCKET`; Unix only |
//! | `ROVING_TRACE=FILE` | to that file: the same over time, for [Perfetto](https://ui.perfetto.dev) and `chrome://tracing` |
//!
//! A variable that is empty or `0` asks for nothing.
//!
//! [`PoolBuilder::report`](crate::PoolBuilder::report) and
//! [`PoolBuilder::trace`](crate::PoolBuilder::trace) ask for the same for one pool. Both keep
//! times, so they cost what [`PoolBuilder::profile`](crate::PoolBuilder::profile) costs; a trace
//! adds a write of 64 bytes to each change of a worker's state, and keeps the last million events
//! of each worker (the file says how many came before them). Tasks that nobody steals are no
//! events: a trace shows what the scheduler did, and what the program itself names by [`span`].
//!
//! All of this is the feature `diagnostics`, which is on by default. In a program without it spans
//! go nowhere, and a variable that is set gets a line on standard error that says so.
//!
//! With the feature `tracing`, `trace::SpanLayer` puts the spans of the `tracing` crate there as
//! well.
//!
//! In a trace each pool is a process. Each worker has a lane with its states (*busy*, *steal*,
//! *idle*, *wait*, *switch*, *frame*), and below it one with the spans of the program. A theft is
//! an arrow from the victim to the thief, and a wake-up one from the worker that wakes to the one
//! that is woken.
//!
//! ```
//! # #[cfg(feature = "diagnostics")] {
//! use roving::trace;
//!
//! let file = std::env::temp_dir().join(format!("roving-doc-{}.json", std::process::id()));
//! let pool = roving::Pool::builder().workers(2).trace(&file).build().unwrap();
//! pool.install(|| {
//!     let _span = trace::span("sort both halves");
//!     let mut numbers = [3, 1, 2, 6, 5, 4];
//!     let (left, right) = numbers.split_at_mut(3);
//!     roving::join(|| left.sort(), || right.sort());
//! });
//! drop(pool);
//! assert!(std::fs::read_to_string(&file).unwrap().contains("sort both halves"));
//! # std::fs::remove_file(&file).unwrap();
//! # }
//! ```

#[cfg(feature = "tracing")]
mod layer;

#[cfg(feature = "tracing")]
pub use layer::SpanLayer;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::machine::per_process::{PerProcess, PerProcessGuard};
use crate::machine::prim::thread::{self, ThreadId};
use crate::machine::prim::{AtomicBool, Ordering, process_wide};
use crate::stats::lane::{Event, Lane};
use crate::workers::Worker;

process_wide! {
    /// Set once a pool keeps a trace: spans before that go nowhere.
    static ON: AtomicBool = AtomicBool::new(false);
    /// Spans of threads that are no workers, with the threads' names.
    static OUTSIDE: PerProcess<Outside> = PerProcess::new();
}

type Outside = HashMap<ThreadId, (String, Lane)>;

/// Most threads outside of pools whose spans are kept.
const OUTSIDE_MAX: usize = 256;

/// Gives up the spans of the thread whose last one ended first: it may be no more.
fn forget_one(threads: &mut Outside) {
    let ended = threads.iter().min_by_key(|(_, (_, lane))| lane.ended());
    if let Some(id) = ended.map(|(id, _)| *id) {
        threads.remove(&id);
    }
}

pub(super) fn outside() -> PerProcessGuard<'static, Outside> {
    OUTSIDE.lock()
}

/// From now on spans are kept.
pub(super) fn begin() {
    // Ordering: Relaxed; a span that begins at the same moment may be missed.
    ON.store(true, Ordering::Relaxed);
}

/// Returns whether spans are kept: whether a pool of this process has kept a trace.
#[inline]
pub(crate) fn is_on() -> bool {
    // Ordering: Relaxed; see `begin`.
    cfg!(feature = "diagnostics") && ON.load(Ordering::Relaxed)
}

/// Names the activity of the calling thread, for traces, until the returned [`Span`] is dropped.
///
/// When no pool keeps a trace, it costs a load and a branch. A span may be kept across an `.await`:
/// if it ends on another worker than it began on, it is drawn apart from the lanes.
/// Of threads outside of pools the trace has those 256 that have ended a span last; in a forked
/// child, those of the child.
///
/// ```
/// let span = roving::trace::span("load");
/// drop(span);
/// ```
pub fn span(name: impl Into<Cow<'static, str>>) -> Span {
    Span(is_on().then(|| Begun {
        name: name.into(),
        from: Instant::now(),
        lane: LaneOwner::here(),
    }))
}

/// A named stretch of time in a trace, which ends when this is dropped; made by [`span`].
///
/// ```
/// let _span: roving::trace::Span = roving::trace::span("parse");
/// ```
#[must_use = "a span ends when it is dropped"]
pub struct Span(Option<Begun>);

struct Begun {
    name: Cow<'static, str>,
    from: Instant,
    lane: LaneOwner,
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        let Some(begun) = self.0.take() else {
            return;
        };
        let here = LaneOwner::here();
        let moved = here != begun.lane;
        let event = |to| Event::Span {
            name: begun.name,
            from: begun.from,
            to,
            moved,
        };
        match here {
            LaneOwner::Worker(..) => Worker::with_current(|worker| {
                if let Some(worker) = worker {
                    worker.clock().note(event);
                }
            }),
            LaneOwner::Thread(id) => {
                let name = || {
                    let name = thread::current().name().map(str::to_owned);
                    (name.unwrap_or_else(|| format!("{id:?}")), Lane::default())
                };
                let threads = &mut *outside();
                if threads.len() >= OUTSIDE_MAX && !threads.contains_key(&id) {
                    forget_one(threads);
                }
                let lane = threads.entry(id);
                lane.or_insert_with(name).1.push(event(Instant::now()));
            }
        }
    }
}

impl fmt::Debug for Span {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0.as_ref().map(|begun| &begun.name);
        f.debug_tuple("Span").field(&name).finish()
    }
}

/// Whose lane it is: that of a worker, or of a thread that is none.
#[derive(PartialEq, Eq)]
enum LaneOwner {
    /// The pool, by its address, and the worker in it.
    Worker(usize, usize),
    Thread(ThreadId),
}

impl LaneOwner {
    #[inline]
    fn here() -> LaneOwner {
        Worker::with_current(|worker| match worker {
            Some(worker) => {
                LaneOwner::Worker(Arc::as_ptr(worker.registry()).addr(), worker.index())
            }
            None => LaneOwner::Thread(thread::current().id()),
        })
    }
}
