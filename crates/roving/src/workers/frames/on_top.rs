//! The calls by which a library hears that a worker does something else than to poll its task.

use std::ptr;

use crate::machine::prim::OnceLock;
use crate::machine::unwind::run_quietly;

/// Calls around what a worker does on top of the poll of a task, for a library that keeps something
/// in a thread-local value while its task is polled, and has to flush or to hide it meanwhile.
///
/// Each gets a function, which it calls once: what the worker does. They come on the thread of the
/// poll, and within each other. A panic of one ends there.
///
/// ```
/// use roving::raw::tasks::{AroundPolls, around_polls};
///
/// static CALLS: AroundPolls = AroundPolls { awaited: |f| f(), others: |f| f() };
/// assert!(around_polls(&CALLS));
/// assert_eq!(roving::task::block_on(async { roving::blocking(|| 7) }), 7);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AroundPolls {
    /// The worker waits, or runs what the poll waits for: in a `block_on` within the poll, in
    /// `blocking`, in a `join` one of whose closures another worker has. A wait by means of `std`
    /// is seen in `blocking` alone.
    pub awaited: fn(&mut dyn FnMut()),
    /// The worker runs the work of others: a job that was spawned elsewhere, say.
    pub others: fn(&mut dyn FnMut()),
}

static CALLS: OnceLock<&AroundPolls> = OnceLock::new();

/// Names the calls. Whether they are the first that were named, which count. Who comes when they
/// are there waits for nobody: in a forked child, who has named them may not be.
pub(crate) fn set(calls: &'static AroundPolls) -> bool {
    if CALLS.get().is_none() {
        let _ = CALLS.set(calls);
    }
    CALLS.get().is_some_and(|first| ptr::eq(*first, calls))
}

/// The kind of what a worker does on top of the poll of a task.
#[derive(Clone, Copy)]
pub(crate) enum OnTop {
    Awaited,
    Others,
}

impl OnTop {
    /// Calls `f`, which does not unwind, on top of the poll of a task.
    #[inline]
    pub(crate) fn call<R>(self, f: impl FnOnce() -> R) -> R {
        let Some(calls) = CALLS.get() else {
            return f();
        };
        let around = match self {
            OnTop::Awaited => calls.awaited,
            OnTop::Others => calls.others,
        };
        let (mut f, mut result) = (Some(f), None);
        let mut once = || {
            if let Some(f) = f.take() {
                result = Some(f());
            }
        };
        run_quietly(|| around(&mut once));
        // If that has not.
        once();
        result.expect("it was called once")
    }
}
