//! Spans of the `tracing` crate that are inherited.

use tracing_core::dispatcher::{self, Dispatch};
use tracing_core::span::Id;

/// A span, with the subscriber that it belongs to.
pub(crate) struct InSpan {
    subscriber: Dispatch,
    id: Id,
}

impl InSpan {
    /// The one that the calling thread is in, if it is in one.
    pub(super) fn current() -> Option<InSpan> {
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
        self.subscriber.try_close(self.id.clone());
    }
}

/// The calling thread goes from a context with the one span to a context with the other.
pub(super) fn pass(from: Option<&InSpan>, to: Option<&InSpan>) {
    let same = |(from, to): (&InSpan, &InSpan)| std::ptr::eq(from, to);
    if from.zip(to).is_some_and(same) {
        return;
    }
    if let Some(InSpan { subscriber, id }) = from {
        subscriber.exit(id);
    }
    if let Some(InSpan { subscriber, id }) = to {
        subscriber.enter(id);
    }
}
