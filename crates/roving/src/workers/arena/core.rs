//! The shared state of an arena's threads, and their main loop.

use std::cell::{Cell, OnceCell};
use std::io;
use std::mem;
use std::sync::Arc;

use super::board::{Board, Start};
use crate::machine::faults;
use crate::machine::os;
use crate::machine::prim::Mutex;
use crate::machine::prim::thread::{self, JoinHandle};
use crate::workers::lent_thread;

/// A pool that is a share of an arena, as the arena's threads see it.
pub(crate) trait Lodger: Send + Sync {
    /// The calling thread, which has that number, works at the seat until it leaves it.
    fn serve(self: Arc<Self>, seat: usize, number: usize);
    /// Whether there is a job for which somebody waits who may hold up others.
    fn has_urgent(&self) -> bool;
}

/// A seat that asks for a thread.
pub(crate) struct Request {
    pub(super) pool: Arc<dyn Lodger>,
    pub(super) seat: usize,
}

/// The threads of an arena. Its handles, its shares and its threads hold it.
pub(crate) struct Core {
    pub(crate) board: Board<Request>,
    pub(crate) threads: usize,
    name: String,
    stack_size: Option<usize>,
    /// [`os::forks`] when the threads were started.
    forks: usize,
    joins: Mutex<Vec<JoinHandle<()>>>,
}

/// A thread's own record of its place in an arena.
struct Here {
    core: Arc<Core>,
    number: usize,
    /// It is parked in a wait, or in a region that may block.
    is_away: Cell<bool>,
}

thread_local! {
    static HERE: OnceCell<Here> = const { OnceCell::new() };
}

#[inline]
fn with_here<R>(f: impl FnOnce(Option<&Here>) -> R) -> R {
    let mut f = Some(f);
    let called = HERE.try_with(|here| f.take().map(|f| f(here.get())));
    match (called, f) {
        (Ok(Some(result)), _) => result,
        // The thread ends: it is nobody's any more.
        (_, Some(f)) => f(None),
        _ => unreachable!("`f` was either called or not"),
    }
}

impl Core {
    #[inline]
    pub(crate) fn new(
        threads: usize,
        spares: usize,
        name: String,
        stack_size: Option<usize>,
    ) -> Core {
        os::count_forks();
        Core {
            board: Board::new(threads, spares),
            threads,
            name,
            stack_size,
            forks: os::forks(),
            joins: Mutex::new(Vec::new()),
        }
    }

    #[inline]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the arena was built before this process was forked, so that its threads are not
    /// here.
    #[inline]
    pub(crate) fn is_left_behind(&self) -> bool {
        self.forks != os::forks()
    }

    /// Starts the thread, which is counted already.
    #[inline]
    pub(crate) fn start(self: &Arc<Core>, start: Start) -> io::Result<()> {
        let number = start.0;
        let mut thread = thread::Builder::new().name(format!("{}-{number}", self.name));
        if let Some(size) = self.stack_size {
            thread = thread.stack_size(size);
        }
        let core = Arc::clone(self);
        match faults::start(thread, move || run(core, number)) {
            Ok(join) => {
                self.joins.lock().push(join);
                Ok(())
            }
            Err(error) => {
                self.board.not_started(start);
                Err(error)
            }
        }
    }

    /// Starts a thread if one is due, and ignores a failure, because no caller is there to be told:
    /// the core stays idle until another thread is free.
    #[inline]
    pub(crate) fn start_if_any(self: &Arc<Core>, start: Option<Start>) {
        if let Some(start) = start {
            let _ = self.start(start);
        }
    }

    /// The threads have been told to end: waits for them, unless this is one of them.
    #[inline]
    pub(crate) fn join(self: &Arc<Core>) {
        loop {
            let mut joins = self.joins.lock();
            let threads = mem::take(&mut *joins);
            drop(joins);
            if threads.is_empty() || self.is_here() {
                return;
            }
            for thread in threads {
                // It has no panic of its own to report.
                let _ = thread.join();
            }
        }
    }

    /// Whether the calling thread is one of the arena's.
    #[inline]
    pub(crate) fn is_here(self: &Arc<Core>) -> bool {
        self.number_here().is_some()
    }

    /// The calling thread's number in this arena.
    #[inline]
    pub(crate) fn number_here(self: &Arc<Core>) -> Option<usize> {
        with_here(|here| {
            let mine = here.filter(|here| Arc::ptr_eq(&here.core, self));
            mine.map(|here| here.number)
        })
    }
}

/// Calls `f`, in which the calling thread, which is one of an arena's, parks or blocks. Another has
/// its core meanwhile, for whatever the arena's shares ask.
#[inline]
fn with_core_given(f: &mut dyn FnMut()) {
    /// Takes the core back, also by unwinding.
    struct Back<'h>(&'h Here);
    impl Drop for Back<'_> {
        #[inline]
        fn drop(&mut self) {
            self.0.core.board.take_core();
            self.0.is_away.set(false);
        }
    }
    with_here(|here| {
        // Inside of such a call another one gives nothing away.
        let here = here.filter(|here| !here.is_away.replace(true));
        let _back = here.map(|here| {
            let start = here.core.board.give_core();
            here.core.start_if_any(start);
            Back(here)
        });
        f();
    });
}

/// A thread of an arena, from start to end.
#[inline]
fn run(core: Arc<Core>, number: usize) {
    HERE.with(|here| {
        let here = here.set(Here {
            core: Arc::clone(&core),
            number,
            is_away: Cell::new(false),
        });
        debug_assert!(here.is_ok());
    });
    lent_thread::set(with_core_given);
    core.board.enlist(number);
    let mut is_new = true;
    loop {
        let (request, start) = core.board.next(number, is_new);
        core.start_if_any(start);
        is_new = false;
        match request {
            Some(Request { pool, seat }) => pool.serve(seat, number),
            None => return,
        }
    }
}
