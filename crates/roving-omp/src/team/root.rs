//! The threads of the program itself: each is the initial thread of a team of one, outside of all
//! regions, and keeps a crew for its own.

use std::cell::RefCell;
use std::ptr;

use roving::adapt::hosted::Frame;

use super::crew::{self, Crew};
use super::thread::{Position, Progress, Thread};
use super::{Region, Team};
use crate::env::Settings;
use crate::task::{Heritage, Task};

/// The state that an initial thread has for as long as it lives.
struct Root {
    team: Box<Team>,
    task: Box<Task>,
    crew: Option<Crew>,
}

impl Root {
    fn new() -> Root {
        let heritage = Heritage::initial();
        let team = Box::new(Team::new(outermost(heritage)));
        let task = Box::new(Task::implicit(Frame::NOWHERE, &team.region().heritage));
        Root {
            team,
            task,
            crew: None,
        }
    }
}

thread_local! {
    static ROOT: RefCell<Option<Root>> = const { RefCell::new(None) };
}

/// Outside of all regions.
fn outermost(heritage: Heritage) -> Region {
    unsafe extern "C" fn nothing(_: *mut ()) {}
    Region {
        code: nothing,
        data: ptr::null_mut(),
        threads: 1,
        level: 0,
        active: 0,
        outer: ptr::null(),
        outer_num: 0,
        heritage,
        begins_in_loop: false,
    }
}

/// Makes the calling thread an initial one.
#[cold]
pub(super) fn begin(thread: &Thread) {
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
    if is_main {
        crew::bind(0, Settings::get().processors);
    }
}

/// Calls `f` with the calling thread's crew, of at least `threads` threads if the system gives so
/// many. `None`: the thread is about to end, and can have none any more.
pub(super) fn with_crew<R>(threads: usize, f: impl FnOnce(&Crew) -> R) -> Option<R> {
    let crew = ROOT.try_with(|at| {
        let mut at = at.borrow_mut();
        let root = at.as_mut()?;
        let fits = |crew: &Crew| crew.is_here() && crew.wanted() >= threads;
        if !root.crew.as_ref().is_some_and(fits) {
            // First, so that not both are there at once.
            root.crew = None;
            let heritage = root.team.region().heritage;
            root.crew = Some(Crew::new(threads, Team::new(outermost(heritage))));
        }
        root.crew.as_ref().map(ptr::from_ref)
    });
    let crew = crew.ok().flatten()?;
    // SAFETY: a crew is replaced by its own thread only, which is in `f` now, and which in a region
    // of the crew begins none that needs another.
    Some(f(unsafe { &*crew }))
}
