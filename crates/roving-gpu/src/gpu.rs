//! What the GPU side of a task is given.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::arg::Arg;
use crate::error::{Cause, DeviceError};
use crate::kernel::Kernel;

/// The device, as the GPU side of one task sees it.
pub struct Gpu(());

impl Gpu {
    /// Launches so many groups of a kernel. It is under way from this call on, whether or not the result is awaited, and
    /// the launches of a task run one after the other; so a task with several of them needs to await the last only. A
    /// task ends when all that it launched has.
    ///
    /// # Panics
    /// If an argument is a buffer that the task did not declare, or may only read and the launch updates.
    pub fn launch(
        &self,
        _kernel: &'static Kernel,
        _groups: [u32; 3],
        _arguments: &[Arg<'_>],
    ) -> Launching {
        Launching(())
    }
}

/// A kernel that was launched; awaiting it says how it ended.
pub struct Launching(());

impl Launching {
    /// How much work it is, if it is not all of the task's.
    #[must_use]
    pub fn work(self, _work: f64) -> Self {
        self
    }
}

impl Future for Launching {
    type Output = Result<(), DeviceError>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Err(DeviceError::new(Cause::NoDevice, "not yet")))
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").finish_non_exhaustive()
    }
}

impl fmt::Debug for Launching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launching").finish_non_exhaustive()
    }
}
