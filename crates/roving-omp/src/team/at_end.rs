//! Functions that the system calls at a thread's end. A thread-local value of Rust's would not do:
//! where a thread first uses OpenMP when those have been dropped, a new one is dropped no more.

use std::ffi::c_void;
use std::sync::OnceLock;

/// A function that the system calls at the end of each thread that has set a value.
pub(super) struct AtEnd {
    key: OnceLock<Option<libc::pthread_key_t>>,
    call: unsafe extern "C" fn(*mut c_void),
}

impl AtEnd {
    pub(super) const fn new(call: unsafe extern "C" fn(*mut c_void)) -> AtEnd {
        AtEnd {
            key: OnceLock::new(),
            call,
        }
    }

    /// Has it called once with the value, which is not null, when the calling thread ends. It is
    /// not called where the program ends, nor where the system has no key left for it.
    pub(super) fn set(&self, value: *mut c_void) {
        let key = self.key.get_or_init(|| {
            let mut key = 0;
            // SAFETY: there is room for the key. A library that is closed stays in memory, and so
            // does what is called.
            let failed = unsafe { libc::pthread_key_create(&mut key, Some(self.call)) } != 0;
            (!failed).then_some(key)
        });
        if let Some(key) = *key {
            // SAFETY: the key is there.
            unsafe { libc::pthread_setspecific(key, value) };
        }
    }
}
