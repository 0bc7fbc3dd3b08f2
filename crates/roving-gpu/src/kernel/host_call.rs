//! The arguments of a kernel that runs on the host.

use std::collections::VecDeque;

use bytemuck::{AnyBitPattern, NoUninit, Pod};

/// One launch, as the host function of a [`crate::Kernel`] sees it. The arguments are taken in
/// their order.
///
/// ```
/// use roving_gpu::{HostArg, HostCall};
///
/// fn scale(call: &mut HostCall<'_>) {
///     let (numbers, factor) = (call.update::<f32>(), call.value::<f32>());
///     numbers.iter_mut().for_each(|x| *x *= factor);
/// }
/// let mut numbers = [1.0_f32, 2.0];
/// let factor = 3.0_f32;
/// let arguments = [
///     HostArg::Update(bytemuck::cast_slice_mut(&mut numbers)),
///     HostArg::Value(bytemuck::bytes_of(&factor)),
/// ];
/// scale(&mut HostCall::new([1, 1, 1], arguments));
/// assert_eq!(numbers, [3.0, 6.0]);
/// ```
#[derive(Debug)]
pub struct HostCall<'a> {
    groups: [u32; 3],
    arguments: VecDeque<HostArg<'a>>,
    taken: usize,
}

/// One argument, as bytes.
///
/// ```
/// use roving_gpu::{HostArg, HostCall};
///
/// let arguments = [HostArg::Read(&[1, 2, 3]), HostArg::Value(&[7])];
/// let mut call = HostCall::new([1, 1, 1], arguments);
/// assert_eq!(call.read::<u8>(), [1, 2, 3]);
/// assert_eq!(call.value::<u8>(), 7);
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum HostArg<'a> {
    /// A buffer that is only read.
    Read(&'a [u8]),
    /// A buffer that may be written.
    Update(&'a mut [u8]),
    /// A value.
    Value(&'a [u8]),
}

impl<'a> HostCall<'a> {
    /// Creates a launch of so many groups.
    ///
    /// ```
    /// use roving_gpu::{HostArg, HostCall};
    ///
    /// let call = HostCall::new([2, 1, 1], [HostArg::Value(&[7])]);
    /// assert_eq!(call.groups(), [2, 1, 1]);
    /// ```
    pub fn new(groups: [u32; 3], arguments: impl IntoIterator<Item = HostArg<'a>>) -> Self {
        HostCall {
            groups,
            arguments: arguments.into_iter().collect(),
            taken: 0,
        }
    }

    /// Returns the number of groups that were launched.
    ///
    /// ```
    /// use roving_gpu::HostCall;
    ///
    /// assert_eq!(HostCall::new([4, 2, 1], []).groups(), [4, 2, 1]);
    /// ```
    pub fn groups(&self) -> [u32; 3] {
        self.groups
    }

    /// Takes the next argument, a buffer that the kernel reads.
    ///
    /// # Panics
    /// If the next argument is a value, or does not consist of `T`s.
    ///
    /// ```
    /// use roving_gpu::{HostArg, HostCall};
    ///
    /// let mut call = HostCall::new([1, 1, 1], [HostArg::Read(&[1, 2])]);
    /// assert_eq!(call.read::<u8>(), [1, 2]);
    /// ```
    pub fn read<T: Pod>(&mut self) -> &'a [T] {
        match self.next() {
            // Nothing may be anywhere: an empty part of a buffer.
            HostArg::Read([]) => &[],
            HostArg::Read(bytes) => bytemuck::cast_slice(bytes),
            HostArg::Update([]) => &[],
            HostArg::Update(bytes) => bytemuck::cast_slice(bytes),
            HostArg::Value(_) => panic!("argument {} is a value, not a buffer", self.taken - 1),
        }
    }

    /// Takes the next argument, a buffer that the kernel may write.
    ///
    /// # Panics
    /// If the next argument is none, or does not consist of `T`s.
    ///
    /// ```
    /// use roving_gpu::{HostArg, HostCall};
    ///
    /// let mut bytes = [1, 2];
    /// let mut call = HostCall::new([1, 1, 1], [HostArg::Update(&mut bytes)]);
    /// call.update::<u8>()[0] = 9;
    /// assert_eq!(bytes, [9, 2]);
    /// ```
    pub fn update<T: Pod>(&mut self) -> &'a mut [T] {
        match self.next() {
            HostArg::Update([]) => &mut [],
            HostArg::Update(bytes) => bytemuck::cast_slice_mut(bytes),
            HostArg::Read(_) => panic!("argument {} may only be read", self.taken - 1),
            HostArg::Value(_) => panic!("argument {} is a value, not a buffer", self.taken - 1),
        }
    }

    /// Takes the next argument, a value.
    ///
    /// # Panics
    /// If the next argument is a buffer, or of another size.
    ///
    /// ```
    /// use roving_gpu::{HostArg, HostCall};
    ///
    /// let mut call = HostCall::new([1, 1, 1], [HostArg::Value(&[7, 0, 0, 0])]);
    /// assert_eq!(call.value::<u32>(), u32::from_ne_bytes([7, 0, 0, 0]));
    /// ```
    pub fn value<T: AnyBitPattern + NoUninit>(&mut self) -> T {
        match self.next() {
            HostArg::Value(bytes) => bytemuck::pod_read_unaligned(bytes),
            _ => panic!("argument {} is a buffer, not a value", self.taken - 1),
        }
    }

    fn next(&mut self) -> HostArg<'a> {
        self.taken += 1;
        self.arguments.pop_front().unwrap_or_else(|| {
            panic!(
                "argument {} was asked for; the launch has {}",
                self.taken - 1,
                self.taken - 1
            )
        })
    }
}
