//! Threads that devices need to get on: they wait for no device.

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// While this lives, its thread is one on which a device gets on: a thread of a back-end, a call
/// into a back-end, or the call that ends an operation; or one that tells the program of errors,
/// which the end of devices waits for. What the program does there, as in a waker, must not wait
/// for devices: it may be for something that comes only when it has returned.
pub(crate) struct DeviceThread {
    /// It stays on its thread.
    _here: PhantomData<*const ()>,
}

impl DeviceThread {
    pub(crate) fn enter() -> DeviceThread {
        DEPTH.set(DEPTH.get() + 1);
        DeviceThread { _here: PhantomData }
    }

    /// Calls it while the thread is such a one.
    pub(crate) fn during<R>(call: impl FnOnce() -> R) -> R {
        let _here = DeviceThread::enter();
        call()
    }

    /// Whether the calling thread is such a one.
    pub(crate) fn is_here() -> bool {
        DEPTH.get() > 0
    }
}

impl Drop for DeviceThread {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}
