//! Explicit tasks: closures on the task stacks of a team's threads.
//!
//! A task is pushed by who meets it, and taken off by the same thread when that waits, newest
//! first, or by another one that has nothing to do. All that a task spawns stands above it on the
//! stack of the thread that runs it, so to wait is to take off all that stands above; there is no
//! count of children. A thief has run what its task has spawned before the task counts as ended.

pub(crate) mod depend;
mod events;
pub(crate) mod group;
pub(crate) mod loose;
pub(crate) mod node;
pub(crate) mod reduction;
pub(crate) mod spawn;
pub(crate) mod taskloop;

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;

use roving::raw::hosted::{self, Frame};

use self::depend::Children;
use self::group::Group;
use crate::env::{Controls, Settings};
use crate::sync::count::Count;
use crate::team::Team;

/// All that a task hands on to those that it spawns. It stays until the region ends.
#[derive(Clone, Copy)]
pub(crate) struct Heritage {
    pub(crate) controls: Controls,
    /// The innermost group; null outside of all.
    pub(crate) group: *const Group,
    pub(crate) is_final: bool,
}

impl Heritage {
    /// Of an initial thread.
    pub(crate) fn initial() -> Heritage {
        Heritage {
            controls: Settings::get().controls,
            group: ptr::null(),
            is_final: false,
        }
    }
}

/// A task that runs. It stands on the stack of the thread that runs it.
pub(crate) struct Task {
    /// Where its children stand.
    base: Frame,
    /// Where those stand that were spawned in its innermost group.
    frame: Cell<Frame>,
    /// Groups that it has begun and not ended.
    pub(crate) groups: Cell<u32>,
    heritage: Cell<*const Heritage>,
    pub(crate) is_implicit: bool,
    /// Children that others depend on, if there are some.
    pub(crate) children: RefCell<Option<Box<Children>>>,
}

impl Task {
    /// A task that a region begins with.
    pub(crate) fn implicit(frame: Frame, heritage: *const Heritage) -> Task {
        Task {
            base: frame,
            frame: Cell::new(frame),
            groups: Cell::new(0),
            heritage: Cell::new(heritage),
            is_implicit: true,
            children: RefCell::new(None),
        }
    }

    /// A task that was spawned.
    #[inline]
    pub(crate) fn explicit(frame: Frame, heritage: *const Heritage) -> Task {
        Task {
            base: frame,
            frame: Cell::new(frame),
            groups: Cell::new(0),
            heritage: Cell::new(heritage),
            is_implicit: false,
            children: RefCell::new(None),
        }
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

    /// Changes what it has for itself, and what its further children inherit.
    pub(crate) fn change(&self, team: &Team, change: impl FnOnce(&mut Controls)) {
        let mut heritage = *self.heritage();
        change(&mut heritage.controls);
        // Where no task can have inherited it that has not ended, the last one is written anew:
        // outside of regions the kept ones would only become more.
        let is_alone = self.is_implicit && self.groups.get() == 0 && team.threads() == 1;
        if !(is_alone && team.loose.keep_instead(self.heritage_at(), heritage)) {
            self.inherit(team.loose.keep(heritage));
        }
    }

    /// How many counted children it has.
    pub(crate) fn family(&self) -> Arc<Count> {
        let mut children = self.children.borrow_mut();
        Arc::clone(&children.get_or_insert_default().counted)
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
