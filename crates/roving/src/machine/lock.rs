//! A lock around a value, and waiting for a change of it.
//!
//! Of `std`'s lock each use has its own code: the lock that is free, the one that is not, poison,
//! and all of it once more for a panic. Here a use is two calls. A panic poisons nothing, because
//! nobody in this crate leaves a locked value half changed.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::{self, PoisonError, TryLockError};
use std::time::Duration;

/// A value that one thread at a time may touch.
#[derive(Default)]
pub(crate) struct Mutex<T> {
    lock: sync::Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: `lock` lets one thread at a time to the value, so it is sent, and not shared.
unsafe impl<T: Send> Sync for Mutex<T> {}
impl<T> UnwindSafe for Mutex<T> {}
impl<T> RefUnwindSafe for Mutex<T> {}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Mutex<T> {
        Mutex {
            lock: sync::Mutex::new(()),
            value: UnsafeCell::new(value),
        }
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.guard(hold(&self.lock))
    }

    /// `None` if it is locked.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let held = match self.lock.try_lock() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(held)) => held.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(self.guard(Held::new(held)))
    }

    #[inline]
    fn guard<'a>(&'a self, held: Held<'a>) -> MutexGuard<'a, T> {
        let value = NonNull::from(&self.value).cast();
        MutexGuard {
            held,
            value,
            lent: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    #[inline]
    pub(crate) fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

/// The locked value.
pub(crate) struct MutexGuard<'a, T> {
    held: Held<'a>,
    /// The value in the cell of the mutex.
    value: NonNull<T>,
    lent: PhantomData<&'a mut T>,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the mutex outlives the guard, and nobody else has the lock.
        unsafe { self.value.as_ref() }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { self.value.as_mut() }
    }
}

/// A lock that is held, until this is dropped.
struct Held<'a>(ManuallyDrop<sync::MutexGuard<'a, ()>>);

impl<'a> Held<'a> {
    fn new(guard: sync::MutexGuard<'a, ()>) -> Held<'a> {
        Held(ManuallyDrop::new(guard))
    }

    fn into_inner(self) -> sync::MutexGuard<'a, ()> {
        let mut held = ManuallyDrop::new(self);
        // SAFETY: `held` is not used any more, nor dropped.
        unsafe { ManuallyDrop::take(&mut held.0) }
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: what was taken out is not used again.
        let_go(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}

/// By value, so that a guard need not lie in memory.
#[inline(never)]
fn let_go(guard: sync::MutexGuard<'_, ()>) {
    drop(guard);
}

#[inline(never)]
fn hold(lock: &sync::Mutex<()>) -> Held<'_> {
    Held::new(lock.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Tells threads that wait that a locked value has changed.
#[derive(Default)]
pub(crate) struct Condvar(sync::Condvar);

impl Condvar {
    pub(crate) const fn new() -> Condvar {
        Condvar(sync::Condvar::new())
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Waits until notified, or for no reason.
    #[inline]
    pub(crate) fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        guard.held = self.wait_with(guard.held);
        guard
    }

    /// Waits until notified, for that time, or for no reason. True if the time is over.
    #[inline]
    pub(crate) fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        let is_over;
        (guard.held, is_over) = self.wait_timeout_with(guard.held, time);
        (guard, is_over)
    }

    #[inline(never)]
    fn wait_with<'a>(&self, held: Held<'a>) -> Held<'a> {
        let waited = self.0.wait(held.into_inner());
        Held::new(waited.unwrap_or_else(PoisonError::into_inner))
    }

    #[inline(never)]
    fn wait_timeout_with<'a>(&self, held: Held<'a>, time: Duration) -> (Held<'a>, bool) {
        let waited = self.0.wait_timeout(held.into_inner(), time);
        let (guard, outcome) = waited.unwrap_or_else(PoisonError::into_inner);
        (Held::new(guard), outcome.timed_out())
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{self, AssertUnwindSafe};
    use std::thread;

    use super::*;

    #[test]
    fn a_lock_is_free_and_what_it_guards_is_there_after_a_panic_under_it() {
        let words = Mutex::new(vec!["one"]);
        let panicked = panic::catch_unwind(AssertUnwindSafe(|| {
            words.lock().push("two");
            let _held = words.lock();
            panic!("under the lock");
        }));
        assert!(panicked.is_err());
        assert_eq!(*words.lock(), ["one", "two"]);
        assert_eq!(words.into_inner(), ["one", "two"]);
    }

    #[test]
    fn one_thread_at_a_time_has_the_value() {
        let (count, threads) = (Mutex::new(0), if cfg!(miri) { 3 } else { 8 });
        thread::scope(|s| {
            for _ in 0..threads {
                s.spawn(|| (0..100).for_each(|_| *count.lock() += 1));
            }
        });
        assert_eq!(count.into_inner(), threads * 100);
    }

    #[test]
    fn who_waits_hears_of_a_change_or_that_the_time_is_over() {
        let (is_done, changed) = (Mutex::new(false), Condvar::new());
        let time = Duration::from_millis(5);
        let (guard, is_over) = changed.wait_timeout(is_done.lock(), time);
        assert!(is_over || !*guard, "for no reason");
        drop(guard);
        thread::scope(|s| {
            s.spawn(|| {
                *is_done.lock() = true;
                changed.notify_all();
            });
            let mut guard = is_done.lock();
            while !*guard {
                guard = changed.wait(guard);
            }
        });
    }
}
