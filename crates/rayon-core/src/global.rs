//! The global pool, and what the calling thread is.

use roving::Pool;
use roving::raw;
use roving::raw::calls::{Home, Target};

use crate::ThreadPoolBuilder;

/// Where the calls of threads that are no workers go.
pub(crate) struct Global;

impl Home for Global {
    fn build() -> Pool {
        let pool = match ThreadPoolBuilder::new().build_pool() {
            Err(error) if error.is_unsupported() && current_thread_index().is_none() => {
                let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
                alone.build_pool()
            }
            other => other,
        };
        pool.unwrap_or_else(|error| panic!("the global thread pool cannot be started: {error}"))
    }
}

/// The pool that the calling thread works for, or the global one.
pub(crate) fn with_current<R>(f: impl FnOnce(Target<'_>) -> R) -> R {
    Target::with_current::<Global, R>(f)
}

/// The most threads that one pool can have. Who asks for more gets as many.
///
/// ```
/// assert!(rayon_core::max_num_threads() >= 256);
/// ```
pub fn max_num_threads() -> usize {
    raw::calls::WORKERS_LIMIT
}

/// The number of threads of the current pool: the one that the calling thread works for, or the
/// global one, which is started if need be. Compensation threads do not count.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
/// assert_eq!(pool.install(rayon_core::current_num_threads), 3);
/// ```
pub fn current_num_threads() -> usize {
    with_current(|pool| pool.workers())
}

/// The index of the calling thread in its pool; `None` for a thread of no pool. No two threads of a
/// pool have the same index at a time. For compensation threads see [the crate's
/// page](crate#what-differs).
///
/// ```
/// assert_eq!(rayon_core::current_thread_index(), None);
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// assert_eq!(pool.install(rayon_core::current_thread_index), Some(0));
/// ```
pub fn current_thread_index() -> Option<usize> {
    raw::waits::lent_index()
}

/// Whether the calling thread has tasks of its own that nobody has begun; `None` for a thread of no
/// pool.
///
/// ```
/// assert_eq!(rayon_core::current_thread_has_pending_tasks(), None);
/// rayon_core::scope(|_| {
///     assert_eq!(rayon_core::current_thread_has_pending_tasks(), Some(false));
/// });
/// ```
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    raw::waits::has_pending()
}
