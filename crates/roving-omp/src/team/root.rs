//! The threads of the program itself: each is the initial thread of a team of one, outside of all
//! regions.

use std::ffi::c_void;

use roving::raw::hosted::Frame;

use super::at_end::AtEnd;
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

/// The thread ends, and what runs on it after that may use OpenMP: other destructors of
/// `pthread_key_create`. They find the thread in no team, so that it begins anew; or, if the main
/// thread ends before the program, as it was.
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
    END.set(Box::into_raw(Box::new(root)).cast());
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

/// Drops the state at the thread's end.
static END: AtEnd = AtEnd::new(end);

unsafe extern "C" fn end(root: *mut c_void) {
    // SAFETY: it comes from a box, and is dropped once.
    drop(unsafe { Box::from_raw(root.cast::<Root>()) });
}

/// Whether the calling thread is the one that the process began with.
fn is_main() -> bool {
    // SAFETY: the system's own call.
    unsafe { libc::syscall(libc::SYS_gettid) == i64::from(std::process::id()) }
}
