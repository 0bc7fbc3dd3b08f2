//! `taskgroup`: all that is spawned in it, and by what is spawned there, has ended when it ends.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use roving::raw::hosted::{self, Frame};

use super::Heritage;
use super::node::Node;
use crate::sync::count::Count;
use crate::team::thread::Thread;

/// A group. It stays until all of its tasks have ended.
pub(crate) struct Group {
    /// The heritage of its tasks: this group, among others.
    heritage: Heritage,
    /// The heritage of its task's children before, and where those stand.
    outer: *const Heritage,
    pub(crate) outer_group: *const Group,
    outer_frame: Cell<Frame>,
    frame: Cell<Frame>,
    cancelled: AtomicBool,
    /// Of its tasks, those that wait for an event or depend on one.
    loose: Count,
    /// The description that `task_reduction` has registered: the first of a list of C's.
    reductions: Cell<*mut usize>,
    /// One of its tasks may be held by one that is older than the group, and stands below.
    holds: Cell<bool>,
}

impl Group {
    pub(crate) fn of_region(reductions: *mut usize) -> Box<Group> {
        Box::new(Group {
            heritage: Heritage::initial(),
            outer: ptr::null(),
            outer_group: ptr::null(),
            outer_frame: Cell::new(Frame::NOWHERE),
            frame: Cell::new(Frame::NOWHERE),
            cancelled: AtomicBool::new(false),
            loose: Count::default(),
            reductions: Cell::new(reductions),
            holds: Cell::new(false),
        })
    }

    /// All that stood below has been drained: its tasks may stand there from now on.
    pub(super) fn lower(&self, base: Frame) {
        self.frame.set(self.frame.get().with_base_of(base));
        self.outer_frame
            .set(self.outer_frame.get().with_base_of(base));
    }

    pub(crate) fn cancel(&self) {
        // Ordering: Relaxed; a task that does not see it yet runs.
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether tasks of the group that have not begun are to be left out.
    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        // Ordering: Relaxed, as above.
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The description of all that it reduces.
    pub(super) fn reductions(&self) -> *mut usize {
        self.reductions.get()
    }

    /// It reduces that; said by its own task, before others ask.
    pub(super) fn reduce(&self, description: *mut usize) {
        self.reductions.set(description);
    }

    /// One of its tasks, a child of the task that has begun it, waits for another child.
    pub(super) fn hold(&self) {
        self.holds.set(true);
    }

    pub(crate) fn enter_loose(&self) {
        self.loose.enter();
    }

    pub(crate) fn leave_loose(&self) {
        self.loose.leave();
    }
}

/// The calling task's innermost group begins.
pub(crate) fn start(thread: &Thread) {
    let task = thread.task();
    let (outer, outer_frame) = (task.heritage_at(), task.frame());
    let group = Box::into_raw(Box::new(Group {
        heritage: *task.heritage(),
        outer,
        outer_group: task.heritage().group,
        outer_frame: Cell::new(outer_frame),
        frame: Cell::new(hosted::open()),
        cancelled: AtomicBool::new(false),
        loose: Count::default(),
        reductions: Cell::new(ptr::null_mut()),
        holds: Cell::new(false),
    }));
    // SAFETY: just made, and nobody else knows it.
    let heritage = unsafe {
        (*group).heritage.group = group;
        task.set_frame((*group).frame.get());
        &raw const (*group).heritage
    };
    task.inherit(heritage);
    task.groups.set(task.groups.get() + 1);
}

/// The group ends.
pub(crate) fn end(thread: &Thread) {
    let task = thread.task();
    let at = task.heritage().group;
    assert!(!at.is_null(), "no taskgroup has begun");
    // SAFETY: a group of this task, which ends here.
    let group = unsafe { &*at };
    match group.holds.get() {
        true => task.drain(),
        false => hosted::drain(group.frame.get()),
    }
    let is_over = || group.loose.has_left(0);
    if !is_over() {
        // Also what its tasks may depend on: other children of the task.
        let family = task.family();
        let is_wanted = |node: &Node| node.is_in(group) || node.is_of(&family);
        thread.team().loose.wait_until(thread, is_wanted, is_over);
    }
    hosted::leave(group.frame.get());
    task.set_frame(group.outer_frame.get());
    task.groups.set(task.groups.get() - 1);
    let is_changed = !ptr::eq(task.heritage_at(), &group.heritage);
    let controls = task.heritage().controls;
    task.inherit(group.outer);
    if is_changed {
        task.change(thread.team(), |own| *own = controls);
    }
    // SAFETY: all of its tasks have ended, and it came from a box.
    drop(unsafe { Box::from_raw(at.cast_mut()) });
}
