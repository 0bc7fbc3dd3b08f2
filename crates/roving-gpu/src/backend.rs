//! The interface between this crate and a device: one small trait.
//!
//! All of it is asynchronous but [`Backend::alloc`]. An operation owns its data until `done` ends
//! it, on any thread; a `done` may submit other operations before it returns. An operation that is
//! dropped instead counts as failed by [`Cause::Lost`], so no task waits for it for ever.
//!
//! Operations on one stream run in the order of submission; those on different streams may overlap.
//! An operation that depends on one on another stream is submitted after that has ended.
//!
//! ```
//! use roving_gpu::backend::{Backend, Download, Launch, Memory, Upload};
//! use roving_gpu::{Arg, Buffer, Choice, DeviceError, Devices, Dual, Kernel, Kind};
//! use std::sync::Mutex;
//! use std::time::Duration;
//!
//! /// A device that has memory and cannot give it back.
//! struct Store;
//!
//! impl Backend for Store {
//!     fn name(&self) -> String {
//!         "store".to_owned()
//!     }
//!     fn memory_bytes(&self) -> u64 {
//!         1 << 20
//!     }
//!     fn streams(&self) -> usize {
//!         1
//!     }
//!     fn alloc(&self, bytes: usize) -> Result<Memory, DeviceError> {
//!         Ok(Memory::new(Mutex::new(vec![0_u8; bytes])))
//!     }
//!     fn upload(&self, _stream: usize, upload: Upload) {
//!         let to = upload.to().get::<Mutex<Vec<u8>>>().unwrap();
//!         to.lock().unwrap().copy_from_slice(upload.bytes());
//!         upload.done(Ok(Duration::ZERO));
//!     }
//!     fn download(&self, _stream: usize, download: Download) {
//!         drop(download); // So it has failed, and the device counts as lost.
//!     }
//!     fn launch(&self, _stream: usize, launch: Launch) {
//!         assert_eq!(launch.groups(), [1, 1, 1]);
//!         launch.done(Ok(Duration::ZERO));
//!     }
//! }
//!
//! static KEEP: Kind = Kind::new("keep");
//! static KERNEL: Kernel = Kernel::new("keep");
//! let devices = Devices::builder().backend(Store).choice(Choice::Gpu).build().unwrap();
//! let numbers = Buffer::from(vec![1, 2]);
//! Dual::new(&KEEP, &[2])
//!     .updates(&numbers)
//!     .cpu(|| numbers.write()[0] = 7)
//!     .gpu(async |gpu| gpu.launch(&KERNEL, [1, 1, 1], &[Arg::update(&numbers)]).await)
//!     .run(&devices);
//! assert_eq!(numbers.into_vec(), [7, 2]);
//! assert!(devices.profile().devices[0].is_lost);
//! ```
//!
//! No worker ever waits inside a back-end. One that has to be polled has a thread of its own for
//! it, which sleeps while nothing is in flight. The last clone of a back-end may be dropped on any
//! thread, also on its own.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Cause, DeviceError};
use crate::kernel::Kernel;

/// A device, as this crate drives it.
pub trait Backend: Send + Sync + 'static {
    /// Returns the device's model, by which measured times are kept; not the unit.
    fn name(&self) -> String;

    /// How much memory tasks may have on it.
    fn memory_bytes(&self) -> u64;

    /// How much of it one buffer may have.
    fn buffer_bytes_max(&self) -> u64 {
        self.memory_bytes()
    }

    /// How many streams overlap usefully; at least 1.
    fn streams(&self) -> usize;

    /// It computes on the same cores as the workers, as a driver in software does.
    fn shares_cores(&self) -> bool {
        false
    }

    /// Makes room for so many bytes. What is in it does not matter.
    fn alloc(&self, bytes: usize) -> Result<Memory, DeviceError>;

    /// Copies to the device.
    fn upload(&self, stream: usize, upload: Upload);

    /// Copies from the device.
    fn download(&self, stream: usize, download: Download);

    /// Runs a kernel.
    fn launch(&self, stream: usize, launch: Launch);
}

/// A piece of a device's memory. It is freed when its last clone is dropped: not before the
/// operations that use it end.
///
/// ```
/// use roving_gpu::backend::Memory;
///
/// let memory = Memory::new(String::from("whatever the back-end needs"));
/// assert!(memory.get::<String>().is_some());
/// assert!(memory.get::<u32>().is_none());
/// ```
#[derive(Clone)]
pub struct Memory(Arc<dyn Any + Send + Sync>);

impl Memory {
    /// Wraps the back-end's own object for this memory.
    pub fn new(inner: impl Any + Send + Sync) -> Self {
        Memory(Arc::new(inner))
    }

    /// Returns the back-end's own object, if it is a `T`.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

/// The end of an operation: the time in which the device worked on it, without the time that it
/// waited before, or an error.
pub type Outcome = Result<Duration, DeviceError>;

/// Who hears of the end of an operation, once.
pub(crate) struct Done(Option<Then>);

type Then = Box<dyn FnOnce(Outcome, Left) + Send>;

/// The remains of an operation that has ended.
pub(crate) enum Left {
    Nothing,
    /// Where a download went.
    Copy(Target),
    /// A launch was refused, and so what it was to write is what it was before.
    Untouched,
}

impl Done {
    pub(crate) fn new(then: impl FnOnce(Outcome, Left) + Send + 'static) -> Self {
        Done(Some(Box::new(then)))
    }

    fn call(mut self, outcome: Outcome, left: Left) {
        if let Some(then) = self.0.take() {
            then(outcome, left);
        }
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        if let Some(then) = self.0.take() {
            let text = "the back-end gave an operation up";
            then(Err(DeviceError::new(Cause::Lost, text)), Left::Nothing);
        }
    }
}

/// Data on the host, as bytes.
pub(crate) trait HostBytes: Send + Sync {
    fn bytes(&self) -> &[u8];
}

/// Room on the host, as bytes.
pub(crate) trait HostBytesMut: Send {
    fn bytes(&mut self) -> &mut [u8];
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

pub(crate) type Source = Arc<dyn HostBytes>;
pub(crate) type Target = Box<dyn HostBytesMut>;

/// A copy to the device. The bytes stay where they are until the operation is ended.
pub struct Upload {
    pub(crate) from: Source,
    pub(crate) to: Memory,
    pub(crate) done: Done,
}

impl Upload {
    /// Returns the bytes to copy: as many as the memory was made for.
    pub fn bytes(&self) -> &[u8] {
        self.from.bytes()
    }

    /// Returns the memory to copy to.
    pub fn to(&self) -> &Memory {
        &self.to
    }

    /// Ends the operation.
    pub fn done(self, outcome: Outcome) {
        let Upload { from, to, done } = self;
        drop((from, to));
        done.call(outcome, Left::Nothing);
    }
}

/// A copy from the device. The room stays where it is until the operation is ended.
pub struct Download {
    pub(crate) from: Memory,
    pub(crate) to: Target,
    pub(crate) done: Done,
}

impl Download {
    /// Returns the memory to copy from.
    pub fn from(&self) -> &Memory {
        &self.from
    }

    /// Returns the room for the bytes: as many as the memory was made for.
    pub fn bytes(&mut self) -> &mut [u8] {
        self.to.bytes()
    }

    /// Ends the operation.
    pub fn done(self, outcome: Outcome) {
        let Download { from, to, done } = self;
        drop(from);
        done.call(outcome, Left::Copy(to));
    }
}

/// One argument of a launch.
#[derive(Clone, Debug)]
pub enum LaunchArg {
    /// A buffer.
    Memory {
        /// Where it is.
        memory: Memory,
        /// How many bytes were asked for.
        bytes: usize,
        /// Whether the kernel may write to it.
        writable: bool,
    },
    /// A value, by its bytes.
    Value(Box<[u8]>),
}

/// A kernel to be run.
pub struct Launch {
    pub(crate) kernel: &'static Kernel,
    pub(crate) groups: [u32; 3],
    pub(crate) arguments: Vec<LaunchArg>,
    pub(crate) work: f64,
    pub(crate) done: Done,
}

impl Launch {
    /// Returns the kernel to run.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// Returns the number of groups, or blocks.
    pub fn groups(&self) -> [u32; 3] {
        self.groups
    }

    /// Returns the arguments.
    pub fn arguments(&self) -> &[LaunchArg] {
        &self.arguments
    }

    /// Returns the declared amount of work, in the unit of its kind.
    pub fn work(&self) -> f64 {
        self.work
    }

    /// Ends the operation.
    pub fn done(self, outcome: Outcome) {
        drop(self.arguments);
        self.done.call(outcome, Left::Nothing);
    }

    /// Ends a launch that never began, so that its outputs are unchanged: its source does not
    /// compile, or its arguments do not fit.
    pub fn refused(self, error: DeviceError) {
        drop(self.arguments);
        self.done.call(Err(error), Left::Untouched);
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload").finish_non_exhaustive()
    }
}

impl fmt::Debug for Download {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Download").finish_non_exhaustive()
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("kernel", &self.kernel.name())
            .field("groups", &self.groups)
            .finish_non_exhaustive()
    }
}
