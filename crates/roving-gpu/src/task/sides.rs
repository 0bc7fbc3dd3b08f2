//! Types that say which sides a task has and which buffers it uses: the parameters of
//! [`Dual`](crate::Dual).
//!
//! A program that makes a task and runs it names none of them. They are for functions that take or
//! return a task. The traits are sealed: another crate can ask for them, and cannot implement them.
//!
//! ```compile_fail,E0277
//! use roving_gpu::sides::Sides;
//!
//! struct Mine;
//! impl<'a> Sides<'a> for Mine {
//!     type Output = u32;
//! }
//! ```
//!
//! ```compile_fail,E0277
//! use roving_gpu::sides::Uses;
//!
//! struct Mine;
//! impl Uses for Mine {}
//! ```
//!
//! ```
//! use roving_gpu::sides::{Sides, Uses};
//! use roving_gpu::{Devices, Dual, Kind};
//!
//! fn run<'a, C: Send, G: Send, U: Uses + 'a>(
//!     task: Dual<1, U, C, G>,
//!     devices: &'a Devices,
//! ) -> <(C, G) as Sides<'a>>::Output
//! where
//!     (C, G): Sides<'a>,
//! {
//!     task.run(devices)
//! }
//!
//! static ONE: Kind = Kind::new("one");
//! assert_eq!(run(Dual::new(&ONE, &[1]).cpu(|| 1), &Devices::none()), 1);
//! ```

use std::fmt;
use std::pin::Pin;

use super::gpu::Gpu;
pub use super::uses::{Used, UsedAll, Uses};
use crate::backend::error::DeviceError;
use crate::devices::task_error::TaskError;
use crate::history::kind::Kind;
use sealed::{Parts, Sealed};

/// The marker of a task without a CPU side.
///
/// ```
/// use roving_gpu::sides::{NoCpu, NoGpu};
/// use roving_gpu::{Devices, Dual, Gpu, Kind};
///
/// static ONE: Kind = Kind::new("one");
/// let task: Dual<1, (), NoCpu, NoGpu> = Dual::new(&ONE, &[1]);
/// let task = task.gpu(async |_gpu: Gpu| Ok(1));
/// assert!(task.run(&Devices::none()).is_err()); // there is no side that could run
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NoCpu;

/// The marker of a task without a GPU side.
///
/// ```
/// use roving_gpu::sides::{NoCpu, NoGpu};
/// use roving_gpu::{Devices, Dual, Kind};
///
/// static ONE: Kind = Kind::new("one");
/// let task: Dual<1, (), NoCpu, NoGpu> = Dual::new(&ONE, &[1]);
/// assert_eq!(task.cpu(|| 1).run(&Devices::none()), 1);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NoGpu;

/// The CPU side of a task.
///
/// ```
/// use roving_gpu::sides::{CpuSide, NoGpu};
/// use roving_gpu::{Devices, Dual, Kind};
///
/// fn run<F: FnOnce() -> u32 + Send>(task: Dual<1, (), CpuSide<F>, NoGpu>) -> u32 {
///     task.run(&Devices::none())
/// }
///
/// static ONE: Kind = Kind::new("one");
/// assert_eq!(run(Dual::new(&ONE, &[1]).cpu(|| 1)), 1);
/// ```
#[derive(Clone, Copy)]
pub struct CpuSide<F>(pub(crate) F);

/// The GPU side of a task.
///
/// ```
/// use roving_gpu::sides::{GpuSide, NoCpu};
/// use roving_gpu::{DeviceError, Devices, Dual, Gpu, Kind, Simulated};
///
/// fn run<F, Fut>(task: Dual<1, (), NoCpu, GpuSide<F>>) -> u32
/// where
///     F: FnOnce(Gpu) -> Fut + Send,
///     Fut: Future<Output = Result<u32, DeviceError>> + Send,
/// {
///     let devices = Devices::builder().backend(Simulated::new()).build().unwrap();
///     task.run(&devices).unwrap()
/// }
///
/// static ONE: Kind = Kind::new("one");
/// assert_eq!(run(Dual::new(&ONE, &[1]).gpu(async |_gpu| Ok(1))), 1);
/// ```
#[derive(Clone, Copy)]
pub struct GpuSide<F>(pub(crate) F);

pub(crate) type CpuBox<'a, R> = Box<dyn FnOnce() -> R + Send + 'a>;
pub(crate) type GpuFuture<'a, R> =
    Pin<Box<dyn Future<Output = Result<R, DeviceError>> + Send + 'a>>;
pub(crate) type GpuBox<'a, R> = Box<dyn FnOnce(Gpu) -> GpuFuture<'a, R> + Send + 'a>;

/// The sides of a task; at least one.
///
/// ```
/// use roving_gpu::sides::Sides;
/// use roving_gpu::{Devices, Dual, Kind};
///
/// /// Runs a task, whatever sides it has.
/// fn run<'a, C: Send, G: Send>(
///     task: Dual<1, (), C, G>,
///     devices: &'a Devices,
/// ) -> <(C, G) as Sides<'a>>::Output
/// where
///     (C, G): Sides<'a>,
/// {
///     task.run(devices)
/// }
///
/// static ONE: Kind = Kind::new("one");
/// let devices = Devices::none();
/// assert_eq!(run(Dual::new(&ONE, &[1]).cpu(|| 1), &devices), 1);
/// assert!(run(Dual::new(&ONE, &[1]).gpu(async |_gpu| Ok(1)), &devices).is_err());
/// ```
#[diagnostic::on_unimplemented(
    message = "this task has no side, or its two sides do not return the same",
    label = "give it `.cpu(…)`, `.gpu(…)`, or both with one type of result"
)]
pub trait Sides<'a>: Sealed<'a, Out = <Self as Sides<'a>>::Output> {
    /// The result of the task.
    type Output: Send + 'a;
}

impl<'a, C, R> Sides<'a> for (CpuSide<C>, NoGpu)
where
    C: FnOnce() -> R + Send + 'a,
    R: Send + 'a,
{
    type Output = R;
}

impl<'a, C, G, Fut, R> Sides<'a> for (CpuSide<C>, GpuSide<G>)
where
    C: FnOnce() -> R + Send + 'a,
    G: FnOnce(Gpu) -> Fut + Send + 'a,
    Fut: Future<Output = Result<R, DeviceError>> + Send + 'a,
    R: Send + 'a,
{
    type Output = R;
}

impl<'a, G, Fut, R> Sides<'a> for (NoCpu, GpuSide<G>)
where
    G: FnOnce(Gpu) -> Fut + Send + 'a,
    Fut: Future<Output = Result<R, DeviceError>> + Send + 'a,
    R: Send + 'a,
{
    type Output = Result<R, TaskError>;
}

/// The methods of [`Sides`]: out of the reach of other crates, which so cannot implement it.
pub(crate) mod sealed {
    use std::fmt;

    use super::{CpuBox, GpuBox};
    use crate::devices::task_error::TaskError;
    use crate::history::kind::Kind;

    /// The sides as a task is run.
    pub trait Sealed<'a>: Send {
        /// The result of a side.
        type Result: Send + 'a;
        /// The result of the task: that of `Sides`.
        type Out: Send + 'a;
        /// Whether there is a CPU side.
        const HAS_CPU: bool;
        /// Whether there is a GPU side.
        const HAS_GPU: bool;
        fn without_device(self, kind: &'static Kind) -> Self::Out;
        fn into_parts(self) -> Parts<'a, Self::Result>;
        fn output(result: Result<Self::Result, TaskError>) -> Self::Out;
    }

    /// Both sides, where there may be a device.
    pub struct Parts<'a, R> {
        pub(crate) cpu: Option<CpuBox<'a, R>>,
        pub(crate) gpu: Option<GpuBox<'a, R>>,
    }

    impl<R> fmt::Debug for Parts<'_, R> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Parts").finish_non_exhaustive()
        }
    }
}

impl<'a, C, R> Sealed<'a> for (CpuSide<C>, NoGpu)
where
    C: FnOnce() -> R + Send + 'a,
    R: Send + 'a,
{
    type Result = R;
    type Out = R;
    const HAS_CPU: bool = true;
    const HAS_GPU: bool = false;

    #[inline(always)]
    fn without_device(self, _: &'static Kind) -> R {
        (self.0.0)()
    }

    fn into_parts(self) -> Parts<'a, R> {
        Parts {
            cpu: Some(Box::new(self.0.0)),
            gpu: None,
        }
    }

    fn output(result: Result<R, TaskError>) -> R {
        result.unwrap_or_else(|failed| unreachable!("it has a CPU side: {failed}"))
    }
}

impl<'a, C, G, Fut, R> Sealed<'a> for (CpuSide<C>, GpuSide<G>)
where
    C: FnOnce() -> R + Send + 'a,
    G: FnOnce(Gpu) -> Fut + Send + 'a,
    Fut: Future<Output = Result<R, DeviceError>> + Send + 'a,
    R: Send + 'a,
{
    type Result = R;
    type Out = R;
    const HAS_CPU: bool = true;
    const HAS_GPU: bool = true;

    #[inline(always)]
    fn without_device(self, _: &'static Kind) -> R {
        (self.0.0)()
    }

    fn into_parts(self) -> Parts<'a, R> {
        let gpu = self.1.0;
        Parts {
            cpu: Some(Box::new(self.0.0)),
            gpu: Some(Box::new(move |handle| Box::pin(gpu(handle)))),
        }
    }

    fn output(result: Result<R, TaskError>) -> R {
        result.unwrap_or_else(|failed| unreachable!("it has a CPU side: {failed}"))
    }
}

impl<'a, G, Fut, R> Sealed<'a> for (NoCpu, GpuSide<G>)
where
    G: FnOnce(Gpu) -> Fut + Send + 'a,
    Fut: Future<Output = Result<R, DeviceError>> + Send + 'a,
    R: Send + 'a,
{
    type Result = R;
    type Out = Result<R, TaskError>;
    const HAS_CPU: bool = false;
    const HAS_GPU: bool = true;

    fn without_device(self, kind: &'static Kind) -> Result<R, TaskError> {
        Err(TaskError::no_device(kind.name()))
    }

    fn into_parts(self) -> Parts<'a, R> {
        let gpu = self.1.0;
        Parts {
            cpu: None,
            gpu: Some(Box::new(move |handle| Box::pin(gpu(handle)))),
        }
    }

    fn output(result: Result<R, TaskError>) -> Result<R, TaskError> {
        result
    }
}

impl<F> fmt::Debug for CpuSide<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CpuSide")
    }
}

impl<F> fmt::Debug for GpuSide<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GpuSide")
    }
}
