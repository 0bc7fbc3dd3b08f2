//! Values ([`with`]), spans and requests to stop ([`Cancel`]) that everything made inside inherits.
//!
//! ```
//! use roving::context;
//!
//! #[derive(Clone, Debug, PartialEq)]
//! struct Request(u32);
//!
//! // Whichever worker runs the halves, they know whose work they do.
//! let ids = context::with(Request(7), || {
//!     roving::join(context::get::<Request>, context::get::<Request>)
//! });
//! assert_eq!(ids, (Some(Request(7)), Some(Request(7))));
//! assert_eq!(context::get::<Request>(), None);
//! ```
//!
//! # What inherits
//!
//! Both halves of a `join` inherit the context, and so do tasks of scopes, pieces of loops,
//! detached tasks, calls into other pools, broadcasts, roots with all async tasks below them, and
//! the processes of a network, on whichever worker they run. No other work sees it, also after a
//! panic. An async child inherits from the place where it is *started*: [`crate::task::spawn`]
//! starts it where it is called, `fork`, `call` and `branch` where they are first awaited, so that
//! it inherits from the task that awaits them.
//!
//! Threads that the runtime does not know, and futures that another runtime polls, inherit nothing:
//! carry [`current`] there by hand.
//!
//! # Dropped tasks
//!
//! When a [`Cancel`] is cancelled, work that belongs to it and has not begun
//!
//! | is dropped, and counted as [`tasks_dropped`](crate::Counters::tasks_dropped) | runs, and may ask [`is_cancelled`] |
//! |---|---|
//! | tasks of scopes, broadcast ones included | both halves of a `join`: the caller needs their results |
//! | detached tasks | calls into pools, `broadcast`, roots: their callers wait |
//! | children of async tasks by `fork`, `spawn`, `branch` | children by `call`: a part of their caller |
//!
//! A loop ([`par_for`](crate::par_for), [`map_reduce`](crate::map_reduce),
//! [`reduce`](crate::reduce) and their kin) looks where it is split and every few microseconds. If
//! it was cancelled, it leaves the rest of its range out, and unwinds with [`CancelledError`],
//! without a message, up to [`Cancel::run`]: no caller takes a part of a sum for the sum. To clean
//! up with a loop after that, run it in a [`Context`] from outside of the token. A loop that is
//! called while its thread unwinds, or in a program that aborts on panic, runs to its end.
//!
//! A dropped child ends as [`CancelledError`]: awaiting its handle unwinds with that, without a
//! message, up to [`Cancel::run`], which returns it as an error.
//! [`Forked::or_cancelled`](crate::task::Forked::or_cancelled) gives it as a value. A handle that
//! is never awaited reports nothing.
//!
//! Other running code is never interrupted. It can ask [`is_cancelled`], await [`cancelled`]
//! together with the event that it waits for, or run inside [`until_cancelled`].
//!
//! # Cost
//!
//! Nothing where no context was entered: a thief then reads one word more. Entering a context costs
//! an allocation or two and a frame. Inside, a `join` and a `call` cost the same as outside; a
//! thief searches the contexts that its victim has entered, newest first; and below a [`Cancel`] a
//! `fork`, or a task of a scope, is checked before it begins, some seventy instructions.

mod cancel;
mod inherit;
#[cfg(test)]
mod tests;
pub(crate) mod waiting;

pub use crate::inherit::cancelled::CancelledError;
#[cfg(feature = "tracing")]
pub use inherit::in_current_span;
pub use {
    cancel::{Cancel, is_cancelled},
    inherit::{Context, current, get, with},
    waiting::{Until, UntilCancelled, cancelled, until_cancelled},
};
