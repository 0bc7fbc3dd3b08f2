//! Which iterations of a loop no thread has yet.

use crate::prim::{AtomicU64, Ordering};

/// The first iteration that was given to no thread.
#[derive(Default)]
pub(crate) struct NextIteration(AtomicU64);

impl NextIteration {
    /// For the next loop. Nobody uses it.
    pub(crate) fn reset(&self) {
        // Ordering: Relaxed; handed on with the turn of the place.
        self.0.store(0, Ordering::Relaxed);
    }

    /// Gives the caller the next of `count` iterations, `part` of them. Each thread adds once more
    /// than there are parts, which must not overflow.
    #[inline]
    pub(crate) fn add(&self, part: u64, count: u64) -> Option<(u64, u64)> {
        // Ordering: Relaxed; the number alone is shared.
        let from = self.0.fetch_add(part, Ordering::Relaxed);
        (from < count).then(|| (from, count.min(from + part)))
    }

    /// Gives the caller the next of `count` iterations, as many of the rest as `part` says.
    pub(crate) fn take(&self, count: u64, part: impl Fn(u64) -> u64) -> Option<(u64, u64)> {
        // Ordering: Relaxed, all: the number alone is shared.
        let mut from = self.0.load(Ordering::Relaxed);
        loop {
            let rest = count - from;
            if rest == 0 {
                return None;
            }
            let to = from + part(rest).min(rest);
            match self
                .0
                .compare_exchange_weak(from, to, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Some((from, to)),
                Err(now) => from = now,
            }
        }
    }
}
