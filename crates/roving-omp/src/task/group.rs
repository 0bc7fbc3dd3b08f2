//! `taskgroup`: all that is spawned in it, and by what is spawned there, has ended when it ends.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use roving::raw::hosted::Frame;

use super::heritage::Heritage;
use crate::sync::count::OpenCount;

/// A group. It stays until all of its tasks have ended.
pub(crate) struct Group {
    /// The heritage of its tasks: this group, among others.
    heritage: Heritage,
    /// The heritage of its task's children before, and where those stand.
    pub(crate) outer: *const Heritage,
    /// Whether that is kept for its task alone.
    pub(crate) outer_is_own: bool,
    pub(crate) outer_group: *const Group,
    outer_frame: Cell<Frame>,
    /// Where its own tasks stand.
    frame: Cell<Frame>,
    cancelled: AtomicBool,
    /// Whether it is no `taskgroup` of the program's: a `cancel` in it is for the group around it,
    /// if there is one, and so is what that cancels.
    is_of_construct: Cell<bool>,
    /// Of its tasks, those that wait for an event, for one that does, or for one that is older than
    /// the group.
    loose: OpenCount,
    /// Of its tasks, and of those of the groups in it, those that lack their event alone.
    lacking: OpenCount,
    /// The description that `task_reduction` has registered: the first of a list of C's.
    reductions: Cell<*mut usize>,
}

impl Group {
    pub(crate) fn of_region(reductions: *mut usize) -> Box<Group> {
        Box::new(Group {
            heritage: Heritage::initial(),
            outer: ptr::null(),
            outer_is_own: false,
            outer_group: ptr::null(),
            outer_frame: Cell::new(Frame::NOWHERE),
            frame: Cell::new(Frame::NOWHERE),
            cancelled: AtomicBool::new(false),
            is_of_construct: Cell::new(false),
            loose: OpenCount::default(),
            lacking: OpenCount::default(),
            reductions: Cell::new(reductions),
        })
    }

    /// One that a task begins whose children have inherited `outer` so far, which may be the task's
    /// own, and stood at `outer_frame`; those in the group stand at `frame`. The caller owns it, as
    /// from a box.
    ///
    /// # Safety
    /// The heritage is there. It comes as its task has it: a pointer from a reference would only be
    /// one to read.
    pub(crate) unsafe fn inside(
        (outer, outer_is_own): (*const Heritage, bool),
        outer_frame: Frame,
        frame: Frame,
    ) -> *const Group {
        // SAFETY: the caller's promise.
        let heritage = unsafe { *outer };
        let group = Box::into_raw(Box::new(Group {
            heritage,
            outer,
            outer_is_own,
            outer_group: heritage.group,
            outer_frame: Cell::new(outer_frame),
            frame: Cell::new(frame),
            cancelled: AtomicBool::new(false),
            is_of_construct: Cell::new(false),
            loose: OpenCount::default(),
            lacking: OpenCount::default(),
            reductions: Cell::new(ptr::null_mut()),
        }));
        // SAFETY: just made, and nobody else knows it.
        unsafe { (*group).heritage.group = group };
        group
    }

    /// The heritage of its tasks.
    pub(crate) fn heritage_at(&self) -> *const Heritage {
        &raw const self.heritage
    }

    pub(crate) fn frame(&self) -> Frame {
        self.frame.get()
    }

    pub(crate) fn outer_frame(&self) -> Frame {
        self.outer_frame.get()
    }

    /// All that stood below has been drained: its tasks may stand there from now on.
    pub(super) fn lower(&self, base: Frame) {
        self.frame.set(self.frame.get().with_base_of(base));
        self.outer_frame
            .set(self.outer_frame.get().with_base_of(base));
    }

    /// It is that of a loop, of sections or the like.
    pub(crate) fn belong_to_construct(&self) {
        self.is_of_construct.set(true);
    }

    /// The group whose end is that of this one to a `cancel`, unless it is this one.
    #[inline]
    fn outer_to_cancel(&self) -> Option<&Group> {
        match self.is_of_construct.get() {
            // SAFETY: a group stays until those in it have ended.
            true => unsafe { self.outer_group.as_ref() },
            false => None,
        }
    }

    pub(crate) fn cancel(&self) {
        match self.outer_to_cancel() {
            Some(outer) => outer.cancel(),
            // Ordering: Relaxed; a task that does not see it yet runs.
            None => self.cancelled.store(true, Ordering::Relaxed),
        }
    }

    /// Whether tasks of the group that have not begun are to be left out.
    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        match self.outer_to_cancel() {
            Some(outer) => outer.is_cancelled(),
            // Ordering: Relaxed, as above.
            None => self.cancelled.load(Ordering::Relaxed),
        }
    }

    /// The description of all that it reduces.
    pub(crate) fn reductions(&self) -> *mut usize {
        self.reductions.get()
    }

    /// It reduces that; said by its own task, before others ask.
    pub(crate) fn reduce(&self, description: *mut usize) {
        self.reductions.set(description);
    }

    /// It and those around it.
    pub(super) fn outwards(&self) -> impl Iterator<Item = &Group> {
        // SAFETY: a group stays until those in it have ended.
        std::iter::successors(Some(self), |one| unsafe { one.outer_group.as_ref() })
    }

    /// One of its tasks, or of a group in it, lacks its event alone, or is about to.
    pub(super) fn enter_lacking(&self) {
        self.lacking.enter();
    }

    /// That has come.
    pub(super) fn leave_lacking(&self) {
        self.lacking.leave();
    }

    /// Whether some code in it has run whose event has not come.
    pub(crate) fn lacks_an_event(&self) -> bool {
        !self.lacking.has_left(0)
    }

    pub(crate) fn enter_loose(&self) {
        self.loose.enter();
    }

    /// # Safety
    /// The group is there. Its task may end it before this returns, so there is no reference to it.
    pub(crate) unsafe fn leave_loose(at: *const Group) {
        // SAFETY: the caller's promise; a count is used by one step alone.
        unsafe { (*at).loose.leave() };
    }

    /// Whether all of its tasks have ended that wait for more than each other.
    pub(crate) fn are_loose_over(&self) -> bool {
        self.loose.has_left(0)
    }
}
