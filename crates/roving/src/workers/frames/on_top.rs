//! The calls by which a library hears that a worker does something else than to poll its task.

use crate::machine::prim::OnceLock;

/// The calls of such a library: see [`around_polls`](crate::raw::tasks::around_polls). Each calls
/// its argument once, and does not panic.
///
/// ```
/// use roving::raw::tasks::{AroundPolls, around_polls};
///
/// around_polls(AroundPolls { awaited: |f| f(), others: |f| f() });
/// assert_eq!(roving::task::block_on(async { roving::blocking(|| 7) }), 7);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AroundPolls {
    /// Calls its argument, in which the thread waits within the poll of a task, or runs what is
    /// waited for there: a root of its own, children of it, what a thief has left of a stolen task.
    pub awaited: fn(&mut dyn FnMut()),
    /// Calls its argument, which is work of others, on top of the poll of a task.
    pub others: fn(&mut dyn FnMut()),
}

static CALLS: OnceLock<AroundPolls> = OnceLock::new();

/// Names the calls. The first counts.
pub(crate) fn set(calls: AroundPolls) {
    if CALLS.get().is_none() {
        let _a_second_one = CALLS.set(calls);
    }
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
        around(&mut || result = f.take().map(|f| f()));
        result.expect("it was called once")
    }
}
