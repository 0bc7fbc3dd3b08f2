//! Iterators of `std`, whose items are taken one by one under a lock and used in parallel.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};

use crate::engine::{Companion, Consumer, IterPiece, drive};
use crate::iter::ParallelIterator;
use crate::iter::patience::with_lock;

/// Turns an iterator of `std` into a parallel one.
///
/// ```
/// use roving_iter::prelude::*;
///
/// let lengths: usize = "to be or not".split(' ').par_bridge().map(str::len).sum();
/// assert_eq!(lengths, 9);
/// ```
pub trait ParallelBridge: Sized {
    /// Returns a parallel iterator over the items, in no particular order. They are taken one at a
    /// time, by whoever has time for one, so that the iterator may wait for what makes them. A
    /// worker that waits for its turn gives its core away ([`roving::blocking`]), so tasks of the
    /// same pool may make them too, where the iterator itself waits in such a region.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// std::thread::spawn(move || (0..100).for_each(|n| sender.send(n).unwrap()));
    /// assert_eq!(receiver.into_iter().par_bridge().sum::<i32>(), 4950);
    /// ```
    fn par_bridge(self) -> IterBridge<Self>;
}

impl<I: Iterator<Item: Send> + Send> ParallelBridge for I {
    fn par_bridge(self) -> IterBridge<I> {
        IterBridge { items: self }
    }
}

/// An iterator of `std` whose items are used in parallel:
/// [`par_bridge`](ParallelBridge::par_bridge).
///
/// ```
/// use roving_iter::prelude::*;
///
/// assert_eq!((0..4).par_bridge().map(|n| n * n).max(), Some(9));
/// ```
#[derive(Clone, Debug)]
pub struct IterBridge<I> {
    items: I,
}

impl<I: Iterator<Item: Send> + Send> ParallelIterator for IterBridge<I> {
    type Item = I::Item;

    fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
    where
        B: Companion,
        C: Consumer<I::Item, B>,
    {
        let shared = LockedIter {
            items: Mutex::new(Some(self.items)),
            is_over: AtomicBool::new(false),
        };
        let piece = ItemShare {
            shared: &shared,
            limit: usize::MAX,
        };
        drive(piece, beside, consumer, state)
    }

    fn span(&self) -> usize {
        usize::MAX
    }
}

struct LockedIter<I> {
    /// `None` once it has ended.
    items: Mutex<Option<I>>,
    is_over: AtomicBool,
}

impl<I: Iterator> LockedIter<I> {
    fn next(&self) -> Option<I::Item> {
        with_lock(&self.items, |items| self.take(items))
    }

    fn take(&self, items: LockResult<MutexGuard<'_, Option<I>>>) -> Option<I::Item> {
        // An iterator that has panicked is over.
        let mut items = match items {
            Ok(items) => items,
            Err(poisoned) => {
                self.end();
                drop(PoisonError::into_inner(poisoned));
                return None;
            }
        };
        let item = items.as_mut()?.next();
        if item.is_none() {
            self.end();
            *items = None;
        }
        item
    }

    fn end(&self) {
        // Ordering: Relaxed; a hint. The lock decides.
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// The right to take some of the items.
struct ItemShare<'s, I> {
    shared: &'s LockedIter<I>,
    limit: usize,
}

impl<'s, I: Iterator + Send> IterPiece for ItemShare<'s, I> {
    type Item = I::Item;
    type Seq = ItemShareSeq<'s, I>;

    fn units(&self) -> usize {
        // Ordering: Relaxed; a hint. Whoever misses it finds no item.
        if self.shared.is_over.load(Ordering::Relaxed) {
            0
        } else {
            self.limit
        }
    }
    fn cut(self, at: usize) -> (Self, Self) {
        let lower = ItemShare { limit: at, ..self };
        let upper = ItemShare {
            limit: self.limit.saturating_sub(at).max(1),
            ..self
        };
        (lower, upper)
    }
    fn into_seq(self) -> ItemShareSeq<'s, I> {
        ItemShareSeq {
            shared: self.shared,
            left: self.limit,
        }
    }
}

/// Items taken under the lock.
struct ItemShareSeq<'s, I> {
    shared: &'s LockedIter<I>,
    left: usize,
}

impl<I: Iterator> Iterator for ItemShareSeq<'_, I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.left = self.left.checked_sub(1)?;
        self.shared.next()
    }
}
