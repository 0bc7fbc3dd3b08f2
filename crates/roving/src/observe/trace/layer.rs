//! The spans of the `tracing` crate.

use std::cell::RefCell;

use tracing_core::Subscriber;
use tracing_core::span::Id;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use super::{Span, span};

thread_local! {
    /// The spans that this thread is in, the newest last.
    static ENTERED: RefCell<Vec<(Id, Span)>> = const { RefCell::new(Vec::new()) };
}

/// Puts the spans of the `tracing` crate into Roving's traces, each time they are entered, by their
/// names. Needs the feature `tracing`.
///
/// ```
/// use tracing_subscriber::layer::SubscriberExt as _;
///
/// let subscriber = tracing_subscriber::registry().with(roving::trace::SpanLayer);
/// tracing::subscriber::with_default(subscriber, || {
///     let _entered = tracing::info_span!("parse").entered();
/// });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SpanLayer;

impl<S> Layer<S> for SpanLayer
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if let Some(entered) = context.span(id) {
            let begun = span(entered.metadata().name());
            let begun = (id.clone(), begun);
            // A thread that is about to end has none any more: then the span ends here.
            _ = ENTERED.try_with(|spans| spans.borrow_mut().push(begun));
        }
    }

    fn on_exit(&self, id: &Id, _context: Context<'_, S>) {
        let ended = ENTERED.try_with(|spans| {
            let mut spans = spans.borrow_mut();
            let newest = spans.iter().rposition(|(entered, _)| entered == id);
            newest.map(|at| spans.remove(at))
        });
        // Outside of the borrow: to end a span takes locks.
        drop(ended);
    }
}
