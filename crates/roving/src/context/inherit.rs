//! Values that everything inside finds, and contexts that are carried by hand.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::inherit::node::{self, Inherited, Node};
#[cfg(feature = "tracing")]
use crate::inherit::span;
use crate::workers::enter::run_in;

/// Calls `f` with `value` in its context: everything made inside finds it by its type; see [`get`].
///
/// ```
/// use roving::context;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct RequestId(u64);
///
/// let both = context::with(RequestId(7), || {
///     roving::join(|| context::get::<RequestId>(), || context::get::<RequestId>())
/// });
/// assert_eq!(both, (Some(RequestId(7)), Some(RequestId(7))));
/// assert_eq!(context::get::<RequestId>(), None);
/// ```
///
/// # Panics
/// With what `f` panics with. A panic in the drop of the value ends nothing, and the panic hook
/// alone hears of it: the last task that was made inside may be the one that drops the value.
pub fn with<T, R>(value: T, f: impl FnOnce() -> R) -> R
where
    T: Any + Send + Sync,
{
    let node = Node::new(node::current(), Inherited::value(value));
    run_in(Some(&node), f)
}

/// Returns the innermost value of type `T`. To share a large value, store an `Arc`.
///
/// ```
/// use roving::context;
///
/// let seen = context::with("outer", || context::with(1_u8, || context::get::<&str>()));
/// assert_eq!(seen, Some("outer"));
/// ```
pub fn get<T>() -> Option<T>
where
    T: Any + Clone,
{
    node::with_current(|node| node?.value().cloned())
}

/// Returns the context that the calling thread is in; see [`Context`].
///
/// ```
/// let outside = roving::context::current();
/// assert_eq!(outside.get::<u8>(), None);
/// ```
#[inline]
pub fn current() -> Context {
    Context(node::current())
}

/// Runs `f` in the current span of the `tracing` crate: every thread enters that span while it runs
/// work made inside. Without a current span it just calls `f`. Needs the feature `tracing`.
///
/// ```
/// tracing::subscriber::with_default(tracing_subscriber::registry(), || {
///     let _entered = tracing::info_span!("request").entered();
///     let both = roving::context::in_current_span(|| {
///         let name = || tracing::Span::current().metadata().map(|data| data.name());
///         roving::join(name, name)
///     });
///     assert_eq!(both, (Some("request"), Some("request")));
/// });
/// ```
#[cfg(feature = "tracing")]
pub fn in_current_span<R>(f: impl FnOnce() -> R) -> R {
    match span::InSpan::current() {
        None => f(),
        Some(span) => {
            let node = Node::new(node::current(), Inherited::Span(span));
            run_in(Some(&node), f)
        }
    }
}

/// A context to carry by hand to code that does not inherit it, such as your own thread or a
/// callback.
///
/// ```
/// use roving::context;
///
/// let context = context::with(7_u8, context::current);
/// let thread = std::thread::spawn(move || context.run(|| context::get::<u8>()));
/// assert_eq!(thread.join().unwrap(), Some(7));
/// ```
#[derive(Clone, Default)]
pub struct Context(Option<Arc<Node>>);

impl Context {
    /// Calls `f` in this context instead of the one that the calling thread is in. Unjoined work of
    /// `f` (tasks that it spawns into an outer scope) ends before this returns.
    ///
    /// # Panics
    /// With what `f` panics with.
    ///
    /// ```
    /// use roving::context;
    ///
    /// let here = context::with("a request", context::current);
    /// let name = std::thread::spawn(move || here.run(|| context::get::<&str>()));
    /// assert_eq!(name.join().unwrap(), Some("a request"));
    /// ```
    pub fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        run_in(self.0.as_ref(), f)
    }

    /// Returns the innermost value of type `T`; see [`get`].
    ///
    /// ```
    /// let context = roving::context::with(7_u8, roving::context::current);
    /// assert_eq!(context.get::<u8>(), Some(7));
    /// ```
    pub fn get<T>(&self) -> Option<T>
    where
        T: Any + Clone,
    {
        self.0.as_ref()?.value().cloned()
    }

    /// Returns whether a [`Cancel`](super::Cancel) that is part of this context was cancelled.
    ///
    /// ```
    /// assert!(!roving::context::current().is_cancelled());
    /// ```
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.as_ref().is_some_and(|node| node.is_cancelled())
    }
}

impl fmt::Debug for Context {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("empty", &self.0.is_none())
            .field("cancelled", &self.is_cancelled())
            .finish()
    }
}
