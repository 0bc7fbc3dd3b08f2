//! Which sides a task has, as types.

use std::fmt;
use std::pin::Pin;

use crate::error::{DeviceError, TaskError};
use crate::gpu::Gpu;
use crate::kind::Kind;

/// The marker of a task without a CPU side.
///
/// ```
/// use roving_gpu::{Devices, Dual, Gpu, Kind, NoCpu, NoGpu};
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
/// use roving_gpu::{Devices, Dual, Kind, NoCpu, NoGpu};
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
/// use roving_gpu::{CpuSide, Devices, Dual, Kind, NoGpu};
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
/// use roving_gpu::{DeviceError, Devices, Dual, Gpu, GpuSide, Kind, NoCpu, Simulated};
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

/// Both sides, where there may be a device.
#[doc(hidden)]
pub struct Parts<'a, R> {
    pub(crate) cpu: Option<CpuBox<'a, R>>,
    pub(crate) gpu: Option<GpuBox<'a, R>>,
}

/// The sides of a task; at least one.
///
/// ```
/// use roving_gpu::{Devices, Dual, Kind, Sides};
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
pub trait Sides<'a>: Send {
    /// The result of a side.
    #[doc(hidden)]
    type Result: Send + 'a;
    /// The result of the task.
    type Output: Send + 'a;
    #[doc(hidden)]
    fn without_device(self, kind: &'static Kind) -> Self::Output;
    #[doc(hidden)]
    fn into_parts(self) -> Parts<'a, Self::Result>;
    #[doc(hidden)]
    fn output(result: Result<Self::Result, TaskError>) -> Self::Output;
}

impl<'a, C, R> Sides<'a> for (CpuSide<C>, NoGpu)
where
    C: FnOnce() -> R + Send + 'a,
    R: Send + 'a,
{
    type Result = R;
    type Output = R;

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

impl<'a, C, G, Fut, R> Sides<'a> for (CpuSide<C>, GpuSide<G>)
where
    C: FnOnce() -> R + Send + 'a,
    G: FnOnce(Gpu) -> Fut + Send + 'a,
    Fut: Future<Output = Result<R, DeviceError>> + Send + 'a,
    R: Send + 'a,
{
    type Result = R;
    type Output = R;

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

impl<'a, G, Fut, R> Sides<'a> for (NoCpu, GpuSide<G>)
where
    G: FnOnce(Gpu) -> Fut + Send + 'a,
    Fut: Future<Output = Result<R, DeviceError>> + Send + 'a,
    R: Send + 'a,
{
    type Result = R;
    type Output = Result<R, TaskError>;

    fn without_device(self, kind: &'static Kind) -> Self::Output {
        Err(TaskError::no_device(kind.name()))
    }

    fn into_parts(self) -> Parts<'a, R> {
        let gpu = self.1.0;
        Parts {
            cpu: None,
            gpu: Some(Box::new(move |handle| Box::pin(gpu(handle)))),
        }
    }

    fn output(result: Result<R, TaskError>) -> Self::Output {
        result
    }
}

impl<R> fmt::Debug for Parts<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
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
