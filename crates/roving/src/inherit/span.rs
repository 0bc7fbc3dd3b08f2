//! Spans of the `tracing` crate that are inherited.

use std::mem;

use tracing_core::dispatcher::{self, DefaultGuard, Dispatch};
use tracing_core::span::Id;

use crate::machine::unwind::{drop_quietly, run_quietly};

/// A span, with the subscriber that it belongs to.
pub(crate) struct InSpan {
    subscriber: Dispatch,
    id: Id,
}

impl InSpan {
    /// The one that the calling thread is in, if it is in one.
    pub(crate) fn current() -> Option<InSpan> {
        dispatcher::get_default(|subscriber| {
            let id = subscriber.clone_span(subscriber.current_span().id()?);
            Some(InSpan {
                subscriber: subscriber.clone(),
                id,
            })
        })
    }
}

impl Drop for InSpan {
    fn drop(&mut self) {
        let subscriber = mem::replace(&mut self.subscriber, Dispatch::none());
        let id = self.id.clone();
        run_quietly(|| {
            subscriber.try_close(id);
        });
        // Apart: this may be the last to have it.
        drop_quietly(subscriber);
    }
}

/// The calling thread is in a span, with its subscriber, for as long as this lives.
///
/// Spans that the thread is in already stay entered below it: those of a thread are a stack, and
/// what runs on top of a waiting frame descends from that, a broadcast apart. A subscriber that
/// panics is no reason for what runs in the span to end: it is caught.
pub(super) struct Entered<'s> {
    span: &'s InSpan,
    _subscriber: DefaultGuard,
}

impl Entered<'_> {
    /// Going from a context with the one span to a context with the other.
    pub(super) fn pass<'s>(from: Option<&InSpan>, to: Option<&'s InSpan>) -> Option<Entered<'s>> {
        let span = to?;
        if from.is_some_and(|from| std::ptr::eq(from, span)) {
            return None;
        }
        let _subscriber = dispatcher::set_default(&span.subscriber);
        run_quietly(|| span.subscriber.enter(&span.id));
        Some(Entered { span, _subscriber })
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        run_quietly(|| self.span.subscriber.exit(&self.span.id));
    }
}
