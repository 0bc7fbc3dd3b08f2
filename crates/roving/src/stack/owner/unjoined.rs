//! The push of a task that nobody joins at once: a spawn. It stays until the enclosing scope or
//! task ends.

use super::{Owner, Wake};
use crate::machine::duty::Due;
use crate::stack::policy;
use crate::stack::slot::{Run, Slot};

impl Owner<'_> {
    /// The push of a task that stays until the enclosing scope or task ends.
    pub(crate) fn push_unjoined<T>(
        &self,
        run: Run,
        payload: T,
    ) -> Result<Due<Wake>, (T, Due<Wake>)> {
        let line = self.tripped_line();
        if let Some(slot) = line.place_unjoined() {
            // SAFETY: the slot at the top is free and private, and this thread's; nothing has
            // happened since.
            unsafe {
                (*slot).fill(run, payload);
                line.push_unjoined(slot);
            }
            return Ok(Due::none());
        }
        match self.place_unjoined_slowly() {
            Err(wake) => Err((payload, wake)),
            Ok(slot) => {
                // SAFETY: the slot at the top is free and private, and this thread's.
                unsafe { (*slot).fill(run, payload) };
                Ok(self.filled_slowly())
            }
        }
    }

    /// A free slot at the top, for a task that stays until the enclosing scope or task ends, where
    /// more has to be done than to push it: who puts the task in calls [`Self::filled_slowly`].
    /// `Err`: the stack is full.
    #[inline(never)]
    pub(crate) fn place_unjoined_slowly(&self) -> Result<*const Slot, Due<Wake>> {
        let line = self.tripped_line();
        let limit = line.push_limit.get();
        if !limit.is_null() && line.top.get() >= limit && !self.may_have_room() {
            return Err(Due::none());
        }
        self.place()
    }

    /// Takes the newest task, which was left unjoined, off the stack; if that takes more than to
    /// pop it, `None`.
    #[inline(always)]
    pub(crate) fn pop_unjoined(&self) -> Option<*const Slot> {
        self.tripped_line().pop_unjoined()
    }

    /// Pushes the task that was put into the slot at the top. The first since the stack held none
    /// leaves the limits anew: more is to be public from now on.
    #[inline(never)]
    pub(crate) fn filled_slowly(&self) -> Due<Wake> {
        // Some of what is there is public in any case: no look at the clock, to see if it may be
        // more.
        let wake = self.pushed(self.top(), false);
        self.raise_barrier();
        let wake = wake.and(self.show_some());
        self.settle();
        wake
    }

    /// A spawned task may stay for long while its spawner is busy with something else, so a part of
    /// what is there is public.
    fn show_some(&self) -> Due<Wake> {
        let own = &self.stack.own;
        if self.stack.showing.unasked == 0 {
            return Due::none();
        }
        let split = own.split.get();
        let (oldest, has_shrunk) = (own.oldest_seen.get(), own.has_shrunk.get());
        let least = policy::split_spawned(oldest, split, self.top(), has_shrunk);
        match least > split {
            true => self.publish_up_to(least),
            false => Due::none(),
        }
    }

    /// The slot whose task, if it stays until its scope ends, is one more than may be hidden; see
    /// [`Self::show_some`]. `None`: all may be.
    pub(super) fn first_shown(&self) -> Option<*const Slot> {
        let own = &self.stack.own;
        let split = self.stack.at(own.split.get());
        let hidden = policy::hidden_beside(self.public_seen(), own.has_shrunk.get());
        (self.stack.showing.unasked > 0).then(|| split.wrapping_add(hidden))
    }
}
