//! A thread's knowledge of itself: in which team it is, as which number, and in which task.

use std::cell::Cell;
use std::ptr;

use super::site::Site;
use super::{League, Team};
use crate::env::Controls;
use crate::loops::share::SharedConstruct;
use crate::task::{RunningTask, TaskKind};

/// Where a thread is among the constructs of its team.
#[derive(Clone, Copy)]
pub(crate) struct Progress {
    /// Constructs that it has met.
    pub(crate) constructs: u64,
    /// The one that it is in, and which part of it comes next. Null outside of constructs, and in a
    /// loop that a compiler has divided among the threads by itself: no call begins that.
    pub(crate) share: *const SharedConstruct,
    pub(crate) turn: u64,
    /// The iterations that it has, of a loop with `ordered`.
    pub(crate) ordered: (u64, u64),
}

impl Progress {
    /// At the beginning of a region.
    pub(crate) const START: Progress = Progress {
        constructs: 0,
        share: ptr::null(),
        turn: 0,
        ordered: (0, 0),
    };
}

/// Where a thread is.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    pub(crate) team: *const Team,
    pub(crate) num: u32,
    pub(crate) task: *const RunningTask,
    pub(crate) progress: Progress,
}

impl Position {
    /// In no team.
    pub(super) const NOWHERE: Position = Position {
        team: ptr::null(),
        num: 0,
        task: ptr::null(),
        progress: Progress::START,
    };
}

/// A thread that OpenMP code runs on.
pub(crate) struct Thread {
    team: Cell<*const Team>,
    num: Cell<u32>,
    /// Null: it has not been one of OpenMP's.
    task: Cell<*const RunningTask>,
    pub(crate) progress: Cell<Progress>,
    pub(crate) league: Cell<League>,
    /// `None`: it is not bound, or not yet.
    pub(crate) site: Cell<Option<Site>>,
}

thread_local! {
    // Const and without a destructor, so that reading it is soon done.
    static THREAD: Thread = const {
        Thread {
            team: Cell::new(ptr::null()),
            num: Cell::new(0),
            task: Cell::new(ptr::null()),
            progress: Cell::new(Progress::START),
            league: Cell::new(League::ONE),
            site: Cell::new(None),
        }
    };
}

impl Thread {
    /// The calling thread, whether or not it is in a task.
    #[inline]
    pub(super) fn of_any() -> &'static Thread {
        // SAFETY: it is no longer used than the thread lives: all uses are calls of C's on it, or
        // regions that it runs.
        THREAD.with(|thread| unsafe { &*ptr::from_ref(thread) })
    }

    /// Whether it has not been one of OpenMP's, and is in no team.
    #[inline]
    pub(super) fn is_new(&self) -> bool {
        self.task.get().is_null()
    }

    /// Whether it is in that task, of that team.
    pub(super) fn is_in(&self, team: *const Team, task: *const RunningTask) -> bool {
        ptr::eq(self.team.get(), team) && ptr::eq(self.task.get(), task)
    }

    /// The number of the thread in its team.
    #[inline]
    pub(crate) fn num(&self) -> u32 {
        self.num.get()
    }

    /// Moves somewhere else. Returns where the thread was.
    pub(crate) fn go(&self, position: Position) -> Position {
        Position {
            team: self.team.replace(position.team),
            num: self.num.replace(position.num),
            task: self.task.replace(position.task),
            progress: self.progress.replace(position.progress),
        }
    }

    /// Binds the thread there, unless it is.
    pub(super) fn move_to(&self, site: Site) {
        let before = self.site.replace(Some(site));
        if before.is_none_or(|before| before.place != site.place) {
            site.bind();
        }
    }

    /// The team whose region the thread is in.
    #[inline]
    pub(crate) fn team(&self) -> &Team {
        // SAFETY: a team stays as long as a thread is in its region.
        unsafe { &*self.team.get() }
    }

    /// The task that it runs.
    #[inline]
    pub(crate) fn task(&self) -> &RunningTask {
        // SAFETY: a task stays as long as a thread runs it.
        unsafe { &*self.task.get() }
    }

    /// Runs `f` in another task.
    #[inline]
    pub(crate) fn within<R>(&self, task: &RunningTask, f: impl FnOnce() -> R) -> R {
        let outer = self.task.replace(task);
        let result = f();
        self.task.set(outer);
        result
    }

    /// The construct that it is in, if it has come to it by a call of the compiler's.
    #[inline]
    pub(crate) fn construct(&self) -> Option<&SharedConstruct> {
        // SAFETY: it stays until the thread has left it, which makes this null.
        unsafe { self.progress.get().share.as_ref() }
    }

    /// The construct that it is in, where it can only have come to it by a call.
    #[inline]
    pub(crate) fn share(&self) -> &SharedConstruct {
        self.construct().expect("no construct has begun")
    }

    /// The values that its task has for itself.
    #[inline]
    pub(crate) fn controls(&self) -> Controls {
        self.task().heritage().controls
    }

    /// Changes what its task has for itself, and what the task's further children inherit.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Controls)) {
        let (task, team) = (self.task(), self.team());
        let mut heritage = *task.heritage();
        change(&mut heritage.controls);
        // Where no task can have inherited it that has not ended, what the task has changed last is
        // written anew: the kept ones would only become more.
        let is_own = task.is_implicit() || task.kind.get() == TaskKind::Changed;
        let is_alone = is_own && task.is_drained() && team.loose.mail.is_over();
        if !(is_alone && team.loose.keep_instead(task.heritage_at(), heritage)) {
            task.inherit(team.loose.keep(heritage));
            if !task.is_implicit() {
                task.kind.set(TaskKind::Changed);
            }
        }
    }
}
