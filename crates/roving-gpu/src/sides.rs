//! Which sides a task has, as types.

use std::fmt;
use std::pin::Pin;

use crate::error::{DeviceError, Failed};
use crate::gpu::Gpu;
use crate::kind::Kind;

/// The marker of a task without a CPU side.
#[derive(Clone, Copy, Debug)]
pub struct NoCpu;

/// The marker of a task without a GPU side.
#[derive(Clone, Copy, Debug)]
pub struct NoGpu;

/// The CPU side of a task.
#[derive(Clone, Copy)]
pub struct CpuSide<F>(pub(crate) F);

/// The GPU side of a task.
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
    fn output(result: Result<Self::Result, Failed>) -> Self::Output;
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

    fn output(result: Result<R, Failed>) -> R {
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

    fn output(result: Result<R, Failed>) -> R {
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
    type Output = Result<R, Failed>;

    fn without_device(self, kind: &'static Kind) -> Self::Output {
        Err(Failed::no_device(kind.name()))
    }

    fn into_parts(self) -> Parts<'a, R> {
        let gpu = self.1.0;
        Parts {
            cpu: None,
            gpu: Some(Box::new(move |handle| Box::pin(gpu(handle)))),
        }
    }

    fn output(result: Result<R, Failed>) -> Self::Output {
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
