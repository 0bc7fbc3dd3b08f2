//! How a worker runs frames: one after the other, each from its own loop, so that the native stack
//! is as deep below ten thousand nested forks as below one.
//!
//! Between two polls, the part of the worker's stack above the loop's base holds frames:
//! continuations that forks left there, and children that were spawned. A poll has popped its own
//! pushes (`join`, `scope`, a nested root) when it returns, or has left them unjoined as a spawned
//! child; or as a closure, if it has spawned into a `scope` around the root's blocking call.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::{self, NonNull};

use super::frame::{self, resume};
use super::header::{COUNTED, Frame, Header, Link, NEW_WITH_TOKEN, NO_CHILD, Resume};
use super::level::Level;
use super::local::{Local, Next};
use super::on_top::OnTop;
use super::pushed::{PushedFrame, holds_frame, run_pushed};
use super::root::Root;
use super::waker_word::Suspension;
use crate::machine::meeting_points::{At, meet};
use crate::stack::line::current_line;
use crate::stack::owner::Popped;
use crate::stack::slot::{Run, Slot};
use crate::stats::{Activity, bump};
use crate::workers::Worker;
use crate::workers::stranded::Stranded;
use crate::workers::wait::Taken;

/// One push of a continuation in half as many looks at the clock; numbers are even.
const LOOK_EVERY: u64 = 32;
/// One of [`fork_alone`]'s in a quarter as many: there is nothing more to show.
const LOOK_ALONE_EVERY: u64 = 4 * LOOK_EVERY;

/// The frames that a worker runs: its loop, and what stands on its stack for that.
#[derive(Clone, Copy)]
pub(crate) struct Frames<'w>(pub(crate) &'w Worker);

impl Frames<'_> {
    /// Runs a frame, and the tasks that it leaves on this worker's stack.
    ///
    /// # Safety
    /// The frame is the caller's to run, and its root was opened for this.
    pub(crate) unsafe fn run_frame(self, frame: Frame, level: Level) {
        // SAFETY: the caller's promise.
        unsafe { self.run_frames(&[frame], level) };
    }

    /// Runs several, oldest first in the list, as if they had been on this worker's stack: the
    /// newest first, and the others can be stolen meanwhile.
    ///
    /// # Safety
    /// As [`Self::run_frame`], for each of them.
    pub(crate) unsafe fn run_frames(self, frames: &[Frame], level: Level) {
        let Some((&newest, older)) = frames.split_last() else {
            return;
        };
        // SAFETY: the frame is the caller's.
        let root = unsafe { newest.as_ref() }.root.get();
        let resumes = match level {
            Level::Ground => root,
            Level::Above => ptr::null(),
        };
        // SAFETY: the caller's promise, for all frames.
        unsafe {
            let opened = self.run_uncounted(older, newest, resumes);
            Root::close(root, opened);
        }
    }

    /// Runs frames for a caller that keeps the root's count itself; returns how many were counted
    /// for them.
    ///
    /// # Safety
    /// The frames are the caller's to run, and the root of `newest` stays open meanwhile.
    unsafe fn run_uncounted(self, older: &[Frame], newest: Frame, resumes: *const Root) -> usize {
        // SAFETY: the caller's promise is handed on; and the root, which stays open, keeps its
        // context.
        unsafe {
            let context = (*newest.as_ref().root.get()).context();
            self.0
                .within(context, || self.run_in_context(older, newest, resumes))
        }
    }

    /// Runs frames inside the context of their root, which the caller has entered.
    ///
    /// # Safety
    /// As [`Self::run_uncounted`].
    unsafe fn run_in_context(self, older: &[Frame], newest: Frame, resumes: *const Root) -> usize {
        // SAFETY: the frame is the caller's, and its root open.
        let (root, has_token) = unsafe {
            let root = newest.as_ref().root.get();
            (root, (*root).has_token())
        };
        let local = &self.0.seat().tasks;
        let is_on_top = local.is_within_a_poll();
        let (base, outer_floor) = self.0.owner().open_frame();
        let outer = local.begin(resumes, has_token);
        let run = || {
            for &frame in older {
                // SAFETY: the frames are the caller's, and their roots were opened.
                unsafe {
                    if !ptr::eq(frame.as_ref().root.get(), root) || !self.push_frame(frame, COUNTED)
                    {
                        Root::make_ready(frame.as_ref().root.get(), frame);
                    }
                }
            }
            // SAFETY: `newest` is the caller's to run, and its root was opened.
            unsafe {
                resume(newest);
                self.drive(local, newest, base);
            }
        };
        match is_on_top {
            true => OnTop::Awaited.call(run),
            false => run(),
        }
        let counts = local.end(outer);
        self.0.owner().close_frame(outer_floor);
        1 + counts
    }

    /// Puts a child on the stack, for thieves, or for this worker when it has no newer task.
    ///
    /// # Safety
    /// The child is new, and its root is that of the task that is being polled here.
    pub(crate) unsafe fn spawn_frame(self, child: Frame) {
        // SAFETY: the root is open while one of its tasks is polled, or runs something in its
        // context.
        unsafe {
            if !Local::with(|local| self.leave_frame(local, child, local.new_number())) {
                self.spawn_in_place(child);
            }
        }
    }

    /// Runs a spawned child where the stack is full.
    ///
    /// # Safety
    /// As [`Self::spawn_frame`].
    #[cold]
    #[inline(never)]
    unsafe fn spawn_in_place(self, child: Frame) {
        let local = &self.0.seat().tasks;
        // SAFETY: the caller's promise.
        unsafe {
            let root = child.as_ref().root.get();
            frame::drop_if_cancelled(child);
            if local.current.get().is_null() {
                // Of a root of its own, beside that whose frames are run.
                (*root).open();
                self.run_frame(child, Level::Above);
            } else {
                let counts = self.run_uncounted(&[], child, ptr::null());
                // That the child's own was counted is not true: it was new.
                local.keep_counts(counts - 1);
            }
        }
        Stranded(self.0).run();
    }

    /// Leaves a frame on the stack, in a poll, for the end of that or for thieves. False when there
    /// is no room.
    ///
    /// # Safety
    /// As [`Self::push_frame`].
    #[inline(always)]
    pub(super) unsafe fn leave_frame(self, local: &Local, frame: Frame, number: u64) -> bool {
        let is_at_level = self.is_at_level(local);
        let pushed = PushedFrame { frame, number };
        let (done, wake) = match self.0.owner().push_unjoined(run_pushed, pushed) {
            Ok(wake) => (true, wake),
            Err((_, wake)) => (false, wake),
        };
        if done && is_at_level {
            local.level.set(self.0.owner().line().top.get());
        }
        self.0.wake_if(wake);
        done
    }

    /// Whether nothing lies on the stack, above what was there when the current poll began, but
    /// frames that the poll has left there: no closure that a join is going to pop.
    pub(super) fn is_at_level(self, local: &Local) -> bool {
        ptr::eq(local.level.get(), self.0.owner().line().top.get())
    }

    /// Puts a frame on the stack between two polls. False when there is no room.
    ///
    /// # Safety
    /// The frame is the caller's, and this worker keeps its root open, or its number says that it
    /// is counted.
    pub(super) unsafe fn push_frame(self, frame: Frame, number: u64) -> bool {
        let pushed = PushedFrame { frame, number };
        let (done, wake) = match self.0.owner().push(run_pushed, pushed) {
            Ok((_, wake)) => (true, wake),
            Err((_, wake)) => (false, wake),
        };
        self.0.wake_if(wake);
        done
    }

    /// Runs the frame, and everything above `base`.
    ///
    /// # Safety
    /// The frame is the caller's, the root is open for this worker, and above `base` are frames of
    /// that root only.
    unsafe fn drive(self, local: &Local, frame: Frame, base: *const Slot) {
        let mut next = Some(frame);
        while let Some(frame) = next {
            // SAFETY: the caller's promise, or `after_end`.
            let running = AssertUnwindSafe(|| unsafe { self.run(local, frame, base) });
            next = match panic::catch_unwind(running) {
                Ok(()) => None,
                // SAFETY: nothing unwinds out of `run` but a poll.
                Err(payload) => unsafe { self.after_panic(local, payload, base) },
            };
        }
        local.current.set(ptr::null());
        if !ptr::eq(self.0.owner().line().top.get(), base) {
            // Where a fork leaves its child for later, which ends the loop, whatever the parent has
            // left on the stack.
            self.0.drain(base);
        }
    }

    /// The loop. Unwinds when a poll does; that frame is still the current one then.
    ///
    /// # Safety
    /// As [`Self::drive`].
    unsafe fn run(self, local: &Local, first: Frame, base: *const Slot) {
        let (mut frame, line) = (first, self.0.owner().line());
        loop {
            local.current.set(frame.as_ptr());
            local.level.set(line.top.get());
            // SAFETY: the frame is this worker's, and holds its future: it has not ended.
            let ended = unsafe { frame.as_ref().poll(frame) }.is_ready();
            let next = local.take_next();
            // One question after the other: a jump by a table takes longer.
            // SAFETY: the frame stays this worker's until it is passed on by one of these.
            let then = unsafe {
                if next.is_none() {
                    if ended {
                        self.after_end(local, frame, base)
                    } else {
                        self.suspend(frame);
                        self.pop_frame(local, base)
                    }
                } else if ended || next.is_seldom() {
                    self.follow(local, frame, ended, next.get(), base)
                } else if next.is_called() {
                    let child = child_of(next.frame());
                    call(self, frame, child, Resume::Directly);
                    Some(child)
                } else {
                    fork(self, local, frame, child_of(next.frame()))
                }
            };
            match then {
                Some(then) => frame = then,
                None => return,
            }
        }
    }

    /// Follows the wish of a frame that has ended, or one that is seldom.
    ///
    /// # Safety
    /// The frame was polled in [`Self::run`], which was called with that base.
    #[cold]
    #[inline(never)]
    unsafe fn follow(
        self,
        local: &Local,
        frame: Frame,
        ended: bool,
        next: Next,
        base: *const Slot,
    ) -> Option<Frame> {
        // SAFETY: the frame stays this worker's until it is passed on by one of these.
        unsafe {
            match next {
                Next::Woken(_) if ended => self.after_end(local, frame, base),
                Next::Woken(woken) => self.yield_frame(local, woken, base),
                Next::Forked(child) | Next::Called(child) | Next::TakenBack(child) => {
                    let child = child_of(child);
                    if ended {
                        self.leave_to_itself(child);
                        return self.after_end(local, frame, base);
                    }
                    call(self, frame, child, Resume::Told);
                    Some(child)
                }
            }
        }
    }

    /// Runs a child whose parent ended, or panicked, in the poll in which it asked for the child.
    ///
    /// # Safety
    /// The child is new, and this worker keeps its root open.
    #[cold]
    unsafe fn leave_to_itself(self, child: Frame) {
        // SAFETY: the caller's promise; a frame in the queue is counted.
        unsafe {
            if !self.push_frame(child, NO_CHILD) {
                let root = child.as_ref().root.get();
                (*root).open();
                Root::make_ready(root, child);
            }
        }
    }

    /// Ends the current frame after its poll has unwound.
    ///
    /// # Safety
    /// The poll has unwound in [`Self::run`], which was called with that base.
    #[cold]
    unsafe fn after_panic(
        self,
        local: &Local,
        payload: Box<dyn Any + Send>,
        base: *const Slot,
    ) -> Option<Frame> {
        // SAFETY: a frame is current while it is polled.
        unsafe {
            let frame = child_of(local.current.get());
            let next = local.take_next();
            if let Some(Next::Forked(child) | Next::Called(child) | Next::TakenBack(child)) =
                (!next.is_none()).then(|| next.get())
            {
                self.leave_to_itself(child_of(child));
            }
            frame::fail(frame, payload);
            self.after_failure(local, frame, base)
        }
    }

    /// Takes a child back that was spawned, if it is the newest on the stack, and private.
    pub(crate) fn take_back(self, child: Frame) -> bool {
        let owner = self.0.owner();
        let Some(index) = owner.newest_private() else {
            return false;
        };
        let slot = owner.stack().slot(index);
        if !holds_frame(slot) {
            return false;
        }
        // SAFETY: private, and it holds a frame; it is read again when it is not taken now.
        let pushed = unsafe { slot.take::<PushedFrame>() };
        if pushed.frame != child || pushed.number != Local::with(Local::new_number) {
            return false;
        }
        if pushed.number == NEW_WITH_TOKEN {
            // SAFETY: it is new, nobody else's, and the task that is polled keeps its root open.
            unsafe { frame::drop_if_cancelled(child) };
        }
        let local = &self.0.seat().tasks;
        let is_at_level = self.is_at_level(local);
        let (popped, wake) = owner.pop(index);
        debug_assert_eq!(popped, Popped::Here);
        if is_at_level {
            // Else the level would be that of a closure which a join pushes here next.
            local.level.set(owner.line().top.get());
        }
        self.0.wake_if(wake);
        true
    }

    /// Suspends a frame whose poll was `Pending`: from now on it belongs to the thread that wakes
    /// it.
    ///
    /// # Safety
    /// The frame is this worker's, which does not use it afterwards.
    #[inline(never)]
    unsafe fn suspend(self, frame: Frame) {
        // What runs while this worker looks for the next frame runs in no task.
        let local = &self.0.seat().tasks;
        local.current.set(ptr::null());
        meet(At::Suspend);
        let doing = self.0.clock().enter(Activity::Switch);
        bump(&self.0.tally().suspensions, 1);
        // SAFETY: the frame is this worker's until it is suspended. After that its root is kept
        // open by this worker.
        unsafe {
            let header = frame.as_ref();
            let root = header.root.get();
            if !local.take_count() {
                (*root).open();
            }
            // One that has no waker is never woken: its root waits for ever, as it asked to.
            if header.life.is_shared() && header.life.suspend() == Suspension::Again {
                Root::make_ready(root, frame);
            }
        }
        self.0.clock().enter(doing);
    }

    /// Takes the newest frame above the base off the stack, or, when none is left, a frame that has
    /// its place on this worker. Between the frames lie closures that polls have spawned into a
    /// scope around the root: it runs these.
    ///
    /// # Safety
    /// This worker runs frames above that base, and polls none now.
    #[inline(never)]
    pub(super) unsafe fn pop_frame(self, local: &Local, base: *const Slot) -> Option<Frame> {
        let owner = self.0.owner();
        while owner.line().top.get() > base {
            let private = owner.pop_private();
            let index = private.unwrap_or_else(|| {
                owner.answer_alarm();
                owner.top() - 1
            });
            if private.is_none() && self.0.take(index) != Taken::Here {
                local.count_loss();
                continue;
            }
            let slot = owner.stack().slot(index);
            if holds_frame(slot) {
                // SAFETY: popped; it is a frame, and this worker's now.
                return Some(unsafe { slot.take::<PushedFrame>().resume(local) });
            }
            // SAFETY: popped, and run once.
            let further = unsafe { slot.run() };
            self.0.run_further(further, Level::Above);
        }
        let frame = local.next_placed()?;
        let placed = PushedFrame {
            frame,
            number: COUNTED,
        };
        // SAFETY: this worker's now.
        Some(unsafe { placed.resume(local) })
    }
}

/// # Safety
/// The pointer came from a frame.
#[inline(always)]
unsafe fn child_of(child: *const Header) -> Frame {
    // SAFETY: frames are not null.
    unsafe { NonNull::new_unchecked(child.cast_mut()) }
}

/// Puts the frame on the stack as a continuation, below its child. Returns the frame to run next.
///
/// # Safety
/// Both are the worker's.
#[inline(always)]
unsafe fn fork(frames: Frames<'_>, local: &Local, frame: Frame, child: Frame) -> Option<Frame> {
    let number = local.number_push();
    let pushed = PushedFrame { frame, number };
    // SAFETY: the child is the worker's.
    unsafe { child.as_ref() }.link.set(Link::push(number));
    // SAFETY: the line of this worker, or the alarm, which lets nobody through.
    let line = unsafe { &*current_line() };
    let top = line.top.get();
    // SAFETY: the frame is the worker's. No reference to it is an argument of what may pass it on:
    // arguments count as used until the call returns, and it may be gone by then.
    let shared = unsafe { frame.as_ref() }.life.is_shared();
    if top < line.push_limit.get() && !shared && !local.slow_forks.get() {
        // SAFETY: below the limit, the slot at the top is free and private, and this thread's.
        unsafe { (*top).fill(run_pushed as Run, pushed) };
        line.top.set(top.wrapping_add(1));
        Some(child)
    } else {
        // SAFETY: the caller's promise.
        unsafe { fork_alone(frames, local, pushed, child) }
    }
}

/// A fork in a loop of small children, as long as nobody takes its continuation; apart from other
/// slow ways, because it calls nothing, and saves few registers.
///
/// # Safety
/// As [`fork`].
#[cold]
#[inline(never)]
unsafe fn fork_alone(
    frames: Frames<'_>,
    local: &Local,
    pushed: PushedFrame,
    child: Frame,
) -> Option<Frame> {
    // SAFETY: the frame is the worker's until it is pushed.
    let life = unsafe { &pushed.frame.as_ref().life };
    if life.is_shared() {
        life.schedule();
    }
    let is_usual = !local.slow_forks.get() && pushed.number % LOOK_ALONE_EVERY != 0;
    if is_usual && frames.0.owner().push_alone(run_pushed, pushed) {
        return Some(child);
    }
    // SAFETY: the caller's promise.
    unsafe { fork_slowly(frames, local, pushed, child) }
}

/// # Safety
/// As [`fork`]. The frame is scheduled, if it is shared.
#[cold]
#[inline(never)]
unsafe fn fork_slowly(
    frames: Frames<'_>,
    local: &Local,
    pushed: PushedFrame,
    child: Frame,
) -> Option<Frame> {
    let (frame, new) = (pushed.frame, child);
    // SAFETY: both frames are the worker's until they are passed on.
    let (header, child) = unsafe { (frame.as_ref(), child.as_ref()) };
    let shared = header.life.is_shared();
    if local.slow_forks.get() {
        // SAFETY: the child is new, and this worker keeps its root open.
        unsafe { frame::drop_if_cancelled(new) };
    }
    if !local.migrate {
        // SAFETY: the line of this worker, or the alarm, which lets nobody through.
        let line = unsafe { &*current_line() };
        let top = line.top.get();
        if top < line.push_limit.get() && !shared {
            // SAFETY: as in `fork`.
            unsafe { (*top).fill(run_pushed as Run, pushed) };
            line.top.set(top.wrapping_add(1));
            return Some(new);
        }
        // A loop that forks small children publishes each time: one look at the clock for many.
        let looks = pushed.number % LOOK_EVERY == 0;
        let (full, wake) = match frames.0.owner().push_timed(run_pushed, pushed, looks) {
            Ok((_, wake)) => (false, wake),
            Err((_, wake)) => (true, wake),
        };
        frames.0.wake_if(wake);
        if !full {
            return Some(new);
        }
        if !shared {
            child.link.set(Link::caller(frame, Resume::Directly));
            return Some(new);
        }
    }
    child.link.set(Link::NONE);
    // SAFETY: this worker keeps the root open, and the frame is counted.
    unsafe {
        let root = header.root.get();
        (*root).open();
        Root::make_ready(root, frame);
    }
    Some(new)
}

/// Makes the frame wait for its child.
///
/// # Safety
/// Both are the worker's.
#[inline(always)]
unsafe fn call(frames: Frames<'_>, frame: Frame, child: Frame, resume: Resume) {
    // SAFETY: the frame is the worker's.
    if unsafe { frame.as_ref() }.life.is_shared() {
        // SAFETY: the caller's promise.
        unsafe { call_slowly(frames, frame, child) };
    } else {
        // SAFETY: the child is the worker's.
        unsafe { child.as_ref() }
            .link
            .set(Link::caller(frame, resume));
    }
}

/// Makes a frame that other threads may wake wait for its child.
///
/// # Safety
/// As [`fork`].
#[cold]
#[inline(never)]
unsafe fn call_slowly(frames: Frames<'_>, frame: Frame, child: Frame) {
    // SAFETY: both frames are the worker's.
    unsafe {
        frame.as_ref().life.share();
        let link = Link::caller(frame, Resume::Woken);
        child.as_ref().link.set(link);
        frames.suspend(frame);
    }
}
