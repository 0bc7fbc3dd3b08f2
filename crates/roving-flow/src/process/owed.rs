//! Looks that a process's turn owes to channels in which it has sent or taken something.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::poll::ProcessTurn;
use crate::channel::drop_unread;
use crate::channel::shared::NetworkFailure;
use crate::channel::words::{ChannelEnd, Words};
use crate::deadlock;
use crate::machine::prim::{Ordering, fence, ord};

/// Channels in which something was done without a fence after it: where something was sent, and
/// where something was taken. Or [`HALTED`], both.
#[must_use]
pub(crate) struct Owed([Cell<*const Words>; 2]);

/// The process waits within its turn: whatever it owes there is paid at once.
const HALTED: *const Words = ptr::dangling();

impl Owed {
    pub(super) fn none() -> Owed {
        Owed([Cell::new(ptr::null()), Cell::new(ptr::null())])
    }

    /// Wakes whoever began to wait just when something was done, and drops what was sent to a
    /// port that is gone. After a fence, and not while that process, whose turn it is, waits within
    /// it.
    #[inline(always)]
    pub(crate) fn pay(&self, process: u32) {
        let [sent, taken] = [0, 1].map(|end| self.0[end].replace(ptr::null()).cast_mut());
        // SAFETY: as in `add`.
        if let Some(words) = unsafe { taken.as_ref() } {
            words.wake(ChannelEnd::Writer);
        }
        if let Some(channel) = NonNull::new(sent) {
            // SAFETY: as in `add`.
            unsafe {
                channel.as_ref().wake(ChannelEnd::Reader);
                // The last: a message may do and wait for anything in its drop.
                if channel.as_ref().has_no_reader() {
                    drop_sent(channel, process);
                }
            }
        }
    }

    pub(super) fn pay_at_once(&self, process: u32) {
        // Ordering: a fence between what was done and the look at who waits. Pairs with [wait].
        fence(ord("done_fence", Ordering::SeqCst));
        self.pay(process);
    }

    /// Wakes those whom [`Self::pay`] wakes, and leaves the rest to that.
    pub(super) fn wake_at_once(&self) {
        // Ordering: a fence as in `pay_at_once`. Pairs with [wait].
        fence(ord("late_fence", Ordering::SeqCst));
        for end in [ChannelEnd::Reader, ChannelEnd::Writer] {
            let channel = self.0[end as usize].get();
            if !channel.is_null() && !ptr::eq(channel, HALTED) {
                // SAFETY: as in `add`.
                unsafe { &*channel }.wake(end);
            }
        }
    }

    /// Something was done in that channel as well. What was done in another one is paid, or in this
    /// one where the process waits within its turn.
    ///
    /// # Safety
    /// The caller is the port that has done it, in a turn of its network.
    #[inline(never)]
    pub(super) unsafe fn add(&self, channel: NonNull<Words>, end: ChannelEnd) {
        let cell = &self.0[end as usize];
        let before = cell.replace(channel.as_ptr());
        let to_pay = match NonNull::new(before.cast_mut()) {
            None => return,
            Some(_) if ptr::eq(before, HALTED) => {
                cell.set(HALTED);
                channel
            }
            Some(before) => before,
        };
        // SAFETY: a channel of this network, which keeps it while this process is there.
        unsafe { pay(to_pay, end) };
    }

    /// Whether a look at that channel is owed already.
    #[inline(always)]
    pub(super) fn has(&self, channel: NonNull<Words>, end: ChannelEnd) -> bool {
        ptr::eq(self.0[end as usize].get(), channel.as_ptr())
    }

    /// From now on what is owed is paid at once. What was owed before is for the caller to pay.
    pub(super) fn halt(&self) -> Owed {
        self.replace(HALTED)
    }

    /// Each end's is that from now on. Returns what it was.
    fn replace(&self, with: *const Words) -> Owed {
        Owed([0, 1].map(|end| Cell::new(self.0[end].replace(with))))
    }

    pub(super) fn is_halted(&self) -> bool {
        ptr::eq(self.0[0].get(), HALTED)
    }
}

/// The turn goes on when this is dropped.
pub(super) struct Halted<'t>(pub(super) &'t Owed);

impl Drop for Halted<'_> {
    fn drop(&mut self) {
        let _halted = self.0.replace(ptr::null());
    }
}

/// # Safety
/// The caller keeps the channel.
#[inline(never)]
pub(super) unsafe fn pay(channel: NonNull<Words>, end: ChannelEnd) {
    // SAFETY: the caller's promise.
    let words = unsafe { channel.as_ref() };
    if words.is_waiting_after_all(end) {
        words.wake(end);
        deadlock::after_act(words.shared());
    }
    if end == ChannelEnd::Reader && words.has_no_reader() {
        // SAFETY: the caller's promise, and a fence was above.
        let panicked = ProcessTurn::closing_now(|| unsafe { drop_unread(channel) });
        deadlock::after_act(words.shared());
        ProcessTurn::go_on(panicked);
    }
}

/// A process has sent to a port that is gone, and is at the end of its turn, or waits within it:
/// what a message panics with when it is dropped, that process has panicked with.
///
/// # Safety
/// As [`pay`], and after a fence.
#[cold]
#[inline(never)]
unsafe fn drop_sent(channel: NonNull<Words>, process: u32) {
    // SAFETY: the caller's promise.
    let shared = unsafe { channel.as_ref() }.shared();
    ProcessTurn::dropping(shared, process, || {
        // SAFETY: the caller's promise.
        let panicked = ProcessTurn::closing_now(|| unsafe { drop_unread(channel) });
        if let Some(payload) = panicked {
            shared.stop(NetworkFailure::unwound(process, payload));
        }
    });
    deadlock::after_act(shared);
}
