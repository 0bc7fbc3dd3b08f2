//! The memory of a simulated device, and counts of what it does.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::backend::error::{Cause, DeviceError};

/// Counters of a [`crate::Simulated`] device.
///
/// ```
/// use roving_gpu::Simulated;
///
/// let gauge = Simulated::new().gauge();
/// assert_eq!((gauge.operations(), gauge.pieces(), gauge.bytes()), (0, 0, 0));
/// ```
#[derive(Clone, Default)]
pub struct Gauge(Arc<Counts>);

#[derive(Default)]
struct Counts {
    operations: AtomicU64,
    pieces: AtomicU64,
    bytes: AtomicU64,
    is_lost: AtomicBool,
}

impl Gauge {
    /// Returns the number of operations asked for: pieces of memory, copies, launches.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let backend = Simulated::new();
    /// let gauge = backend.gauge();
    /// let _devices = Devices::builder().backend(backend).build().unwrap();
    /// assert_eq!(gauge.operations(), 0); // nothing has been asked for
    /// ```
    pub fn operations(&self) -> u64 {
        // Ordering: Relaxed: a count.
        self.0.operations.load(Ordering::Relaxed)
    }

    /// Returns the number of pieces of memory that were not freed yet.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let backend = Simulated::new();
    /// let gauge = backend.gauge();
    /// let _devices = Devices::builder().backend(backend).build().unwrap();
    /// assert_eq!(gauge.pieces(), 0);
    /// ```
    pub fn pieces(&self) -> u64 {
        // Ordering: Relaxed: a count.
        self.0.pieces.load(Ordering::Relaxed)
    }

    /// Returns the bytes of the memory that was not freed yet.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let backend = Simulated::new();
    /// let gauge = backend.gauge();
    /// let _devices = Devices::builder().backend(backend).build().unwrap();
    /// assert_eq!(gauge.bytes(), 0);
    /// ```
    pub fn bytes(&self) -> u64 {
        // Ordering: Relaxed: a count.
        self.0.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn next_operation(&self) -> u64 {
        // Ordering: Relaxed: only that all get different numbers matters.
        self.0.operations.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn lose(&self) {
        // Ordering: Relaxed: whoever finds it unset is a little earlier.
        self.0.is_lost.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_lost(&self) -> bool {
        // Ordering: Relaxed: as in `lose`.
        self.0.is_lost.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Gauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gauge")
            .field("operations", &self.operations())
            .field("pieces", &self.pieces())
            .field("bytes", &self.bytes())
            .finish()
    }
}

/// A piece of memory: words, so that whatever a kernel takes it for is aligned.
pub(super) struct SimulatedMemory {
    words: Mutex<Vec<u128>>,
    len: usize,
    gauge: Gauge,
}

impl SimulatedMemory {
    pub(super) fn new(
        len: usize,
        bytes_max: u64,
        gauge: &Gauge,
    ) -> Result<SimulatedMemory, DeviceError> {
        // Ordering: Relaxed: a count.
        let before = gauge.0.bytes.fetch_add(len as u64, Ordering::Relaxed);
        if before.saturating_add(len as u64) > bytes_max {
            // Ordering: Relaxed: a count.
            gauge.0.bytes.fetch_sub(len as u64, Ordering::Relaxed);
            let text = format!("{len} bytes more than {bytes_max}");
            return Err(DeviceError::new(Cause::OutOfMemory, text));
        }
        // Ordering: Relaxed: a count.
        gauge.0.pieces.fetch_add(1, Ordering::Relaxed);
        // A program that reads memory before it was written sees this.
        let garbage = u128::from_ne_bytes([0xA5; 16]);
        Ok(SimulatedMemory {
            words: Mutex::new(vec![garbage; len.div_ceil(16)]),
            len,
            gauge: gauge.clone(),
        })
    }

    pub(super) fn lock(&self) -> LockedMemory<'_> {
        LockedMemory {
            words: self.words.lock().unwrap_or_else(PoisonError::into_inner),
            len: self.len,
        }
    }
}

impl Drop for SimulatedMemory {
    fn drop(&mut self) {
        let counts = &self.gauge.0;
        // Ordering: Relaxed: counts.
        counts.bytes.fetch_sub(self.len as u64, Ordering::Relaxed);
        // Ordering: Relaxed: as above.
        counts.pieces.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A piece of memory while it is used.
pub(super) struct LockedMemory<'a> {
    words: MutexGuard<'a, Vec<u128>>,
    len: usize,
}

impl LockedMemory<'_> {
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }
}
