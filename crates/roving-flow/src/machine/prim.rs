//! The only door to atomics, cells and fences: `std`, or loom when built with `--cfg loom`, so that
//! the same algorithm runs and is explored.

#[cfg(loom)]
pub(crate) use loom::{
    sync::{
        Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize},
    },
    thread,
};
#[cfg(not(loom))]
pub(crate) use std::{
    cell::Cell,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize},
    },
    thread,
};

use std::sync::PoisonError;
pub(crate) use std::sync::atomic::Ordering;

pub(crate) use roving::raw::prim::{DataCell, ord, pause};
#[cfg(loom)]
pub(crate) use roving::raw::prim::{Woken, explore, explore_within};

/// Locks, whatever has happened under the lock before.
pub(crate) fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A store-load fence, one half of Dekker's pattern: writes of this thread before it are visible to
/// others before its reads after it. The other half is another such fence. `SeqCst`, but for
/// mutants.
///
/// ThreadSanitizer knows no fences; a read-modify-write of one word by all stands in for it there.
#[cfg(not(any(loom, roving_tsan)))]
#[inline(always)]
pub fn fence(_: Ordering) {
    // A locked instruction is what orders a store before a load on this processor, and costs half
    // of what `mfence` does.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: changes no bit of the word at the stack pointer, which is this thread's; nothing is
    // pushed, and the flags are not said to be preserved.
    unsafe {
        std::arch::asm!("lock or dword ptr [rsp], 0", options(nostack));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    std::sync::atomic::fence(Ordering::SeqCst);
}

/// A fence for ThreadSanitizer, which does not model fences: a read-modify-write of one word that
/// all threads share.
#[cfg(roving_tsan)]
pub fn fence(_: Ordering) {
    static ALL: AtomicU32 = AtomicU32::new(0);
    ALL.fetch_add(1, Ordering::SeqCst);
}

#[cfg(loom)]
pub(crate) fn fence(ordering: Ordering) {
    if ordering != Ordering::Relaxed {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// Exchanges a word that has the value `from` for `to`, and then is a [`fence`]: one instruction
/// where the processor has it.
#[cfg(not(any(loom, roving_tsan)))]
#[inline(always)]
pub(crate) fn exchange_and_fence(
    word: &AtomicU64,
    from: u64,
    to: u64,
    _: Ordering,
) -> Result<u64, u64> {
    let exchanged = word.compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed);
    // On x86-64 the exchange is a full barrier; elsewhere it is none for the loads that follow.
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    std::sync::atomic::fence(Ordering::SeqCst);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    exchanged
}

#[cfg(any(loom, roving_tsan))]
pub(crate) fn exchange_and_fence(
    word: &AtomicU64,
    from: u64,
    to: u64,
    ordering: Ordering,
) -> Result<u64, u64> {
    let access = match ordering {
        Ordering::Relaxed => Ordering::Relaxed,
        _ => Ordering::AcqRel,
    };
    let exchanged = word.compare_exchange(from, to, access, Ordering::Relaxed);
    fence(ordering);
    exchanged
}

/// A cell that one thread at a time may read and write; loom checks that no two do.
#[cfg(loom)]
pub(crate) struct Cell<T>(DataCell<T>);

#[cfg(loom)]
impl<T: Copy> Cell<T> {
    pub(crate) fn new(value: T) -> Cell<T> {
        Cell(DataCell::new(value))
    }

    pub(crate) fn get(&self) -> T {
        // SAFETY: as for a cell of `std`, one thread at a time uses it, or loom says that it is not
        // so.
        self.0.with(|value| unsafe { *value })
    }

    pub(crate) fn set(&self, value: T) {
        // SAFETY: as in `get`.
        self.0.with_mut(|at| unsafe { *at = value });
    }
}

/// A value of each thread's own.
#[cfg(not(loom))]
macro_rules! per_thread {
    ($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr;) => {
        ::std::thread_local! { $(#[$attribute])* static $name: $type = const { $value }; }
    };
}
#[cfg(loom)]
macro_rules! per_thread {
    ($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr;) => {
        ::loom::thread_local! { $(#[$attribute])* static $name: $type = $value; }
    };
}
pub(crate) use per_thread;

/// A number that no other call returns, and that is not 0. For loom as well, which explores nothing
/// here.
pub(crate) fn serial() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    // Ordering: Relaxed; only that it is a number of its own.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A value that is set once, for loom, which has no such type of its own.
#[cfg(loom)]
pub(crate) struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    is_set: AtomicBool,
    /// Held while it is set.
    setting: Mutex<()>,
}

#[cfg(loom)]
impl<T> OnceLock<T> {
    pub(crate) fn new() -> OnceLock<T> {
        OnceLock {
            value: std::sync::OnceLock::new(),
            is_set: AtomicBool::new(false),
            setting: Mutex::new(()),
        }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        // Ordering: Acquire. Pairs with [once]: the value is there.
        match self.is_set.load(Ordering::Acquire) {
            true => self.value.get(),
            false => None,
        }
    }

    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if self.get().is_none() {
            let _one_at_a_time = self.setting.lock();
            self.value.get_or_init(make);
            // Ordering: Edge [once]: Release hands the value over.
            self.is_set.store(true, Ordering::Release);
        }
        self.value.get().expect("it was set")
    }

    pub(crate) fn take(&mut self) -> Option<T> {
        self.is_set = AtomicBool::new(false);
        self.value.take()
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("called once"));
        value.map_or(Ok(()), Err)
    }
}

#[cfg(loom)]
impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}
