//! The handle that the GPU side of a task is given.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use super::arg::{Arg, ArgKind, Part};
use crate::backend::error::DeviceError;
use crate::device::Device;
use crate::device::entry::{DeviceEntry, Recorded, RecordedArg};
use crate::kernel::Kernel;

/// The device, as the GPU side of one task sees it. See [`Gpu::launch`].
///
/// ```
/// use roving_gpu::{Arg, Buffer, Choice, Devices, Dual, Kernel, Kind, Simulated};
///
/// static FILL: Kind = Kind::new("fill");
/// static KERNEL: Kernel = Kernel::new("fill").host(|call| call.update::<u32>().fill(7));
/// let backend = Simulated::new();
/// let devices = Devices::builder().backend(backend).choice(Choice::Gpu).build().unwrap();
/// let numbers = Buffer::from(vec![0; 3]);
/// let task = Dual::new(&FILL, &[3]).writes(&numbers).cpu(|| numbers.write().fill(7));
/// task.gpu(async |gpu| gpu.launch(&KERNEL, [1, 1, 1], &[Arg::update(&numbers)]).await).run(&devices);
/// assert_eq!(numbers.into_vec(), [7, 7, 7]);
/// ```
pub struct Gpu {
    entry: Arc<DeviceEntry>,
    /// The device that was asked for.
    told: OnceLock<Arc<Device>>,
}

impl Gpu {
    pub(crate) fn new(entry: Arc<DeviceEntry>) -> Self {
        Gpu {
            entry,
            told: OnceLock::new(),
        }
    }

    /// Returns the name of the device. From here on the task stays there, while one that does not
    /// ask may be taken by another device that has nothing to do.
    ///
    /// ```
    /// use roving_gpu::{Choice, Devices, Dual, Kind, Simulated};
    ///
    /// static WHERE: Kind = Kind::new("where");
    /// let backend = Simulated::new().name("toy");
    /// let devices = Devices::builder().backend(backend).choice(Choice::Gpu).build().unwrap();
    /// let name = Dual::new(&WHERE, &[1])
    ///     .cpu(|| String::from("CPU"))
    ///     .gpu(async |gpu| Ok(gpu.device().to_owned()))
    ///     .run(&devices);
    /// assert_eq!(name, "toy");
    /// ```
    pub fn device(&self) -> &str {
        &self.told.get_or_init(|| self.entry.stays()).name
    }

    /// Launches so many groups of a kernel. It is under way from this call on, whether or not the
    /// result is awaited, and the launches of a task run one after the other; so a task with
    /// several of them needs to await none but the last. A task ends when all its launches have
    /// ended. In a forked child of the process in which the devices were built, all of them fail
    /// with [`Cause::NoDevice`](crate::Cause::NoDevice), and so does the task.
    ///
    /// # Panics
    /// If an argument is a buffer that the task did not declare, or one that it declared as read
    /// and the launch updates.
    ///
    /// ```
    /// use roving_gpu::{Arg, Buffer, Choice, Devices, Dual, HostCall, Kernel, Kind, Simulated};
    ///
    /// static POWER: Kind = Kind::new("power");
    /// static SQUARE: Kernel = Kernel::new("square")
    ///     .host(|call: &mut HostCall<'_>| call.update::<u32>().iter_mut().for_each(|x| *x *= *x));
    ///
    /// let backend = Simulated::new();
    /// let devices = Devices::builder().backend(backend).choice(Choice::Gpu).build().unwrap();
    /// let number = Buffer::from(vec![3]);
    /// Dual::new(&POWER, &[2])
    ///     .updates(&number)
    ///     .cpu(|| number.write()[0] = 81)
    ///     .gpu(async |gpu| {
    ///         let first = gpu.launch(&SQUARE, [1, 1, 1], &[Arg::update(&number)]);
    ///         drop(first); // It runs all the same, and before the second one.
    ///         gpu.launch(&SQUARE, [1, 1, 1], &[Arg::update(&number)]).await
    ///     })
    ///     .run(&devices);
    /// assert_eq!(*number.read(), [81]);
    /// ```
    pub fn launch(
        &self,
        kernel: &'static Kernel,
        groups: [u32; 3],
        arguments: &[Arg<'_>],
    ) -> Launching {
        self.launch_sized(self.entry.work, kernel, groups, arguments)
    }

    /// Launches a kernel that is one of several, with its share of the task's work. Only a
    /// [`crate::Simulated`] device uses the share.
    ///
    /// # Panics
    /// As [`Gpu::launch`].
    ///
    /// ```
    /// use roving_gpu::{Arg, Buffer, Choice, Devices, Dual, Kernel, Kind, Simulated};
    ///
    /// static FILL: Kind = Kind::new("fill");
    /// static KERNEL: Kernel = Kernel::new("fill").host(|call| call.update::<u32>().fill(7));
    /// let backend = Simulated::new();
    /// let devices = Devices::builder().backend(backend).choice(Choice::Gpu).build().unwrap();
    /// let numbers = Buffer::from(vec![0; 3]);
    /// let task = Dual::new(&FILL, &[3]).writes(&numbers).cpu(|| numbers.write().fill(7));
    /// task.gpu(async |gpu| gpu.launch_sized(3.0, &KERNEL, [1, 1, 1], &[Arg::update(&numbers)]).await).run(&devices);
    /// assert_eq!(numbers.into_vec(), [7, 7, 7]);
    /// ```
    pub fn launch_sized(
        &self,
        work: f64,
        kernel: &'static Kernel,
        groups: [u32; 3],
        arguments: &[Arg<'_>],
    ) -> Launching {
        let entry = &self.entry;
        let arguments = arguments.iter().enumerate();
        let mut shared = 0_usize;
        let arguments = arguments.filter_map(|(at, argument)| match argument.0 {
            ArgKind::Value(bytes) => Some(RecordedArg::Value(bytes.into())),
            ArgKind::Buffer(part) => Some(self.record(kernel, at, part)),
            ArgKind::Shared(bytes) => {
                shared = shared.saturating_add(bytes);
                None
            }
        });
        let arguments = arguments.collect();
        let number = entry.lock().next_launch();
        let recorded = Recorded {
            kernel,
            groups,
            arguments,
            shared,
            work,
            number,
        };
        // In a forked child there is nobody to do it: that is told when it is awaited.
        if entry.left_behind().is_none() {
            Device::launch(entry, recorded);
        }
        Launching {
            entry: Arc::clone(entry),
            number,
        }
    }

    fn record(&self, kernel: &Kernel, at: usize, part: Part<'_>) -> RecordedArg {
        let writable = part.writable;
        let (kind, kernel) = (self.entry.kind, kernel.name());
        let Some(number) = self.entry.position(part.buffer.content().0.id()) else {
            panic!(
                "task `{kind}`: argument {at} of kernel `{kernel}` is a buffer that the task does not \
                 declare; add `.reads(…)`, `.updates(…)` or `.writes(…)`"
            );
        };
        assert!(
            !writable || self.entry.uses[number].access.writes(),
            "task `{kind}`: argument {at} of kernel `{kernel}` is updated, but the task declares that it \
             reads it; say `.updates(…)` or `.writes(…)`"
        );
        RecordedArg::Buffer {
            number,
            range: part.bytes(),
            writable,
        }
    }
}

/// A kernel that was launched; awaiting it gives its result. Made by [`Gpu::launch`].
///
/// ```
/// use roving_gpu::{Arg, Buffer, Choice, Devices, Dual, Kernel, Kind, Simulated};
///
/// static FILL: Kind = Kind::new("fill");
/// static KERNEL: Kernel = Kernel::new("fill").host(|call| call.update::<u32>().fill(7));
/// let backend = Simulated::new();
/// let devices = Devices::builder().backend(backend).choice(Choice::Gpu).build().unwrap();
/// let numbers = Buffer::from(vec![0; 3]);
/// let task = Dual::new(&FILL, &[3]).writes(&numbers).cpu(|| numbers.write().fill(7));
/// task.gpu(async |gpu| {
///     let launching = gpu.launch(&KERNEL, [1, 1, 1], &[Arg::update(&numbers)]);
///     launching.await // an error of the device, if there was one
/// }).run(&devices);
/// assert_eq!(numbers.into_vec(), [7, 7, 7]);
/// ```
#[must_use = "the launch goes on without it, but its failure is not heard of here"]
pub struct Launching {
    entry: Arc<DeviceEntry>,
    number: usize,
}

impl Future for Launching {
    type Output = Result<(), DeviceError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // To clone a waker and to drop one is code of others, which no lock is held for.
        let mut waker = Some(context.waker().clone());
        let mut inside = self.entry.lock();
        // A launch that was recorded, and left out when the task ended before.
        let end = inside.end();
        let Some(launched) = inside.launches.get_mut(&self.number) else {
            unreachable!("kept as long as this");
        };
        if let Some(outcome) = &launched.outcome {
            return Poll::Ready(outcome.clone());
        }
        if let Some(end) = end.or_else(|| self.entry.left_behind()) {
            return Poll::Ready(Err(end));
        }
        mem::swap(&mut launched.waker, &mut waker);
        drop(inside);
        Poll::Pending
    }
}

/// A launch that has ended, and that nobody asks for, is forgotten: a task may launch as much as it
/// likes.
impl Drop for Launching {
    fn drop(&mut self) {
        let waker = self.entry.lock().leave_launch(self.number);
        // Not under the lock.
        drop(waker);
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu")
            .field("device", &self.entry.device().name)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Launching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launching").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Choice, Devices, Dual, Kind, Simulated, Writes};

    static MANY: Kind = Kind::new("many");
    static NOTHING: Kernel = Kernel::new("nothing").host(|_| ());

    #[test]
    fn launches_that_have_ended_are_forgotten() {
        let builder = Devices::builder().backend(Simulated::new());
        let builder = builder.choice(Choice::Gpu).writes(Writes::Through);
        let (devices, numbers) = (builder.build().unwrap(), Buffer::from(vec![1_u32]));
        let task = Dual::new(&MANY, &[1]).updates(&numbers).gpu(async |gpu| {
            let launch = || gpu.launch(&NOTHING, [1, 1, 1], &[Arg::update(&numbers)]);
            let first = launch();
            for _ in 0..100 {
                launch().await?;
                (0..3).for_each(|_| drop(launch()));
            }
            launch().await?;
            assert_eq!(gpu.entry.lock().launches.len(), 1);
            // It is told also now.
            first.await?;
            assert_eq!(gpu.entry.lock().launches.len(), 0);
            Ok(())
        });
        task.run(&devices).unwrap();
        assert_eq!(devices.profile().devices[0].launches, 402);
    }
}
