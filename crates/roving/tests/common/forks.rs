//! Children of `fork`, and what comes of them.
#![allow(dead_code, reason = "each test program uses its own part of it")]
#![allow(unsafe_code, reason = "fork and waitpid")]

use std::panic::{self, AssertUnwindSafe};
use std::thread;
use std::time::{Duration, Instant};

/// Runs `body` in a child. True if it returned true; a child that hangs is killed, and the test
/// fails.
pub(crate) fn in_child(body: impl FnOnce() -> bool) -> bool {
    let child = fork();
    if child == 0 {
        end_child(body);
    }
    is_well(child)
}

/// Gives 0 to the child, which ends by [`end_child`].
pub(crate) fn fork() -> libc::pid_t {
    // SAFETY: the child ends by `_exit`; what it does in between is what is tested.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no fork: {}", std::io::Error::last_os_error());
    child
}

/// Ends the child, with the outcome of `body`.
pub(crate) fn end_child(body: impl FnOnce() -> bool) -> ! {
    let ok = panic::catch_unwind(AssertUnwindSafe(body)).unwrap_or(false);
    // SAFETY: ends the child at once.
    unsafe { libc::_exit(if ok { 0 } else { 1 }) }
}

/// Waits for the end of the child, and returns whether `body` was true there.
pub(crate) fn is_well(child: libc::pid_t) -> bool {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let mut status = 0;
        // SAFETY: the child is ours, and the status has its place.
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        if ended == child {
            return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        }
        if Instant::now() > patience {
            // SAFETY: the child is ours.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the child hangs");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// The message of a call's panic.
pub(crate) fn message<R>(call: impl FnOnce() -> R) -> String {
    let Err(payload) = panic::catch_unwind(AssertUnwindSafe(call)) else {
        return "no panic".to_owned();
    };
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or_default().to_owned()
}

/// Whether it says that a pool was left behind.
pub(crate) fn is_refusal(message: &str) -> bool {
    message.contains("no threads in this process") && message.contains("build one in the child")
}
