//! Programs on a pool: the parts with contexts and with requests to stop.

use std::future::pending;
use std::time::Duration;

use roving::{Cancel, CancelledError, context};

use super::node::*;
use super::parallel::{PartContext, caught, node};
use super::serial::{NO_TAG, STOPPED};
use super::tasks;
use crate::random::mix;

/// A value that a program's parts inherit.
#[derive(Clone, Copy)]
pub(crate) struct Tag(u64);

/// Calls `f` with that tag for everything inside.
pub(crate) fn tagged<R>(tag: u64, f: impl FnOnce() -> R) -> R {
    context::with(Tag(tag), f)
}

/// The innermost tag, as a value.
pub(crate) fn seen() -> u64 {
    mix(context::get::<Tag>().map_or(NO_TAG, |tag| tag.0))
}

/// A part under a request to stop.
pub(crate) fn stoppable(stop: Stop, part: &ClosureNode, cx: PartContext<'_>) -> u64 {
    let cancel = match stop {
        Stop::After(us) => Cancel::after(Duration::from_micros(u64::from(us))),
        _ => Cancel::new(),
    };
    match stop {
        Stop::Never => {
            let (owned, inner) = (cx.census.one(), cancel.child());
            let ended = cancel.run(|| {
                let _owned = owned;
                inner.run(|| node(part, cx))
            });
            match ended.and_then(|ended| ended) {
                Ok(value) => value,
                Err(CancelledError) => unreachable!("nobody cancels it"),
            }
        }
        Stop::Before => {
            cancel.cancel();
            let owned = cx.census.one();
            let ended = cancel.child().run(move || {
                let _owned = owned;
                node(part, cx)
            });
            assert!(ended.is_err(), "it was cancelled before it began");
            STOPPED
        }
        Stop::Outside | Stop::After(_) => {
            if stop == Stop::Outside {
                tasks::cancel_from_outside(cancel.clone());
            }
            // How far it gets is nobody's to say; that nothing of it is lost is.
            let _ = caught(|| cancel.run(|| node(part, cx)));
            STOPPED
        }
    }
}

/// A root whose tasks wait to be cancelled, each in another way.
pub(crate) fn waits(by_deadline: bool, cx: PartContext<'_>) -> u64 {
    let cancel = match by_deadline {
        true => Cancel::after(Duration::from_micros(100)),
        false => Cancel::new(),
    };
    let ended = cancel.run_partial(|| {
        roving::task::scope(|s| {
            let request = cancel.clone();
            let owned = cx.census.one();
            async move {
                let _owned = owned;
                let first = s.spawn(async move {
                    cx.census.ran(1);
                    context::cancelled().await;
                });
                let owned = cx.census.one();
                let second = s.spawn(context::until_cancelled(async move {
                    let _owned = owned;
                    cx.census.ran(1);
                    pending::<()>().await;
                }));
                if !by_deadline {
                    tasks::cancel_from_outside(request.clone());
                }
                request.cancelled().await;
                // Each was dropped before it began, or ended by the request.
                let _ = first.or_cancelled().await;
                let _ = second.or_cancelled().await;
            }
        });
    });
    // It may have been cancelled before it began, which a deadline can do.
    assert!(
        ended.is_ok() || by_deadline,
        "what it came to is what it returns"
    );
    STOPPED
}
