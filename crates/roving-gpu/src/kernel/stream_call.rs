//! The arguments of a function that puts its work on a stream itself.

use std::any::{Any, TypeId};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;

use bytemuck::{AnyBitPattern, NoUninit};
use roving::raw::panics::drop_quietly;

/// One launch, as the function of [`Kernel::stream`](crate::Kernel::stream) sees it. The arguments
/// are taken in their order.
///
/// ```
/// use roving_gpu::{OnDevice, StreamArg, StreamCall, StreamKept};
///
/// fn scale(call: &mut StreamCall<'_>) -> Result<(), String> {
///     let (numbers, factor) = (call.update(), call.value::<f32>());
///     match numbers.bytes % 4 {
///         0 => Ok(drop((call.stream(), numbers.address, factor))), // queue a routine here
///         _ => Err(format!("{} bytes are no numbers", numbers.bytes)),
///     }
/// }
/// let buffer = OnDevice { address: 0x1000, bytes: 6 };
/// let arguments = [StreamArg::Update(buffer), StreamArg::Value(&[0; 4])];
/// let mut kept = StreamKept::default();
/// let mut call = StreamCall::new(std::ptr::null_mut(), [1, 1, 1], arguments, &mut kept);
/// assert_eq!(scale(&mut call), Err("6 bytes are no numbers".into()));
/// ```
#[derive(Debug)]
pub struct StreamCall<'a> {
    stream: *mut c_void,
    groups: [u32; 3],
    arguments: VecDeque<StreamArg<'a>>,
    taken: usize,
    kept: &'a mut StreamKept,
}

/// Memory of a device.
///
/// ```
/// let memory = roving_gpu::OnDevice { address: 0x1000, bytes: 64 };
/// assert_eq!(memory.bytes, 64);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnDevice {
    /// Where it begins; in CUDA a `CUdeviceptr`.
    pub address: u64,
    /// Its size.
    pub bytes: usize,
}

/// A function that puts its work on a stream itself.
///
/// ```
/// use roving_gpu::{Kernel, OnStream};
///
/// let nothing: OnStream = |call| Ok(drop(call.stream()));
/// // SAFETY: it queues nothing.
/// let kernel = unsafe { Kernel::new("nothing").stream(nothing) };
/// assert!(kernel.as_stream().is_some());
/// ```
pub type OnStream = fn(&mut StreamCall<'_>) -> Result<(), String>;

/// One argument.
///
/// ```
/// use roving_gpu::{OnDevice, StreamArg};
///
/// let argument = StreamArg::Read(OnDevice { address: 0x1000, bytes: 64 });
/// assert!(matches!(argument, StreamArg::Read(memory) if memory.bytes == 64));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum StreamArg<'a> {
    /// A buffer that is only read.
    Read(OnDevice),
    /// A buffer that may be written.
    Update(OnDevice),
    /// A value.
    Value(&'a [u8]),
}

/// The values that functions keep with one stream: see [`StreamCall::kept`].
///
/// ```
/// let kept = roving_gpu::StreamKept::default();
/// assert_eq!(format!("{kept:?}"), "StreamKept { values: 0 }");
/// ```
#[derive(Default)]
pub struct StreamKept(HashMap<TypeId, Box<dyn Any>>);

impl<'a> StreamCall<'a> {
    /// Creates a launch on that stream, of so many groups.
    ///
    /// ```
    /// use roving_gpu::{StreamCall, StreamKept};
    ///
    /// let mut kept = StreamKept::default();
    /// let call = StreamCall::new(std::ptr::null_mut(), [2, 1, 1], [], &mut kept);
    /// assert_eq!(call.groups(), [2, 1, 1]);
    /// ```
    pub fn new(
        stream: *mut c_void,
        groups: [u32; 3],
        arguments: impl IntoIterator<Item = StreamArg<'a>>,
        kept: &'a mut StreamKept,
    ) -> Self {
        StreamCall {
            stream,
            groups,
            arguments: arguments.into_iter().collect(),
            taken: 0,
            kept,
        }
    }

    /// Returns the stream; in CUDA a `CUstream`, which is a `cudaStream_t` too.
    ///
    /// ```
    /// use roving_gpu::{StreamCall, StreamKept};
    ///
    /// let mut kept = StreamKept::default();
    /// let call = StreamCall::new(std::ptr::null_mut(), [1, 1, 1], [], &mut kept);
    /// assert!(call.stream().is_null()); // the default stream
    /// ```
    pub fn stream(&self) -> *mut c_void {
        self.stream
    }

    /// Returns the number of groups that were launched.
    ///
    /// ```
    /// use roving_gpu::{StreamCall, StreamKept};
    ///
    /// let mut kept = StreamKept::default();
    /// let call = StreamCall::new(std::ptr::null_mut(), [4, 2, 1], [], &mut kept);
    /// assert_eq!(call.groups(), [4, 2, 1]);
    /// ```
    pub fn groups(&self) -> [u32; 3] {
        self.groups
    }

    /// Takes the next argument, a buffer that the kernel reads.
    ///
    /// # Panics
    /// If the next argument is a value, or there is none. The launch fails with that text.
    ///
    /// ```
    /// use roving_gpu::{OnDevice, StreamArg, StreamCall, StreamKept};
    ///
    /// let (memory, mut kept) = (OnDevice { address: 0x1000, bytes: 64 }, StreamKept::default());
    /// let arguments = [StreamArg::Read(memory)];
    /// let mut call = StreamCall::new(std::ptr::null_mut(), [1, 1, 1], arguments, &mut kept);
    /// assert_eq!(call.read(), memory);
    /// ```
    pub fn read(&mut self) -> OnDevice {
        match self.next() {
            StreamArg::Read(memory) | StreamArg::Update(memory) => memory,
            StreamArg::Value(_) => panic!("argument {} is a value, not a buffer", self.taken - 1),
        }
    }

    /// Takes the next argument, a buffer that the kernel may write.
    ///
    /// # Panics
    /// If the next argument is none, or there is none. The launch fails with that text.
    ///
    /// ```
    /// use roving_gpu::{OnDevice, StreamArg, StreamCall, StreamKept};
    ///
    /// let (memory, mut kept) = (OnDevice { address: 0x1000, bytes: 64 }, StreamKept::default());
    /// let arguments = [StreamArg::Update(memory)];
    /// let mut call = StreamCall::new(std::ptr::null_mut(), [1, 1, 1], arguments, &mut kept);
    /// assert_eq!(call.update().address, 0x1000);
    /// ```
    pub fn update(&mut self) -> OnDevice {
        match self.next() {
            StreamArg::Update(memory) => memory,
            StreamArg::Read(_) => panic!("argument {} may only be read", self.taken - 1),
            StreamArg::Value(_) => panic!("argument {} is a value, not a buffer", self.taken - 1),
        }
    }

    /// Takes the next argument, a value.
    ///
    /// # Panics
    /// If the next argument is a buffer, or of another size, or there is none. The launch fails
    /// with that text.
    ///
    /// ```
    /// use roving_gpu::{StreamArg, StreamCall, StreamKept};
    ///
    /// let mut kept = StreamKept::default();
    /// let arguments = [StreamArg::Value(&[7, 0, 0, 0])];
    /// let mut call = StreamCall::new(std::ptr::null_mut(), [1, 1, 1], arguments, &mut kept);
    /// assert_eq!(call.value::<u32>(), u32::from_ne_bytes([7, 0, 0, 0]));
    /// ```
    pub fn value<T: AnyBitPattern + NoUninit>(&mut self) -> T {
        match self.next() {
            StreamArg::Value(bytes) => bytemuck::pod_read_unaligned(bytes),
            _ => panic!("argument {} is a buffer, not a value", self.taken - 1),
        }
    }

    /// Returns the value of that type which is kept with this stream, made at the first call: the
    /// handle or the plan of a library, which takes long to make and belongs to one stream and one
    /// thread. It is dropped by that thread, with the context current, when all on the stream has
    /// ended and before the stream goes.
    ///
    /// # Errors
    /// That of `make`, which is asked again next time.
    ///
    /// ```
    /// use roving_gpu::{StreamCall, StreamKept};
    ///
    /// struct Plan(usize);
    /// let mut kept = StreamKept::default();
    /// for size in [8, 9] {
    ///     let mut call = StreamCall::new(std::ptr::null_mut(), [1, 1, 1], [], &mut kept);
    ///     let plan = call.kept(|_stream| Ok::<_, String>(Plan(size))).unwrap();
    ///     assert_eq!(plan.0, 8);
    /// }
    /// ```
    pub fn kept<T: 'static, E>(
        &mut self,
        make: impl FnOnce(*mut c_void) -> Result<T, E>,
    ) -> Result<&mut T, E> {
        let value = match self.kept.0.entry(TypeId::of::<T>()) {
            Entry::Occupied(kept) => kept.into_mut(),
            Entry::Vacant(none) => none.insert(Box::new(make(self.stream)?)),
        };
        let value = value.downcast_mut();
        Ok(value.expect("each value is kept by its type"))
    }

    fn next(&mut self) -> StreamArg<'a> {
        self.taken += 1;
        self.arguments.pop_front().unwrap_or_else(|| {
            let asked = self.taken - 1;
            panic!("argument {asked} was asked for; the launch has {asked}")
        })
    }
}

/// A panic in the drop of one value keeps no other from being dropped, nor the stream from going.
impl Drop for StreamKept {
    fn drop(&mut self) {
        self.0.drain().for_each(drop_quietly);
    }
}

impl std::fmt::Debug for StreamKept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamKept")
            .field("values", &self.0.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static DROPPED: Cell<u32> = const { Cell::new(0) };
    }

    /// Values of different types, each of which panics when it is dropped.
    struct Bomb<const N: usize>;

    impl<const N: usize> Drop for Bomb<N> {
        fn drop(&mut self) {
            DROPPED.set(DROPPED.get() + 1);
            panic!("the plan is broken");
        }
    }

    #[test]
    fn values_that_are_kept_may_panic_when_they_are_dropped() {
        let mut kept = StreamKept::default();
        let mut call = StreamCall::new(std::ptr::null_mut(), [1, 1, 1], [], &mut kept);
        call.kept(|_| Ok::<_, ()>(Bomb::<0>)).unwrap();
        call.kept(|_| Ok::<_, ()>(Bomb::<1>)).unwrap();
        call.kept(|_| Ok::<_, ()>(Bomb::<2>)).unwrap();
        drop(call);
        drop(kept);
        assert_eq!(DROPPED.get(), 3);
    }
}
