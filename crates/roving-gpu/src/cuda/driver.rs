//! Whether there is a driver, and which.
#![allow(unsafe_code)] // loads a library

use cudarc::driver::DriverError;
use cudarc::driver::sys;

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
