//! The threads of the program itself: each is the initial thread of a team of one, outside of all
//! regions.

use std::cell::RefCell;

use roving::raw::hosted::Frame;

use super::site::Site;
use super::thread::{Position, Progress, Thread};
use super::{Region, Team};
use crate::task::{Heritage, RunningTask};

/// The state that an initial thread has for as long as it lives. Both come from boxes.
struct Root {
    team: *mut Team,
    task: *mut RunningTask,
}

impl Root {
    fn new() -> Root {
        let heritage = Heritage::initial();
        let team = Box::into_raw(Box::new(Team::new(Region::outermost(heritage))));
        // SAFETY: just made.
        let heritage = unsafe { &raw const (*team).region().heritage };
        let task = Box::new(RunningTask::implicit(Frame::NOWHERE, heritage));
        Root {
            team,
            task: Box::into_raw(task),
        }
    }
}

/// The thread's values are dropped, and what runs on it after that may use OpenMP: destructors of
/// `pthread_key_create`, and on the main thread what `atexit` and C++ have for the program's end.
/// They find the main thread as it was, and another one in no team, so that it begins anew.
impl Drop for Root {
    fn drop(&mut self) {
        let thread = Thread::of_any();
        // One that is elsewhere ends the program inside of a region or a task.
        if is_main() || !thread.is_in(self.team, self.task) {
            return;
        }
        thread.go(Position::NOWHERE);
        // SAFETY: there until the end of this function.
        let mail = unsafe { &(*self.team).loose.mail };
        if !mail.is_over() {
            // The event of one of its tasks may come from another thread yet.
            return;
        }
        mail.close();
        // SAFETY: they come from boxes. The thread has left them, and the team has no more tasks.
        unsafe {
            drop(Box::from_raw(self.task));
            drop(Box::from_raw(self.team));
        }
    }
}

thread_local! {
    static ROOT: RefCell<Option<Root>> = const { RefCell::new(None) };
}

impl Thread {
    /// The calling thread. If it has not been one of OpenMP's before, it is an initial one now.
    #[inline]
    pub(crate) fn current() -> &'static Thread {
        let thread = Thread::of_any();
        if thread.is_new() {
            begin(thread);
        }
        thread
    }
}

/// Makes the calling thread an initial one.
#[cold]
fn begin(thread: &Thread) {
    let root = Root::new();
    let (team, task) = (root.team, root.task);
    let mut root = Some(root);
    let _ = ROOT.try_with(|at| *at.borrow_mut() = root.take());
    // When the thread's values are being dropped, it is there for the rest of its life.
    std::mem::forget(root);
    thread.go(Position {
        team,
        num: 0,
        task,
        progress: Progress::START,
    });
    thread.site.set(Site::initial());
    if let Some(site) = thread.site.get().filter(|_| is_main()) {
        site.bind();
    }
}

/// Whether the calling thread is the one that the process began with.
fn is_main() -> bool {
    // SAFETY: the system's own call.
    unsafe { libc::syscall(libc::SYS_gettid) == i64::from(std::process::id()) }
}
