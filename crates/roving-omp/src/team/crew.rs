//! A crew: the threads that a thread keeps for its regions, be it one of the program's or, where
//! regions are nested, of a crew. They are the workers of a Roving pool; between regions each sits
//! at its *dock*, looks around for a while, and sleeps.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use roving::Pool;
use roving::raw::forks::ProcessMark;
use roving::raw::hosted::{self, Hosted};

use super::at_end::AtEnd;
use super::{Region, Team, part, tasks};
use crate::env::{Environment, warn};
use crate::sync::dock::Dock;
use crate::task::Heritage;

/// The state that the threads of a crew share.
struct CrewState {
    team: Team,
    docks: Box<[Dock]>,
    ends: AtomicBool,
}

impl CrewState {
    fn hosted(&self) -> &Hosted {
        self.team.hosted().expect("a crew's")
    }
}

/// The threads of a crew. The first is the one that keeps it.
pub(crate) struct Crew {
    shared: Arc<CrewState>,
    others: Vec<JoinHandle<()>>,
    /// Where the threads were started.
    process: ProcessMark,
    /// A region runs.
    is_busy: Cell<bool>,
    /// How many threads the last region had.
    in_region: Cell<usize>,
}

impl Crew {
    /// Starts a crew of so many threads, or of as many as the system gives.
    pub(crate) fn new(threads: usize, region: Region) -> Crew {
        let pool = Hosted::build(Pool::builder().workers(threads).name("openmp"))
            .unwrap_or_else(|error| crate::env::stop(&error.to_string()))
            .serving(tasks::has_mail, tasks::serve_mail);
        let shared = Arc::new(CrewState {
            team: Team::of_crew(region, pool),
            docks: (0..threads).map(|_| Dock::default()).collect(),
            ends: AtomicBool::new(false),
        });
        shared.hosted().enlist(0);
        let mut others = Vec::new();
        for seat in 1..threads {
            let (own, size) = (Arc::clone(&shared), stack_size());
            let name = thread::Builder::new().name(format!("openmp-{seat}"));
            match name.stack_size(size).spawn(move || serve(&own, seat)) {
                Ok(handle) => others.push(handle),
                Err(error) => {
                    warn(&format!(
                        "Thread creation failed: {error}. {} threads will do",
                        others.len() + 1
                    ));
                    break;
                }
            }
        }
        Crew {
            shared,
            others,
            process: ProcessMark::here(),
            is_busy: Cell::new(false),
            in_region: Cell::new(1),
        }
    }

    /// How many threads were asked for.
    pub(crate) fn wanted(&self) -> usize {
        self.shared.docks.len()
    }

    /// How many threads there are.
    pub(crate) fn threads(&self) -> usize {
        self.others.len() + 1
    }

    /// Whether a region of its runs.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_busy.get()
    }

    /// Whether its threads are in this process, which may have been forked since.
    pub(crate) fn is_here(&self) -> bool {
        self.process.is_here()
    }

    /// Returns when the threads from that one on are back from their last region.
    fn gather_from(&self, first: usize) {
        let last = self.in_region.get().max(first);
        self.shared.docks[first..last].iter().for_each(Dock::miss);
    }

    /// Runs a region of as many of its threads as that says, this one as number 0. Returns when all
    /// have come to its end.
    pub(crate) fn run(&self, region: Region, set_up: impl FnOnce(&Team)) {
        let (team, threads) = (&self.shared.team, region.threads as usize);
        // One that is late to leave the last region could take tasks of this one. Where it has no
        // number in it, it is waited for.
        self.gather_from(threads);
        self.in_region.set(threads);
        // SAFETY: all threads have come to the last region's end, and read it no more.
        unsafe { team.begin(region) };
        set_up(team);
        for dock in &self.shared.docks[1..threads] {
            dock.call();
        }
        self.is_busy.set(true);
        // Tasks of an outer region, to which this thread does not look for a while.
        hosted::show();
        // SAFETY: this thread keeps the crew, has enlisted, and ends only after the other threads,
        // which it joins when it drops the crew.
        unsafe { self.shared.hosted().be(0, || part::run(team, 0)) };
        self.is_busy.set(false);
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        if !self.is_here() || self.is_busy.get() {
            // Its threads were those of the parent; or the program ends inside of a region.
            std::mem::forget(Arc::clone(&self.shared));
            self.others.drain(..).for_each(std::mem::forget);
            return;
        }
        // One that is late could look for tasks at the stack of a thread that has ended.
        self.gather_from(1);
        // Ordering: Relaxed; handed on with the call.
        self.shared.ends.store(true, Ordering::Relaxed);
        self.shared.docks[1..self.threads()]
            .iter()
            .for_each(Dock::call);
        for thread in self.others.drain(..) {
            let _ = thread.join();
        }
    }
}

thread_local! {
    /// By how many regions of crews it is in.
    static CREWS: RefCell<Vec<Rc<Crew>>> = const { RefCell::new(Vec::new()) };
}

/// Ends crews that were begun when the thread's values had been dropped.
static END: AtEnd = AtEnd::new(end);

unsafe extern "C" fn end(_: *mut c_void) {
    let left = CREWS.try_with(RefCell::take);
    drop(left);
}

/// Calls `f` with a crew of the calling thread's that is in no region, of at least `threads`
/// threads if the system gives so many. `None`: the thread is about to end, and can have none any
/// more.
pub(super) fn with_crew<R>(threads: usize, f: impl FnOnce(&Crew) -> R) -> Option<R> {
    let crew = CREWS.try_with(|crews| {
        let mut crews = crews.borrow_mut();
        // A forked child has none of them. One that is busy is dropped at its region's end: the
        // thread has forked inside of that, and comes back to it.
        crews.retain(|crew| crew.is_here());
        let depth = crews.iter().take_while(|crew| crew.is_busy()).count();
        let found = crews.get(depth).filter(|crew| crew.wanted() >= threads);
        if let Some(crew) = found {
            return Rc::clone(crew);
        }
        // First, so that not both are there at once; further in there is none in use.
        crews.truncate(depth);
        let region = Region::outermost(Heritage::initial());
        let crew = Rc::new(Crew::new(threads, region));
        crews.push(Rc::clone(&crew));
        END.set(ptr::from_ref(&END).cast_mut().cast());
        crew
    });
    crew.ok().map(|crew| f(&crew))
}

/// The thread at that seat, from start to end.
fn serve(shared: &CrewState, seat: usize) {
    shared.hosted().enlist(seat);
    // SAFETY: this thread has enlisted for the seat. It ends when its keeper says so, which waits
    // until all are back from their last region, and none of them steals outside of regions.
    unsafe {
        shared.hosted().be(seat, || {
            loop {
                shared.docks[seat].wait();
                // Ordering: Relaxed; handed on with the call.
                if shared.ends.load(Ordering::Relaxed) {
                    return;
                }
                part::run(&shared.team, seat as u32);
                shared.docks[seat].come_back();
            }
        });
    }
}

/// As for any thread of the system, unless the environment says otherwise.
fn stack_size() -> usize {
    const LEAST: usize = 64 << 10;
    const OTHERWISE: usize = 8 << 20;
    if let Some(size) = Environment::get().stack_size {
        return size.max(LEAST);
    }
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the limit is there to be written.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) } != 0;
    match failed || limit.rlim_cur == libc::RLIM_INFINITY {
        true => OTHERWISE,
        false => usize::try_from(limit.rlim_cur).map_or(OTHERWISE, |size| size.max(LEAST)),
    }
}
