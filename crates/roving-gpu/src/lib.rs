//! Tasks with a CPU and a GPU implementation.
//!
//! # What may be unsafe, and why
//!
//! Unsafe code is denied but in these modules; each says in its comments what it relies on.
//!
//! | module | reason |
//! |---|---|
//! | `cuda/blas.rs` | calls routines of cuBLAS by address |
//! | `cuda/driver.rs` | loads the driver's library |
//! | `cuda/lane.rs` | copies go on after the call that began them |
//! | `cuda/memory.rs` | allocates, frees and copies memory by address |
//! | `cuda/module.rs` | launches functions that were compiled from text |
//! | `wgpu/heap.rs` | asks Vulkan itself how much memory there is |
#![deny(unsafe_code)]

mod arg;
pub mod backend;
mod buffer;
mod builder;
mod choice;
mod common;
#[cfg(feature = "cuda")]
pub mod cuda;
mod device;
mod devices;
mod drive;
mod dual;
mod error;
mod gpu;
mod history;
mod host_call;
mod kernel;
mod kind;
mod on;
mod plan;
mod profile;
mod sides;
mod simulated;
#[cfg(feature = "wgpu")]
pub mod wgpu;

pub use {
    arg::Arg,
    buffer::{AnyBuffer, Buffer, Element, ReadGuard, WriteGuard, hold::Access},
    builder::{BuildError, DevicesBuilder},
    choice::{Choice, ParseChoiceError, Writes},
    common::DeviceReport,
    devices::Devices,
    dual::{Dual, Used, UsedAll, Uses},
    error::{Cause, DeviceError, Failed},
    gpu::{Gpu, Launching},
    host_call::{HostArg, HostCall},
    kernel::{Cuda, Kernel, Wgsl},
    kind::Kind,
    on::On,
    profile::{DeviceProfile, KindProfile, Profile, Why},
    sides::{CpuSide, GpuSide, NoCpu, NoGpu, Sides},
    simulated::{Failure, Gauge, Simulated},
};
