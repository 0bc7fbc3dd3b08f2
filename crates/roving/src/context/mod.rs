//! Values ([`with`]), spans and requests to stop ([`Cancel`]) that everything made inside inherits.
//!
//! # What inherits
//!
//! Whatever is made inside: both halves of a `join`, tasks of scopes, the pieces of a loop, detached tasks,
//! calls into other pools, broadcasts, roots of async tasks with all below them, the processes of a network. It makes
//! no difference who runs it, and nothing of it can be seen outside, also after a panic. An async child
//! belongs where it is *started*: [`crate::task::spawn`] does that where it is called, `fork`, `call` and
//! `branch` where they are first awaited, so that they belong to the task that awaits them.
//!
//! Threads that the runtime does not know, and futures that another runtime polls, inherit nothing: carry
//! [`current`] there by hand.
//!
//! # What is dropped
//!
//! Once a [`Cancel`] is cancelled, of what belongs to it and has not begun
//!
//! | is dropped, and counted as [`tasks_dropped`](crate::Counters::tasks_dropped) | runs, and may ask [`is_cancelled`] |
//! |---|---|
//! | tasks of scopes, broadcast ones included | both halves of a `join`, and the pieces of a loop: somebody needs what they return |
//! | detached tasks | calls into pools, `broadcast`, roots: somebody waits for them |
//! | children of async tasks by `fork`, `spawn`, `branch` | children by `call`: a part of who calls |
//!
//! A child that was dropped ends as [`Cancelled`]: to await its handle unwinds with that, without a message, up to
//! [`Cancel::run`], which returns it as an error. [`Forked::or_cancelled`](crate::task::Forked::or_cancelled) gives it as a value. Where nobody
//! awaits it, nobody hears of it.
//!
//! What has begun is never interrupted. It asks [`is_cancelled`], or awaits [`cancelled`] beside what it
//! waits for, or is run by [`until_cancelled`].
//!
//! # What it costs
//!
//! Nothing where no context was entered: a thief then reads one word more. To enter one costs an allocation or two
//! and a frame. Inside of one a `join` and a `call` cost what they cost outside; a thief looks through the contexts that its
//! victim has entered, newest first; and where there is a [`Cancel`], a `fork`, or a task of a scope, is looked at before
//! it begins, some seventy instructions.

#[cfg(not(loom))]
mod cancel;
#[cfg(not(loom))]
mod dropped;
#[cfg(not(loom))]
mod inherit;
#[cfg(not(loom))]
pub(crate) mod node;
pub(crate) mod segments;
#[cfg(all(feature = "tracing", not(loom)))]
mod span;
#[cfg(not(loom))]
pub(crate) mod timer;
#[cfg(not(loom))]
pub(crate) mod token;
#[cfg(not(loom))]
pub(crate) mod waiting;

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(feature = "tracing", not(loom)))]
pub use inherit::in_current_span;
#[cfg(not(loom))]
pub use {
    cancel::{Cancel, Cancelled, is_cancelled},
    inherit::{Context, current, get, with},
    waiting::{Until, UntilCancelled, cancelled, until_cancelled},
};

#[cfg(not(loom))]
pub(crate) use dropped::{count_dropped, is_dropped};
