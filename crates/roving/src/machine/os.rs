//! System calls that differ between operating systems, each with a plain fallback.

use std::ffi::c_long;
#[cfg(target_os = "linux")]
use std::ffi::c_ulong;
use std::fs;
use std::io::{self, Write as _};
use std::ptr;
use std::thread;
use std::time::Duration;
#[cfg(unix)]
use std::time::Instant;

use crate::machine::faults::{self, Point};
#[cfg(target_os = "linux")]
use crate::machine::linux;
use crate::machine::prim::Ordering;
#[cfg(unix)]
use crate::machine::prim::unexplored::AtomicBool;
use crate::machine::prim::unexplored::AtomicUsize;

/// The system's number of the calling thread, where it has one.
pub(crate) fn thread_number() -> Option<u32> {
    let link = fs::read_link("/proc/thread-self").ok()?;
    link.file_name()?.to_str()?.parse().ok()
}

/// The processors this process may use, as numbers of the system, in ascending order; empty where
/// the system does not say. Read it before any thread is pinned.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn allowed_processors() -> Vec<usize> {
    if faults::ask(Point::Affinity).is_err() {
        return Vec::new();
    }
    let mut set = linux::CpuSet::default();
    // SAFETY: the call writes no more than the size of the set.
    if unsafe { linux::sched_getaffinity(0, size_of_val(&set), &mut set) } != 0 {
        return Vec::new();
    }
    let mut allowed = Vec::new();
    for (number, mut word) in set.into_iter().enumerate() {
        while word != 0 {
            let bit = word.trailing_zeros();
            allowed.push(number * c_ulong::BITS as usize + bit as usize);
            word &= word - 1;
        }
    }
    allowed
}

/// How many processors this process may use at this time: on Linux what the calling thread's
/// affinity mask and the quota of its control group allow, both read by this call (the standard
/// library keeps neither). 1 where the system does not say.
pub(crate) fn processors() -> usize {
    let known = faults::ask(Point::Processors).and_then(|()| thread::available_parallelism());
    known.map_or(1, |n| n.get())
}

/// For how long the threads of this process have had cores, all together.
#[derive(Clone, Copy)]
pub(crate) struct ProcessorTime(c_long);

impl ProcessorTime {
    /// None where the system does not say.
    #[cfg(all(target_os = "linux", not(miri)))]
    pub(crate) fn now() -> Option<ProcessorTime> {
        // SAFETY: the call reads and writes nothing of ours.
        let micros = unsafe { linux::clock() };
        (micros != -1).then_some(ProcessorTime(micros))
    }

    /// Elsewhere nobody has asked yet.
    #[cfg(not(all(target_os = "linux", not(miri))))]
    pub(crate) fn now() -> Option<ProcessorTime> {
        None
    }

    /// A moment that a test gives.
    #[cfg(test)]
    pub(crate) fn of(used: Duration) -> ProcessorTime {
        ProcessorTime(c_long::try_from(used.as_micros()).expect("a short time"))
    }

    /// The time between two moments, if it is not so long that the system's number has gone round.
    pub(crate) fn since(self, before: ProcessorTime) -> Duration {
        let micros = self.0.wrapping_sub(before.0);
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }
}

/// A line for whoever reads standard error, of which it is no matter if nobody does. It is written
/// at once: standard error has no buffer, and other processes may write to the same pipe.
pub(crate) fn say(line: &str) {
    let _ = io::stderr().write_all(format!("roving: {line}\n").as_bytes());
}

/// The processors of the machine that are switched on, if the system says so.
#[cfg(target_os = "linux")]
pub(crate) fn online() -> Option<usize> {
    // SAFETY: the call takes no pointer.
    let online = unsafe { linux::sysconf(linux::SC_NPROCESSORS_ONLN) };
    usize::try_from(online).ok().filter(|&online| online > 0)
}

/// Keeps the calling thread on one processor. False when the system refuses.
#[cfg(target_os = "linux")]
pub(crate) fn pin_to(processor: usize) -> bool {
    if faults::ask(Point::Affinity).is_err() {
        return false;
    }
    const BITS: usize = c_ulong::BITS as usize;
    let mut set = linux::CpuSet::default();
    let Some(word) = set.get_mut(processor / BITS) else {
        return false;
    };
    *word = 1 << (processor % BITS);
    // SAFETY: the call reads no more than the size of the set.
    unsafe { linux::sched_setaffinity(0, size_of_val(&set), &set) == 0 }
}

/// Has `f` called when the process exits in the ordinary way. False when the system refuses.
pub(crate) fn at_exit(f: extern "C" fn()) -> bool {
    unsafe extern "C" {
        /// Of the C library, on every system.
        fn atexit(f: extern "C" fn()) -> i32;
    }
    // SAFETY: the function is as the C standard declares it, and `f` is there for as long as this
    // library is loaded.
    faults::ask(Point::Handler).is_ok() && unsafe { atexit(f) == 0 }
}

/// How many forks lie between the start of the program and this process. Threads do not survive a
/// fork.
pub(crate) fn forks() -> usize {
    // Ordering: Relaxed; written in a process that has one thread.
    FORKS.load(Ordering::Relaxed)
}

static FORKS: AtomicUsize = AtomicUsize::new(0);

/// A thread of this process or of one that it was forked from.
#[derive(Clone, Copy)]
pub(crate) struct ThreadMark {
    /// [`forks`] in the process in which the mark was made.
    forks: usize,
    /// The address of a value of the thread's own.
    thread: usize,
}

impl ThreadMark {
    /// Of the calling thread.
    pub(crate) fn here() -> ThreadMark {
        let (forks, thread) = (forks(), own_address());
        ThreadMark { forks, thread }
    }

    /// Of one that is in no process that asks.
    pub(crate) fn nowhere() -> ThreadMark {
        let (forks, thread) = (usize::MAX, usize::MAX);
        ThreadMark { forks, thread }
    }

    /// Whether the thread is in this process, if it has not ended.
    pub(crate) fn is_here(self) -> bool {
        // Ordering: Relaxed; as in `forks`.
        self.forks == forks() || self.thread == FORKER.load(Ordering::Relaxed)
    }
}

/// The thread that has forked this process, which alone came here.
static FORKER: AtomicUsize = AtomicUsize::new(0);

fn own_address() -> usize {
    thread_local! {
        static OWN: u8 = const { 0 };
    }
    OWN.with(|own| ptr::from_ref(own).addr())
}

/// Set by the handlers before a fork, and cleared by the first of those in the child, which counts
/// it.
#[cfg(unix)]
static FORKING: AtomicBool = AtomicBool::new(false);

/// Whether the handlers are there. Threads that find that they are not at the same time all install
/// them: none waits for another, which would not be there in a child.
#[cfg(unix)]
static COUNTED: AtomicBool = AtomicBool::new(false);

/// A thread of this library that is being started. Until it has begun it may hold a lock of the
/// standard library that every thread takes when it starts: in a forked child nobody would open
/// that, and none could be started. So a fork waits for it. A thread takes that lock for a moment
/// once more when it ends; for that no fork waits, nor for threads of the program.
pub(crate) struct Starting(());

/// How many there are.
static STARTING: AtomicUsize = AtomicUsize::new(0);

impl Starting {
    pub(crate) fn new() -> Starting {
        // Ordering: Relaxed; a fork by another thread may come before.
        STARTING.fetch_add(1, Ordering::Relaxed);
        Starting(())
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        // Ordering: Edge [begun]: Release, so that who forks afterwards finds the locks open.
        STARTING.fetch_sub(1, Ordering::Release);
    }
}

/// Waits for the threads that are being started: a second at most, so that a system that is out of
/// order does not stop a fork for good.
#[cfg(unix)]
fn wait_for_starts() {
    let patience = Instant::now() + Duration::from_secs(1);
    // Ordering: Acquire [begun].
    while STARTING.load(Ordering::Acquire) != 0 && Instant::now() < patience {
        thread::sleep(Duration::from_micros(50));
    }
}

/// From now on forks are counted, and wait for the threads that are being started.
#[cfg(unix)]
pub(crate) fn count_forks() {
    extern "C" fn before() {
        wait_for_starts();
        // Ordering: Relaxed; read by the same thread, in the child.
        FORKING.store(true, Ordering::Relaxed);
    }
    extern "C" fn in_child() {
        // Ordering: Relaxed, all; there is one thread.
        if FORKING.swap(false, Ordering::Relaxed) {
            FORKS.fetch_add(1, Ordering::Relaxed);
        }
        STARTING.store(0, Ordering::Relaxed);
        FORKER.store(own_address(), Ordering::Relaxed);
    }
    unsafe extern "C" {
        /// Of POSIX.
        fn pthread_atfork(
            prepare: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
        ) -> i32;
    }
    // Ordering: Relaxed, both; see `COUNTED`.
    if COUNTED.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: the function is as POSIX declares it, and the handler does what a child of a
    // process with several threads may do. Without memory for it, forks are not noticed.
    let _ = faults::ask(Point::Handler)
        .map(|()| unsafe { pthread_atfork(Some(before), None, Some(in_child)) });
    COUNTED.store(true, Ordering::Relaxed);
}

/// Elsewhere there is no fork.
#[cfg(not(unix))]
pub(crate) fn count_forks() {}

/// Elsewhere nothing is known, and nothing is pinned. Miri has no processors, and would follow the
/// look at each of 1024 numbers, in each pool.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn allowed_processors() -> Vec<usize> {
    Vec::new()
}

/// Elsewhere what one may use is all that is known.
#[cfg(not(target_os = "linux"))]
pub(crate) fn online() -> Option<usize> {
    None
}

/// Elsewhere threads are not pinned.
#[cfg(not(target_os = "linux"))]
pub(crate) fn pin_to(_processor: usize) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn the_time_of_the_processors_passes_while_a_thread_computes() {
        let (before, began) = (ProcessorTime::now().unwrap(), Instant::now());
        while ProcessorTime::now().unwrap().since(before).is_zero() {
            assert!(began.elapsed() < Duration::from_secs(60));
        }
    }

    /// Also of those that have ended, and none of which is the one that asks.
    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn the_time_of_the_processors_is_that_of_all_threads() {
        let of_thread = || {
            // SAFETY: all-zero is a value of it, and the call writes no more than its size.
            let time = unsafe {
                let mut time: libc::timespec = std::mem::zeroed();
                assert_eq!(
                    libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time),
                    0
                );
                time
            };
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        };
        let computes = Duration::from_millis(10);
        let before = ProcessorTime::now().unwrap();
        let thread = thread::spawn(move || while of_thread() < computes {});
        thread.join().unwrap();
        let used = ProcessorTime::now().unwrap().since(before);
        // It is told in whole microseconds.
        assert!(used + Duration::from_micros(2) >= computes, "{used:?}");
    }

    #[test]
    fn a_fork_waits_until_a_thread_has_begun() {
        static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
        let starting = Starting::new();
        let thread = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            HAS_BEGUN.store(true, Ordering::Relaxed);
            drop(starting);
        });
        let waits = Instant::now();
        wait_for_starts();
        let has_begun = HAS_BEGUN.load(Ordering::Relaxed);
        assert!(has_begun || waits.elapsed() >= Duration::from_secs(1));
        thread.join().unwrap();
    }
}
