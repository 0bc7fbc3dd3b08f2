//! Kernels, each of which is built for a device when it is first launched there.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::error::{Cause, DeviceError};

/// Holds what was built of each kernel, or why that cannot be built.
pub(crate) struct BuiltKernels<K, T>(Mutex<HashMap<K, Arc<Slot<T>>>>);

type Slot<T> = OnceLock<Result<T, DeviceError>>;

impl<K, T> Default for BuiltKernels<K, T> {
    fn default() -> Self {
        BuiltKernels(Mutex::default())
    }
}

impl<K: Eq + Hash + Clone, T: Clone> BuiltKernels<K, T> {
    /// The kernel, which is built by who comes first. If there was no memory for it, who comes
    /// later tries again: others may have let go of some.
    pub(crate) fn get(
        &self,
        key: K,
        build: impl FnOnce() -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        // Others wait for the one that builds this kernel, and not for those that build others.
        let slot = Arc::clone(self.lock().entry(key.clone()).or_default());
        let built = slot.get_or_init(build).clone();
        let is_short = |error: &DeviceError| error.cause() == Cause::OutOfMemory;
        if built.as_ref().is_err_and(is_short) {
            let mut slots = self.lock();
            // Somebody may have begun anew meanwhile.
            if slots.get(&key).is_some_and(|now| Arc::ptr_eq(now, &slot)) {
                slots.remove(&key);
            }
        }
        built
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Arc<Slot<T>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_had_no_memory_is_built_again() {
        let kernels = BuiltKernels::default();
        let fails = |cause| kernels.get(1, || Err(DeviceError::new(cause, "no")));
        for _ in 0..2 {
            let failed = fails(Cause::OutOfMemory).unwrap_err();
            assert_eq!(failed.cause(), Cause::OutOfMemory);
        }
        assert_eq!(kernels.get(1, || Ok("built")), Ok("built"));
        assert_eq!(kernels.get(1, || Ok("again")), Ok("built"));
    }

    #[test]
    fn a_kernel_that_cannot_be_built_is_tried_once() {
        let kernels = BuiltKernels::<u32, ()>::default();
        let error = DeviceError::new(Cause::Kernel, "line 3");
        assert_eq!(kernels.get(1, || Err(error.clone())), Err(error.clone()));
        assert_eq!(kernels.get(1, || Ok(())), Err(error));
        assert_eq!(kernels.get(2, || Ok(())), Ok(()));
    }
}
