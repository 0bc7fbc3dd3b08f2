//! All the buffers of one task, held while it is on a device.

use std::fmt;
use std::sync::Arc;
use std::task::{Poll, Waker};

use super::content::{BufferWaiter, Content, Need};

/// A task's access to a buffer: see [`Dual::uses`](crate::Dual::uses).
///
/// ```
/// use roving_gpu::{Access, Buffer, Devices, Dual, Kind};
///
/// static FILL: Kind = Kind::new("fill");
/// let numbers = Buffer::from(vec![0; 3]);
/// Dual::new(&FILL, &[3])
///     .uses(&numbers, Access::Write)
///     .cpu(|| numbers.write().fill(7))
///     .run(&Devices::none());
/// assert_eq!(numbers.into_vec(), [7; 3]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It must be valid where the task runs, and stays as it is.
    Read,
    /// It must be valid where the task runs, and is changed.
    Update,
    /// All of it is written, and what it was before does not matter.
    Write,
}

impl Access {
    pub(crate) fn reads(self) -> bool {
        self != Access::Write
    }

    pub(crate) fn writes(self) -> bool {
        self != Access::Read
    }
}

/// A buffer that a task uses, and how.
#[derive(Clone)]
pub(crate) struct Use {
    pub(crate) content: Arc<dyn Content>,
    pub(crate) access: Access,
}

impl fmt::Debug for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.access, self.content.id())
    }
}

/// The right to use all of them. Given back when it is dropped.
#[derive(Debug)]
pub(crate) struct HeldBuffers(Vec<Use>);

impl HeldBuffers {
    /// All or none, so that nobody who holds one waits for another. Wakes when it may be worth
    /// another try.
    pub(crate) fn poll(
        uses: &[Use],
        waiter: &mut BufferWaiter,
        waker: &Waker,
    ) -> Poll<HeldBuffers> {
        let mut held = HeldBuffers(Vec::with_capacity(uses.len()));
        for one in uses {
            if !one.content.try_hold(one.access.writes(), waiter, waker) {
                return Poll::Pending;
            }
            held.0.push(one.clone());
        }
        Poll::Ready(held)
    }
}

/// A task that waits for buffers. It waits no more when this is dropped: its wakers would stay
/// there for as long as somebody else holds them.
pub(crate) struct WaitingTask<'a> {
    uses: &'a [Use],
    need: Need,
}

impl WaitingTask<'_> {
    pub(crate) fn new(uses: &[Use]) -> WaitingTask<'_> {
        let need = Need::default();
        WaitingTask { uses, need }
    }

    /// [`HeldBuffers::poll`].
    pub(crate) fn poll_held(&mut self, waker: &Waker) -> Poll<HeldBuffers> {
        HeldBuffers::poll(self.uses, &mut self.need.waiter, waker)
    }

    /// [`Content::poll_host`] of its one buffer.
    pub(crate) fn poll_host(&mut self, waker: &Waker) -> Poll<Result<(), String>> {
        let [one] = self.uses else {
            unreachable!("it asks for one at a time");
        };
        Arc::clone(&one.content).poll_host(&mut self.need, waker)
    }
}

impl Drop for WaitingTask<'_> {
    fn drop(&mut self) {
        for one in self.uses {
            one.content.leave(&self.need.waiter);
        }
    }
}

impl Drop for HeldBuffers {
    fn drop(&mut self) {
        for one in &self.0 {
            one.content.release(one.access.writes());
        }
    }
}
