//! Threads that sleep at a word, and are woken there.

#[cfg(loom)]
pub(crate) use explored::{wait, wake};
#[cfg(not(loom))]
pub(crate) use system::{wait, wake};

#[cfg(not(loom))]
mod system {
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

    /// Wakes so many threads that sleep at the word. The word itself may be gone: no memory is
    /// touched.
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
}

/// The system's part, for loom: all words have one bed, in which a thread is woken that sleeps at
/// another word as well. It looks again and goes on sleeping.
#[cfg(loom)]
mod explored {
    use loom::sync::atomic::{AtomicU32, Ordering};
    use loom::sync::{Condvar, Mutex};

    loom::lazy_static! {
        static ref BED: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    }

    pub(crate) fn wait(word: &AtomicU32, value: u32) {
        let awake = BED.0.lock().unwrap();
        // Ordering: Relaxed; as the system reads it, under a lock that who wakes takes as well.
        if word.load(Ordering::Relaxed) == value {
            drop(BED.1.wait(awake).unwrap());
        }
    }

    pub(crate) fn wake(_: *const AtomicU32, _: i32) {
        let _all = BED.0.lock().unwrap();
        BED.1.notify_all();
    }
}
