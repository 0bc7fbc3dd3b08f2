//! Whether there is a driver, and which; and what is asked of it by name.
//!
//! The bindings are those of CUDA 13, so that its libraries are found beside those of CUDA 12. Each
//! function is looked for when it is first called, so an older driver will do as long as it has
//! those that are called.
#![allow(unsafe_code)] // loads a library, and calls a function of it by name

use std::sync::OnceLock;

use cudarc::driver::sys::{self, CUevent, CUresult};
use cudarc::driver::{CudaEvent, DriverError};

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
