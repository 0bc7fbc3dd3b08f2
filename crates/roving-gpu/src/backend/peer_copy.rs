//! Copies from one device to another.

use std::fmt;
use std::sync::Arc;

use super::error::DeviceError;
use super::{Backend, Done, Memory, Outcome, Remains};

/// A copy from another device of the machine. Nobody writes what it copies until it is ended.
///
/// ```
#[doc = two!()]
/// // The back-end `Card` has vectors as its memory; its method `copy` is this one.
/// fn copy(copy: PeerCopy) {
///     let from = copy.from().get::<Bytes>().unwrap().lock().unwrap().clone();
///     copy.to().get::<Bytes>().unwrap().lock().unwrap().copy_from_slice(&from);
///     copy.done(Ok(Duration::ZERO));
/// }
/// assert_eq!(run(copy), Ok(vec![1, 2, 3]));
/// ```
pub struct PeerCopy {
    pub(crate) source: Arc<dyn Backend>,
    pub(crate) source_stream: Option<usize>,
    pub(crate) from: Memory,
    pub(crate) to: Memory,
    pub(crate) bytes: usize,
    pub(crate) done: Done,
}

impl PeerCopy {
    /// Returns the other device, and that of its streams on which the bytes are still to be
    /// written, if they are.
    ///
    /// ```
    #[doc = two!()]
    /// // The back-end `Card` has vectors as its memory; its method `copy` is this one.
    /// fn copy(copy: PeerCopy) {
    ///     let (device, stream) = copy.source();
    ///     assert_eq!((device.name().as_str(), stream), ("card of 3", None));
    ///     copy.done(Ok(Duration::ZERO)); // though it has not copied anything
    /// }
    /// assert_eq!(run(copy), Ok(vec![0, 0, 0]));
    /// ```
    pub fn source(&self) -> (&dyn Backend, Option<usize>) {
        (&*self.source, self.source_stream)
    }

    /// Returns the memory of the other device to copy from.
    ///
    /// ```
    #[doc = two!()]
    /// // The back-end `Card` has vectors as its memory; its method `copy` is this one.
    /// fn copy(copy: PeerCopy) {
    ///     let from = copy.from().get::<Bytes>().unwrap().lock().unwrap().clone();
    ///     assert_eq!(from, [1, 2, 3]);
    ///     copy.done(Ok(Duration::ZERO)); // though it has not copied anything
    /// }
    /// assert_eq!(run(copy), Ok(vec![0, 0, 0]));
    /// ```
    pub fn from(&self) -> &Memory {
        &self.from
    }

    /// Returns the memory to copy to.
    ///
    /// ```
    #[doc = two!()]
    /// // The back-end `Card` has vectors as its memory; its method `copy` is this one.
    /// fn copy(copy: PeerCopy) {
    ///     copy.to().get::<Bytes>().unwrap().lock().unwrap().fill(9);
    ///     copy.done(Ok(Duration::ZERO));
    /// }
    /// assert_eq!(run(copy), Ok(vec![9, 9, 9]));
    /// ```
    pub fn to(&self) -> &Memory {
        &self.to
    }

    /// Returns how many bytes are to be copied, which is what both memories were made for.
    ///
    /// ```
    #[doc = two!()]
    /// // The back-end `Card` has vectors as its memory; its method `copy` is this one.
    /// fn copy(copy: PeerCopy) {
    ///     assert_eq!(copy.bytes(), 3);
    ///     copy.done(Ok(Duration::ZERO)); // though it has not copied anything
    /// }
    /// assert_eq!(run(copy), Ok(vec![0, 0, 0]));
    /// ```
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Ends it.
    ///
    /// ```
    #[doc = two!()]
    /// // The back-end `Card` has vectors as its memory; its method `copy` is this one.
    /// fn copy(copy: PeerCopy) {
    ///     copy.done(Err(DeviceError::new(Cause::Lost, "it was pulled out")));
    /// }
    /// assert_eq!(run(copy), Err(Cause::Lost));
    /// ```
    pub fn done(self, outcome: Outcome) {
        self.end(outcome, Remains::Nothing);
    }

    /// Ends it because the other device cannot give what was to be copied: this one is as good as
    /// before, and its task fails by [`Cause::Peer`](crate::Cause::Peer).
    ///
    /// ```
    #[doc = two!()]
    /// // The back-end `Card` has vectors as its memory; its method `copy` is this one.
    /// fn copy(copy: PeerCopy) {
    ///     copy.refused(DeviceError::new(Cause::Lost, "the other was pulled out"));
    /// }
    /// assert_eq!(run(copy), Err(Cause::Peer));
    /// ```
    pub fn refused(self, error: DeviceError) {
        self.end(Err(error), Remains::Untouched);
    }

    fn end(self, outcome: Outcome, left: Remains) {
        let PeerCopy {
            source,
            from,
            to,
            done,
            ..
        } = self;
        drop((from, to));
        done.call(outcome, left);
        drop(source);
    }
}

impl fmt::Debug for PeerCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerCopy")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}
