//! Elements of buffers.

use bytemuck::Pod;

/// An element of a [`Buffer`](crate::Buffer): plain data without padding and without pointers, as
/// [`bytemuck`] has it.
///
/// ```
/// use roving_gpu::{Buffer, Element};
///
/// fn last<T: Element>(buffer: &Buffer<T>) -> Option<T> {
///     buffer.read().last().copied()
/// }
/// assert_eq!(last(&Buffer::from(vec![[1.0_f64, 2.0], [3.0, 4.0]])), Some([3.0, 4.0]));
/// ```
pub trait Element: Pod + Send + Sync {}

impl<T: Pod + Send + Sync> Element for T {}
