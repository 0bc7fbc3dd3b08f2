//! Stopping a thread from without: a signal whose handler sleeps. No debugger is needed, and the
//! thread stops wherever it is, between any two instructions.

use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// How long the next threads are stopped.
static PAUSE_US: AtomicU32 = AtomicU32::new(100);
/// How often a handler has begun.
static STOPS: AtomicU64 = AtomicU64::new(0);

const SIGNAL: libc::c_int = libc::SIGUSR1;

/// Runs in a thread that is stopped.
extern "C" fn pause(_: libc::c_int) {
    STOPS.fetch_add(1, Relaxed);
    let pause_us = PAUSE_US.load(Relaxed);
    // SAFETY: the location of `errno` is the thread's own. What was interrupted may be about to
    // read it.
    let errno = unsafe { *libc::__errno_location() };
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: libc::c_long::from(pause_us as i32) * 1_000,
    };
    // SAFETY: it may be called in a handler (POSIX lists it as safe there); the time is below a
    // second.
    unsafe { libc::nanosleep(&time, ptr::null_mut()) };
    // SAFETY: the location of `errno` is the thread's own, and holds an integer that may be written
    // at any time.
    unsafe { *libc::__errno_location() = errno };
}

/// Installs the handler.
pub(super) fn prepare() -> io::Result<()> {
    STOPS.store(0, Relaxed);
    // SAFETY: an all-zero action is a valid value: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    let handler: extern "C" fn(libc::c_int) = pause;
    action.sa_sigaction = handler as libc::sighandler_t;
    // No `SA_RESTART`: calls that are interrupted say so, and whoever made them must cope.
    // SAFETY: the action is filled, the handler lives as long as the program and does only what a
    // handler may do.
    match unsafe { libc::sigaction(SIGNAL, &action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(super) fn stops() -> u64 {
    STOPS.load(Relaxed)
}

/// The next threads are stopped for so long: less than a second.
pub(super) fn set_pause_us(pause_us: u32) {
    PAUSE_US.store(pause_us.min(900_000), Relaxed);
}

/// Stops a thread of this process. One that has ended is none of it any more, and nothing happens.
pub(super) fn stop(thread: i32) {
    // SAFETY: the call takes numbers only; the handler is installed before the first call.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, SIGNAL) };
}

/// From 0, as usual, to 19: after all others. False when the system refuses.
pub(super) fn set_nice(thread: i32, nice: i32) -> bool {
    // SAFETY: the call takes numbers only.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread as libc::id_t, nice) == 0 }
}

/// Leaves a thread those processors of the first 64 whose bits are set; all where the system
/// refuses those.
pub(super) fn set_processors(thread: i32, bits: u64) -> bool {
    let set = |bits: u64| {
        // SAFETY: an all-zero set is a valid value.
        let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
        for processor in (0..64).filter(|processor| bits >> processor & 1 == 1) {
            // SAFETY: the index is below CPU_SETSIZE.
            unsafe { libc::CPU_SET(processor, &mut set) };
        }
        // SAFETY: the call reads no more than the size of the set.
        unsafe { libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &set) == 0 }
    };
    set(bits) || set(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_thread_that_is_stopped_goes_on_later() {
        prepare().unwrap();
        set_pause_us(20_000);
        // SAFETY: the call takes and gives a number.
        let this = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
        let (start, before) = (Instant::now(), stops());
        stop(this);
        assert!(start.elapsed() >= Duration::from_millis(20));
        assert_eq!(stops(), before + 1);
    }
}
