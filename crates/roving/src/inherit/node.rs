//! Contexts, and which of them a thread is in.
//!
//! A context is a list of nodes, the newest first, each a value or a token. Who is in one holds a
//! pointer to its newest node: the thread, as long as it runs something of it, and the segments of
//! a stack. Whoever let it in keeps the node meanwhile.

use std::any::Any;
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::ptr;
use std::sync::Arc;

#[cfg(feature = "tracing")]
use super::span::{Entered, InSpan};
use super::token::Token;
use crate::machine::unwind::drop_quietly;

/// One thing that everything inside inherits, and what was inherited already.
pub(crate) struct Node {
    outer: Option<Arc<Node>>,
    kind: Inherited,
    /// There is a token here or further out.
    has_token: bool,
    /// There is a span here or further out.
    #[cfg(feature = "tracing")]
    has_span: bool,
}

/// One after the other: a job that spawns the next in a context of its own makes a chain of any
/// length.
impl Drop for Node {
    fn drop(&mut self) {
        let mut outer = self.outer.take();
        while let Some(mut node) = outer.and_then(Arc::into_inner) {
            outer = node.outer.take();
        }
    }
}

/// The one thing that a node adds to the context outside it.
pub(crate) enum Inherited {
    Value(Box<dyn Any + Send + Sync>),
    Token(Arc<Token>),
    #[cfg(feature = "tracing")]
    Span(InSpan),
}

/// The value of a node. Whoever drops the last handle of a context drops it: as often as not a
/// worker, which ends a task. There is no caller for a panic of that.
struct QuietValue<T>(ManuallyDrop<T>);

impl<T> Drop for QuietValue<T> {
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            // SAFETY: it is not used again.
            drop_quietly(unsafe { ManuallyDrop::take(&mut self.0) });
        }
    }
}

impl Inherited {
    pub(crate) fn value<T: Any + Send + Sync>(value: T) -> Inherited {
        Inherited::Value(Box::new(QuietValue(ManuallyDrop::new(value))))
    }
}

impl Node {
    pub(crate) fn new(outer: Option<Arc<Node>>, kind: Inherited) -> Arc<Node> {
        let further = outer.as_ref();
        Arc::new(Node {
            has_token: matches!(kind, Inherited::Token(_))
                || further.is_some_and(|node| node.has_token),
            #[cfg(feature = "tracing")]
            has_span: matches!(kind, Inherited::Span(_))
                || further.is_some_and(|node| node.has_span),
            outer,
            kind,
        })
    }

    /// This node and those further out.
    fn outwards(&self) -> impl Iterator<Item = &Node> {
        std::iter::successors(Some(self), |node| node.outer.as_deref())
    }

    pub(crate) fn value<T: Any>(&self) -> Option<&T> {
        self.outwards().find_map(|node| match &node.kind {
            Inherited::Value(value) => Some(&*value.downcast_ref::<QuietValue<T>>()?.0),
            _ => None,
        })
    }

    /// The tokens that were entered, the newest first; not those that stand above one of them in
    /// the tree.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = &Arc<Token>> {
        self.outwards()
            .take_while(|node| node.has_token)
            .filter_map(|node| match &node.kind {
                Inherited::Token(token) => Some(token),
                _ => None,
            })
    }

    pub(crate) fn has_token(&self) -> bool {
        self.has_token
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.tokens().any(Token::is_cancelled)
    }

    #[cfg(feature = "tracing")]
    fn span(&self) -> Option<&InSpan> {
        let nodes = self.outwards().take_while(|node| node.has_span);
        nodes.into_iter().find_map(|node| match &node.kind {
            Inherited::Span(span) => Some(span),
            _ => None,
        })
    }
}

/// A context by its address: null for none. Whoever has one says why its node is alive.
pub(crate) type Place = *const Node;

thread_local! {
    // Const and without a destructor, so that reading it is one instruction.
    static CURRENT: Cell<Place> = const { Cell::new(ptr::null()) };
}

/// The context that the calling thread is in.
#[inline]
pub(crate) fn place() -> Place {
    CURRENT.get()
}

/// Calls `f` with the newest node of the context that the calling thread is in.
#[inline]
pub(crate) fn with_current<R>(f: impl FnOnce(Option<&Node>) -> R) -> R {
    // SAFETY: who let this thread in keeps the node until the thread is out again.
    f(unsafe { CURRENT.get().as_ref() })
}

/// A handle of it.
#[inline]
pub(crate) fn current() -> Option<Arc<Node>> {
    let place = place();
    if place.is_null() {
        return None;
    }
    // SAFETY: nodes are made in an `Arc`, and the node that a thread is in is alive: one more
    // handle.
    unsafe {
        Arc::increment_strong_count(place);
        Some(Arc::from_raw(place))
    }
}

/// The address of a context that somebody keeps.
pub(crate) fn place_of(node: Option<&Arc<Node>>) -> Place {
    node.map_or(ptr::null(), Arc::as_ptr)
}

/// Whether what runs here is to end, as far as its context says so.
#[inline]
pub(crate) fn is_cancelled() -> bool {
    with_current(|node| node.is_some_and(Node::is_cancelled))
}

/// The calling thread is in that context for as long as this lives, also by unwinding.
pub(crate) struct Inside<'c> {
    outer: Place,
    #[cfg(feature = "tracing")]
    _span: Option<Entered<'c>>,
    context: PhantomData<&'c Node>,
}

impl<'c> Inside<'c> {
    /// # Safety
    /// `context` is null, or alive for as long as `'c`.
    pub(crate) unsafe fn enter(context: Place) -> Inside<'c> {
        // SAFETY: who let this thread into the outer one keeps that, and the caller the other.
        #[cfg(feature = "tracing")]
        let (from, to) = unsafe { (place().as_ref(), context.as_ref()) };
        Inside {
            #[cfg(feature = "tracing")]
            _span: Entered::pass(from.and_then(Node::span), to.and_then(Node::span)),
            outer: CURRENT.replace(context),
            context: PhantomData,
        }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        CURRENT.set(self.outer);
    }
}
