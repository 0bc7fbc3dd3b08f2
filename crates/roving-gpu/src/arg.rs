//! The arguments of a launch.

use std::fmt;

use bytemuck::NoUninit;

use crate::buffer::AnyBuffer;

/// An argument of [`Gpu::launch`](crate::Gpu::launch).
///
/// ```
/// use roving_gpu::{Arg, Buffer};
///
/// let (a, c) = (Buffer::from(vec![1.0_f32]), Buffer::from(vec![0.0_f32]));
/// let sizes = [1_u32, 1, 1, 0];
/// let arguments = [Arg::read(&a), Arg::update(&c), Arg::value(&sizes)];
/// assert_eq!(format!("{arguments:?}"), "[read, update, value of 16 bytes]");
/// ```
#[derive(Clone, Copy)]
pub struct Arg<'a>(pub(crate) ArgKind<'a>);

#[derive(Clone, Copy)]
pub(crate) enum ArgKind<'a> {
    Buffer(&'a dyn AnyBuffer, bool),
    Value(&'a [u8]),
}

impl<'a> Arg<'a> {
    /// Passes a buffer that the kernel reads; the task must have declared it.
    ///
    /// ```
    /// use roving_gpu::{Arg, Buffer};
    ///
    /// let numbers = Buffer::from(vec![1_u32, 2]);
    /// assert_eq!(format!("{:?}", Arg::read(&numbers)), "read");
    /// ```
    pub fn read(buffer: &'a dyn AnyBuffer) -> Self {
        Arg(ArgKind::Buffer(buffer, false))
    }

    /// Passes a buffer that the kernel writes, or reads and writes; the task must have declared it
    /// with [`Dual::updates`](crate::Dual::updates) or [`Dual::writes`](crate::Dual::writes).
    ///
    /// ```
    /// use roving_gpu::{Arg, Buffer};
    ///
    /// let numbers = Buffer::from(vec![1_u32, 2]);
    /// assert_eq!(format!("{:?}", Arg::update(&numbers)), "update");
    /// ```
    pub fn update(buffer: &'a dyn AnyBuffer) -> Self {
        Arg(ArgKind::Buffer(buffer, true))
    }

    /// Passes a value, which is copied at the call.
    ///
    /// ```
    /// let argument = roving_gpu::Arg::value(&1.5_f64);
    /// assert_eq!(format!("{argument:?}"), "value of 8 bytes");
    /// ```
    pub fn value<T: NoUninit>(value: &'a T) -> Self {
        Arg(ArgKind::Value(bytemuck::bytes_of(value)))
    }
}

impl fmt::Debug for Arg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ArgKind::Buffer(_, false) => f.write_str("read"),
            ArgKind::Buffer(_, true) => f.write_str("update"),
            ArgKind::Value(bytes) => write!(f, "value of {} bytes", bytes.len()),
        }
    }
}
