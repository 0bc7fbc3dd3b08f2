//! Threads that sleep at a word, and are woken there.

use std::ptr;
use std::sync::atomic::AtomicU32;

/// Sleeps while the word has that value. May return early.
pub(crate) fn wait(word: &AtomicU32, value: u32) {
    // SAFETY: the word is alive and aligned; the system only reads it.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            value,
            ptr::null::<libc::timespec>(),
        );
    }
}

/// Wakes so many threads that sleep at the word. The word itself may be gone: no memory is touched.
pub(crate) fn wake(word: *const AtomicU32, count: i32) {
    // SAFETY: the system takes the address as a name.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word,
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            count,
        );
    }
}
