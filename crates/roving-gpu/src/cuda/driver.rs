//! Whether there is a driver, and which; and what is asked of it by name.
//!
//! The bindings are those of CUDA 13, so that its libraries are found beside those of CUDA 12. Each
//! function is looked for when it is first called, so an older driver will do as long as it has
//! those that are called.
#![allow(unsafe_code)] // loads a library, and calls a function of it by name

use std::ptr;
use std::sync::OnceLock;

use cudarc::driver::sys::{
    self, CUevent, CUmemAccess_flags, CUmemAccessDesc, CUmemLocation, CUmemLocationType, CUresult,
};
use cudarc::driver::{CudaContext, CudaEvent, DriverError, result};

pub(super) fn is_there() -> bool {
    // SAFETY: to look for a library runs what it does when it is loaded, and NVIDIA's may be
    // loaded.
    unsafe { sys::is_culib_present() }
}

/// 1000 times the major version of CUDA that it is for, and 10 times the minor one. There must be
/// one.
pub(super) fn version() -> Result<i32, DriverError> {
    let mut version = 0;
    // SAFETY: the place is written before the call returns. It may be called before all others.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result()?;
    Ok(version)
}

/// The milliseconds between two events, which have come. The bindings ask for it by a name that
/// drivers before 12.8 do not have; later ones have both.
pub(super) fn elapsed(from: &CudaEvent, to: &CudaEvent) -> Result<f32, DriverError> {
    type Elapsed = unsafe extern "C" fn(*mut f32, CUevent, CUevent) -> CUresult;
    static ELAPSED: OnceLock<Option<Elapsed>> = OnceLock::new();
    let find = || {
        // SAFETY: the library is loaded already, for there are events; in all versions the function
        // has that type.
        unsafe { sys::culib().get::<Elapsed>(b"cuEventElapsedTime\0") }
            .ok()
            .map(|found| *found)
    };
    let Some(elapsed) = ELAPSED.get_or_init(find) else {
        return Err(DriverError(CUresult::CUDA_ERROR_NOT_FOUND));
    };
    let mut ms = 0.0;
    // SAFETY: both events are alive; the place is written before the call returns.
    unsafe { elapsed(&mut ms, from.cu_event(), to.cu_event()) }.result()?;
    Ok(ms)
}

/// Lets a device look at the memory of another one, from its pool or not, if it can: then copies
/// between the two go over their own link. The context of `to` is bound.
pub(super) fn let_in(
    from: &CudaContext,
    to: &CudaContext,
    is_pooled: bool,
) -> Result<(), DriverError> {
    let [owner, guest] = [from, to].map(CudaContext::cu_device);
    let mut can = 0;
    // SAFETY: both devices are there; the place is written before the call returns.
    unsafe { sys::cuDeviceCanAccessPeer(&mut can, guest, owner) }.result()?;
    if can == 0 {
        return Ok(());
    }
    if !is_pooled {
        // SAFETY: the context is that of a device that is open.
        return match unsafe { sys::cuCtxEnablePeerAccess(from.cu_ctx(), 0) } {
            CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            other => other.result(),
        };
    }
    let all = CUmemAccessDesc {
        location: CUmemLocation {
            type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
            id: guest,
        },
        flags: CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    // SAFETY: the handle is that of a device that is open.
    let pool = unsafe { result::device::get_default_mem_pool(owner) }?;
    // SAFETY: the pool is the device's own; the one description is read before the call returns.
    unsafe { sys::cuMemPoolSetAccess(pool, &raw const all, 1) }.result()
}

/// The context that was current on this thread, which it gets back when this is dropped: a program
/// that uses CUDA itself there goes on with its own. As the last field of an object that takes it
/// when it is dropped, it comes after what the others do.
#[derive(Default)]
pub(super) struct CallersContext(Option<Option<usize>>);

impl CallersContext {
    pub(super) fn here() -> Self {
        CallersContext(current().ok())
    }

    /// Makes another one current until then. The bindings do not do so once an operation has
    /// failed, and what they destroy needs it all the same.
    pub(super) fn replaced_by(context: &CudaContext) -> Self {
        let callers = CallersContext::here();
        // SAFETY: the context is alive.
        let _ = unsafe { result::ctx::set_current(context.cu_ctx()) };
        callers
    }
}

impl Drop for CallersContext {
    fn drop(&mut self) {
        // One of our own threads has its device's, which may be gone by now.
        let was = self.0.take();
        if let Some(was) = was.filter(|was| current() != Ok(*was)) {
            let was = ptr::with_exposed_provenance_mut(was.unwrap_or(0));
            // SAFETY: the driver gave the handle out as that of this thread, or it is null: none.
            // A context that the program has destroyed meanwhile is refused.
            let _ = unsafe { result::ctx::set_current(was) };
        }
    }
}

/// The address of the handle that is current here.
fn current() -> Result<Option<usize>, DriverError> {
    let current = result::ctx::get_current()?;
    Ok(current.map(|context| context.expose_provenance()))
}
