//! Explicit tasks: closures on the task stacks of a team's threads.
//!
//! A task is pushed by who meets it, and taken off by the same thread when that waits, newest
//! first, or by another one that has nothing to do. All that a task spawns stands above it on the
//! stack of the thread that runs it, so to wait is to take off all that stands above; there is no
//! count of children. A thief has run what its task has spawned before the task counts as ended.
//!
//! Here is the state of tasks; it knows no threads and no teams. How threads run tasks is told in
//! `team`, and how tasks come to be in `constructs`.

pub(crate) mod body;
pub(crate) mod depend;
pub(crate) mod events;
pub(crate) mod group;
pub(crate) mod heritage;
pub(crate) mod loose;
pub(crate) mod node;
pub(crate) mod predecessors;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use roving::raw::hosted::{self, Frame};

pub(crate) use self::body::Code;
use self::depend::Children;
use self::group::Group;
pub(crate) use self::heritage::Heritage;
use self::node::LinkedTask;
use self::predecessors::Predecessors;
use crate::sync::count::OpenCount;

/// How a task has begun, and what it has come to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskKind {
    Explicit,
    /// An explicit task that has changed its heritage, which is kept for it.
    Changed,
    Implicit,
    /// An implicit task that waits for all: whatever its thread runs meanwhile need not descend
    /// from it.
    AtBarrier,
}

/// A task that runs. It stands on the stack of the thread that runs it.
pub(crate) struct RunningTask {
    /// Where its children stand.
    base: Frame,
    /// Where those stand that were spawned in its innermost group.
    frame: Cell<Frame>,
    /// Groups that it has begun and not ended.
    pub(crate) groups: Cell<u32>,
    heritage: Cell<*const Heritage>,
    pub(crate) kind: Cell<TaskKind>,
    /// Children that others depend on, if there are some.
    pub(crate) children: RefCell<Option<Box<Children>>>,
}

impl RunningTask {
    /// A task that a region begins with.
    pub(crate) fn implicit(frame: Frame, heritage: *const Heritage) -> RunningTask {
        RunningTask {
            base: frame,
            frame: Cell::new(frame),
            groups: Cell::new(0),
            heritage: Cell::new(heritage),
            kind: Cell::new(TaskKind::Implicit),
            children: RefCell::new(None),
        }
    }

    /// A task that was spawned.
    #[inline]
    pub(crate) fn explicit(frame: Frame, heritage: *const Heritage) -> RunningTask {
        RunningTask {
            base: frame,
            frame: Cell::new(frame),
            groups: Cell::new(0),
            heritage: Cell::new(heritage),
            kind: Cell::new(TaskKind::Explicit),
            children: RefCell::new(None),
        }
    }

    #[inline]
    pub(crate) fn is_implicit(&self) -> bool {
        !matches!(self.kind.get(), TaskKind::Explicit | TaskKind::Changed)
    }

    #[inline]
    pub(crate) fn heritage(&self) -> &Heritage {
        // SAFETY: it stays until the region ends, and with it this task.
        unsafe { &*self.heritage.get() }
    }

    #[inline]
    pub(crate) fn heritage_at(&self) -> *const Heritage {
        self.heritage.get()
    }

    /// Its further children inherit that.
    pub(crate) fn inherit(&self, heritage: *const Heritage) {
        self.heritage.set(heritage);
    }

    /// How many counted children it has.
    pub(crate) fn family(&self) -> Arc<OpenCount> {
        let mut children = self.children.borrow_mut();
        Arc::clone(&children.get_or_insert_default().counted)
    }

    /// Those of its children in a group that stand on no stack that it waits for, and have not
    /// ended. The task is to end that group.
    pub(crate) fn loose_in(&self, group: &Group) -> Vec<Arc<LinkedTask>> {
        let children = self.children.borrow();
        let open = children.iter().flat_map(|children| &children.open);
        // The group of one that has not ended is there, until the task ends it.
        let is_one = |node: &LinkedTask| node.is_counted() && !node.is_over() && node.is_in(group);
        open.filter(|node| is_one(node)).cloned().collect()
    }

    /// Some of its children, and all that they depend on.
    pub(crate) fn predecessors_of(&self, these: &[Arc<LinkedTask>]) -> Predecessors {
        let children = self.children.borrow();
        let open = children.as_ref().map_or(&[][..], |children| &children.open);
        Predecessors::up_to(these, open)
    }

    /// Where its children stand that were spawned in its innermost group.
    pub(crate) fn frame(&self) -> Frame {
        self.frame.get()
    }

    pub(crate) fn set_frame(&self, frame: Frame) {
        self.frame.set(frame);
    }

    /// Waits until all that it has spawned has ended, with all that this has spawned.
    #[inline]
    pub(crate) fn drain(&self) {
        hosted::drain(self.base);
        if self.groups.get() > 0 {
            self.lower_groups();
        }
    }

    /// Whether none of its children stands on the stack of its thread.
    pub(crate) fn is_drained(&self) -> bool {
        hosted::is_drained(self.base)
    }

    /// Whether that counted task may run on top of it while it waits.
    pub(crate) fn may_run(&self, node: &LinkedTask) -> bool {
        let children = self.children.borrow();
        let is_own = children
            .as_ref()
            .is_some_and(|own| node.is_of(&own.counted));
        is_own || self.kind.get() == TaskKind::AtBarrier
    }

    /// Runs the newest task that it has spawned and nobody has begun. False if there is none.
    pub(crate) fn run_newest(&self) -> bool {
        let has_run = hosted::run_newest(self.base);
        if self.groups.get() > 0 {
            self.lower_groups();
        }
        has_run
    }

    /// The tasks of its groups may stand from now on where its older children stood.
    #[cold]
    fn lower_groups(&self) {
        let mut group = self.heritage().group;
        for _ in 0..self.groups.get() {
            // SAFETY: a group that this task has begun and not ended.
            let one = unsafe { &*group };
            one.lower(self.base);
            group = one.outer_group;
        }
        self.frame.set(self.frame.get().with_base_of(self.base));
    }
}
