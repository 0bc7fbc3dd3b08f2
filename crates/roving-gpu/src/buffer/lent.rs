//! Copies that one device keeps for another one, which copies from them.

use std::fmt;
use std::sync::Arc;

use crate::backend::error::DeviceError;
use crate::backend::{Backend, Memory};

/// How a copy gets from the device of that name to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Direct(String),
    ByHost(String),
}

/// Told why a task has failed that had landed ahead, or that it has not.
pub(crate) type Down = Box<dyn FnOnce(Option<DeviceError>) + Send>;

/// A device that keeps a copy for another one, as that one knows it.
pub(crate) trait Lender: Send + Sync {
    fn name(&self) -> &str;
    fn backend(&self) -> &Arc<dyn Backend>;
    /// The stream of the task that has landed ahead and whose kernels write the copy, if there is
    /// one.
    fn writer_stream(&self) -> Option<usize>;
    /// The copy need not stay any more.
    fn take_back(&self);
    /// So many bytes were copied from it.
    fn gave(&self, bytes: usize);
    /// Tells when the task that writes the copy has come down; at once, if it has, or if there is
    /// none.
    fn when_down(&self, then: Down);
}

/// A valid copy on a device, which stays until this is dropped. Not to be dropped while a device is
/// locked.
pub(crate) struct Lent {
    // Dropped in this order: who gets the room next finds that nobody has the memory.
    memory: Memory,
    hold: LenderHold,
}

/// Keeps the copy where it is.
struct LenderHold(Arc<dyn Lender>);

impl Lent {
    pub(crate) fn new(lender: Arc<dyn Lender>, memory: Memory) -> Lent {
        let hold = LenderHold(lender);
        Lent { memory, hold }
    }

    pub(crate) fn lender(&self) -> &Arc<dyn Lender> {
        &self.hold.0
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }
}

impl Drop for LenderHold {
    fn drop(&mut self) {
        self.0.take_back();
    }
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent")
            .field("lender", &self.lender().name())
            .finish_non_exhaustive()
    }
}
