//! Faults on a plan: the one door to what the system may refuse.
//!
//! Everything that can fail, and whose failure the runtime answers, asks here first: threads that
//! are started, large memory, system calls, files, sockets; and a thread that parks may return for
//! no reason. In ordinary builds nothing is asked, and nothing of this is left. Built with `--cfg
//! roving_faults`, each of these fails on a plan that follows from a seed, so `tests/faults.rs` can
//! run thousands of programs under as many plans.
//!
//! What is *not* asked is what ends a Rust program by design: small allocations (a boxed job, a
//! frame, a queue that grows), which abort when there is no memory. `docs/stopping.md` says what is
//! promised.

use std::io;

use crate::machine::os::Starting;
use crate::machine::prim::thread::{self, Builder, JoinHandle};

/// The operations that a test build can make fail.
#[cfg_attr(
    not(roving_faults),
    allow(dead_code, unreachable_pub, reason = "for builds with plans")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The memory of a worker's task stack, and of the workers themselves.
    Memory,
    /// The start of a thread.
    ThreadStart,
    /// A thread that parks returns at once.
    Park,
    /// Asking for processors, or for a thread to stay on one.
    Affinity,
    /// Asking for the number of processors, which reads the limits of the control group.
    Processors,
    /// Having something called at exit, or at a fork.
    Handler,
    /// The socket of the live view.
    Socket,
    /// Writing a trace.
    TraceFile,
    /// Reading what the system knows of a thread.
    ThreadState,
}

/// Starts a thread, unless the plan is against it.
pub(crate) fn start(
    builder: Builder,
    f: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    start_boxed(builder, Box::new(f))
}

/// The start itself, once for all: what `std` makes of each closure of its own is a thousand lines.
fn start_boxed(builder: Builder, f: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> {
    ask(Point::ThreadStart)?;
    let starting = Starting::new();
    builder.spawn(move || {
        drop(starting);
        f();
    })
}

/// Parks the calling thread, which may return for no reason.
#[inline]
pub(crate) fn park() {
    if ask(Point::Park).is_ok() {
        thread::park();
    }
}

/// Whether that may be done.
#[cfg(not(roving_faults))]
#[inline(always)]
pub(crate) fn ask(_: Point) -> io::Result<()> {
    Ok(())
}

/// Calls `f`, which allocates and answers when there is no memory.
#[cfg(not(roving_faults))]
#[inline(always)]
pub(crate) fn with_answered_memory<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(roving_faults)]
pub use plan::{Plan, faults, follow, refuses_memory};
#[cfg(roving_faults)]
pub(crate) use plan::{ask, with_answered_memory};

/// Plans, in builds that have them.
#[cfg(roving_faults)]
mod plan {
    use std::cell::Cell;
    use std::io;

    use super::Point;
    use crate::machine::prim::Ordering;
    use crate::machine::prim::unexplored::AtomicU64;

    /// Points there are.
    const POINTS: usize = 9;

    /// A fault plan: which operations fail, and how often.
    #[derive(Clone, Copy, Debug)]
    pub struct Plan {
        /// Selects which of the calls fail: the same seed gives the same ones.
        pub seed: u64,
        /// For each [`Point`], in their order, how many of 1000 calls fail. A park returns for no
        /// reason at most half of the time.
        pub of_1000: [u16; POINTS],
    }

    static SEED: AtomicU64 = AtomicU64::new(0);
    static RATES: [AtomicU64; POINTS] = [const { AtomicU64::new(0) }; POINTS];
    static ASKED: [AtomicU64; POINTS] = [const { AtomicU64::new(0) }; POINTS];
    static FAULTS: AtomicU64 = AtomicU64::new(0);

    /// Sets the plan to follow from now on; `None` for none. Its counts begin anew.
    pub fn follow(plan: Option<Plan>) {
        let (seed, rates) = plan.map_or((0, [0; POINTS]), |plan| (plan.seed, plan.of_1000));
        // Ordering: Relaxed; a thread that asks at the same moment may follow either plan.
        SEED.store(seed, Ordering::Relaxed);
        for (point, rate) in rates.into_iter().enumerate() {
            let rate = match point == Point::Park as usize {
                true => rate.min(500),
                false => rate,
            };
            // Ordering: Relaxed, as above.
            ASKED[point].store(0, Ordering::Relaxed);
            // Ordering: Relaxed, as above.
            RATES[point].store(rate.into(), Ordering::Relaxed);
        }
    }

    /// Returns how many times an operation has failed by plan since the program began.
    pub fn faults() -> u64 {
        // Ordering: Relaxed; a figure.
        FAULTS.load(Ordering::Relaxed)
    }

    thread_local! {
        /// The calling thread is in [`with_answered_memory`].
        static IS_ANSWERED: Cell<bool> = const { Cell::new(false) };
    }

    pub(crate) fn with_answered_memory<R>(f: impl FnOnce() -> R) -> R {
        let before = IS_ANSWERED.replace(true);
        let result = f();
        IS_ANSWERED.set(before);
        result
    }

    /// Returns whether an allocation is to fail, for the allocator of a test program. Only
    /// allocations whose failure the code answers can fail.
    pub fn refuses_memory() -> bool {
        IS_ANSWERED.get() && ask(Point::Memory).is_err()
    }

    pub(crate) fn ask(point: Point) -> io::Result<()> {
        let number = point as usize;
        // Ordering: Relaxed, as in `follow`.
        let rate = RATES[number].load(Ordering::Relaxed);
        if rate == 0 {
            return Ok(());
        }
        // Ordering: Relaxed; each time gets its own number, whoever asks.
        let time = ASKED[number].fetch_add(1, Ordering::Relaxed);
        // Ordering: Relaxed, as in `follow`.
        let seed = SEED.load(Ordering::Relaxed);
        if mixed(seed ^ mixed(time ^ (number as u64) << 48)) % 1000 >= rate {
            return Ok(());
        }
        // Ordering: Relaxed; a figure.
        FAULTS.fetch_add(1, Ordering::Relaxed);
        Err(io::Error::from(match point {
            Point::Memory => io::ErrorKind::OutOfMemory,
            Point::ThreadStart => io::ErrorKind::WouldBlock,
            _ => io::ErrorKind::PermissionDenied,
        }))
    }

    /// The finish of splitmix64 (Steele, Lea and Flood 2014).
    fn mixed(x: u64) -> u64 {
        let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    }
}
