//! The interface between this crate and a device: one small trait.
//!
//! All of it is asynchronous but [`Backend::alloc`]. An operation owns its data until `done` ends
//! it, on any thread; a `done` may submit other operations before it returns. An operation that is
//! dropped instead counts as failed by [`Cause::Lost`], so no task waits for it for ever.
//!
//! Operations on one stream run in the order of submission; those on different streams may overlap.
//! An operation that depends on one on another stream is submitted after that has ended, or after
//! [`Backend::follow`] where the other one is a launch that was said to be queued.
//!
//! ```
//! use roving_gpu::backend::{Backend, Download, Launch, Memory, Upload};
//! use roving_gpu::{Arg, Buffer, Choice, DeviceError, Devices, Dual, Kernel, Kind, Writes};
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
//! let builder = Devices::builder().backend(Store).writes(Writes::Through);
//! let devices = builder.choice(Choice::Gpu).build().unwrap();
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
//! A call that panics has given its operation up, and where it was to make room, the device is
//! lost; a back-end that has panicked in an operation hears of no other. The panic goes no further.
//!
//! No worker ever waits inside a back-end. One that has to be polled has a thread of its own for
//! it, which sleeps while nothing is in flight. The last clone of a back-end may be dropped on any
//! thread, also on its own.

/// The hidden lines of examples: a device whose memory is in vectors, and one task for it, which
/// launches a kernel on the bytes 1, 2 and 3 and the value 7.
macro_rules! toy {
    () => {
        r#"# use roving_gpu::{*, backend::*};
# use std::{sync::*, time::*};
# type Bytes = Mutex<Vec<u8>>;
# struct Toy {
#     upload: fn(Upload),
#     download: fn(Download),
#     launch: fn(Launch),
# }
# impl Default for Toy {
#     fn default() -> Toy {
#         Toy {
#             upload: |upload| {
#                 let to = upload.to().get::<Bytes>().unwrap();
#                 to.lock().unwrap().copy_from_slice(upload.bytes());
#                 upload.done(Ok(Duration::ZERO));
#             },
#             download: |mut download| {
#                 let from = download.from().clone();
#                 download.bytes().copy_from_slice(&from.get::<Bytes>().unwrap().lock().unwrap());
#                 download.done(Ok(Duration::ZERO));
#             },
#             launch: |launch| launch.done(Ok(Duration::ZERO)),
#         }
#     }
# }
# impl Backend for Toy {
#     fn name(&self) -> String { String::new() }
#     fn memory_bytes(&self) -> u64 { 1 << 20 }
#     fn streams(&self) -> usize { 1 }
#     fn alloc(&self, bytes: usize) -> Result<Memory, DeviceError> {
#         Ok(Memory::new(Bytes::new(vec![0; bytes])))
#     }
#     fn upload(&self, _: usize, upload: Upload) { (self.upload)(upload) }
#     fn download(&self, _: usize, download: Download) { (self.download)(download) }
#     fn launch(&self, _: usize, launch: Launch) { (self.launch)(launch) }
# }
# static TASK: Kind = Kind::new("toy");
# static KERNEL: Kernel = Kernel::new("toy");
# fn run(toy: Toy) -> Result<Vec<u8>, TaskError> {
#     let builder = Devices::builder().backend(toy).choice(Choice::Gpu);
#     let devices = builder.writes(Writes::Through).build().unwrap();
#     let bytes = Buffer::from(vec![1_u8, 2, 3]);
#     let task = Dual::new(&TASK, &[3]).updates(&bytes).gpu(async |gpu| {
#         let arguments = [Arg::update(&bytes), Arg::value(&7_u8)];
#         gpu.launch(&KERNEL, [4, 1, 1], &arguments).await
#     });
#     task.run(&devices)?;
#     Ok(bytes.into_vec())
# }"#
    };
}

/// The hidden lines of examples: two devices whose memory is in vectors, and tasks for both: what
/// the first has written, which is 1, 2 and 3, is read by the second.
macro_rules! two {
    () => {
        r#"# use roving_gpu::{*, backend::*};
# use std::{sync::*, time::*};
# type Bytes = Mutex<Vec<u8>>;
# struct Card { bytes: u64, copy: fn(PeerCopy) }
# impl Backend for Card {
#     fn name(&self) -> String { format!("card of {}", self.bytes) }
#     fn memory_bytes(&self) -> u64 { self.bytes }
#     fn streams(&self) -> usize { 1 }
#     fn alloc(&self, bytes: usize) -> Result<Memory, DeviceError> {
#         Ok(Memory::new(Bytes::new(vec![0; bytes])))
#     }
#     fn upload(&self, _: usize, upload: Upload) {
#         upload.to().get::<Bytes>().unwrap().lock().unwrap().copy_from_slice(upload.bytes());
#         upload.done(Ok(Duration::ZERO));
#     }
#     fn download(&self, _: usize, mut download: Download) {
#         let from = download.from().clone();
#         download.bytes().copy_from_slice(&from.get::<Bytes>().unwrap().lock().unwrap());
#         download.done(Ok(Duration::ZERO));
#     }
#     fn launch(&self, _: usize, launch: Launch) {
#         if let LaunchArg::Memory { memory, writable: true, .. } = &launch.arguments()[0] {
#             *memory.get::<Bytes>().unwrap().lock().unwrap() = vec![1, 2, 3];
#         }
#         launch.done(Ok(Duration::ZERO));
#     }
#     fn reaches(&self, other: &dyn Backend) -> bool { other.downcast_ref::<Card>().is_some() }
#     fn copy(&self, _: usize, copy: PeerCopy) { (self.copy)(copy) }
# }
# static FIRST: Kind = Kind::new("first");
# static SECOND: Kind = Kind::new("second");
# static KERNEL: Kernel = Kernel::new("card");
# fn run(copy: fn(PeerCopy)) -> Result<Vec<u8>, Cause> {
#     let [large, small] = [100, 3].map(|bytes| Card { bytes, copy });
#     let builder = Devices::builder().backend(large).backend(small);
#     let devices = builder.choice(Choice::Gpu).build().unwrap();
#     let (bytes, more) = (Buffer::<u8>::zeroed(3), Buffer::<u8>::zeroed(4));
#     Dual::new(&FIRST, &[3]).writes(&bytes).gpu(async |gpu| {
#         assert_eq!(gpu.device(), "card of 3");
#         gpu.launch(&KERNEL, [1, 1, 1], &[Arg::update(&bytes)]).await
#     }).run(&devices).map_err(|failed| failed.cause())?;
#     Dual::new(&SECOND, &[3]).updates(&bytes).writes(&more).gpu(async |gpu| {
#         gpu.launch(&KERNEL, [1, 1, 1], &[Arg::read(&bytes)]).await
#     }).run(&devices).map_err(|failed| failed.cause())?;
#     assert_eq!(devices.profile().devices[0].peer_copies, 1);
#     Ok(bytes.into_vec())
# }"#
    };
}

#[cfg(any(test, feature = "cuda", feature = "wgpu"))]
pub(crate) mod built;
pub(crate) mod device_thread;
pub(crate) mod error;
mod operation;
mod peer_copy;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use roving::raw::panics::contain;

use device_thread::DeviceThread;
use error::{Cause, DeviceError};

pub use operation::{Download, Launch, LaunchArg, Upload};
pub use peer_copy::PeerCopy;

/// A device, as this crate drives it.
///
/// ```
/// use roving_gpu::backend::{Backend, Download, Launch, Memory, Upload};
/// use roving_gpu::{Buffer, Cause, Choice, DeviceError, Devices, Dual, Kind};
///
/// /// A device whose memory is always full.
/// struct Full;
///
/// impl Backend for Full {
///     fn name(&self) -> String {
///         "full".to_owned()
///     }
///     fn memory_bytes(&self) -> u64 {
///         1 << 20
///     }
///     fn streams(&self) -> usize {
///         1
///     }
///     fn alloc(&self, _bytes: usize) -> Result<Memory, DeviceError> {
///         Err(DeviceError::new(Cause::OutOfMemory, "others have it"))
///     }
///     fn upload(&self, _stream: usize, _upload: Upload) {}
///     fn download(&self, _stream: usize, _download: Download) {}
///     fn launch(&self, _stream: usize, _launch: Launch) {}
/// }
///
/// static SIDE: Kind = Kind::new("side");
/// let devices = Devices::builder().backend(Full).choice(Choice::Gpu).build().unwrap();
/// let numbers = Buffer::from(vec![1_u32]);
/// let task = Dual::new(&SIDE, &[1]).reads(&numbers).cpu(|| "CPU").gpu(async |_gpu| Ok("GPU"));
/// assert_eq!(task.run(&devices), "CPU");
/// ```
pub trait Backend: as_any::AsAny + Send + Sync {
    /// Returns the device's model, by which measured times are kept; not the unit.
    ///
    /// ```
    /// use roving_gpu::Simulated;
    /// use roving_gpu::backend::Backend;
    ///
    /// assert_eq!(Backend::name(&Simulated::new().name("toy")), "toy");
    /// ```
    fn name(&self) -> String;

    /// How much memory tasks may have on it.
    ///
    /// ```
    /// use roving_gpu::Simulated;
    /// use roving_gpu::backend::Backend;
    ///
    /// let device = Simulated::new().memory_bytes(1 << 20);
    /// assert_eq!(Backend::memory_bytes(&device), 1 << 20);
    /// ```
    fn memory_bytes(&self) -> u64;

    /// How much of it one buffer may have.
    ///
    /// ```
    /// use roving_gpu::Simulated;
    /// use roving_gpu::backend::Backend;
    ///
    /// let device = Simulated::new().memory_bytes(1 << 20);
    /// assert_eq!(device.buffer_bytes_max(), 1 << 20); // as much as there is, unless it says less
    /// ```
    fn buffer_bytes_max(&self) -> u64 {
        self.memory_bytes()
    }

    /// How many streams overlap usefully; at least 1.
    ///
    /// ```
    /// use roving_gpu::Simulated;
    /// use roving_gpu::backend::Backend;
    ///
    /// assert_eq!(Backend::streams(&Simulated::new().streams(2)), 2);
    /// ```
    fn streams(&self) -> usize;

    /// Lets all that is given to `stream` from here on begin after what was given to `other` before
    /// this call. A back-end whose launches say that they are [queued](Launch::queued) has to see
    /// to that, if it has more than one stream.
    ///
    /// ```
    /// use roving_gpu::Simulated;
    /// use roving_gpu::backend::Backend;
    ///
    /// Backend::follow(&Simulated::new().streams(2), 1, 0); // nothing to wait for
    /// ```
    fn follow(&self, stream: usize, other: usize) {
        let _ = (stream, other);
    }

    /// It computes on the same cores as the workers, as a driver in software does.
    ///
    /// ```
    /// use roving_gpu::Simulated;
    /// use roving_gpu::backend::Backend;
    ///
    /// assert!(!Backend::shares_cores(&Simulated::new()));
    /// assert!(Backend::shares_cores(&Simulated::new().shares_cores(true)));
    /// ```
    fn shares_cores(&self) -> bool {
        false
    }

    /// Makes room for so many bytes. What is in it does not matter.
    ///
    /// The device is locked meanwhile, for its room is shared out under that lock: the call must
    /// not use the devices (run a task there, wait for one, ask for their profile), nor end an
    /// operation, nor wait for a thread that does; that would hang. No other method is called so,
    /// and a [`Memory`] may use the devices when it is dropped.
    ///
    /// ```
    /// use roving_gpu::backend::Backend;
    /// use roving_gpu::{Cause, Simulated};
    ///
    /// let device = Simulated::new().memory_bytes(100);
    /// let memory = device.alloc(60).unwrap();
    /// assert_eq!(device.alloc(60).unwrap_err().cause(), Cause::OutOfMemory);
    /// drop(memory);
    /// assert!(device.alloc(60).is_ok());
    /// ```
    fn alloc(&self, bytes: usize) -> Result<Memory, DeviceError>;

    /// Copies to the device.
    ///
    /// ```
    /// use roving_gpu::{Arg, Buffer, Devices, Dual, Kernel, Kind, Simulated};
    ///
    /// static SUM: Kind = Kind::new("sum");
    /// static KERNEL: Kernel = Kernel::new("sum").host(|call| {
    ///     let sum = call.read::<u32>().iter().sum();
    ///     call.update::<u32>()[0] = sum;
    /// });
    /// let backend = Simulated::new();
    /// let gauge = backend.gauge();
    /// let devices = Devices::builder().backend(backend).build().unwrap();
    /// let (numbers, sum) = (Buffer::from(vec![1_u32, 2]), Buffer::from(vec![0_u32]));
    /// let task = Dual::new(&SUM, &[2]).reads(&numbers).writes(&sum).gpu(async |gpu| {
    ///     gpu.launch(&KERNEL, [1, 1, 1], &[Arg::read(&numbers), Arg::update(&sum)]).await
    /// });
    /// task.run(&devices).unwrap();
    /// assert_eq!(*sum.read(), [3]);
    /// // Memory for both, an upload of the numbers, the launch, a download of their sum.
    /// assert_eq!(gauge.operations(), 5);
    /// ```
    fn upload(&self, stream: usize, upload: Upload);

    /// Copies from the device.
    ///
    /// ```
    /// use roving_gpu::{Arg, Buffer, Devices, Dual, Kernel, Kind, Simulated};
    ///
    /// static FILL: Kind = Kind::new("fill");
    /// static KERNEL: Kernel = Kernel::new("fill").host(|call| call.update::<u32>().fill(7));
    /// let backend = Simulated::new();
    /// let gauge = backend.gauge();
    /// let devices = Devices::builder().backend(backend).build().unwrap();
    /// let numbers = Buffer::from(vec![0_u32; 3]);
    /// let task = Dual::new(&FILL, &[3]).writes(&numbers).gpu(async |gpu| {
    ///     gpu.launch(&KERNEL, [1, 1, 1], &[Arg::update(&numbers)]).await
    /// });
    /// task.run(&devices).unwrap();
    /// assert_eq!(*numbers.read(), [7, 7, 7]);
    /// assert_eq!(gauge.operations(), 3); // memory, the launch, a download
    /// ```
    fn download(&self, stream: usize, download: Download);

    /// Whether [`Backend::copy`] can copy to this device from that one, without the host. If not,
    /// as where a back-end does not say, buffers go from one to the other by way of the host.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use roving_gpu::Simulated;
    /// use roving_gpu::backend::Backend;
    ///
    /// let [a, b] = [(); 2].map(|()| Simulated::new().link(50e9, Duration::from_micros(3)));
    /// assert!(Backend::reaches(&a, &b));
    /// assert!(!Backend::reaches(&a, &Simulated::new())); // which has no link
    /// ```
    fn reaches(&self, other: &dyn Backend) -> bool {
        let _ = other;
        false
    }

    /// Copies to the device from another one that it [reaches](Backend::reaches): after all that
    /// was given before this call to the other's stream that the copy names, if it names one.
    ///
    /// ```
    #[doc = two!()]
    /// // The back-end `Card` has vectors as its memory; its method `copy` is this one.
    /// fn copy(copy: PeerCopy) {
    ///     let from = copy.from().get::<Bytes>().unwrap().lock().unwrap().clone();
    ///     *copy.to().get::<Bytes>().unwrap().lock().unwrap() = from;
    ///     copy.done(Ok(Duration::ZERO));
    /// }
    /// assert_eq!(run(copy), Ok(vec![1, 2, 3]));
    /// ```
    fn copy(&self, stream: usize, copy: PeerCopy) {
        let _ = stream;
        copy.refused(DeviceError::new(Cause::Peer, "it reaches no other device"));
    }

    /// Runs a kernel.
    ///
    /// ```
    /// use roving_gpu::{Devices, Dual, Kernel, Kind, Simulated};
    ///
    /// static NOTHING: Kind = Kind::new("nothing");
    /// static KERNEL: Kernel = Kernel::new("nothing").host(|_call| ());
    /// let backend = Simulated::new();
    /// let gauge = backend.gauge();
    /// let devices = Devices::builder().backend(backend).build().unwrap();
    /// let task = Dual::new(&NOTHING, &[1]).gpu(async |gpu| {
    ///     gpu.launch(&KERNEL, [1, 1, 1], &[]).await?;
    ///     gpu.launch(&KERNEL, [1, 1, 1], &[]).await
    /// });
    /// task.run(&devices).unwrap();
    /// assert_eq!(gauge.operations(), 2);
    /// ```
    fn launch(&self, stream: usize, launch: Launch);
}

impl dyn Backend {
    /// Returns the device as the type that it has, if that is `T`.
    ///
    /// ```
    /// use roving_gpu::Simulated;
    /// use roving_gpu::backend::Backend;
    ///
    /// let device: &dyn Backend = &Simulated::new().name("toy");
    /// assert!(device.downcast_ref::<Simulated>().is_some());
    /// ```
    pub fn downcast_ref<T: Backend>(&self) -> Option<&T> {
        self.as_any().downcast_ref()
    }
}

mod as_any {
    use std::any::Any;

    /// Gives a value as [`Any`], which compilers older than 1.86 do not do by themselves.
    pub trait AsAny: Any {
        #[doc(hidden)]
        fn as_any(&self) -> &dyn Any;
    }

    impl<T: Any> AsAny for T {
        fn as_any(&self) -> &dyn Any {
            self
        }
    }
}

impl dyn Backend {
    /// [`Backend::alloc`]; a panic in there is the loss of the device.
    pub(crate) fn room_for(&self, bytes: usize) -> Result<Memory, DeviceError> {
        contain(|| self.alloc(bytes)).unwrap_or_else(|text| {
            let text = text.as_deref().unwrap_or("with no text");
            let text = format!("the back-end panicked: {text}");
            Err(DeviceError::new(Cause::Lost, text))
        })
    }

    /// [`Backend::reaches`]; a panic in there is a no.
    pub(crate) fn can_reach(&self, other: &dyn Backend) -> bool {
        contain(|| self.reaches(other)).unwrap_or(false)
    }
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
    ///
    /// ```
    /// use roving_gpu::backend::Memory;
    ///
    /// let memory = Memory::new(vec![0_u8; 4]);
    /// assert_eq!(memory.get::<Vec<u8>>().unwrap().len(), 4);
    /// ```
    pub fn new(inner: impl Any + Send + Sync) -> Self {
        Memory(Arc::new(inner))
    }

    /// Returns the back-end's own object, if it is a `T`.
    ///
    /// ```
    /// use roving_gpu::backend::Memory;
    ///
    /// let memory = Memory::new(7_u64); // such as a handle of the driver
    /// assert_eq!(memory.get::<u64>(), Some(&7));
    /// assert_eq!(memory.get::<u32>(), None);
    /// ```
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
///
/// ```
#[doc = toy!()]
/// // The back-end `Toy` has this method `launch`.
/// fn launch(launch: Launch) {
///     let outcome: Outcome = Err(DeviceError::new(Cause::Kernel, "a trap"));
///     launch.done(outcome);
/// }
/// let failed = run(Toy { launch, ..Toy::default() }).unwrap_err();
/// assert_eq!(failed.cause(), Cause::Kernel);
/// ```
pub type Outcome = Result<Duration, DeviceError>;

/// The callback that is told of the end of an operation, once.
pub(crate) struct Done(Option<Then>);

type Then = Box<dyn FnOnce(Outcome, Remains) + Send>;

/// The remains of an operation that has ended.
pub(crate) enum Remains {
    Nothing,
    /// Where a download went.
    Copy(Target),
    /// The time of a launch is not that of its kernel.
    Untimed,
    /// A launch was refused, and so what it was to write is what it was before; or a copy by the
    /// device that it was to come from.
    Untouched,
}

impl Done {
    pub(crate) fn new(then: impl FnOnce(Outcome, Remains) + Send + 'static) -> Self {
        Done(Some(Box::new(then)))
    }

    fn call(mut self, outcome: Outcome, left: Remains) {
        if let Some(then) = self.0.take() {
            let _here = DeviceThread::enter();
            then(outcome, left);
        }
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        if let Some(then) = self.0.take() {
            let _here = DeviceThread::enter();
            let text = "the back-end gave an operation up";
            then(Err(DeviceError::new(Cause::Lost, text)), Remains::Nothing);
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
