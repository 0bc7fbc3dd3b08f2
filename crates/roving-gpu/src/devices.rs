//! The devices of a program.

use std::fmt;
use std::sync::Arc;

use crate::builder::{BuildError, DevicesBuilder};

/// The devices that tasks may run on, and what is known of them. Clones are handles of the same.
#[derive(Clone)]
pub struct Devices(pub(crate) Option<Arc<Inner>>);

pub(crate) struct Inner {}

impl Devices {
    /// No device: every task runs its CPU side.
    ///
    /// ```
    /// assert!(roving_gpu::Devices::none().are_none());
    /// ```
    #[inline]
    pub const fn none() -> Self {
        Devices(None)
    }

    /// The devices of this machine, of the back-ends that were built in: those of CUDA; if there are none, those of wgpu. The
    /// environment variable `ROVING_GPU` narrows that down: `off`, `cuda` or `wgpu`. What was measured is kept in a file
    /// in the user's cache directory; `ROVING_GPU_HISTORY` names another one, or is `off`.
    ///
    /// # Errors
    /// If `ROVING_GPU` is something else, or names a back-end that finds no device.
    pub fn discover() -> Result<Self, BuildError> {
        DevicesBuilder::discover()?.build()
    }

    /// For other settings.
    pub fn builder() -> DevicesBuilder {
        DevicesBuilder::new()
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn are_none(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Debug for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Devices").finish_non_exhaustive()
    }
}
