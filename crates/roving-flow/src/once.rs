//! The waker of a process, kept where others can use it.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::task::Waker;

use crate::prim::{AtomicU32, Ordering};

/// A waker that is put in once, and can be taken out again when nobody uses it any more.
///
/// | state | who may touch the waker |
/// |---|---|
/// | `NONE` | the process, which puts it in |
/// | `THERE` | everybody, by reference |
/// | `GONE` | nobody |
pub(crate) struct OnceWaker {
    state: AtomicU32,
    waker: UnsafeCell<MaybeUninit<Waker>>,
}

const NONE: u32 = 0;
const THERE: u32 = 1;
const GONE: u32 = 2;

// SAFETY: a waker is `Send` and `Sync`; the table above says who touches it when.
unsafe impl Send for OnceWaker {}
// SAFETY: as above.
unsafe impl Sync for OnceWaker {}

impl OnceWaker {
    pub(crate) fn new() -> OnceWaker {
        OnceWaker {
            state: AtomicU32::new(NONE),
            waker: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Puts it in, if none was put in before.
    ///
    /// # Safety
    /// One thread at a time.
    #[inline]
    pub(crate) unsafe fn set(&self, waker: &Waker) {
        // Ordering: Relaxed; only the caller makes it something else than `NONE`.
        if self.state.load(Ordering::Relaxed) == NONE {
            // SAFETY: nobody else touches it in this state.
            unsafe { (*self.waker.get()).write(waker.clone()) };
            // Ordering: Edge [waker]: Release publishes it.
            self.state.store(THERE, Ordering::Release);
        }
    }

    /// Wakes by it, if it is there.
    ///
    /// # Safety
    /// It is not taken out meanwhile.
    #[inline]
    pub(crate) unsafe fn wake(&self) {
        // Ordering: Acquire. Pairs with [waker].
        if self.state.load(Ordering::Acquire) == THERE {
            // SAFETY: it is there, and stays meanwhile.
            unsafe { (*self.waker.get()).assume_init_ref() }.wake_by_ref();
        }
    }

    /// Drops it; none can be put in afterwards.
    ///
    /// # Safety
    /// Nobody uses it now.
    pub(crate) unsafe fn clear(&self) {
        // Ordering: Acquire. Pairs with [waker].
        if self.state.swap(GONE, Ordering::Acquire) == THERE {
            // SAFETY: it was there, and nobody else uses it.
            unsafe { (*self.waker.get()).assume_init_drop() };
        }
    }
}

impl Drop for OnceWaker {
    fn drop(&mut self) {
        // SAFETY: it is borrowed exclusively.
        unsafe { self.clear() };
    }
}
