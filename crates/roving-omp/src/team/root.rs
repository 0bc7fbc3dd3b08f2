//! The threads of the program itself: each is the initial thread of a team of one, outside of all
//! regions.

use std::cell::RefCell;
use std::ptr;

use roving::raw::hosted::Frame;

use super::site::Site;
use super::thread::{Position, Progress, Thread};
use super::{Region, Team};
use crate::task::{Heritage, RunningTask};

/// The state that an initial thread has for as long as it lives.
struct Root {
    team: Box<Team>,
    task: Box<RunningTask>,
}

impl Root {
    fn new() -> Root {
        let heritage = Heritage::initial();
        let team = Box::new(Team::new(Region::outermost(heritage)));
        let task = Box::new(RunningTask::implicit(
            Frame::NOWHERE,
            &team.region().heritage,
        ));
        Root { team, task }
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
    let (team, task) = (ptr::from_ref(&*root.team), ptr::from_ref(&*root.task));
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
    // SAFETY: the system's own call.
    let is_main = unsafe { libc::syscall(libc::SYS_gettid) } == i64::from(std::process::id());
    thread.site.set(Site::initial());
    if let Some(site) = thread.site.get().filter(|_| is_main) {
        site.bind();
    }
}
