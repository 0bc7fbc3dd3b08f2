//! `critical`, and `atomic` where the processor cannot.

use std::sync::atomic::AtomicU32;

use crate::sync::mutex;

static UNNAMED: AtomicU32 = AtomicU32::new(0);
static ATOMIC: AtomicU32 = AtomicU32::new(0);

#[unsafe(no_mangle)]
extern "C" fn GOMP_critical_start() {
    mutex::lock(&UNNAMED);
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_critical_end() {
    mutex::unlock(&UNNAMED);
}

/// The lock stands in the pointer that a compiler sets aside for a name.
///
/// # Safety
/// It is such a pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_critical_name_start(name: *mut *mut ()) {
    // SAFETY: all threads use it as this, and it is as large and aligned.
    mutex::lock(unsafe { AtomicU32::from_ptr(name.cast()) });
}

/// # Safety
/// As [`GOMP_critical_name_start`].
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_critical_name_end(name: *mut *mut ()) {
    // SAFETY: the caller's promise: the pointer is a compiler's, and as large and aligned.
    mutex::unlock(unsafe { AtomicU32::from_ptr(name.cast()) });
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_atomic_start() {
    mutex::lock(&ATOMIC);
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_atomic_end() {
    mutex::unlock(&ATOMIC);
}
