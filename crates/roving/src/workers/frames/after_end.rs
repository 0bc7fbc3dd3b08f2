//! The end of a frame: the task that it wakes, and the frame that its worker runs next.

use std::panic::{self, AssertUnwindSafe};
use std::ptr;

use super::awaited::Awaited;
use super::child_end::Ending;
use super::drive::Frames;
use super::frame::{self, resume};
use super::header::{COUNTED, Frame, Resume, place_of};
use super::local::Local;
use super::pushed::{PushedFrame, holds_frame};
use super::root::Root;
use super::waker;
use crate::machine::unwind::run_quietly;
use crate::stack::line::current_line;
use crate::stack::owner::Popped;
use crate::stack::slot::Slot;

impl Frames<'_> {
    /// Ends a frame that holds its outcome: wakes the task that waits, and returns the frame to run
    /// next.
    ///
    /// # Safety
    /// As [`Self::drive`]; the frame is not used afterwards.
    #[inline(always)]
    pub(super) unsafe fn after_end(
        self,
        local: &Local,
        frame: Frame,
        base: *const Slot,
    ) -> Option<Frame> {
        // SAFETY: the frame is this worker's.
        let header = unsafe { frame.as_ref() };
        let link = header.link.get();
        if link.is_caller() {
            if let (Some(caller), true) = (link.get_direct_caller(), header.is_alone()) {
                header.end.end_alone();
                return Some(caller);
            }
            // SAFETY: the frame is this worker's.
            return unsafe { self.after_call(local, frame, base) };
        }
        // SAFETY: the line of this worker, or the alarm, which lets nobody through.
        let line = unsafe { &*current_line() };
        let newest = line.top.get().wrapping_sub(1);
        if newest >= line.pop_limit.get() && newest >= base && header.is_alone() {
            // SAFETY: private, above the base, and no closure left by a poll, because those are
            // below the limit: so it holds a frame; it is read again when it is not taken now.
            let pushed = unsafe { (*newest).take::<PushedFrame>() };
            if link.is_push(pushed.number) {
                // The parent is here, so nobody looks at the child's handle but after this worker
                // has resumed it.
                header.end.end_alone();
                line.top.set(newest);
                // SAFETY: popped.
                unsafe { resume(pushed.frame) };
                return Some(pushed.frame);
            }
        }
        // SAFETY: the caller's promise is handed on: nothing of the frame was given away here.
        unsafe { self.after_end_alone(local, frame, base) }
    }

    /// Ends a frame that has panicked. Always by a read-modify-write: see
    /// [`super::child_end::End::end_alone`].
    ///
    /// # Safety
    /// As [`Self::after_end`], and the frame has failed.
    pub(super) unsafe fn after_failure(
        self,
        local: &Local,
        frame: Frame,
        base: *const Slot,
    ) -> Option<Frame> {
        // SAFETY: the frame is this worker's, and the caller promises the rest.
        unsafe {
            match frame.as_ref().link.get().is_caller() {
                true => self.after_call(local, frame, base),
                false => self.after_end_slowly(local, frame, base),
            }
        }
    }

    /// The end of a frame that was called, where more has to be done than to resume the caller.
    ///
    /// # Safety
    /// As [`Self::after_end`].
    #[cold]
    #[inline(never)]
    unsafe fn after_call(self, local: &Local, frame: Frame, base: *const Slot) -> Option<Frame> {
        // SAFETY: the frame is this worker's.
        let (caller, resume) = unsafe { frame.as_ref() }.link.get().get_caller();
        // SAFETY: the frame is this worker's until its end is told. A caller without a waker waits
        // for this; otherwise the link holds a reference to it, which is given up.
        unsafe {
            self.tell_end(local, frame);
            if resume != Resume::Woken {
                return Some(caller);
            }
            let woken = caller.as_ref().life.wake();
            woken.pay(|| self.resume_later(local, caller));
            let last = caller.as_ref().life.drop_reference();
            last.pay_gone(move || frame::free(caller));
            self.pop_frame(local, base)
        }
    }

    /// Ends a frame where the top of the stack is its parent, which is public and all that there
    /// is; see [`fork_alone`](super::drive). Apart for the same reason as that.
    ///
    /// # Safety
    /// As [`Self::after_end`].
    #[cold]
    #[inline(never)]
    unsafe fn after_end_alone(
        self,
        local: &Local,
        frame: Frame,
        base: *const Slot,
    ) -> Option<Frame> {
        let owner = self.0.owner();
        // SAFETY: the frame is this worker's until its end is told; what was popped is this
        // worker's, and was left by no poll, so it is a frame.
        unsafe {
            let is_above = owner.line().top.get() > base;
            let Some(slot) = is_above.then(|| owner.pop_alone()).flatten() else {
                return self.after_end_slowly(local, frame, base);
            };
            let (header, pushed) = (frame.as_ref(), (*slot).take::<PushedFrame>());
            if !header.link.get().is_push(pushed.number) || !header.is_alone() {
                return Some(self.after_other(local, frame, pushed));
            }
            header.end.end_alone();
            resume(pushed.frame);
            Some(pushed.frame)
        }
    }

    /// Ends a frame, and resumes another that was popped, which is not its parent.
    ///
    /// # Safety
    /// As [`Self::after_end`], and what was popped is this worker's.
    #[cold]
    #[inline(never)]
    unsafe fn after_other(self, local: &Local, frame: Frame, pushed: PushedFrame) -> Frame {
        // SAFETY: the caller's promise.
        unsafe {
            self.tell_end(local, frame);
            pushed.resume(local)
        }
    }

    /// Ends a frame where the top of the stack is public or is not the parent.
    ///
    /// # Safety
    /// As [`Self::after_end`].
    #[cold]
    #[inline(never)]
    unsafe fn after_end_slowly(
        self,
        local: &Local,
        frame: Frame,
        base: *const Slot,
    ) -> Option<Frame> {
        let owner = self.0.owner();
        // SAFETY: the frame is this worker's until it is finished; what was popped is this
        // worker's.
        unsafe {
            let header = frame.as_ref();
            owner.answer_alarm();
            let index = owner.top().wrapping_sub(1);
            // Else it is what a poll has spawned into a scope of closures, for `pop_frame` to run.
            let is_frame = || holds_frame(owner.stack().slot(index));
            if owner.stack().at(owner.top()) > base && is_frame() {
                let (popped, wake) = owner.pop(index);
                self.0.wake_if(wake);
                if popped == Popped::Here {
                    let pushed = owner.stack().slot(index).take::<PushedFrame>();
                    let is_parent = header.link.get().is_push(pushed.number);
                    if is_parent && header.is_alone() && !frame::has_failed(frame) {
                        header.end.end_alone();
                    } else {
                        self.tell_end(local, frame);
                    }
                    return Some(pushed.resume(local));
                }
            }
            self.tell_end(local, frame);
            self.pop_frame(local, base)
        }
    }

    /// Wakes the task that waits for the frame, wherever that is.
    ///
    /// # Safety
    /// Its outcome is in it, and it is this worker's; not any more afterwards.
    unsafe fn tell_end(self, local: &Local, frame: Frame) {
        // What is called from here, and while this worker looks for the next frame, runs in no
        // task.
        local.current.set(ptr::null());
        // SAFETY: the frame is this worker's until its end is told.
        let header = unsafe { frame.as_ref() };
        let root = header.root.get();
        if header.life.is_shared() {
            header.life.over();
        }
        let mut awaiter = None;
        loop {
            match header.end.end() {
                // SAFETY: `end` says so.
                Ending::TakeAwaiter => awaiter = Some(unsafe { header.take_awaiter() }),
                Ending::HandedOver => break,
                Ending::Abandoned => {
                    // SAFETY: `end` says so.
                    let disposed = AssertUnwindSafe(|| unsafe { frame::dispose(frame) });
                    if let Err(payload) = panic::catch_unwind(disposed) {
                        // SAFETY: this worker keeps the root open.
                        unsafe { &*root }.panicked(payload);
                    }
                    break;
                }
            }
        }
        let Some(awaiter) = awaiter else { return };
        match waker::frame_of(&awaiter) {
            Some(frame) => {
                // SAFETY: the waker keeps the frame.
                let header = unsafe { frame.as_ref() };
                // SAFETY: it was suspended, and counted at its root, so it is to be passed on.
                let pass_on = || unsafe { self.resume_later(local, frame) };
                header.life.wake().pay(pass_on);
                drop(awaiter);
            }
            None => run_quietly(|| awaiter.wake()),
        }
    }

    /// A frame that waited for the end of another goes on: next, if it may run here.
    ///
    /// # Safety
    /// The frame is this worker's, and counted at its root.
    unsafe fn resume_later(self, local: &Local, frame: Frame) {
        // SAFETY: the frame is this worker's, and its root is open.
        unsafe {
            let root = frame.as_ref().root.get();
            let stays = ptr::eq(root, local.resumes.get()) && place_of(frame).is_none();
            if !stays || !self.push_frame(frame, COUNTED) {
                Root::make_ready(root, frame);
            }
        }
    }
}
