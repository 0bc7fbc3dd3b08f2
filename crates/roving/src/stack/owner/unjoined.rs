//! The push of a task that nobody joins at once: a spawn. It stays until the enclosing scope or
//! task ends.

use std::ptr;

use super::Owner;
use crate::stack::slot::{Run, Slot};

/// A free slot at the top, for a task that stays until the enclosing scope or task ends.
pub(crate) struct Place {
    slot: *const Slot,
    /// The barrier below it; null if more is to be done than to raise it.
    barrier: *const Slot,
}

impl Owner<'_> {
    /// The push of a task that stays until the enclosing scope or task ends.
    pub(crate) fn push_unjoined<T>(&self, run: Run, payload: T) -> Result<bool, (T, bool)> {
        match self.place_unjoined() {
            // SAFETY: nothing has happened since.
            Ok(place) => Ok(unsafe { self.fill_unjoined(place, run, payload) }),
            Err(wake) => Err((payload, wake)),
        }
    }

    /// The first half of [`Self::push_unjoined`], without the payload, which thus goes from where
    /// it was made straight into the slot. `Err`: the stack is full, and whether a sleeping worker
    /// should be woken.
    #[inline(always)]
    pub(crate) fn place_unjoined(&self) -> Result<Place, bool> {
        // SAFETY: this thread's line: that of this stack, or the alarm, which lets nobody through.
        let line = unsafe { &*self.thread_line() };
        let (slot, barrier) = (line.top.get(), self.stack.own.barrier.get());
        if slot < line.spawn_limit.get() && !barrier.is_null() {
            return Ok(Place { slot, barrier });
        }
        self.place_unjoined_slowly()
    }

    /// The second half: returns whether a sleeping worker should be woken.
    ///
    /// # Safety
    /// The place was returned by the call of [`Self::place_unjoined`] just before.
    #[inline(always)]
    pub(crate) unsafe fn fill_unjoined<T>(&self, place: Place, run: Run, payload: T) -> bool {
        let Place { slot, barrier } = place;
        // SAFETY: the slot at the top is free and private, and this thread's.
        unsafe { (*slot).fill(run, payload) };
        if barrier.is_null() {
            return self.filled_slowly();
        }
        let (line, above) = (self.line(), slot.wrapping_add(1));
        // SAFETY: a slot of this stack.
        unsafe { (*slot).set_link(barrier) };
        self.stack.own.barrier.set(above);
        line.top.set(above);
        // Neither the split line nor another barrier is above the newest slot.
        line.pop_limit.set(above);
        false
    }

    #[inline(never)]
    fn place_unjoined_slowly(&self) -> Result<Place, bool> {
        let line = self.line();
        let is_tripped = !ptr::eq(self.thread_line(), line);
        let limit = line.push_limit.get();
        if !is_tripped && !limit.is_null() && line.top.get() >= limit && !self.may_have_room() {
            return Err(false);
        }
        let barrier = ptr::null();
        self.place().map(|slot| Place { slot, barrier })
    }

    /// The first since the stack held none leaves the limits anew: more is to be public from now
    /// on.
    #[inline(never)]
    fn filled_slowly(&self) -> bool {
        // Half of what is there is public in any case: no look at the clock, to see if it may be
        // more.
        let wake = self.pushed(self.top(), false);
        self.raise_barrier();
        let wake = wake | self.show_half();
        self.settle();
        wake
    }

    /// A spawned task may stay for long while its spawner is busy with something else, so at least
    /// half of what is there is public. One publication doubles what is shown, so that a spawn
    /// costs a small part of one.
    fn show_half(&self) -> bool {
        let split = self.stack.own.split.get();
        let hidden = self.top() - split;
        if self.stack.showing.unasked == 0 || hidden <= self.public_seen() {
            return false;
        }
        let wake = self.publish_up_to(split + hidden.div_ceil(2));
        self.settle();
        wake
    }

    /// The slot whose task, if it stays until its scope ends, is one more than may be hidden; see
    /// [`Self::show_half`]. `None`: all may be.
    pub(super) fn half_hidden(&self) -> Option<*const Slot> {
        let split = self.stack.at(self.stack.own.split.get());
        (self.stack.showing.unasked > 0).then(|| split.wrapping_add(self.public_seen()))
    }
}
