//! Data that tasks work on, wherever it is.

pub(crate) mod content;
mod element;
mod guard;
pub(crate) mod hold;
mod host;
pub(crate) mod lent;
pub(crate) mod wait;

use std::fmt;
use std::sync::Arc;

use content::{BufferContent, Content};
pub use element::Element;
pub use guard::{ReadGuard, WriteGuard};

/// A vector of numbers that tasks read and write, of which there can be a copy on the host and one
/// on each device. A clone of a buffer is a handle to the same numbers.
///
/// On the host it is read and written through guards: any number of [`ReadGuard`]s, or one
/// [`WriteGuard`]. A task that runs on a device holds the buffers that it uses in the same way
/// while it is there. A call that comes too early blocks the calling thread; a worker gives its
/// core away meanwhile. Programs whose tasks await their inputs never wait here. A task that waits
/// for a guard of the thread that waits for the task waits for ever.
///
/// ```
/// use roving_gpu::Buffer;
///
/// let numbers = Buffer::from(vec![1.0_f32, 2.0, 3.0]);
/// numbers.write()[0] = 5.0;
/// assert_eq!(*numbers.read(), [5.0, 2.0, 3.0]);
/// assert_eq!(numbers.into_vec(), [5.0, 2.0, 3.0]);
/// ```
pub struct Buffer<T: Element> {
    shared: Arc<BufferContent<T>>,
}

impl<T: Element> Buffer<T> {
    /// Creates a buffer of so many zeros.
    ///
    /// ```
    /// assert_eq!(*roving_gpu::Buffer::<u32>::zeroed(3).read(), [0, 0, 0]);
    /// ```
    pub fn zeroed(len: usize) -> Self {
        Buffer::from(bytemuck::zeroed_vec(len))
    }

    /// Returns the number of elements.
    ///
    /// ```
    /// assert_eq!(roving_gpu::Buffer::from(vec![7_u32; 3]).len(), 3);
    /// ```
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Returns whether the buffer is empty.
    ///
    /// ```
    /// assert!(roving_gpu::Buffer::<u32>::zeroed(0).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Locks the buffer for reading on the host. Fetches it from a device where the only valid copy
    /// is there.
    ///
    /// # Panics
    /// If the only valid copy was on a device that was lost ([`crate::Writes::Back`]).
    ///
    /// ```
    /// let numbers = roving_gpu::Buffer::from(vec![1, 2, 3]);
    /// let (one, other) = (numbers.read(), numbers.read());
    /// assert_eq!(one[2], other[2]);
    /// ```
    pub fn read(&self) -> ReadGuard<'_, T> {
        guard::read(&self.shared)
    }

    /// Locks the buffer for reading and writing on the host. Copies on devices are out of date
    /// then.
    ///
    /// # Panics
    /// As [`Buffer::read`].
    ///
    /// ```
    /// let numbers = roving_gpu::Buffer::from(vec![1, 2, 3]);
    /// numbers.write().reverse();
    /// assert_eq!(*numbers.read(), [3, 2, 1]);
    /// ```
    pub fn write(&self) -> WriteGuard<'_, T> {
        guard::write(&self.shared)
    }

    /// Begins to copy the numbers to the host where only a device has them, and returns at once. A
    /// guard that is taken later waits for what is left of it: so the results of many tasks come
    /// together, and not one after the other. Does nothing while a task that writes them is under
    /// way. Where the copy fails, a guard has another one made, and tells why where that fails,
    /// too.
    ///
    /// ```
    /// use roving_gpu::Buffer;
    ///
    /// let results: Vec<Buffer<f32>> = (0..4).map(|_| Buffer::zeroed(8)).collect();
    /// // whatever devices do with them
    /// results.iter().for_each(Buffer::fetch);
    /// let results: Vec<Vec<f32>> = results.into_iter().map(Buffer::into_vec).collect();
    /// assert_eq!(results[3], [0.0; 8]);
    /// ```
    pub fn fetch(&self) {
        self.shared.begin_fetch();
    }

    /// Returns the numbers, on the host. Copies them only if there is another clone of this buffer.
    ///
    /// # Panics
    /// As [`Buffer::read`].
    ///
    /// ```
    /// assert_eq!(roving_gpu::Buffer::from(vec![1, 2]).into_vec(), [1, 2]);
    /// ```
    pub fn into_vec(self) -> Vec<T> {
        guard::into_vec(self.shared)
    }

    /// Splits the buffer into parts of so many elements each, the last of which may have fewer.
    /// Each part is a buffer: tasks on two of them run at the same time, on whichever sides, and
    /// only the parts that a task uses are brought to it. Collected in their order, parts are one
    /// buffer again. Both copy the numbers once, on the host; they wait for tasks that use them.
    ///
    /// # Panics
    /// If `len` is 0; and as [`Buffer::read`].
    ///
    /// ```
    /// use roving_gpu::Buffer;
    ///
    /// let matrix = Buffer::from(vec![1.0_f32; 12]);
    /// let rows: Vec<Buffer<f32>> = matrix.split(4);
    /// rows[1].write().fill(2.0); // whatever tasks do with the others
    /// let matrix: Buffer<f32> = rows.into_iter().collect();
    /// assert_eq!(matrix.read()[3..9], [1.0, 2.0, 2.0, 2.0, 2.0, 1.0]);
    /// ```
    pub fn split(self, len: usize) -> Vec<Buffer<T>> {
        assert!(len > 0, "parts of 0 elements: take 1 or more");
        let all = self.into_vec();
        let parts = all.chunks(len).map(|part| Buffer::from(part.to_vec()));
        parts.collect()
    }
}

/// One buffer of all the numbers: see [`Buffer::split`].
impl<T: Element> FromIterator<Buffer<T>> for Buffer<T> {
    fn from_iter<I: IntoIterator<Item = Buffer<T>>>(parts: I) -> Self {
        let parts: Vec<Buffer<T>> = parts.into_iter().collect();
        parts.iter().for_each(Buffer::fetch);
        let parts: Vec<Vec<T>> = parts.into_iter().map(Buffer::into_vec).collect();
        Buffer::from(parts.concat())
    }
}

impl<T: Element> From<Vec<T>> for Buffer<T> {
    fn from(host: Vec<T>) -> Self {
        Buffer {
            shared: Arc::new(BufferContent::new(host)),
        }
    }
}

impl<T: Element> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Buffer {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T: Element> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// A buffer of any element type. [`Buffer`] is its only implementation.
///
/// ```
/// use roving_gpu::{AnyBuffer, Arg, Buffer};
///
/// let (a, b) = (Buffer::from(vec![1.0_f32]), Buffer::from(vec![1_u32]));
/// let all: [&dyn AnyBuffer; 2] = [&a, &b];
/// assert_eq!(all.map(Arg::read).len(), 2);
/// ```
pub trait AnyBuffer: Send + Sync + sealed::Sealed {
    #[doc(hidden)]
    fn content(&self) -> ContentRef;
    /// Whether the host has a valid copy, as far as one sees without a lock.
    #[doc(hidden)]
    fn is_home(&self) -> bool;
    /// The number of elements, and how many bytes each has.
    #[doc(hidden)]
    fn extent(&self) -> (usize, usize);
}

impl<T: Element> AnyBuffer for Buffer<T> {
    fn content(&self) -> ContentRef {
        ContentRef(Arc::clone(&self.shared) as Arc<dyn Content>)
    }

    #[inline]
    fn is_home(&self) -> bool {
        self.shared.is_home()
    }

    fn extent(&self) -> (usize, usize) {
        (self.len(), size_of::<T>())
    }
}

/// This crate's view of a buffer.
#[doc(hidden)]
#[derive(Clone)]
pub struct ContentRef(pub(crate) Arc<dyn Content>);

impl fmt::Debug for ContentRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentRef").finish_non_exhaustive()
    }
}

mod sealed {
    pub trait Sealed {}
    impl<T: super::Element> Sealed for super::Buffer<T> {}
}
