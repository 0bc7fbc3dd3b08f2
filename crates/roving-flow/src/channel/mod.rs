//! Channels: one producer, one consumer, no lock, and no memory but what lies in them.
//!
//! `words` is what the two ends share and how one waits for the other, `ring` where messages lie,
//! `window` what is left of a channel here whose consumer is elsewhere.

pub(crate) mod window;
pub(crate) mod words;

#[cfg(all(test, loom))]
mod loom_tests;
mod ring;

use std::marker::PhantomData;
use std::ptr::NonNull;

use ring::Ring;
use words::Words;

use crate::unwind::{Payload, to_the_end};

mod holders;
mod op;
pub(crate) use holders::{Handle, Holders, Meta, OUTSIDE, drop_port, open, reopen_port};
pub(crate) use op::Op;

/// A channel of messages of type `T`.
#[repr(C)]
pub(crate) struct Channel<T> {
    pub(crate) words: Words,
    marker: PhantomData<*mut T>,
}

// SAFETY: messages go from one thread to the other, hence `T: Send`. The `Local` of each end and
// `first` are touched by that end alone, or handed over with [sent]; all else is atomic.
unsafe impl<T: Send> Send for Channel<T> {}
// SAFETY: through a shared channel each end touches its own `Local`, and `first` as handed over
// with [sent]; all else is atomic, and messages are `Send`.
unsafe impl<T: Send> Sync for Channel<T> {}

/// Why nothing came out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Empty {
    /// Nothing now.
    Yet,
    /// Nothing ever again: the producer is gone.
    Ended,
}

/// Why a message did not go in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Full {
    /// There is no room now.
    Yet,
    /// The consumer is gone.
    Ended,
}

impl<T> Channel<T> {
    pub(crate) fn new(capacity: u32, meta: Meta, holders: Holders) -> Channel<T> {
        Channel {
            words: Words::new(capacity, meta, holders),
            marker: PhantomData,
        }
    }

    /// Producer: whether a message can go in now.
    ///
    /// # Safety
    /// The caller is the only one at the producing end.
    #[inline(always)]
    pub(crate) unsafe fn has_room(&self) -> Result<(), Full> {
        if self.words.sent_by_me().number() < self.words.producer.limit.get() {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { self.find_room() }
    }

    /// Producer: puts a message in. Whoever waits for it is not woken.
    ///
    /// # Safety
    /// The caller is the only one at the producing end, and has just been told that there is room.
    #[inline(always)]
    pub(crate) unsafe fn push(&self, message: T) {
        let number = self.words.sent_by_me().number();
        debug_assert!(number < self.words.producer.limit.get());
        // SAFETY: below the limit, the slot of that number is empty and the producer's.
        unsafe {
            let ring = NonNull::new_unchecked(self.words.producer.ring.get().cast::<Ring<T>>());
            Ring::write(ring, number, message);
        }
        self.words.publish_sent(number + 1);
    }

    /// Producer: looks anew for room before the next message, because there may be less than was
    /// found before.
    ///
    /// # Safety
    /// The caller is the only one at the producing end.
    pub(crate) unsafe fn forget_room(&self) {
        let number = self.words.sent_by_me().number();
        self.words.producer.limit.set(number);
    }

    /// # Safety
    /// As [`Self::has_room`].
    #[cold]
    #[inline(never)]
    unsafe fn find_room(&self) -> Result<(), Full> {
        let local = &self.words.producer;
        let number = self.words.sent_by_me().number();
        let taken = self.words.taken();
        if taken.is_gone() {
            return Err(Full::Ended);
        }
        let room = self.words.room(taken);
        if number >= room {
            return Err(Full::Yet);
        }
        let capacity = self.words.capacity();
        let at = NonNull::new(local.ring.get().cast::<Ring<T>>());
        // SAFETY: the producer's ring is alive until it has linked another and the consumer has
        // followed.
        let slots = at.map_or(0, |ring| unsafe { Ring::len(ring) });
        // The messages in this ring begin no earlier than the ring itself.
        let oldest = match at {
            // SAFETY: the producer's ring is alive: no other has been linked since its length was
            // read.
            Some(ring) => taken.number().max(unsafe { Ring::start(ring) }),
            None => 0,
        };
        let end = oldest + u64::from(slots);
        if number < end {
            local.limit.set(room.min(end));
            return Ok(());
        }
        let more = Ring::<T>::slots_after(slots, capacity);
        let next = Ring::<T>::new(more, number);
        match at {
            // SAFETY: both are alive, and this number has not been published.
            Some(ring) => unsafe { Ring::link(ring, number, next) },
            None => self.words.first.set(next.as_ptr().cast()),
        }
        local.ring.set(next.as_ptr().cast());
        local.limit.set(room.min(number + u64::from(more)));
        Ok(())
    }

    /// Consumer: takes the oldest message out. A writer that waits for the room is not woken.
    ///
    /// # Safety
    /// The caller is the only one at the consuming end.
    #[inline(always)]
    pub(crate) unsafe fn pop(&self) -> Result<T, Empty> {
        let number = self.words.taken_by_me().number();
        if number == self.words.consumer.limit.get() {
            // SAFETY: the caller's promise.
            unsafe { self.find_messages()? };
        }
        // SAFETY: below the limit, the slot is full and the consumer's.
        let message = unsafe {
            let ring = NonNull::new_unchecked(self.words.consumer.ring.get().cast::<Ring<T>>());
            Ring::read(ring, number)
        };
        self.words.publish_taken(number + 1);
        Ok(message)
    }

    /// # Safety
    /// As [`Self::pop`], which has come to its limit.
    #[inline]
    unsafe fn find_messages(&self) -> Result<(), Empty> {
        let number = self.words.taken_by_me().number();
        let sent = self.words.sent();
        if sent.number() == number {
            return Err(match sent.is_gone() {
                true => Empty::Ended,
                false => Empty::Yet,
            });
        }
        let local = &self.words.consumer;
        let mut ring = match NonNull::new(local.ring.get().cast::<Ring<T>>()) {
            Some(ring) => ring,
            // SAFETY: a message was published, and before it the first ring.
            None => unsafe { NonNull::new_unchecked(self.words.first.get().cast()) },
        };
        // SAFETY: the consumer's ring is alive until it follows to the next; a message was
        // published that lies here or further on.
        let limit = unsafe {
            while Ring::end(ring) == number {
                ring = Ring::follow(ring);
            }
            Ring::end(ring).min(sent.number())
        };
        local.ring.set(ring.as_ptr().cast());
        local.limit.set(limit);
        Ok(())
    }

    /// Drops what lies in the channel, and frees the rings. Returns what the first message panicked
    /// with that did so in its drop: the others are dropped all the same.
    ///
    /// # Safety
    /// Both ends are gone, with a happens-before edge to this, and this is called once.
    pub(crate) unsafe fn clear(&self) -> Option<Payload> {
        // SAFETY: the caller is alone.
        let panicked = to_the_end(|| unsafe { self.pop() }.is_ok());
        let last = match self.words.consumer.ring.get() {
            ring if ring.is_null() => self.words.first.get(),
            ring => ring,
        };
        let mut last = NonNull::new(last.cast::<Ring<T>>());
        while let Some(ring) = last {
            // SAFETY: empty, and nobody's any more; so are those that were linked to it without a
            // message in them.
            unsafe {
                last = Ring::next(ring);
                Ring::free(ring);
            }
        }
        panicked
    }
}
