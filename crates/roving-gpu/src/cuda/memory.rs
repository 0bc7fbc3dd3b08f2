//! Memory of a device.
#![allow(unsafe_code)] // allocates, frees and copies by address

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{CUdeviceptr, CUevent_flags, CUmemPool_attribute};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, result};

use super::driver::{self, CallersContext};
use super::fault;
use crate::backend::Memory;
use crate::backend::error::{Cause, DeviceError};

/// Where the memory of a device comes from: the driver's pool, in the order of a stream on which
/// nothing else is done. Nobody waits for that: lanes are put behind the last allocation. To free
/// in that way waits for nothing either, and does not stop the device as `cuMemFree` does.
pub(super) struct Store {
    stream: Arc<CudaStream>,
    allocated: Mutex<Allocated>,
    /// The driver's own; else the memory comes from `cuMemAlloc`.
    pooled: bool,
    pub(super) bytes_max: u64,
    used: Mutex<u64>,
}

/// The allocations in the order of the stream.
struct Allocated {
    count: u64,
    /// Behind the last.
    event: CudaEvent,
}

impl Store {
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        let stream = context.new_stream()?;
        let untimed = Some(CUevent_flags::CU_EVENT_DISABLE_TIMING);
        let event = context.new_event(untimed)?;
        let pooled = context.has_async_alloc();
        if pooled {
            keep_freed(context)?;
        }
        let (free, _) = context.mem_get_info()?;
        Ok(Store {
            stream,
            allocated: Mutex::new(Allocated { count: 0, event }),
            pooled,
            // The rest is left for the driver, the modules and the library.
            bytes_max: (free - free / 16) as u64,
            used: Mutex::new(0),
        })
    }

    pub(super) fn used(&self) -> u64 {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn alloc(&self, bytes: usize) -> Result<CUdeviceptr, DriverError> {
        let _callers = CallersContext::here();
        self.stream.context().bind_to_thread()?;
        if !self.pooled {
            // SAFETY: the context is bound. What is in the memory is of no type yet.
            return unsafe { result::malloc_sync(bytes) };
        }
        let mut allocated = self.allocated();
        // SAFETY: the stream is this store's, and lives. What is in the memory is of no type yet.
        let address = unsafe { result::malloc_async(self.stream.cu_stream(), bytes) }?;
        if let Err(error) = allocated.event.record(&self.stream) {
            // SAFETY: it was just allocated there, and nobody else has it.
            let _ = unsafe { result::free_async(address, self.stream.cu_stream()) };
            return Err(error);
        }
        allocated.count += 1;
        Ok(address)
    }

    fn allocated(&self) -> MutexGuard<'_, Allocated> {
        self.allocated
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets all that comes on a stream begin after the allocations until now. `known` is how many
    /// it is behind already.
    pub(super) fn put_behind(
        &self,
        stream: &CudaStream,
        known: &mut u64,
    ) -> Result<(), DriverError> {
        let allocated = self.allocated();
        if *known < allocated.count {
            stream.wait(&allocated.event)?;
            *known = allocated.count;
        }
        Ok(())
    }
}

/// Freed memory stays with the process instead of going back at each wait.
fn keep_freed(context: &CudaContext) -> Result<(), DriverError> {
    let mut all = u64::MAX;
    // SAFETY: the handle is that of the context's device, which lives.
    let pool = unsafe { result::device::get_default_mem_pool(context.cu_device()) }?;
    // SAFETY: this attribute is a `cuuint64_t`, which is read before the call returns.
    unsafe {
        result::mem_pool::set_attribute(
            pool,
            CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
            (&raw mut all).cast(),
        )
    }
}

/// A [`Memory`] of this back-end.
pub(super) struct Room {
    address: CUdeviceptr,
    bytes: usize,
    store: Arc<Store>,
    /// While it is dropped. Behind the store: who drops the last handle of that ends the context.
    callers: CallersContext,
}

impl Room {
    pub(super) fn new(store: &Arc<Store>, bytes: usize) -> Result<Self, DeviceError> {
        // Nothing has no address.
        let bytes = bytes.max(1);
        {
            let mut used = store.used.lock().unwrap_or_else(PoisonError::into_inner);
            let most = store.bytes_max;
            if used.checked_add(bytes as u64).is_none_or(|sum| sum > most) {
                let text =
                    format!("{bytes} bytes beside {used} of {most} in use; it has at most that");
                return Err(DeviceError::new(Cause::OutOfMemory, text));
            }
            *used += bytes as u64;
        }
        // From here on, dropping it corrects the account.
        let mut room = Room {
            address: 0,
            bytes,
            store: Arc::clone(store),
            callers: CallersContext::default(),
        };
        room.address = store.alloc(bytes).map_err(|error| fault::of(error, ""))?;
        Ok(room)
    }

    pub(super) fn of(memory: &Memory) -> Result<&Room, DeviceError> {
        memory.get().ok_or_else(|| {
            DeviceError::new(
                Cause::Kernel,
                "a buffer of another back-end was given to CUDA",
            )
        })
    }

    /// Where these bytes of it begin, for this device and no one else.
    pub(super) fn address_of(&self, part: &Range<usize>) -> Result<CUdeviceptr, DeviceError> {
        if part.start > part.end || part.end > self.bytes {
            let text = format!("bytes {part:?} of {} on the device", self.bytes);
            return Err(DeviceError::new(Cause::Kernel, text));
        }
        // Behind the last byte begins what is another's.
        let start = if part.is_empty() { 0 } else { part.start };
        Ok(self.address + start as u64)
    }

    fn check(&self, bytes: usize) -> Result<(), DeviceError> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let text = format!(
            "{bytes} bytes were to be copied to or from {} on the device",
            self.bytes
        );
        Err(DeviceError::new(Cause::Kernel, text))
    }

    /// Copies to the device in the order of the stream. The copy may go on after the call.
    ///
    /// # Safety
    /// Room and bytes stay until the stream has done this.
    pub(super) unsafe fn fill(&self, from: &[u8], stream: &CudaStream) -> Result<(), DeviceError> {
        self.check(from.len())?;
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: the room has that many bytes, as just checked, and is of the context that is
        // bound to each lane's thread; both sides stay, as the caller promises.
        let copied = unsafe { result::memcpy_htod_async(self.address, from, stream.cu_stream()) };
        copied.map_err(|error| fault::of(error, "copying to it: "))
    }

    /// Copies from the device in the order of the stream. The copy may go on after the call.
    ///
    /// # Safety
    /// Room and bytes stay until the stream has done this, and nobody else looks at the bytes
    /// before.
    pub(super) unsafe fn empty(
        &self,
        to: &mut [u8],
        stream: &CudaStream,
    ) -> Result<(), DeviceError> {
        self.check(to.len())?;
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: the room has that many bytes, as just checked, and is of the context that is
        // bound to each lane's thread; both sides stay, and nobody else looks, as the caller
        // promises.
        let copied = unsafe { result::memcpy_dtoh_async(to, self.address, stream.cu_stream()) };
        copied.map_err(|error| fault::of(error, "copying from it: "))
    }

    /// Puts a copy from another device on a stream of this one's device.
    ///
    /// # Safety
    /// Both rooms stay until the stream has ended it; it comes after all that writes in the other.
    pub(super) unsafe fn take_from(
        &self,
        other: &Room,
        bytes: usize,
        stream: &CudaStream,
    ) -> Result<(), DeviceError> {
        self.check(bytes)?;
        other.check(bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let [to, from] = [self, other].map(|room| room.store.stream.context().cu_ctx());
        // SAFETY: both rooms have that many bytes, as just checked, in the contexts that are named,
        // and stay, as the caller promises.
        let copied = unsafe {
            result::memcpy_peer_async(
                to,
                self.address,
                from,
                other.address,
                bytes,
                stream.cu_stream(),
            )
        };
        copied.map_err(|error| fault::of(error, "copying from another device: "))
    }
}

impl Store {
    /// Lets the device of another store copy from this one's by itself, if the two can; else the
    /// driver does it by way of the host. The other's context is bound.
    pub(super) fn open_to(&self, other: &Store) {
        let [from, to] = [self, other].map(|store| store.stream.context());
        // Where it fails, the driver does the same as where it cannot be.
        let _ = driver::let_in(from, to, self.pooled);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.callers = CallersContext::replaced_by(self.store.stream.context());
        let store = &self.store;
        // Errors are those of a device that is lost, with its memory.
        if self.address != 0 && store.stream.context().bind_to_thread().is_ok() {
            // SAFETY: the address came from the call that belongs to this one, for `pooled` does
            // not change, and is freed once, here. Each operation that uses the memory holds a
            // clone of it until it has ended, so none is under way.
            let _ = unsafe {
                if store.pooled {
                    result::free_async(self.address, store.stream.cu_stream())
                } else {
                    result::free_sync(self.address)
                }
            };
        }
        *store.used.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes as u64;
    }
}
