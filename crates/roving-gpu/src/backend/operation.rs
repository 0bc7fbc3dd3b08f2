//! The operations of a device: copies and launches.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use super::device_thread::DeviceThread;
use super::error::DeviceError;
use super::{Done, Memory, Outcome, Remains, Source, Target};
use crate::kernel::Kernel;

/// A copy to the device. The bytes stay where they are until the operation is ended.
///
/// ```
#[doc = toy!()]
/// // The back-end `Toy` has vectors as its memory; its method `upload` is this one.
/// fn upload(upload: Upload) {
///     let to = upload.to().get::<Mutex<Vec<u8>>>().unwrap();
///     to.lock().unwrap().copy_from_slice(upload.bytes());
///     upload.done(Ok(Duration::ZERO));
/// }
/// assert_eq!(run(Toy { upload, ..Toy::default() }).unwrap(), [1, 2, 3]);
/// ```
pub struct Upload {
    pub(crate) from: Source,
    pub(crate) to: Memory,
    pub(crate) done: Done,
}

impl Upload {
    /// Returns the bytes to copy: as many as the memory was made for.
    ///
    /// ```
    #[doc = toy!()]
    /// // The back-end `Toy` has vectors as its memory; its method `upload` is this one.
    /// fn upload(upload: Upload) {
    ///     let to = upload.to().get::<Mutex<Vec<u8>>>().unwrap();
    ///     to.lock().unwrap().copy_from_slice(&[upload.bytes()[0]; 3]);
    ///     upload.done(Ok(Duration::ZERO));
    /// }
    /// assert_eq!(run(Toy { upload, ..Toy::default() }).unwrap(), [1, 1, 1]);
    /// ```
    pub fn bytes(&self) -> &[u8] {
        self.from.bytes()
    }

    /// Returns the memory to copy to.
    ///
    /// ```
    #[doc = toy!()]
    /// // The back-end `Toy` has vectors as its memory; its method `upload` is this one.
    /// fn upload(upload: Upload) {
    ///     let to = upload.to().get::<Mutex<Vec<u8>>>().unwrap();
    ///     to.lock().unwrap().copy_from_slice(&[9, 9, 9]);
    ///     upload.done(Ok(Duration::ZERO));
    /// }
    /// assert_eq!(run(Toy { upload, ..Toy::default() }).unwrap(), [9, 9, 9]);
    /// ```
    pub fn to(&self) -> &Memory {
        &self.to
    }

    /// Ends the operation.
    ///
    /// ```
    #[doc = toy!()]
    /// // The back-end `Toy` has this method `upload`.
    /// fn upload(upload: Upload) {
    ///     upload.done(Err(DeviceError::new(Cause::Lost, "no answer")));
    /// }
    /// let failed = run(Toy { upload, ..Toy::default() }).unwrap_err();
    /// assert_eq!(failed.cause(), Cause::Lost);
    /// ```
    pub fn done(self, outcome: Outcome) {
        let Upload { from, to, done } = self;
        drop((from, to));
        done.call(outcome, Remains::Nothing);
    }
}

/// A copy from the device. The room stays where it is until the operation is ended.
///
/// ```
#[doc = toy!()]
/// // The back-end `Toy` has vectors as its memory; its method `download` is this one.
/// fn download(mut download: Download) {
///     let from = download.from().clone();
///     let from = from.get::<Mutex<Vec<u8>>>().unwrap();
///     download.bytes().copy_from_slice(&from.lock().unwrap());
///     download.done(Ok(Duration::ZERO));
/// }
/// assert_eq!(run(Toy { download, ..Toy::default() }).unwrap(), [1, 2, 3]);
/// ```
pub struct Download {
    pub(crate) from: Memory,
    pub(crate) to: Target,
    pub(crate) done: Done,
}

impl Download {
    /// Returns the memory to copy from.
    ///
    /// ```
    #[doc = toy!()]
    /// // The back-end `Toy` has vectors as its memory; its method `download` is this one.
    /// fn download(mut download: Download) {
    ///     let from = download.from().get::<Mutex<Vec<u8>>>().unwrap();
    ///     let last = from.lock().unwrap()[2];
    ///     download.bytes().fill(last);
    ///     download.done(Ok(Duration::ZERO));
    /// }
    /// assert_eq!(run(Toy { download, ..Toy::default() }).unwrap(), [3, 3, 3]);
    /// ```
    pub fn from(&self) -> &Memory {
        &self.from
    }

    /// Returns the room for the bytes: as many as the memory was made for.
    ///
    /// ```
    #[doc = toy!()]
    /// // The back-end `Toy` has this method `download`.
    /// fn download(mut download: Download) {
    ///     download.bytes().copy_from_slice(&[4, 5, 6]);
    ///     download.done(Ok(Duration::ZERO));
    /// }
    /// assert_eq!(run(Toy { download, ..Toy::default() }).unwrap(), [4, 5, 6]);
    /// ```
    pub fn bytes(&mut self) -> &mut [u8] {
        self.to.bytes()
    }

    /// Ends the operation.
    ///
    /// ```
    #[doc = toy!()]
    /// // The back-end `Toy` has this method `download`.
    /// fn download(download: Download) {
    ///     download.done(Err(DeviceError::new(Cause::Lost, "no answer")));
    /// }
    /// let failed = run(Toy { download, ..Toy::default() }).unwrap_err();
    /// assert_eq!(failed.cause(), Cause::Lost);
    /// ```
    pub fn done(self, outcome: Outcome) {
        let Download { from, to, done } = self;
        drop(from);
        done.call(outcome, Remains::Copy(to));
    }
}

/// One argument of a launch.
///
/// ```
#[doc = toy!()]
/// // The back-end `Toy` has this method `launch`.
/// fn launch(launch: Launch) {
///     let [LaunchArg::Memory { memory, .. }, LaunchArg::Value(value)] = launch.arguments() else {
///         panic!("the kernel has one buffer and one value");
///     };
///     memory.get::<Mutex<Vec<u8>>>().unwrap().lock().unwrap().fill(value[0]);
///     launch.done(Ok(Duration::ZERO));
/// }
/// assert_eq!(run(Toy { launch, ..Toy::default() }).unwrap(), [7, 7, 7]);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LaunchArg {
    /// A buffer.
    Memory {
        /// Where it is.
        memory: Memory,
        /// The bytes of it that the kernel is given: all that were asked for, or a part.
        range: Range<usize>,
        /// Whether the kernel may write to it.
        writable: bool,
    },
    /// A value, by its bytes.
    Value(Box<[u8]>),
}

/// A kernel to be run.
///
/// ```
#[doc = toy!()]
/// // The back-end `Toy` has this method `launch`.
/// fn launch(launch: Launch) {
///     assert_eq!((launch.kernel().name(), launch.groups()), ("toy", [4, 1, 1]));
///     launch.done(Ok(Duration::from_micros(20)));
/// }
/// assert!(run(Toy { launch, ..Toy::default() }).is_ok());
/// ```
pub struct Launch {
    pub(crate) kernel: &'static Kernel,
    pub(crate) groups: [u32; 3],
    pub(crate) arguments: Vec<LaunchArg>,
    pub(crate) shared: usize,
    pub(crate) work: f64,
    pub(crate) queued: Option<Box<dyn FnOnce() + Send>>,
    pub(crate) done: Done,
}

impl Launch {
    /// Returns the kernel to run.
    ///
    /// ```
    #[doc = toy!()]
    /// // The back-end `Toy` has this method `launch`.
    /// fn launch(launch: Launch) {
    ///     assert_eq!(launch.kernel().name(), "toy");
    ///     launch.done(Ok(Duration::ZERO));
    /// }
    /// assert!(run(Toy { launch, ..Toy::default() }).is_ok());
    /// ```
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// Returns the number of groups, or blocks.
    ///
    /// ```
    #[doc = toy!()]
    /// // The back-end `Toy` has this method `launch`.
    /// fn launch(launch: Launch) {
    ///     assert_eq!(launch.groups(), [4, 1, 1]);
    ///     launch.done(Ok(Duration::ZERO));
    /// }
    /// assert!(run(Toy { launch, ..Toy::default() }).is_ok());
    /// ```
    pub fn groups(&self) -> [u32; 3] {
        self.groups
    }

    /// Returns the arguments.
    ///
    /// ```
    #[doc = toy!()]
    /// // The back-end `Toy` has this method `launch`.
    /// fn launch(launch: Launch) {
    ///     let LaunchArg::Memory { memory, range, .. } = &launch.arguments()[0] else {
    ///         panic!("the first argument is a buffer");
    ///     };
    ///     assert_eq!(*range, 0..3); // all of it
    ///     memory.get::<Mutex<Vec<u8>>>().unwrap().lock().unwrap()[0] = 5;
    ///     launch.done(Ok(Duration::ZERO));
    /// }
    /// assert_eq!(run(Toy { launch, ..Toy::default() }).unwrap(), [5, 2, 3]);
    /// ```
    pub fn arguments(&self) -> &[LaunchArg] {
        &self.arguments
    }

    /// Returns how many bytes the threads of a group are to share, beside what the kernel declares
    /// ([`Arg::shared`](crate::Arg::shared)).
    ///
    /// ```
    #[doc = toy!()]
    /// // The back-end `Toy` has this method `launch`.
    /// fn launch(launch: Launch) {
    ///     assert_eq!(launch.shared(), 0); // nobody has asked for some
    ///     launch.done(Ok(Duration::ZERO));
    /// }
    /// assert!(run(Toy { launch, ..Toy::default() }).is_ok());
    /// ```
    pub fn shared(&self) -> usize {
        self.shared
    }

    /// Returns the declared amount of work, in the unit of its kind.
    ///
    /// ```
    #[doc = toy!()]
    /// // The back-end `Toy` has this method `launch`.
    /// fn launch(launch: Launch) {
    ///     assert_eq!(launch.work(), 3.0); // the task's size is 3
    ///     launch.done(Ok(Duration::ZERO));
    /// }
    /// assert!(run(Toy { launch, ..Toy::default() }).is_ok());
    /// ```
    pub fn work(&self) -> f64 {
        self.work
    }

    /// Says that the launch will not be refused any more, and that all that is given to the same
    /// stream from now on finds what it will have written. With
    /// [`Writes::Back`](crate::Writes::Back) its task then ends without waiting for the device, and
    /// what depends on it is queued behind it. A back-end that never says so is waited for.
    ///
    /// ```
    #[doc = toy!()]
    /// // The back-end `Toy` has this method `launch`.
    /// fn launch(mut launch: Launch) {
    ///     launch.queued();
    ///     launch.done(Ok(Duration::ZERO));
    /// }
    /// assert!(run(Toy { launch, ..Toy::default() }).is_ok());
    /// ```
    pub fn queued(&mut self) {
        if let Some(tell) = self.queued.take() {
            let _here = DeviceThread::enter();
            tell();
        }
    }

    /// Ends the operation.
    ///
    /// ```
    #[doc = toy!()]
    /// // The back-end `Toy` has this method `launch`.
    /// fn launch(launch: Launch) {
    ///     launch.done(Err(DeviceError::new(Cause::Kernel, "a trap")));
    /// }
    /// let failed = run(Toy { launch, ..Toy::default() }).unwrap_err();
    /// assert!(failed.to_string().contains("a trap"));
    /// ```
    pub fn done(self, outcome: Outcome) {
        drop(self.arguments);
        self.done.call(outcome, Remains::Nothing);
    }

    /// Ends a launch that went well, and whose time is not known: where the device waited for the
    /// host meanwhile, which loaded the kernel, say. The choice between the sides of a task learns
    /// nothing from it.
    ///
    /// ```
    #[doc = toy!()]
    /// // The back-end `Toy` has this method `launch`.
    /// fn launch(launch: Launch) {
    ///     launch.untimed();
    /// }
    /// assert!(run(Toy { launch, ..Toy::default() }).is_ok());
    /// ```
    pub fn untimed(self) {
        drop(self.arguments);
        self.done.call(Ok(Duration::ZERO), Remains::Untimed);
    }

    /// Ends a launch that never began, so that its outputs are unchanged: its source does not
    /// compile, or its arguments do not fit.
    ///
    /// ```
    #[doc = toy!()]
    /// // The back-end `Toy` has this method `launch`.
    /// fn launch(launch: Launch) {
    ///     launch.refused(DeviceError::new(Cause::Kernel, "line 1: no such function"));
    /// }
    /// let failed = run(Toy { launch, ..Toy::default() }).unwrap_err();
    /// assert!(failed.to_string().contains("no such function"));
    /// ```
    pub fn refused(self, error: DeviceError) {
        drop(self.arguments);
        self.done.call(Err(error), Remains::Untouched);
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
