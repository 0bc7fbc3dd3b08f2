//! The signal by which somebody asks `roving launch` to end: it is passed on to `mpirun`, which
//! ends its ranks.
//!
//! Ctrl-C is not passed on: a terminal sends it to all processes in front of it, and `mpirun` takes
//! a second one for an order to leave its ranks behind.
#![allow(unsafe_code)] // a handler of a signal, and sending one

#[cfg(unix)]
pub(super) use on_unix::{end, is_asked, listen, pass_on};

#[cfg(unix)]
mod on_unix {
    use std::ffi::c_int;
    use std::process::{Child, abort};
    use std::sync::atomic::{AtomicBool, Ordering};

    // Of the C library, and the same on each Unix: a crate for three functions would be one more to
    // build before the first answer.
    const SIGTERM: c_int = 15;
    const SIG_DFL: usize = 0;
    unsafe extern "C" {
        fn signal(signal: c_int, handler: usize) -> usize;
        fn kill(process: c_int, signal: c_int) -> c_int;
        fn raise(signal: c_int) -> c_int;
    }

    static IS_ASKED: AtomicBool = AtomicBool::new(false);

    extern "C" fn note(_: c_int) {
        // Ordering: Relaxed; a request, which is looked at now and then.
        IS_ASKED.store(true, Ordering::Relaxed);
    }

    /// From now on the signal is noted.
    pub(in super::super) fn listen() {
        let handler = note as extern "C" fn(c_int);
        // SAFETY: the handler stores into an atomic and does nothing else.
        unsafe { signal(SIGTERM, handler as usize) };
    }

    /// Whether it has come.
    pub(in super::super) fn is_asked() -> bool {
        // Ordering: Relaxed, as in `note`.
        IS_ASKED.load(Ordering::Relaxed)
    }

    /// Sends it to a process that has not been waited for.
    pub(in super::super) fn pass_on(child: &Child) {
        // SAFETY: sends a signal. The child was not waited for, so nobody else has its number.
        unsafe { kill(child.id() as c_int, SIGTERM) };
    }

    /// Ends this process by the signal, so that whoever sent it sees that it was heeded.
    pub(in super::super) fn end() -> ! {
        // SAFETY: the signal's own effect is put back, and the signal is raised.
        unsafe {
            signal(SIGTERM, SIG_DFL);
            raise(SIGTERM);
        }
        abort()
    }
}

#[cfg(not(unix))]
pub(super) use elsewhere::{end, is_asked, listen, pass_on};

/// There is no such signal.
#[cfg(not(unix))]
mod elsewhere {
    use std::process::{Child, abort};

    pub(in super::super) fn listen() {}

    pub(in super::super) fn is_asked() -> bool {
        false
    }

    pub(in super::super) fn pass_on(_: &Child) {}

    pub(in super::super) fn end() -> ! {
        abort()
    }
}
