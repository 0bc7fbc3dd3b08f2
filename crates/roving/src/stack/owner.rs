//! The owner's side of a task stack: push, pop, publish, take back.
//!
//! # Joined and unjoined tasks
//!
//! A `join` pops the task it pushed, so what it pops is at the top. A `spawn` leaves its task
//! there for whoever ends the enclosing scope or task, so a `join` that called code which spawned
//! finds something above its own slot. That must not cost a comparison in each `join`: each spawn
//! raises the *barrier*, below which no pop is fast, to the slot above its own, and keeps the old
//! barrier in its slot's link, to be put back when it is popped.

mod alone;
mod show;
mod unjoined;

use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;

use super::line::{ALARM, Line, NOWHERE};
use super::line::{LentWire, current_line, set_current_line, wire_of_this_thread};
use super::slot::{Run, Slot};
use super::span::Span;
use super::{TaskStack, policy};
use crate::machine::duty::Due;
use crate::machine::meeting_points::{At, meet};
use crate::machine::prim::Ordering;
use crate::stats::bump;

/// The duty of who has published: other workers had asked, and can have something now, so one that
/// sleeps is to be woken. That they had asked is told once, to this owner.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wake {}

/// The slot into which a task was pushed; or its payload, where the stack is full.
pub(crate) type PushResult<T> = Result<(*const Slot, Due<Wake>), (T, Due<Wake>)>;

/// The owner's access to its stack: one for each stack, kept on the owner's thread.
pub(crate) struct Owner<'s> {
    stack: &'s TaskStack,
    only_here: PhantomData<*const ()>,
}

/// A frame that stands as long as this does: see [`Owner::stay`].
pub(crate) struct Stay<'o> {
    owner: &'o Owner<'static>,
    outer_floor: *const Slot,
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        self.owner.close_frame(self.outer_floor);
    }
}

/// How a task came off the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Popped {
    /// It is the caller's to run.
    Here,
    /// A thief has claimed it: watch its slot. When that says done, [`Owner::retire`] the slot;
    /// when it says offered, the task can be had back, and the slot is then [`Owner::release`]d.
    Away,
}

impl<'s> Owner<'s> {
    /// # Safety
    /// The caller's thread is the only one that owns `stack`, and this is its only `Owner`.
    pub(crate) unsafe fn new(stack: &'s TaskStack) -> Owner<'s> {
        Owner {
            stack,
            only_here: PhantomData,
        }
    }

    pub(crate) fn stack(&self) -> &'s TaskStack {
        self.stack
    }

    pub(crate) fn line(&self) -> &'s Line {
        &self.stack.line
    }

    /// Makes this thread's line pointer the stack's trip wire, and the stack the thread's own.
    pub(crate) fn attach(&self) {
        // Ordering: Edge [attach]: Release; a thief that finds the wire finds it set up.
        self.stack
            .wire
            .store(wire_of_this_thread().cast_mut(), Ordering::Release);
        self.enter();
    }

    /// Attaches a thread that may end before its thieves do; it calls [`TaskStack::cut_wire`]
    /// before it ends.
    pub(crate) fn attach_for_life(&self) {
        *self.stack.lent_wire() = Some(LentWire(wire_of_this_thread()));
        self.enter();
    }

    /// Makes pushes and pops of this thread use the stack (again). An alarm may have been lost
    /// while they did not, so one is taken to have been raised.
    pub(crate) fn enter(&self) {
        set_current_line(&ALARM);
    }

    /// Index of the first free slot.
    pub(crate) fn top(&self) -> usize {
        self.stack.index(self.line().top.get())
    }

    /// Whether a task above that index was pushed to be popped by its pusher, and was not yet. The
    /// barrier and the links below it tell which were left unjoined.
    pub(crate) fn has_joined_above(&self, depth: usize) -> bool {
        let mut barrier = self.line().barrier.get();
        (depth..self.top()).rev().any(|index| {
            let is_left = ptr::eq(barrier, self.stack.at(index + 1));
            if is_left {
                barrier = self.stack.slot(index).link();
            }
            !is_left
        })
    }

    /// A frame begins that will join, when it ends, all that is left unjoined from here on.
    /// Returns where that is, and what [`Self::close_frame`] needs.
    #[inline]
    pub(crate) fn open_frame(&self) -> (*const Slot, *const Slot) {
        let base = self.line().top.get();
        (base, self.stack.own.floor.replace(base))
    }

    /// The frame ends; all from its base on has been joined.
    #[inline]
    pub(crate) fn close_frame(&self, outer_floor: *const Slot) {
        self.stack.own.floor.set(outer_floor);
    }

    pub(super) fn is_full(&self) -> bool {
        self.top() == self.stack.slots.len()
    }

    /// Whether there is a task that nobody has claimed. Not by the span's indices alone: with
    /// nothing public they may be old.
    pub(crate) fn has_pending(&self) -> bool {
        self.stack.own.split.get() < self.top() || self.stack.public() > 0
    }

    /// Whether the first task that is left unjoined takes the slow path. It changes how many are
    /// shown, but not in a pool of one worker, where a process that wakes another each time finds
    /// an empty stack.
    fn minds_first(&self) -> bool {
        self.stack.showing.thieves > 0 || self.stack.showing.watched
    }

    /// How many tasks are public, as far as the owner knows without looking.
    fn public_seen(&self) -> usize {
        self.stack.own.split.get() - self.stack.own.oldest_seen.get()
    }

    /// Whether other workers would take more tasks than the owner is showing them, and there is
    /// room for more: the moment to split work. A few loads, all of the owner's own lines.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        // The next push or pop mends the wire.
        let is_tripped = ptr::eq(self.thread_line(), &ALARM);
        let is_owed = is_tripped || self.stack.own.owes_answer.get();
        (is_owed || self.public_seen() < self.stack.showing.thieves) && !self.is_full()
    }

    /// The slow push, of a task that its pusher joins. `Err` gives the payload back: the stack is
    /// full.
    pub(crate) fn push<T>(&self, run: Run, payload: T) -> PushResult<T> {
        self.push_timed(run, payload, true)
    }

    /// Pushes a task, and reads the clock only if `looks`, because reading it takes as long as
    /// several pushes.
    pub(crate) fn push_timed<T>(&self, run: Run, payload: T, looks: bool) -> PushResult<T> {
        match self.place() {
            Err(wake) => Err((payload, wake)),
            Ok(slot) => {
                // SAFETY: the slot is the owner's, free, and at or above the split line.
                unsafe { (*slot).fill(run, payload) };
                Ok((slot, self.pushed(self.top(), looks)))
            }
        }
    }

    /// The free slot at the top. `Err`: the stack is full.
    fn place(&self) -> Result<*const Slot, Due<Wake>> {
        self.answer_alarm();
        if self.is_full() {
            self.make_room();
        }
        if self.is_full() {
            return Err(self.show_if_asked());
        }
        Ok(self.line().top.get())
    }

    /// The stack is full: frees the slots at its top whose tasks were stolen and have ended, as far
    /// as they belong to the innermost open frame: those further out rely on their indices. Thieves
    /// take the oldest first, so once they have taken all, all can be free.
    fn make_room(&self) {
        while self.may_have_room() {
            self.retire(self.top() - 1);
        }
    }

    /// Whether the newest slot is such a one.
    fn may_have_room(&self) -> bool {
        let (line, index) = (self.line(), self.top());
        let top = line.top.get();
        let unjoined = ptr::eq(line.barrier.get(), top) && top > self.stack.own.floor.get();
        unjoined && index > 0 && self.stack.slot(index - 1).state().is_done()
    }

    /// The stack was full, and what nobody has claimed is less than a thief takes at once: as long
    /// as it lies on top, no slot below it becomes free. Takes the newest of it off, if it stays
    /// until its scope ends and is of the innermost open frame; then it is the caller's to run.
    /// Once nothing is left, what has ended below gives room.
    pub(crate) fn pop_stranded(&self) -> Option<(usize, Due<Wake>)> {
        self.answer_alarm();
        self.look_at_oldest();
        let (top, own, line) = (self.top(), &self.stack.own, self.line());
        let unclaimed = top - own.oldest_seen.get();
        if unclaimed == 0 {
            self.make_room();
            self.settle();
            return None;
        }
        let above = line.top.get();
        let unjoined = ptr::eq(line.barrier.get(), above) && above > own.floor.get();
        if unclaimed >= self.stack.showing.least || !unjoined {
            return None;
        }
        let (how, wake) = self.pop(top - 1);
        match how {
            Popped::Here => Some((top - 1, wake)),
            Popped::Away => {
                wake.waive("nothing is shown where the task is away");
                None
            }
        }
    }

    /// Above the newest slot, whose link keeps the old barrier.
    pub(super) fn raise_barrier(&self) {
        let (line, top) = (self.line(), self.top());
        self.stack.slot(top - 1).set_link(line.barrier.get());
        let above = self.stack.at(top);
        line.barrier.set(above);
        line.pop_limit.set(line.pop_limit.get().max(above));
    }

    /// After the slot at `top` was filled.
    fn pushed(&self, top: usize, looks: bool) -> Due<Wake> {
        self.line().top.set(self.stack.at(top + 1));
        let answers = self.can_answer();
        if looks && (self.public_seen() < self.stack.showing.unasked || answers) {
            self.top_up();
        }
        let short = self.public_seen() < self.unasked();
        let wake = match short || answers {
            true => self.publish(),
            false => Due::none(),
        };
        self.settle();
        if self.stack.showing.watched {
            self.watch_push(top + 1);
        }
        wake
    }

    /// A push that others are to see.
    fn watch_push(&self, depth: usize) {
        meet(At::Push);
        let tally = self.stack.tally();
        bump(&tally.tasks, 1);
        // Ordering: Relaxed; a figure, written by this thread alone.
        if depth as u64 > tally.max_depth.load(Relaxed) {
            tally.max_depth.store(depth as u64, Relaxed);
        }
    }

    /// The index of the newest task, if it is private.
    pub(crate) fn newest_private(&self) -> Option<usize> {
        self.answer_alarm();
        let index = self.top().checked_sub(1)?;
        (index >= self.stack.own.split.get()).then_some(index)
    }

    /// Takes the newest task off the stack, if it is private and nothing has to be answered or
    /// published meanwhile.
    #[inline]
    pub(crate) fn pop_private(&self) -> Option<usize> {
        let line = self.line();
        let is_tripped = !ptr::eq(self.thread_line(), line);
        if is_tripped || line.push_limit.get().is_null() {
            return None;
        }
        let index = self.top().checked_sub(1)?;
        if index < self.stack.own.split.get() {
            return None;
        }
        self.drop_top(index);
        self.set_pop_limit();
        Some(index)
    }

    /// Takes the newest task, which stands at `index`, off the stack, or says that it is stolen;
    /// then its slot is still in use.
    pub(crate) fn pop(&self, index: usize) -> (Popped, Due<Wake>) {
        debug_assert_eq!(self.top(), index + 1);
        if self.pop_private().is_some() {
            return (Popped::Here, Due::none());
        }
        let how = if index < self.stack.own.split.get() {
            self.pop_public(index)
        } else {
            Popped::Here
        };
        let wake = match how {
            Popped::Here => {
                self.drop_top(index);
                self.show_if_asked()
            }
            Popped::Away => {
                self.settle();
                Due::none()
            }
        };
        (how, wake)
    }

    /// [`Self::pop`] for tests in which nobody sleeps.
    #[cfg(test)]
    pub(crate) fn pop_awake(&self, index: usize) -> Popped {
        let (how, wake) = self.pop(index);
        wake.waive("nobody sleeps");
        how
    }

    /// The owner takes back what nobody has claimed: down to the task itself, and further while
    /// enough stays public.
    fn pop_public(&self, index: usize) -> Popped {
        let stack = self.stack;
        // Ordering: Relaxed; the owner's own changes, and thieves' claims, whose effect is in the
        // words of the slots.
        if stack.showing.watched {
            meet(At::TakeBack);
        }
        let mut before = Span(stack.span.load(Relaxed));
        while before.public() > 0 && before.oldest() <= index {
            let oldest = before.oldest();
            let owes = self.stack.own.owes_answer.get();
            let split = policy::split_taken_back(oldest, index, self.unasked(), owes);
            let after = Span::new(oldest, split, before.wanted());
            // Ordering: Relaxed; takes back what was never anybody else's. That thieves still see
            // the slots below is kept up by the release sequence of [publish].
            match stack
                .span
                .compare_exchange(before.0, after.0, Relaxed, Relaxed)
            {
                Ok(_) => {
                    stack.own.split.set(split);
                    stack.own.oldest_seen.set(oldest);
                    stack.own.has_shrunk.set(true);
                    bump(&stack.tally().take_backs, 1);
                    return Popped::Here;
                }
                Err(now) => before = Span(now),
            }
        }
        // Everything up to the task is claimed. The span shows nothing public, so thieves leave it
        // alone, and the next publication restarts it.
        Popped::Away
    }

    /// The stolen task at the top has ended and its result is out: its slot is free.
    pub(crate) fn retire(&self, index: usize) {
        self.stack.slot(index).retire();
        self.release(index);
    }

    /// The claimed task at the top has been taken back: its slot is free. See
    /// [`take_back`](super::task_word::TaskWord::take_back).
    pub(crate) fn release(&self, index: usize) {
        debug_assert_eq!(self.top(), index + 1);
        self.stack.own.split.set(index);
        self.stack.own.oldest_seen.set(index);
        self.drop_top(index);
        self.settle();
    }

    /// The slot at the top is free from now on.
    pub(super) fn drop_top(&self, index: usize) {
        let (slot, line) = (self.stack.slot(index), self.line());
        if ptr::eq(line.barrier.get(), line.top.get()) {
            line.barrier.set(slot.link());
            if slot.link().is_null() && self.minds_first() {
                line.spawn_limit.set(ptr::null());
            }
        }
        line.top.set(self.stack.at(index));
    }

    /// Recomputes the limits of the fast paths.
    pub(super) fn settle(&self) {
        let stack = self.stack;
        let slow = stack.own.owes_answer.get()
            || stack.showing.watched
            || self.public_seen() < self.unasked();
        let line = &stack.line;
        let own_split = stack.own.split.get();
        let (end, split) = (stack.at(stack.slots.len()), stack.at(own_split));
        line.push_limit.set(if slow { ptr::null() } else { end });
        let is_first = line.barrier.get().is_null() && self.minds_first();
        line.spawn_limit.set(match slow || is_first {
            true => ptr::null(),
            false => self.first_shown().map_or(end, |first| end.min(first)),
        });
        line.drain_limit.set(if slow { NOWHERE } else { split });
        // Where nothing is private, a full stack has nothing to show, whoever asks for more. What
        // changes that comes by here: pushes are slow, and pops of what is public.
        let shows_all = own_split == self.top() && !stack.showing.watched;
        let is_plain = (!slow || shows_all) && stack.showing.least <= 1;
        line.full_limit.set(if is_plain { end } else { NOWHERE });
        self.set_pop_limit();
        let is_alone = slow && self.comes_alone();
        let alone = if is_alone { line.top.get() } else { NOWHERE };
        stack.own.alone.set(alone);
    }

    fn set_pop_limit(&self) {
        let split = self.stack.at(self.stack.own.split.get());
        let limit = split.max(self.line().barrier.get());
        self.stack.line.pop_limit.set(limit);
    }

    /// Where this thread's line pointer leads.
    #[inline(always)]
    fn thread_line(&self) -> *const Line {
        current_line()
    }

    /// The line of this stack; or the alarm, whose limits let nobody through.
    #[inline(always)]
    fn tripped_line(&self) -> &Line {
        // SAFETY: this thread's line is that of this stack, or the alarm.
        unsafe { &*self.thread_line() }
    }

    /// If the wire was tripped, mends it; what it means is then owed, by the next push at the
    /// latest.
    #[inline]
    pub(crate) fn answer_alarm(&self) {
        if ptr::eq(self.thread_line(), &ALARM) {
            let line = self.line();
            set_current_line(line);
            self.stack.own.owes_answer.set(true);
            self.stack.own.alone.set(NOWHERE);
            line.push_limit.set(ptr::null());
            line.spawn_limit.set(ptr::null());
            line.drain_limit.set(NOWHERE);
            line.full_limit.set(NOWHERE);
        }
    }

    /// Thieves may have claimed tasks since the owner last looked.
    fn look_at_oldest(&self) {
        // Ordering: Relaxed; how much is shown is a matter of speed, the next change of the span
        // looks again.
        let span = Span(self.stack.span.load(Relaxed));
        let own = &self.stack.own;
        own.oldest_seen.set(match span.public() {
            0 => own.split.get(),
            _ => span.oldest(),
        });
    }
}

impl Owner<'static> {
    /// Opens a frame that joins nothing when it ends, also by unwinding: what is left unjoined in
    /// it stays for the next frame further out. As long as it stands, an adopted thread does not
    /// leave its pool.
    pub(crate) fn stay(&self) -> Stay<'_> {
        let (_, outer_floor) = self.open_frame();
        Stay {
            owner: self,
            outer_floor,
        }
    }
}
