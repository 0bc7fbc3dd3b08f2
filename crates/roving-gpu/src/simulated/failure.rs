//! Failures of a simulated device.

/// The way in which a simulated device fails.
///
/// ```
/// use roving_gpu::{Failure, Simulated};
///
/// let _ = Simulated::new().fail_at(0, Failure::OutOfMemory).fail_at(5, Failure::Lost);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// It is gone, with its memory and with all that was under way.
    Lost,
    /// This operation finds no memory.
    OutOfMemory,
    /// This operation fails, having done half of its work.
    Kernel,
}
