//! The side of `std`, on which programs run.

#[cfg(roving_pauses)]
use std::ptr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

pub(crate) use crate::machine::lock::{Condvar, Mutex, MutexGuard};
pub(crate) use std::{
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize},
    thread,
};

/// Names an ordering, so that the mutation check can weaken it.
///
/// In a normal build it is the ordering itself, folded away. Under loom, when the environment
/// variable `ROVING_MUTANT` holds `name`, it is `Relaxed`: the loom test that `mutants.txt` lists
/// for that name has to fail then (`cargo xtask mutants`).
#[inline(always)]
pub const fn ord(_name: &'static str, ordering: Ordering) -> Ordering {
    ordering
}

/// Names a step, so that the mutation check can leave it out or do it wrongly.
///
/// False, and folded away, in a normal build. Under loom it is true when the environment variable
/// `ROVING_MUTANT` holds `name`: the loom test that `mutants.txt` lists for that name has to fail
/// then.
#[inline(always)]
pub const fn mutant(_name: &'static str) -> bool {
    false
}

/// A point between two steps of a protocol at which a thread may lose its core for long.
///
/// Nothing in a normal build. With `--cfg roving_pauses` one thread in eight sleeps here, for up to
/// some milliseconds, and two in eight give their core away: what a program meets in days, it meets
/// in seconds.
#[cfg(not(roving_pauses))]
#[inline(always)]
#[doc(hidden)]
pub const fn pause() {}

#[cfg(roving_pauses)]
#[doc(hidden)]
pub fn pause() {
    thread_local! {
        static LAST: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }
    LAST.with(|last| {
        // Another sequence for each thread: by the address of its own word.
        let word = last.get() ^ ptr::from_ref(last).addr() as u64;
        let next = word.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        last.set(next);
        match next >> 61 {
            0 => thread::sleep(Duration::from_micros(50 << (next >> 40 & 7))),
            1 | 2 => thread::yield_now(),
            _ => {}
        }
    });
}

/// The time until then, for the thread that serves all deadlines; `None` if it has come.
#[inline]
pub(crate) fn time_until(at: Instant) -> Option<Duration> {
    at.checked_duration_since(Instant::now())
        .filter(|time| !time.is_zero())
}

/// A value of the whole process; in the model checker, of one execution.
macro_rules! process_wide {
    ($($(#[$meta:meta])* static $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[$meta])* static $name: $type = $value;)*
    };
}
pub(crate) use process_wide;

/// A value of each thread, which is there without a look whether it is, and has no destructor.
macro_rules! thread_wide {
    ($(#[$meta:meta])* static $name:ident: $type:ty = $value:expr;) => {
        thread_local! {
            $(#[$meta])* static $name: $type = const { $value };
        }
    };
}
pub(crate) use thread_wide;

/// Functions that make words for a value of the whole process; the model checker makes them while
/// it runs.
macro_rules! const_fn {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident() -> $type:ty $body:block)*) => {
        $($(#[$meta])* $vis const fn $name() -> $type $body)*
    };
}
pub(crate) use const_fn;

/// Data that one thread at a time may touch; loom checks that no two do.
pub struct DataCell<T>(std::cell::UnsafeCell<T>);

impl<T> DataCell<T> {
    /// Creates a cell whose value the caller has to protect.
    pub const fn new(value: T) -> DataCell<T> {
        DataCell(std::cell::UnsafeCell::new(value))
    }

    /// Calls `f` with a pointer for reading.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    /// Calls `f` with a pointer for writing.
    #[inline(always)]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// Brings what is at `at` into the cache in the background, where the processor can be told to.
#[inline]
pub(crate) fn prefetch<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch of any address is allowed and reads nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}
