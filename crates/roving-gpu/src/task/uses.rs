//! The buffers that a task declares, by their types.

use std::fmt;

use sealed::{Sealed, UseList};

use crate::buffer::AnyBuffer;
use crate::buffer::hold::{Access, Use};

/// The buffers of a task; made by [`Dual::reads`](crate::Dual::reads) and its like.
///
/// ```
/// use roving_gpu::sides::{NoCpu, NoGpu, Uses};
/// use roving_gpu::{Buffer, Devices, Dual, Kind};
///
/// /// Gives a task its side, whatever buffers it has declared.
/// fn sum<U: Uses>(task: Dual<1, U, NoCpu, NoGpu>, numbers: &Buffer<u32>) -> u32 {
///     task.cpu(|| numbers.read().iter().sum::<u32>()).run(&Devices::none())
/// }
///
/// static SUM: Kind = Kind::new("sum");
/// let numbers = Buffer::from(vec![1, 2, 3]);
/// assert_eq!(sum(Dual::new(&SUM, &[3]).reads(&numbers), &numbers), 6);
/// ```
pub trait Uses: sealed::Sealed {}

/// The methods of [`Uses`]: out of the reach of other crates, which so cannot implement it.
pub(crate) mod sealed {
    use crate::buffer::hold::Use;

    pub trait Sealed: Send {
        fn collect(&self, into: &mut UseList);
        /// Whether the host has a valid copy of each buffer.
        fn are_home(&self) -> bool;
    }

    /// The buffers of a task, each once.
    #[derive(Debug, Default)]
    pub struct UseList(pub(crate) Vec<Use>);
}

/// One buffer of a task.
///
/// ```
/// use roving_gpu::sides::Used;
/// use roving_gpu::{Buffer, Devices, Dual, Kind};
///
/// static SUM: Kind = Kind::new("sum");
///
/// fn reader(numbers: &Buffer<u32>) -> Dual<1, ((), Used<'_>)> {
///     Dual::new(&SUM, &[numbers.len()]).reads(numbers)
/// }
///
/// let numbers = Buffer::from(vec![1, 2, 3]);
/// let sum = reader(&numbers).cpu(|| numbers.read().iter().sum::<u32>()).run(&Devices::none());
/// assert_eq!(sum, 6);
/// ```
#[derive(Clone, Copy)]
pub struct Used<'b> {
    pub(crate) buffer: &'b dyn AnyBuffer,
    pub(crate) access: Access,
}

/// Several buffers of a task.
///
/// ```
/// use roving_gpu::sides::UsedAll;
/// use roving_gpu::{Access, AnyBuffer, Buffer, Devices, Dual, Kind};
///
/// static SUM: Kind = Kind::new("sum");
///
/// fn reader(all: &[Buffer<u32>]) -> Dual<1, ((), UsedAll<'_>)> {
///     let all = all.iter().map(|one| (one as &dyn AnyBuffer, Access::Read));
///     Dual::new(&SUM, &[all.len()]).uses_all(all)
/// }
///
/// let all = [Buffer::from(vec![1, 2]), Buffer::from(vec![3])];
/// let sum = || all.iter().flat_map(|one| one.read().to_vec()).sum::<u32>();
/// assert_eq!(reader(&all).cpu(sum).run(&Devices::none()), 6);
/// ```
#[derive(Clone)]
pub struct UsedAll<'b>(pub(crate) Vec<Used<'b>>);

impl Uses for () {}
impl<U: Uses> Uses for (U, Used<'_>) {}
impl<U: Uses> Uses for (U, UsedAll<'_>) {}

impl Sealed for () {
    fn collect(&self, _: &mut UseList) {}

    #[inline(always)]
    fn are_home(&self) -> bool {
        true
    }
}

impl<U: Uses> Sealed for (U, Used<'_>) {
    fn collect(&self, into: &mut UseList) {
        self.0.collect(into);
        into.add(&self.1);
    }

    #[inline]
    fn are_home(&self) -> bool {
        self.0.are_home() && self.1.buffer.is_home()
    }
}

impl<U: Uses> Sealed for (U, UsedAll<'_>) {
    fn collect(&self, into: &mut UseList) {
        self.0.collect(into);
        self.1.0.iter().for_each(|used| into.add(used));
    }

    fn are_home(&self) -> bool {
        self.0.are_home() && self.1.0.iter().all(|used| used.buffer.is_home())
    }
}

impl UseList {
    fn add(&mut self, used: &Used<'_>) {
        let content = used.buffer.content().0;
        let access = used.access;
        match self
            .0
            .iter_mut()
            .find(|one| one.content.id() == content.id())
        {
            Some(known) if known.access != access => known.access = Access::Update,
            Some(_) => {}
            None => self.0.push(Use { content, access }),
        }
    }
}

impl fmt::Debug for Used<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.access)
    }
}

impl fmt::Debug for UsedAll<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}
