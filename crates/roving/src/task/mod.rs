//! Async tasks whose continuations can be stolen: `fork`, `spawn`, `call`.
//!
//! The compiler checks that the body of an async task is `Send`, so the rest of it at an
//! `.await`, its *continuation*, may move to another worker. [`fork`] runs the child at once, and
//! thieves take the parent's continuation (work-first). [`spawn`] goes on with the parent, and
//! thieves take the child (help-first). [`call`] runs a child without offering a task to thieves.
//! All three can be mixed in one task, in any order.
//!
//! ```
//! use roving::task::{Task, call, fork};
//!
//! fn fib(n: u32) -> impl Task<u64> {
//!     async move {
//!         if n < 2 {
//!             return n.into();
//!         }
//!         let a = fork(fib(n - 1)).await;
//!         let b = call(fib(n - 2)).await;
//!         a.await + b
//!     }
//! }
//! assert_eq!(roving::task::block_on(fib(20)), 6765);
//! ```
//!
//! A recursive task is a plain `fn` that returns `impl Task<T>` around an `async` block, because
//! the compiler cannot prove an `async fn` to be `Send` inside its own body.
//!
//! # Roots
//!
//! Tasks run below a *root*: [`block_on`], [`scope`] or [`crate::Pool::run`]. It blocks until its
//! own future and every task below it have ended, so with the token of a [`Scope`] tasks may
//! borrow data that outlives that call, even if their handles are forgotten. They may not borrow
//! from the task that forks them: its frame may end first.
//!
//! # Frames and wakers
//!
//! A forked future is moved into a *frame* from a free list of the worker. Nothing is allocated in
//! steady state, and a child that ends before its parent is stolen costs no atomic
//! read-modify-write. Tasks are ordinary futures with ordinary wakers, so they can await any other
//! future; a counted waker is made only when a future clones it.

#[cfg(doctest)]
mod compile_fail;
#[cfg(test)]
mod tests;

mod fork;
mod handle;
pub(crate) mod kept;
pub(crate) mod placed;
mod scope;

pub use {
    fork::{Call, Fork, branch, call, fork, spawn},
    handle::{Forked, OrCancelled},
    scope::{Scope, block_on, scope},
};

/// A future that can be a task: another name for `Future<Output = T> + Send`, short enough to be
/// the type that a recursive task returns.
///
/// ```
/// use roving::task::Task;
///
/// fn answer() -> impl Task<u32> {
///     async { 42 }
/// }
/// assert_eq!(roving::task::block_on(answer()), 42);
/// ```
pub trait Task<T>: Future<Output = T> + Send {}

impl<T, F: Future<Output = T> + Send> Task<T> for F {}
