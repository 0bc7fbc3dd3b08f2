//! Tasks with two sides.

use std::fmt;

use super::gpu::Gpu;
use super::sides::sealed::Sealed as _;
use super::sides::{CpuSide, GpuSide, NoCpu, NoGpu, Sides};
use super::uses::{Used, UsedAll, Uses};
use crate::backend::error::DeviceError;
use crate::buffer::AnyBuffer;
use crate::buffer::hold::Access;
use crate::devices::Devices;
use crate::history::kind::Kind;

/// A task with a CPU side, a GPU side, or both.
///
/// ```
/// use roving_gpu::{Arg, Buffer, Devices, Dual, HostCall, Kernel, Kind, Simulated};
///
/// static SCALE: Kind = Kind::new("scale");
/// static KERNEL: Kernel = Kernel::new("scale").host(|call: &mut HostCall<'_>| {
///     let (numbers, factor) = (call.update::<f32>(), call.value::<f32>());
///     numbers.iter_mut().for_each(|x| *x *= factor);
/// });
///
/// fn scale(devices: &Devices, numbers: &Buffer<f32>, factor: f32) {
///     Dual::new(&SCALE, &[numbers.len()])
///         .updates(numbers)
///         .cpu(|| numbers.write().iter_mut().for_each(|x| *x *= factor))
///         .gpu(async |gpu| {
///             gpu.launch(&KERNEL, [1, 1, 1], &[Arg::update(numbers), Arg::value(&factor)]).await
///         })
///         .run(devices);
/// }
/// let numbers = Buffer::from(vec![1.0, 2.0]);
/// scale(&Devices::none(), &numbers, 2.0);
/// scale(&Devices::builder().backend(Simulated::new()).build().unwrap(), &numbers, 3.0);
/// assert_eq!(*numbers.read(), [6.0, 12.0]);
/// ```
///
/// # Where it runs
///
/// With [`Dual::on`] it is a future, which a task of `roving::task` or a process of a network
/// awaits. When that is polled first it is decided where the task runs. The CPU side is called by
/// the worker that polls. What the GPU side launches goes to the device; meanwhile the awaiting
/// task is suspended, and its worker does something else. With [`Dual::run`], closures can do the
/// same.
///
/// The type says how many sizes there are, what is used, and which sides there are; no program has
/// to name it.
#[must_use = "a task does nothing until it is run"]
#[derive(Clone, Copy)]
pub struct Dual<const N: usize, U = (), C = NoCpu, G = NoGpu> {
    pub(crate) about: About<N>,
    pub(crate) uses: U,
    pub(crate) cpu: C,
    pub(crate) gpu: G,
}

/// The facts about a task before it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<const N: usize> {
    pub(crate) kind: &'static Kind,
    sizes: [usize; N],
    work: Option<f64>,
}

impl<const N: usize> About<N> {
    /// One number for how much there is to do.
    pub(crate) fn work(&self) -> f64 {
        let product = || self.sizes.iter().map(|size| *size as f64).product();
        let work: f64 = self.work.unwrap_or_else(product);
        if work.is_finite() && work > 0.0 {
            work
        } else {
            1.0
        }
    }
}

impl<const N: usize> Dual<N> {
    /// Creates a task of that kind, with the sizes that say how large it is.
    ///
    /// ```
    /// use roving_gpu::{Devices, Dual, Kind};
    ///
    /// static SUM: Kind = Kind::new("sum");
    /// let numbers = [1_u32, 2, 3];
    /// let sum = Dual::new(&SUM, &[numbers.len()]).cpu(|| numbers.iter().sum::<u32>()).run(&Devices::none());
    /// assert_eq!(sum, 6);
    /// ```
    #[inline(always)]
    pub fn new(kind: &'static Kind, sizes: &[usize; N]) -> Self {
        Dual {
            about: About {
                kind,
                sizes: *sizes,
                work: None,
            },
            uses: (),
            cpu: NoCpu,
            gpu: NoGpu,
        }
    }
}

impl<const N: usize, U, C, G> Dual<N, U, C, G> {
    /// Sets the amount of work, in one number: tasks of a kind with twice the number are expected
    /// to take about twice as long. By default the product of the sizes.
    ///
    /// ```
    /// use roving_gpu::{Devices, Dual, Kind};
    ///
    /// static SORT: Kind = Kind::new("sort");
    /// let mut words = ["b", "a"];
    /// let n = words.len();
    /// Dual::new(&SORT, &[n])
    ///     .work(n as f64 * (n as f64).log2())
    ///     .cpu(|| words.sort())
    ///     .run(&Devices::none());
    /// assert_eq!(words, ["a", "b"]);
    /// ```
    #[inline(always)]
    pub fn work(mut self, work: f64) -> Self {
        self.about.work = Some(work);
        self
    }

    /// Declares that the task reads this buffer.
    ///
    /// ```
    /// use roving_gpu::{Buffer, Devices, Dual, Kind};
    ///
    /// static KIND: Kind = Kind::new("sum");
    /// let numbers = Buffer::from(vec![1_u32, 2, 3]);
    /// let task = Dual::new(&KIND, &[3]).reads(&numbers).cpu(|| numbers.read().iter().sum::<u32>());
    /// assert_eq!(task.run(&Devices::none()), 6);
    /// ```
    #[inline(always)]
    pub fn reads<'b>(self, buffer: &'b dyn AnyBuffer) -> Dual<N, (U, Used<'b>), C, G> {
        self.uses(buffer, Access::Read)
    }

    /// Declares that the task reads this buffer and changes it.
    ///
    /// ```
    /// use roving_gpu::{Buffer, Devices, Dual, Kind};
    ///
    /// static KIND: Kind = Kind::new("double");
    /// let numbers = Buffer::from(vec![1_u32, 2, 3]);
    /// let task = Dual::new(&KIND, &[3]).updates(&numbers);
    /// task.cpu(|| numbers.write().iter_mut().for_each(|x| *x *= 2)).run(&Devices::none());
    /// assert_eq!(numbers.into_vec(), [2, 4, 6]);
    /// ```
    #[inline(always)]
    pub fn updates<'b>(self, buffer: &'b dyn AnyBuffer) -> Dual<N, (U, Used<'b>), C, G> {
        self.uses(buffer, Access::Update)
    }

    /// Declares that the task writes all of this buffer, so that its present content need not be
    /// brought to where the task runs.
    ///
    /// ```
    /// use roving_gpu::{Buffer, Devices, Dual, Kind};
    ///
    /// static KIND: Kind = Kind::new("fill");
    /// let numbers = Buffer::from(vec![1_u32, 2, 3]);
    /// let task = Dual::new(&KIND, &[3]).writes(&numbers);
    /// task.cpu(|| numbers.write().fill(7)).run(&Devices::none());
    /// assert_eq!(numbers.into_vec(), [7, 7, 7]);
    /// ```
    #[inline(always)]
    pub fn writes<'b>(self, buffer: &'b dyn AnyBuffer) -> Dual<N, (U, Used<'b>), C, G> {
        self.uses(buffer, Access::Write)
    }

    /// Declares that the task uses this buffer: [`Dual::reads`], [`Dual::updates`] or
    /// [`Dual::writes`], as a value.
    ///
    /// ```
    /// use roving_gpu::{Access, Buffer, Devices, Dual, Kind};
    ///
    /// static KIND: Kind = Kind::new("sum");
    /// let numbers = Buffer::from(vec![1_u32, 2, 3]);
    /// let task = Dual::new(&KIND, &[3]).uses(&numbers, Access::Read);
    /// assert_eq!(task.cpu(|| numbers.read().len()).run(&Devices::none()), 3);
    /// ```
    #[inline(always)]
    pub fn uses<'b>(
        self,
        buffer: &'b dyn AnyBuffer,
        access: Access,
    ) -> Dual<N, (U, Used<'b>), C, G> {
        Dual {
            about: self.about,
            uses: (self.uses, Used { buffer, access }),
            cpu: self.cpu,
            gpu: self.gpu,
        }
    }

    /// Declares that the task uses these buffers, for a number of them that is known only when the
    /// program runs.
    ///
    /// ```
    /// use roving_gpu::{Access, AnyBuffer, Buffer, Devices, Dual, Kind};
    ///
    /// static SUM: Kind = Kind::new("sum");
    /// let parts: Vec<_> = (1..=3).map(|n| Buffer::from(vec![n; 2])).collect();
    /// let sum = Dual::new(&SUM, &[parts.len()])
    ///     .uses_all(parts.iter().map(|part| (part as &dyn AnyBuffer, Access::Read)))
    ///     .cpu(|| parts.iter().map(|part| part.read().iter().sum::<i32>()).sum::<i32>())
    ///     .run(&Devices::none());
    /// assert_eq!(sum, 12);
    /// ```
    pub fn uses_all<'b>(
        self,
        buffers: impl IntoIterator<Item = (&'b dyn AnyBuffer, Access)>,
    ) -> Dual<N, (U, UsedAll<'b>), C, G> {
        let all = buffers.into_iter();
        let all = all.map(|(buffer, access)| Used { buffer, access });
        Dual {
            about: self.about,
            uses: (self.uses, UsedAll(all.collect())),
            cpu: self.cpu,
            gpu: self.gpu,
        }
    }

    /// Sets the CPU side: a closure, which may use `join` and `scope`, and takes guards of the
    /// buffers.
    ///
    /// ```
    /// use roving_gpu::{Devices, Dual, Kind};
    ///
    /// static BOTH: Kind = Kind::new("both");
    /// let task = Dual::new(&BOTH, &[2]).cpu(|| roving::join(|| 1, || 2));
    /// assert_eq!(task.run(&Devices::none()), (1, 2));
    /// ```
    #[inline(always)]
    pub fn cpu<F, R>(self, side: F) -> Dual<N, U, CpuSide<F>, G>
    where
        F: FnOnce() -> R + Send,
    {
        Dual {
            about: self.about,
            uses: self.uses,
            cpu: CpuSide(side),
            gpu: self.gpu,
        }
    }

    /// Sets the GPU side: an async closure, which is given a [`Gpu`] to launch kernels with. It is
    /// called when a device has been chosen, before the device has turned to the task. It may be
    /// dropped at an `.await` when the CPU turns out to be sooner, or the device fails; then the
    /// CPU side runs.
    ///
    /// ```
    /// use roving_gpu::{Choice, Devices, Dual, Kind, Simulated};
    ///
    /// static SIDE: Kind = Kind::new("side");
    /// let backend = Simulated::new();
    /// let devices = Devices::builder().backend(backend).choice(Choice::Gpu).build().unwrap();
    /// let side = Dual::new(&SIDE, &[1]).cpu(|| "CPU").gpu(async |_gpu| Ok("GPU")).run(&devices);
    /// assert_eq!(side, "GPU");
    /// ```
    #[inline(always)]
    pub fn gpu<F, Fut, R>(self, side: F) -> Dual<N, U, C, GpuSide<F>>
    where
        F: FnOnce(Gpu) -> Fut + Send,
        Fut: Future<Output = Result<R, DeviceError>> + Send,
    {
        Dual {
            about: self.about,
            uses: self.uses,
            cpu: self.cpu,
            gpu: GpuSide(side),
        }
    }
}

impl<const N: usize, U: Uses, C, G> Dual<N, U, C, G> {
    /// Whether the CPU side (or the error of a task without one) is all that can come of it, so
    /// that nothing has to be prepared: there is no device, or no GPU side, or the CPU is sooner by
    /// far. Where somebody looks at each task, and where a buffer has to be fetched first, it goes
    /// the long way.
    #[inline(always)]
    pub(crate) fn is_settled<'a>(&self, devices: &'a Devices) -> bool
    where
        (C, G): Sides<'a>,
    {
        let Some(inner) = &devices.0 else {
            return true;
        };
        let choice = <(C, G)>::HAS_GPU;
        <(C, G)>::HAS_CPU
            && !inner.common.recorder.is_on()
            && self.uses.are_home()
            && (!choice || inner.settled.goes(self.about.kind, self.about.work()))
    }
}

impl<const N: usize, U, C, G> fmt::Debug for Dual<N, U, C, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dual")
            .field("kind", &self.about.kind.name())
            .field("sizes", &self.about.sizes)
            .finish_non_exhaustive()
    }
}
