//! The arguments of a launch.

use std::fmt;
use std::ops::{Bound, Range, RangeBounds};

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
    Buffer(Part<'a>),
    Value(&'a [u8]),
    Shared(usize),
}

/// So many elements of a buffer from that one on.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) buffer: &'a dyn AnyBuffer,
    pub(crate) writable: bool,
    start: usize,
    len: usize,
}

impl Part<'_> {
    /// Where it is among the bytes of the buffer.
    pub(crate) fn bytes(&self) -> Range<usize> {
        let (_, each) = self.buffer.extent();
        self.start * each..(self.start + self.len) * each
    }
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
        Arg::whole(buffer, false)
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
        Arg::whole(buffer, true)
    }

    fn whole(buffer: &'a dyn AnyBuffer, writable: bool) -> Self {
        Arg(ArgKind::Buffer(Part {
            buffer,
            writable,
            start: 0,
            len: buffer.extent().0,
        }))
    }

    /// Passes these elements of the buffer only: the kernel finds them as a buffer of their number.
    /// The task declares the buffer as a whole, so tasks that want parts of one buffer take turns.
    ///
    /// Parts of one buffer may go to one launch, also where some are updated, if these overlap with
    /// no other. On devices of wgpu a part that is updated has whole words and begins at a multiple
    /// of so many bytes, at most 256, and one that is read begins with a whole word; the latter is
    /// copied first if it does not begin at such a multiple, or another part of the buffer is
    /// updated. A launch that does not keep to this is refused, and the CPU side runs
    /// ([`Cause::Kernel`](crate::Cause::Kernel)).
    ///
    /// # Panics
    /// If there are not so many elements, or the argument is a value.
    ///
    /// ```
    /// use roving_gpu::{Arg, Buffer, Choice, Devices, Dual, HostCall, Kernel, Kind, Simulated};
    ///
    /// static PREFIX: Kind = Kind::new("sums of rows");
    /// static ADD: Kernel = Kernel::new("add").host(|call: &mut HostCall<'_>| {
    ///     let (before, row) = (call.read::<u32>(), call.update::<u32>());
    ///     row.iter_mut().zip(before).for_each(|(x, y)| *x += y);
    /// });
    /// let backend = Simulated::new();
    /// let devices = Devices::builder().backend(backend).choice(Choice::Gpu).build().unwrap();
    /// let (rows, columns) = (4, 3);
    /// let matrix = Buffer::from(vec![1_u32; rows * columns]);
    /// let row = |row: usize| row * columns..(row + 1) * columns;
    /// let task = Dual::new(&PREFIX, &[rows, columns]).updates(&matrix).gpu(async |gpu| {
    ///     for at in 1..rows {
    ///         let (before, this) = (Arg::read(&matrix), Arg::update(&matrix));
    ///         let arguments = [before.part(row(at - 1)), this.part(row(at))];
    ///         drop(gpu.launch(&ADD, [1, 1, 1], &arguments)); // Launches are in their order.
    ///     }
    ///     Ok(())
    /// });
    /// task.run(&devices).unwrap();
    /// assert_eq!(matrix.into_vec(), [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn part(self, elements: impl RangeBounds<usize>) -> Self {
        let ArgKind::Buffer(whole) = self.0 else {
            panic!("only a buffer has parts");
        };
        let range = (
            elements.start_bound().cloned(),
            elements.end_bound().cloned(),
        );
        let start = match range.0 {
            Bound::Included(start) => start,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.1 {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => end,
            Bound::Unbounded => whole.len,
        };
        assert!(
            start <= end && end <= whole.len,
            "the part {start}..{end} of {} elements",
            whole.len
        );
        Arg(ArgKind::Buffer(Part {
            start: whole.start + start,
            len: end - start,
            ..whole
        }))
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

    /// Asks for so many bytes that the threads of a block share, where the number is known only
    /// when the program runs: on CUDA those of `extern __shared__`. It is no parameter of the
    /// kernel. Other devices take no notice: WGSL declares a `var<workgroup>` of its size, and a
    /// host function has variables.
    ///
    /// More than a block can have on the device is refused
    /// ([`Cause::Kernel`](crate::Cause::Kernel)).
    ///
    /// ```
    /// use roving_gpu::{Arg, Buffer, Choice, Devices, Dual, HostCall, Kernel, Kind, Simulated};
    ///
    /// static REVERSE: Kind = Kind::new("reverse");
    /// // SAFETY: each thread of the one block looks at one number of both, of which a launch has
    /// // as many as the block has threads.
    /// static KERNEL: Kernel = unsafe {
    ///     Kernel::new("reverse").cuda(
    ///         "extern __shared__ unsigned kept[];
    ///          extern \"C\" __global__ void reverse(unsigned *numbers) {
    ///              kept[threadIdx.x] = numbers[threadIdx.x];
    ///              __syncthreads();
    ///              numbers[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
    ///          }",
    ///         "reverse",
    ///         [64, 1, 1],
    ///     )
    /// }
    /// .host(|call: &mut HostCall<'_>| call.update::<u32>().reverse());
    ///
    /// let backend = Simulated::new();
    /// let devices = Devices::builder().backend(backend).choice(Choice::Gpu).build().unwrap();
    /// let numbers = Buffer::from((0..64_u32).collect::<Vec<_>>());
    /// let task = Dual::new(&REVERSE, &[64]).updates(&numbers).gpu(async |gpu| {
    ///     let arguments = [Arg::update(&numbers), Arg::shared(4 * numbers.len())];
    ///     gpu.launch(&KERNEL, [1, 1, 1], &arguments).await
    /// });
    /// task.run(&devices).unwrap();
    /// assert!(numbers.into_vec().into_iter().eq((0..64).rev()));
    /// ```
    pub fn shared(bytes: usize) -> Self {
        Arg(ArgKind::Shared(bytes))
    }
}

impl fmt::Debug for Arg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ArgKind::Buffer(part) => {
                f.write_str(if part.writable { "update" } else { "read" })?;
                if part.len == part.buffer.extent().0 {
                    return Ok(());
                }
                write!(f, " of {}..{}", part.start, part.start + part.len)
            }
            ArgKind::Value(bytes) => write!(f, "value of {} bytes", bytes.len()),
            ArgKind::Shared(bytes) => write!(f, "{bytes} bytes that are shared"),
        }
    }
}
