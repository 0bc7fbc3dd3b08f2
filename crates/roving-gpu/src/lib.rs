//! Tasks with a CPU and a GPU implementation, on the workers of [`roving`]: each runs where it is
//! expected to end first, by measured times. It is for programs that have to run with a GPU and
//! without one: without a device, or when one fails, the CPU side runs, and the result is the same.
//!
//! ```
//! use roving_gpu::{Arg, Buffer, Devices, Dual, HostCall, Kernel, Kind, Simulated};
//!
//! static SCALE: Kind = Kind::new("scale");
//! static KERNEL: Kernel = Kernel::new("scale")
//!     .wgsl(
//!         "@group(0) @binding(0) var<storage, read_write> numbers: array<f32>;
//!          @group(0) @binding(1) var<uniform> factor: f32;
//!          @compute @workgroup_size(64)
//!          fn scale(@builtin(global_invocation_id) at: vec3<u32>) {
//!              if at.x < arrayLength(&numbers) { numbers[at.x] *= factor; }
//!          }",
//!         "scale",
//!     )
//!     .host(|call: &mut HostCall<'_>| {
//!         let (numbers, factor) = (call.update::<f32>(), call.value::<f32>());
//!         numbers.iter_mut().for_each(|x| *x *= factor);
//!     });
//!
//! // Those of the machine are found by `Devices::discover()`.
//! let devices = Devices::builder().backend(Simulated::new()).build().unwrap();
//! let numbers = Buffer::from(vec![1.0_f32; 1000]);
//! let groups = [numbers.len().div_ceil(64) as u32, 1, 1];
//! roving::task::block_on(async {
//!     Dual::new(&SCALE, &[numbers.len()])
//!         .updates(&numbers)
//!         .cpu(|| numbers.write().iter_mut().for_each(|x| *x *= 2.0))
//!         .gpu(async |gpu| {
//!             let arguments = [Arg::update(&numbers), Arg::value(&2.0_f32)];
//!             gpu.launch(&KERNEL, groups, &arguments).await
//!         })
//!         .on(&devices)
//!         .await;
//! });
//! assert_eq!(numbers.into_vec(), [2.0; 1000]);
//! ```
//!
//! # Which thread runs what
//!
//! | what | where |
//! |---|---|
//! | the choice | the worker that polls the task first; where the CPU is sooner by far, up to 255 more go by it |
//! | the CPU side | a worker, in the poll of the task; it may use `join`, `scope` and tasks |
//! | the GPU side, an async closure | the same; it is polled once at the start, and again when a launch that it awaits has ended |
//! | copies and launches | the device. The thread that learns that one can be submitted does it: a worker, or the thread of the back-end on which another one has ended |
//! | the end of an operation | a thread of the back-end; it wakes the task, which any worker of its pool polls |
//! | [`DevicesBuilder::on_failure`] | a thread that is started for it, and ends when there is nothing more to tell |
//!
//! There is no thread here that manages a device. A back-end may have threads of its own; they
//! sleep in the driver, and are no workers.
//!
//! # What blocks
//!
//! * Awaiting a [`Dual`] blocks no thread: the task is suspended, and its worker does something
//!   else.
//! * [`Dual::run`] blocks the calling thread. A worker gives its core away meanwhile, as it does
//!   for a root.
//! * [`Buffer::read`], [`Buffer::write`] and [`Buffer::into_vec`] block in the same way while a
//!   task on a device, or another guard, is in the way, and while a copy has to be fetched. They do
//!   not where tasks await what they depend on.
//! * A waker must not wait for devices: it may be called on a thread of one. It may drop the last
//!   handle, which [waits for nothing](Devices#the-last-handle) there.
//!
//! # What is copied, and when
//!
//! A buffer has a copy on the host, and may have one on each device; each knows whether it is
//! valid. A task that goes to a device brings what it reads and is not valid there: `reads` and
//! `updates`, not `writes`. Copies of one task overlap with kernels of others. What it has written
//! is copied back on demand, as for a guard ([`Writes::Back`]); or before the task ends
//! ([`Writes::Through`]), so that nothing is lost when the device is. On demand, a task ends when
//! all that it does is queued, and what uses its results on that device is queued behind it, so the
//! device does not wait for the host. What only another device has comes from there without the
//! host, where the two can. Either way the device's copy stays valid for the next task
//! there. When memory is short, the copies that were not used for longest go; a task that does not
//! fit at all runs on the CPU.
//!
//! # What happens when a device fails
//!
//! The CPU side runs, on what the task's buffers held before. Nothing is tried twice: after a
//! kernel error no task of that kind goes to that device again, of whatever size; a device that is
//! lost gets no more tasks. Each cause is told once for each device
//! ([`DevicesBuilder::on_failure`], [`Profile::reports`]) and counted. Without a CPU side, the
//! task's output is an error that names the kind, the device and the cause ([`TaskError`]). With
//! [`Writes::Back`], what only the lost device had is lost, and so is what a kernel was to write
//! that fails after it was queued; whoever needs it panics. A launch
//! that was refused, because its kernel cannot be built or its arguments do not fit, has not begun.
//!
//! # Limits
//!
//! The features `wgpu` (Vulkan, Metal, DirectX 12) and `cuda` add devices; neither needs anything
//! when it is built. Vulkan has been run on a driver in software, CUDA on one
//! [NVIDIA H200](https://github.com/roving-rs/roving/blob/main/docs/results/h200/README.md).
//!
//! # More
//!
//! [CPU and GPU, in the book](https://github.com/roving-rs/roving/blob/main/docs/gpu.md);
//! [issues](https://github.com/roving-rs/roving/issues).

// # What may be unsafe, and why
//
// Unsafe code is denied but in these modules; each says in its comments what it relies on.
//
// | module | reason |
// |---|---|
// | `buffer/content/tests.rs` | a waker whose functions are its own |
// | `cuda/blas.rs` | calls routines of cuBLAS by address |
// | `cuda/driver.rs` | loads the driver's library |
// | `cuda/fake_tests.rs` | makes mistakes that a driver has to find |
// | `cuda/lane.rs` | copies go on after the call that began them |
// | `cuda/memory.rs` | allocates, frees and copies memory by address |
// | `cuda/module.rs` | launches functions that were compiled from text |
// | `cuda/staging.rs` | pinned memory, by address |
// | `kernel/mod.rs` | `Kernel::cuda` takes CUDA C++ as it is, which nobody checks |
// | `wgpu/harness.rs`, `cuda/tests.rs` | tests with kernels in CUDA C++ |
// | `wgpu/heap.rs` | asks Vulkan itself how much memory there is |
// The pages at docs.rs say which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom`: see `cargo xtask loom`");

#[cfg(not(loom))]
pub mod backend;
#[cfg(not(loom))]
mod buffer;
#[cfg(not(loom))]
mod common;
#[cfg(all(feature = "cuda", not(loom)))]
pub mod cuda;
#[cfg(not(loom))]
mod device;
#[cfg(not(loom))]
mod devices;
mod explored;
#[cfg(not(loom))]
mod history;
#[cfg(not(loom))]
mod kernel;
#[cfg(not(loom))]
mod profile;
#[cfg(not(loom))]
mod simulated;
#[cfg(not(loom))]
mod task;
#[cfg(all(feature = "wgpu", not(loom)))]
pub mod wgpu;

#[cfg(not(loom))]
pub use {
    backend::error::{Cause, DeviceError},
    buffer::{AnyBuffer, Buffer, Element, ReadGuard, WriteGuard, hold::Access},
    common::{
        choice::{Choice, ParseChoiceError, Writes},
        reporter::DeviceReport,
    },
    devices::{
        Devices,
        builder::{BuildError, DevicesBuilder},
        task_error::TaskError,
    },
    history::kind::Kind,
    kernel::{
        Cuda, Kernel, Wgsl,
        host_call::{HostArg, HostCall},
        stream_call::{OnDevice, OnStream, StreamArg, StreamCall, StreamKept},
    },
    profile::{DeviceProfile, KindProfile, Profile, Why},
    simulated::{Failure, Gauge, Simulated},
    task::{
        arg::Arg,
        dual::Dual,
        dual_future::On,
        gpu::{Gpu, Launching},
        sides,
    },
};
