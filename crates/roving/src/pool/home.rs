//! Whose global pool serves a thread that is no worker.

use super::Pool;

/// A global-pool selector: the pool that threads use which are no workers. A runtime that is built
/// on this one, such as the drop-in for Rayon, has a global pool that it configures itself.
pub trait Home {
    /// Starts the pool. Called when there is no global pool yet, or no longer.
    fn build() -> Pool;
}
