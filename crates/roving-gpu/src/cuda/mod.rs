//! Devices of NVIDIA, by way of the driver's interface. The driver is looked for when the program
//! runs; nothing of CUDA is needed where it is built.
//!
//! A device has some streams, and each of them two threads, which sleep when there is nothing: one
//! gives it its operations, and never waits for the device; the other waits for their ends. Streams
//! follow each other by events. Copies go through pinned memory, so that they wait for nothing; one
//! that finds no room there waits in the driver, and no worker with it. Kernels are compiled by
//! NVRTC, once for each device; those that name a routine of cuBLAS are that routine where the
//! library is there: `gemm_f32`, `gemm_nt_f32`, `trsm_f32`, and the same for `f64`. A kernel may
//! also be a function that puts its work on the stream itself
//! ([`Kernel::stream`](crate::Kernel::stream)), so that any library that takes a stream can be a
//! GPU side. The libraries are those of CUDA 12 or 13, whichever is there.
//!
//! ```
//! use roving_gpu::{Devices, Dual, Kind};
//!
//! // The devices of this machine, if it has some; the program runs either way.
//! let mut builder = Devices::builder();
//! for device in roving_gpu::cuda::found().into_iter().flatten() {
//!     builder = builder.backend(device);
//! }
//! let devices = builder.build()?;
//! static ANSWER: Kind = Kind::new("answer");
//! assert_eq!(Dual::new(&ANSWER, &[1]).cpu(|| 42).run(&devices), 42);
//! # Ok::<(), roving_gpu::BuildError>(())
//! ```

mod blas;
mod calls;
mod driver;
#[cfg(all(test, target_os = "linux"))]
mod fake_tests;
mod fault;
#[cfg(test)]
#[path = "../wgpu/harness.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "each back-end can be built without the other"
)]
mod harness;
mod lane;
mod marks;
mod memory;
mod module;
mod point;
mod staging;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;

use cudarc::driver::CudaContext;

use crate::backend::device_thread::DeviceThread;
use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Backend, Download, Launch, Memory, PeerCopy, Upload};
use driver::CallersContext;
use lane::{Common, Inbox, Job};
use memory::{Room, Store};
use module::Modules;

/// One computes while two copy, one in each direction; and one is for what comes next.
const STREAMS: usize = 4;

/// The first driver that says how large a kernel's parameters are, which is asked before each first
/// launch.
const DRIVER_MIN: i32 = 12_040;

/// One device of NVIDIA, through CUDA.
///
/// ```
/// for device in roving_gpu::cuda::found() {
///     match device {
///         Ok(device) => println!("{device:?}"),
///         Err(why) => println!("{why}"),
///     }
/// }
/// ```
pub struct Nvidia {
    name: String,
    common: Arc<Common>,
    store: Arc<Store>,
    lanes: Vec<Entrance>,
    /// While it is dropped. Behind what ends the context.
    callers: CallersContext,
}

/// The orders for a lane, and its threads, until they are joined.
type Entrance = (Arc<Inbox>, [Option<JoinHandle<()>>; 2]);

/// Opens all devices of NVIDIA; gives the reason for each that could not be opened, and where there
/// is none.
///
/// ```
/// use roving_gpu::backend::Backend;
///
/// let found = roving_gpu::cuda::found();
/// assert!(!found.is_empty());
/// for device in found.into_iter().flatten() {
///     assert!(device.memory_bytes() > 0);
/// }
/// ```
pub fn found() -> Vec<Result<Nvidia, DeviceError>> {
    match count() {
        Ok(0) => vec![Err(DeviceError::new(
            Cause::NoDevice,
            "CUDA knows of no device",
        ))],
        Ok(count) => (0..count).map(Nvidia::open).collect(),
        Err(error) => vec![Err(error)],
    }
}

/// The devices that [`found`] has found, as back-ends of any type.
pub(crate) fn discover() -> Vec<Result<Arc<dyn Backend>, DeviceError>> {
    let any = |device: Nvidia| Arc::new(device) as Arc<dyn Backend>;
    found().into_iter().map(|found| found.map(any)).collect()
}

fn count() -> Result<usize, DeviceError> {
    let none = |text: String| Err(DeviceError::new(Cause::NoDevice, text));
    // Without the driver, all that follows would panic.
    if !driver::is_there() {
        return none("there is no CUDA driver: libcuda was not found".into());
    }
    let version = driver::version().map_err(|error| fault::of(error, ""))?;
    if version < DRIVER_MIN {
        let shown = |version| format!("{}.{}", version / 1000, version % 1000 / 10);
        let (has, needs) = (shown(version), shown(DRIVER_MIN));
        return none(format!(
            "the driver is for CUDA {has}; install one for {needs} or later"
        ));
    }
    match CudaContext::device_count() {
        Ok(count) => Ok(usize::try_from(count).unwrap_or(0)),
        Err(error) => none(fault::text(error)),
    }
}

impl Nvidia {
    fn open(ordinal: usize) -> Result<Self, DeviceError> {
        let _callers = CallersContext::here();
        let failed = |error| fault::of(error, "");
        let context = CudaContext::new(ordinal).map_err(failed)?;
        let name = context.name().map_err(failed)?;
        let store = Arc::new(Store::new(&context).map_err(failed)?);
        let modules = Modules::new(&context)?;
        let common = Arc::new(Common::new(context, modules, Arc::clone(&store)));
        let mut device = Nvidia {
            name: format!("{name} (cuda)"),
            store,
            common,
            lanes: Vec::new(),
            callers: CallersContext::default(),
        };
        for index in 0..STREAMS {
            let (inbox, threads) = lane::start(&device.common, index)?;
            device.lanes.push((inbox, threads.map(Some)));
        }
        Ok(device)
    }

    /// Returns how many bytes of its memory are in use.
    ///
    /// ```
    /// // Where there is no device of NVIDIA, this asserts nothing.
    /// for device in roving_gpu::cuda::found().into_iter().flatten() {
    ///     assert_eq!(device.used_bytes(), 0); // no task has run there yet
    /// }
    /// ```
    pub fn used_bytes(&self) -> u64 {
        self.store.used()
    }

    fn push(&self, stream: usize, job: Job) {
        let (inbox, _) = &self.lanes[stream % self.lanes.len()];
        inbox.push(job);
    }
}

impl Backend for Nvidia {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn memory_bytes(&self) -> u64 {
        self.store.bytes_max
    }

    fn streams(&self) -> usize {
        self.lanes.len()
    }

    fn follow(&self, stream: usize, other: usize) {
        let lanes = self.lanes.len();
        if stream % lanes != other % lanes {
            let (marker, point) = point::new();
            self.push(other, Job::Mark(marker));
            self.push(stream, Job::After(point));
        }
    }

    fn alloc(&self, bytes: usize) -> Result<Memory, DeviceError> {
        if let Some(loss) = self.common.loss() {
            return Err(loss);
        }
        Room::new(&self.store, bytes).map(Memory::new)
    }

    fn upload(&self, stream: usize, upload: Upload) {
        self.push(stream, Job::Upload(upload));
    }

    fn download(&self, stream: usize, download: Download) {
        self.push(stream, Job::Download(download));
    }

    fn reaches(&self, other: &dyn Backend) -> bool {
        other.downcast_ref::<Nvidia>().is_some()
    }

    fn copy(&self, stream: usize, copy: PeerCopy) {
        let (source, source_stream) = copy.source();
        let Some(source) = source.downcast_ref::<Nvidia>() else {
            copy.refused(DeviceError::new(Cause::Peer, "it is of another back-end"));
            return;
        };
        // As one stream of a device follows another.
        if let Some(source_stream) = source_stream {
            let (marker, point) = point::new();
            source.push(source_stream, Job::Mark(marker));
            self.push(stream, Job::After(point));
        }
        let from = Arc::clone(&source.common);
        self.push(stream, Job::Copy(copy, from));
    }

    fn launch(&self, stream: usize, launch: Launch) {
        self.push(stream, Job::Launch(launch));
    }
}

/// Waits for what is in flight.
impl Drop for Nvidia {
    fn drop(&mut self) {
        self.callers = CallersContext::replaced_by(&self.common.context);
        self.lanes.iter().for_each(|(inbox, _)| inbox.close());
        let lanes = self.lanes.iter_mut();
        for thread in lanes.flat_map(|(_, threads)| threads) {
            if let Some(thread) = thread.take() {
                // Also another device's thread: that one may be about to join this one.
                if !DeviceThread::is_here() {
                    // It has no way to panic that would be of interest to who drops this.
                    let _ = thread.join();
                }
            }
        }
    }
}

impl fmt::Debug for Nvidia {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nvidia")
            .field("name", &self.name)
            .field("memory_bytes", &self.store.bytes_max)
            .finish_non_exhaustive()
    }
}
