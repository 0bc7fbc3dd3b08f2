//! `omp_lock_t` and `omp_nest_lock_t`, which stand in memory of the program's: four bytes, and
//! sixteen.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use roving::raw::hosted;

use crate::sync::mutex;
use crate::task::RunningTask;
use crate::team::thread::Thread;

/// A lock that its owner, a task, can take again.
#[repr(C)]
pub(super) struct NestLock {
    lock: AtomicU32,
    /// How often its owner has taken it; nobody else looks.
    count: AtomicU32,
    owner: AtomicPtr<()>,
}

fn me() -> *mut () {
    ptr::from_ref::<RunningTask>(Thread::current().task())
        .cast_mut()
        .cast()
}

/// Takes the lock, unless somebody has it. Who has it may wait for what the thread has spawned, and
/// the thread may try again and again: so others may have that.
fn try_or_show(word: &AtomicU32) -> bool {
    let is_taken = mutex::try_lock(word);
    if !is_taken {
        hosted::show();
    }
    is_taken
}

impl NestLock {
    fn init(&self) {
        // Ordering: Relaxed, all; a lock is used after it was made.
        self.lock.store(0, Ordering::Relaxed);
        self.count.store(0, Ordering::Relaxed);
        self.owner.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Takes it, if the calling task has it already.
    fn again(&self, me: *mut ()) -> Option<u32> {
        // Ordering: Relaxed, both; only its owner finds itself there, which wrote both.
        (self.owner.load(Ordering::Relaxed) == me).then(|| self.taken(me))
    }

    /// The caller has the lock.
    fn taken(&self, me: *mut ()) -> u32 {
        // Ordering: Relaxed, all; only the owner writes or reads the count.
        let count = self.count.load(Ordering::Relaxed) + 1;
        self.count.store(count, Ordering::Relaxed);
        self.owner.store(me, Ordering::Relaxed);
        count
    }

    fn set(&self) {
        let me = me();
        if self.again(me).is_none() {
            mutex::lock(&self.lock);
            self.taken(me);
        }
    }

    fn test(&self) -> u32 {
        let me = me();
        let first = || try_or_show(&self.lock).then(|| self.taken(me));
        self.again(me).or_else(first).unwrap_or(0)
    }

    fn unset(&self) {
        // Ordering: Relaxed, all; only the owner writes or reads the count.
        let count = self.count.load(Ordering::Relaxed) - 1;
        self.count.store(count, Ordering::Relaxed);
        if count == 0 {
            self.owner.store(ptr::null_mut(), Ordering::Relaxed);
            mutex::unlock(&self.lock);
        }
    }
}

/// # Safety
/// The address is a lock's; the same holds for all that follow.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_init_lock(lock: *mut u32) {
    // SAFETY: a lock of the program's.
    let lock = unsafe { AtomicU32::from_ptr(lock) };
    // Ordering: Relaxed; a lock is used after it was made.
    lock.store(0, Ordering::Relaxed);
}

/// # Safety
/// See [`omp_init_lock`].
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_init_lock_with_hint(lock: *mut u32, _hint: c_int) {
    // SAFETY: the caller's promise.
    unsafe { omp_init_lock(lock) };
}

/// # Safety
/// See [`omp_init_lock`].
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_destroy_lock(_lock: *mut u32) {}

/// # Safety
/// See [`omp_init_lock`].
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_set_lock(lock: *mut u32) {
    // SAFETY: a lock of the program's.
    mutex::lock(unsafe { AtomicU32::from_ptr(lock) });
}

/// # Safety
/// See [`omp_init_lock`].
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_unset_lock(lock: *mut u32) {
    // SAFETY: a lock of the program's.
    mutex::unlock(unsafe { AtomicU32::from_ptr(lock) });
}

/// # Safety
/// See [`omp_init_lock`].
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_test_lock(lock: *mut u32) -> c_int {
    // SAFETY: a lock of the program's.
    try_or_show(unsafe { AtomicU32::from_ptr(lock) }).into()
}

/// # Safety
/// See [`omp_init_lock`].
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_init_nest_lock(lock: *mut NestLock) {
    // SAFETY: memory for a lock.
    unsafe { &*lock }.init();
}

/// # Safety
/// See [`omp_init_lock`].
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_init_nest_lock_with_hint(lock: *mut NestLock, _hint: c_int) {
    // SAFETY: the caller's promise.
    unsafe { omp_init_nest_lock(lock) };
}

/// # Safety
/// See [`omp_init_lock`].
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_destroy_nest_lock(_lock: *mut NestLock) {}

/// # Safety
/// See [`omp_init_lock`].
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_set_nest_lock(lock: *mut NestLock) {
    // SAFETY: a lock of the program's.
    unsafe { &*lock }.set();
}

/// # Safety
/// See [`omp_init_lock`].
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_unset_nest_lock(lock: *mut NestLock) {
    // SAFETY: a lock of the program's.
    unsafe { &*lock }.unset();
}

/// # Safety
/// See [`omp_init_lock`].
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_test_nest_lock(lock: *mut NestLock) -> c_int {
    // SAFETY: a lock of the program's.
    unsafe { &*lock }.test() as c_int
}

/// Fortran's variables for locks: one of four bytes is a lock, one of eight leads to a nestable
/// one.
macro_rules! fortran {
    ($($name:ident = $of:ident -> $result:ty;)*) => {$(
        /// # Safety
        /// See [`omp_init_lock`].
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: *mut u32) -> $result {
            // SAFETY: the caller's promise.
            unsafe { $of(lock) }
        }
    )*};
    (nest $($name:ident = $of:ident -> $result:ty;)*) => {$(
        /// # Safety
        /// See [`omp_init_lock`].
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: *mut *mut NestLock) -> $result {
            // SAFETY: the caller's promise.
            unsafe { $of(*lock) }
        }
    )*};
}

fortran! {
    omp_init_lock_ = omp_init_lock -> ();
    omp_destroy_lock_ = omp_destroy_lock -> ();
    omp_set_lock_ = omp_set_lock -> ();
    omp_unset_lock_ = omp_unset_lock -> ();
    omp_test_lock_ = omp_test_lock -> c_int;
}

fortran! { nest
    omp_set_nest_lock_ = omp_set_nest_lock -> ();
    omp_unset_nest_lock_ = omp_unset_nest_lock -> ();
    omp_test_nest_lock_ = omp_test_nest_lock -> c_int;
}

/// # Safety
/// See [`omp_init_lock`].
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_init_nest_lock_(lock: *mut *mut NestLock) {
    let made = Box::new(NestLock {
        lock: AtomicU32::new(0),
        count: AtomicU32::new(0),
        owner: AtomicPtr::new(ptr::null_mut()),
    });
    // SAFETY: a variable for a lock.
    unsafe { *lock = Box::into_raw(made) };
}

/// # Safety
/// See [`omp_init_lock`].
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_destroy_nest_lock_(lock: *mut *mut NestLock) {
    // SAFETY: made by `omp_init_nest_lock_`.
    drop(unsafe { Box::from_raw(*lock) });
}
