//! Channels: one producer, one consumer, no lock, and no memory but what lies in them; and what all
//! channels and processes of a network share.
//!
//! `words` is what the two ends share and how one waits for the other, `ring` where messages lie,
//! `window` what is left of a channel here whose consumer is elsewhere. `op` and `statement` are
//! what a process waits for, `shared` is the network as its channels and processes know it.

mod holders;
#[cfg(all(test, loom))]
mod loom_tests;
mod op;
mod ring;
pub(crate) mod shared;
pub(crate) mod statement;
pub(crate) mod window;
pub(crate) mod words;

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::mem::offset_of;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::{self, NonNull};

use holders::{Meta, VTable};
use ring::Ring;
use shared::Shared;
use words::{EndCells, Words};

use crate::machine::prim::Arc;
use crate::machine::unwind::{Payload, first_of};

pub(crate) use holders::{
    DroppedPort, Handle, OUTSIDE, drain_port, drop_port, drop_unread, reopen_port,
};
pub(crate) use op::{At, Op, Waits};

/// A channel of messages of type `T`.
///
/// The slots of the first ring follow in the same memory, so that a channel of a few small messages
/// is one allocation.
#[repr(C)]
pub(crate) struct Channel<T> {
    pub(crate) words: Words,
    first: Ring<T>,
    marker: PhantomData<*mut T>,
}

// SAFETY: messages go from one thread to the other, hence `T: Send`. The `EndCells` of each end is
// touched by that end alone; all else is atomic, or a slot of a ring, and those are handed over
// with [sent] and [taken].
unsafe impl<T: Send> Send for Channel<T> {}
// SAFETY: through a shared channel each end touches its own `EndCells`, and slots as handed over
// with [sent] and [taken]; all else is atomic, and messages are `Send`.
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
    /// The memory of a channel whose first ring has so many slots.
    fn layout(slots: u32) -> Layout {
        let before = offset_of!(Channel<T>, first);
        const { assert!(offset_of!(Channel<T>, first) + size_of::<Ring<T>>() == size_of::<Self>()) };
        let size = before + Ring::<T>::layout(slots).0.size();
        match Layout::from_size_align(size, align_of::<Channel<T>>()) {
            Ok(layout) => layout,
            Err(_) => handle_alloc_error(Layout::new::<Channel<T>>()),
        }
    }

    /// A new channel; [`Self::free`] frees it.
    pub(crate) fn new(capacity: u32, meta: Meta) -> NonNull<Channel<T>> {
        let slots = Ring::<T>::slots_within(capacity);
        let layout = Channel::<T>::layout(slots);
        // SAFETY: it is not empty.
        let at = unsafe { alloc(layout) }.cast::<Channel<T>>();
        let Some(channel) = NonNull::new(at) else {
            handle_alloc_error(layout)
        };
        // SAFETY: fresh memory of that layout.
        unsafe {
            let first = Channel::first(channel);
            (&raw mut (*at).words).write(Words::new(meta, first.as_ptr().cast()));
            Ring::fill(first, slots, 0);
        }
        channel
    }

    /// The ring in the memory of the channel itself.
    ///
    /// # Safety
    /// That memory is there.
    unsafe fn first(channel: NonNull<Channel<T>>) -> NonNull<Ring<T>> {
        // SAFETY: the caller's promise.
        unsafe { NonNull::new_unchecked(&raw mut (*channel.as_ptr()).first) }
    }

    /// Frees the channel.
    ///
    /// # Safety
    /// It was made by [`Self::new`], nobody uses it any more, and no message lies in it.
    pub(crate) unsafe fn free(channel: NonNull<Channel<T>>) {
        // SAFETY: the caller's promise.
        unsafe {
            let first = Channel::first(channel);
            let layout = Channel::<T>::layout(Ring::len(first));
            Ring::empty(first);
            channel.drop_in_place();
            dealloc(channel.as_ptr().cast(), layout);
        }
    }

    /// Frees a ring that was left, unless it is a part of the channel.
    ///
    /// # Safety
    /// It is empty, and nobody uses it any more.
    unsafe fn free_ring(&self, ring: NonNull<Ring<T>>) {
        if !ptr::eq(ring.as_ptr(), &self.first) {
            // SAFETY: the caller's promise; all other rings come from `Ring::new`.
            unsafe { Ring::free(ring) };
        }
    }

    /// The ring that an end is at.
    #[inline(always)]
    fn ring_of(local: &EndCells) -> NonNull<Ring<T>> {
        // SAFETY: from the beginning on there is one.
        unsafe { NonNull::new_unchecked(local.ring.get().cast()) }
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
            Ring::write(Channel::ring_of(&self.words.producer), number, message);
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
        let ring = Channel::<T>::ring_of(local);
        // SAFETY: the producer's ring is alive until it has linked another and the consumer has
        // followed.
        let (slots, start) = unsafe { (Ring::len(ring), Ring::start(ring)) };
        // The messages in this ring begin no earlier than the ring itself.
        let end = taken.number().max(start) + u64::from(slots);
        if number < end {
            local.limit.set(room.min(end));
            return Ok(());
        }
        let more = Ring::<T>::slots_after(slots, self.words.capacity());
        let next = Ring::<T>::new(more, number);
        // SAFETY: both are alive, and this number has not been published.
        unsafe { Ring::link(ring, number, next) };
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
        // SAFETY: the caller's promise; the slot is handed over below.
        let (number, message) = unsafe { self.read() }?;
        self.words.publish_taken(number + 1);
        Ok(message)
    }

    /// Consumer: the oldest message, and its number.
    ///
    /// # Safety
    /// As [`Self::pop`], and the caller publishes that it was taken before anything is read again.
    #[inline(always)]
    unsafe fn read(&self) -> Result<(u64, T), Empty> {
        let number = self.words.taken_by_me().number();
        if number == self.words.consumer.limit.get() {
            // SAFETY: the caller's promise.
            unsafe { self.find_messages()? };
        }
        // SAFETY: below the limit, the slot is full and the consumer's.
        let message = unsafe { Ring::read(Channel::ring_of(&self.words.consumer), number) };
        Ok((number, message))
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
        let mut ring = Channel::<T>::ring_of(local);
        // SAFETY: the consumer's ring is alive until it follows to the next; a message was
        // published that lies here or further on.
        let limit = unsafe {
            while Ring::end(ring) == number {
                let next = Ring::follow(ring);
                self.free_ring(ring);
                ring = next;
            }
            Ring::end(ring).min(sent.number())
        };
        local.ring.set(ring.as_ptr().cast());
        local.limit.set(limit);
        Ok(())
    }

    /// Consumer: drops what lies in the channel. Returns what the first message panicked with that
    /// did so in its drop: the others are dropped all the same. A message counts as lying here
    /// until it has been dropped: who looks for processes that can go on knows by that of what its
    /// drop may do.
    ///
    /// # Safety
    /// As [`Self::pop`], by whoever is at that end, or its port has left it to.
    unsafe fn drain(&self) -> Option<Payload> {
        let mut first = None;
        // SAFETY: the caller's promise; what was read is published below.
        while let Ok((number, message)) = unsafe { self.read() } {
            let dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(message)));
            self.words.publish_dropped(number + 1);
            let _asks_later = self.words.shared().lines.mine().acted();
            first = first_of(first, dropped.err());
        }
        first
    }

    /// As [`Self::drain`], and frees the rings.
    ///
    /// # Safety
    /// Both ends are gone, with a happens-before edge to this, and this is called once.
    pub(crate) unsafe fn clear(&self) -> Option<Payload> {
        // SAFETY: the caller is alone.
        let panicked = unsafe { self.drain() };
        let mut last = Some(Channel::<T>::ring_of(&self.words.consumer));
        while let Some(ring) = last {
            // SAFETY: empty, and nobody's any more; so are those that were linked to it without a
            // message in them.
            unsafe {
                last = Ring::next(ring);
                self.free_ring(ring);
            }
        }
        panicked
    }
}

impl<T> Channel<T> {
    const VTABLE: &'static VTable = &VTable {
        drain: drain::<T>,
        clear: clear::<T>,
        free: free::<T>,
        message_bytes: size_of::<T>(),
    };
}

/// # Safety
/// As [`Channel::drain`]; the words are those of a `Channel<T>`.
unsafe fn drain<T>(words: NonNull<Words>) -> Option<Payload> {
    // SAFETY: the caller's promise.
    unsafe { words.cast::<Channel<T>>().as_ref().drain() }
}

/// # Safety
/// As [`Channel::clear`]; the words are those of a `Channel<T>`.
unsafe fn clear<T>(words: NonNull<Words>) -> Option<Payload> {
    // SAFETY: the caller's promise.
    unsafe { words.cast::<Channel<T>>().as_ref().clear() }
}

/// # Safety
/// Nobody uses the channel any more, it was made by [`open`], and held messages of type `T`.
unsafe fn free<T>(words: NonNull<Words>) {
    // SAFETY: the caller's promise.
    unsafe { Channel::<T>::free(words.cast()) };
}

/// A new channel with three references: its two ports and the network.
pub(crate) fn open<T>(shared: &Arc<Shared>, index: u32, capacity: u32) -> NonNull<Channel<T>> {
    let meta = Meta::new(shared, Channel::<T>::VTABLE, index, capacity);
    Channel::new(capacity, meta)
}
