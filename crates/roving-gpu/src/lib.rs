//! Tasks with a CPU and a GPU implementation.
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
