//! How long a thread looks around before it sleeps.
//!
//! **Tasks.** What a thread has spawned stands on its stack, and the newest of it is hidden from
//! others until it answers them, which it does not while it waits. What it waits for may be what
//! such a task does, which other threads of the region may run: so a thread that waits with
//! [`WaitPatience`] shows its tasks before it sleeps, and where it is not to sleep, when it has
//! looked for a while. Two waits go without, and show nothing: for a construct that another thread
//! is setting up (`join_early`), and for a mutex of Rust's. What they wait for is soon done, and
//! runs no task. Whether the thread runs tasks itself is for each wait to say:
//!
//! | wait | tasks that are hidden before it | tasks that it runs |
//! |---|---|---|
//! | barrier, `copyprivate`, end of a region | none: it drains first | any of the team's |
//! | `taskwait`, end of a `taskgroup` | none: drained, or taken from the newest on | what it waits for |
//! | an event | shown before the sleep | its task's own children, and what was freed |
//! | a dependence | shown before the sleep | what it waits for |
//! | `taskyield` | shown by it | none |
//! | `ordered`, `sink`, `critical`, `atomic`, locks | shown here | none |
//! | `omp_test_lock`, `omp_test_nest_lock` | shown where they fail: the program may try again | none |
//! | the dock | none: its region has ended | none |
//!
//! `ordered` and those in its row are no scheduling points of OpenMP's: a task that ran there could
//! need what the thread has, another lock or its own data. Others can run it, at a barrier.

use std::hint;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use roving::raw::hosted;

use crate::env::Environment;

/// How long, where nothing else is asked for: some times what it takes to be woken.
const LIMIT: Duration = Duration::from_micros(100);
/// How many looks, where there are more threads at work than processors.
const LOOKS_CROWDED: u64 = 16;
/// After those, so often a thread gives its core away before it looks again: those that it waits
/// for are mostly ready to run there, and need not wake it.
const YIELDS_CROWDED: u64 = 8;
/// A core that comes back later than that was with other programs, which may keep it for long. It
/// is not given away again for so many times as long: one that sleeps gets its core when it is
/// woken.
const LONG: Duration = Duration::from_micros(500);
const TIMES_AS_LONG: u32 = 256;
/// Looks from one look at the clock to the next.
const LOOKS_PER_CLOCK: u64 = 32;
/// After so many looks a thread shows its tasks that is to look for longer, or for ever.
const LOOKS_HIDING: u64 = 1024;

/// Threads that are in regions at present.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// So many threads enter a region.
pub(crate) fn enter(threads: usize) {
    // Ordering: Relaxed; it only says how long to look around.
    AT_WORK.fetch_add(threads, Ordering::Relaxed);
}

/// So many threads leave a region.
pub(crate) fn leave(threads: usize) {
    // Ordering: Relaxed, as above.
    AT_WORK.fetch_sub(threads, Ordering::Relaxed);
}

/// How many processors no thread of a region uses.
pub(crate) fn free() -> usize {
    // Ordering: Relaxed, as above.
    let at_work = AT_WORK.load(Ordering::Relaxed);
    Environment::get()
        .processors_to_fill
        .saturating_sub(at_work)
}

/// Whether threads have to share processors.
pub(crate) fn is_crowded() -> bool {
    // Ordering: Relaxed, as above.
    AT_WORK.load(Ordering::Relaxed) > Environment::get().processors
}

/// Gives the core away. False: that has lately taken long, or has now.
fn give_way() -> bool {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    /// In nanoseconds since then.
    static NOT_BEFORE: AtomicU64 = AtomicU64::new(0);
    let began = BEGAN.get_or_init(Instant::now);
    let left = began.elapsed();
    // Ordering: Relaxed; it only says how to wait.
    if (left.as_nanos() as u64) < NOT_BEFORE.load(Ordering::Relaxed) {
        return false;
    }
    thread::yield_now();
    let back = began.elapsed();
    let away = back - left;
    if away > LONG {
        let again = (back + away * TIMES_AS_LONG).as_nanos() as u64;
        // Ordering: Relaxed, as above.
        NOT_BEFORE.store(again, Ordering::Relaxed);
    }
    away <= LONG
}

/// A thread's looks at something that has not happened yet.
#[derive(Default)]
pub(crate) struct WaitPatience {
    looks: u64,
    began: Option<Instant>,
}

impl WaitPatience {
    /// Lets some time pass. False: the thread has looked for long enough, and has shown its tasks.
    pub(crate) fn pause(&mut self) -> bool {
        self.looks += 1;
        let goes_on = self.look();
        if !goes_on || self.looks == LOOKS_HIDING {
            hosted::show();
        }
        goes_on
    }

    fn look(&mut self) -> bool {
        match Environment::get().spins {
            Some(spins) => {
                hint::spin_loop();
                self.looks < spins
            }
            None if is_crowded() => {
                hint::spin_loop();
                self.looks < LOOKS_CROWDED
                    || self.looks < LOOKS_CROWDED + YIELDS_CROWDED && give_way()
            }
            None => {
                hint::spin_loop();
                if self.looks % LOOKS_PER_CLOCK != 0 {
                    return true;
                }
                let now = Instant::now();
                let began = *self.began.get_or_insert(now);
                now.duration_since(began) < LIMIT
            }
        }
    }
}
