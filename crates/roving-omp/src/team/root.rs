//! The threads of the program itself: each is the initial thread of a team of one, outside of all
//! regions. And the crews that threads keep: those of the program, and those of crews where regions
//! are nested.

use std::cell::RefCell;
use std::ptr;

use roving::raw::hosted::Frame;

use super::crew::Crew;
use super::site::Site;
use super::thread::{League, Position, Progress, Thread};
use super::{Region, Team};
use crate::env::Bind;
use crate::task::{Heritage, Task};

/// The state that an initial thread has for as long as it lives.
struct Root {
    team: Box<Team>,
    task: Box<Task>,
}

impl Root {
    fn new() -> Root {
        let heritage = Heritage::initial();
        let team = Box::new(Team::new(outermost(heritage)));
        let task = Box::new(Task::implicit(Frame::NOWHERE, &team.region().heritage));
        Root { team, task }
    }
}

thread_local! {
    static ROOT: RefCell<Option<Root>> = const { RefCell::new(None) };
    /// By how many regions of crews it is in. In boxes: others know where they are.
    #[expect(clippy::vec_box, reason = "a crew stays where it is when another comes")]
    static CREWS: RefCell<Vec<Box<Crew>>> = const { RefCell::new(Vec::new()) };
}

/// Outside of all regions.
pub(super) fn outermost(heritage: Heritage) -> Region {
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
        league: League::ONE,
        bind: Bind::False,
        site: None,
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
    thread.site.set(Site::initial());
    if let Some(site) = thread.site.get().filter(|_| is_main) {
        site.bind();
    }
}

/// Calls `f` with a crew of the calling thread's that is in no region, of at least `threads`
/// threads if the system gives so many. `None`: the thread is about to end, and can have none any
/// more.
pub(super) fn with_crew<R>(threads: usize, f: impl FnOnce(&Crew) -> R) -> Option<R> {
    let crew = CREWS.try_with(|crews| {
        let mut crews = crews.borrow_mut();
        if crews.iter().any(|crew| !crew.is_here()) {
            // A forked child has none of them.
            crews.drain(..).for_each(drop);
        }
        let depth = crews.iter().take_while(|crew| crew.is_busy()).count();
        let fits = crews
            .get(depth)
            .is_some_and(|crew| crew.wanted() >= threads);
        if !fits {
            // First, so that not both are there at once; further in there is none in use.
            crews.truncate(depth);
            let region = outermost(Heritage::initial());
            crews.push(Box::new(Crew::new(threads, region)));
        }
        ptr::from_ref(&*crews[depth])
    });
    let crew = crew.ok()?;
    // SAFETY: crews go by their own thread only, which is in `f` now, and by this function only
    // when they are in no region. The first region that `f` begins is this crew's.
    Some(f(unsafe { &*crew }))
}
