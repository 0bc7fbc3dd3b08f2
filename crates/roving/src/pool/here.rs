//! The pool that one is in, and the global one, to be called like any other.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::sync::Arc;

use super::Pool;
use super::global::{self, Lease};
use crate::workers::Worker;
use crate::workers::registry::Registry;
use crate::workers::worker::adopted::Adopted;

/// A pool that somebody else keeps: the one that the calling thread works for
/// ([`Pool::current`]), or the global one ([`Pool::global`]). It has all that a [`Pool`] has, but
/// dropping it ends nothing.
///
/// It stays on the thread that asked for it, because another one may outlive the pool: ask again
/// there, or share a pool of your own in an [`Arc`]. Keep it briefly: a global pool that is shut
/// down waits for it.
///
/// # Panics
/// Its use panics on a thread that was [adopted](crate::PoolBuilder::adopt_current_thread) and has
/// left, because the pool was dropped.
///
/// ```
/// use roving::PoolRef;
///
/// let pool = roving::Pool::new(3).unwrap();
/// pool.install(|| {
///     let here: PoolRef = roving::Pool::current();
///     assert_eq!(here.workers(), 3);
/// });
/// ```
pub struct PoolRef(HereOrGlobal);

// As for a `Pool`: a panic leaves it as it was.
impl UnwindSafe for PoolRef {}
impl RefUnwindSafe for PoolRef {}

/// The pool of the calling worker, or the global one.
enum HereOrGlobal {
    /// Without its arena, and not to be dropped as a pool: it is not this one's to end.
    Here(ManuallyDrop<Pool>),
    Global(Lease),
}

impl PoolRef {
    #[inline]
    fn pool(&self) -> &Pool {
        match &self.0 {
            HereOrGlobal::Here(pool) => pool,
            HereOrGlobal::Global(lease) => lease,
        }
    }

    #[inline]
    fn here(registry: &Arc<Registry>) -> PoolRef {
        let pool = Pool {
            registry: Arc::clone(registry),
            _arena: None,
        };
        PoolRef(HereOrGlobal::Here(ManuallyDrop::new(pool)))
    }
}

impl Deref for PoolRef {
    type Target = Pool;

    fn deref(&self) -> &Pool {
        let pool = self.pool();
        // A pool that ends might run nothing that a thread gives it which is its worker no longer.
        let is_ended = pool.registry.crew.is_closing() && matches!(self.0, HereOrGlobal::Here(_));
        if is_ended && !Worker::is_or_was(&pool.registry) {
            has_left(&pool.registry);
        }
        pool
    }
}

#[cold]
fn has_left(pool: &Registry) -> ! {
    let name = &pool.settings.name;
    panic!(
        "the pool `{name}` was dropped, and this thread, which it had adopted, has left it: ask for \
         the current pool again"
    )
}

impl Drop for PoolRef {
    #[inline]
    fn drop(&mut self) {
        if let HereOrGlobal::Here(pool) = &self.0 {
            // SAFETY: the pool is not used again, nor dropped; there is no arena in it.
            drop(unsafe { ptr::read(&raw const pool.registry) });
        }
    }
}

impl fmt::Debug for PoolRef {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PoolRef").field(self.pool()).finish()
    }
}

impl Pool {
    /// Returns the pool that the calling thread works for; the global one, on a thread that is no
    /// worker. A library that uses it has no threads of its own, and computes where its caller
    /// does. Costs two atomic operations.
    ///
    /// ```
    /// use roving::{Pool, Priority};
    ///
    /// let pool = Pool::new(2).unwrap();
    /// let name = || std::thread::current().name().map(str::to_owned);
    /// let there = pool.install(|| Pool::current().spawn_with(Priority::High, name).join());
    /// assert!(there.unwrap().unwrap().starts_with("roving"));
    /// ```
    #[inline]
    pub fn current() -> PoolRef {
        Worker::with_current(|worker| match worker {
            Some(worker) if !Adopted(worker).leaves() => PoolRef::here(worker.registry()),
            _ => Pool::global(),
        })
    }

    /// Returns the global pool, which is started if there is none; see [`Self::current`].
    ///
    /// ```
    /// let pool = roving::Pool::global();
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// assert!(pool.profile().workers.len() >= pool.workers());
    /// ```
    #[inline]
    pub fn global() -> PoolRef {
        PoolRef(HereOrGlobal::Global(global::of::<global::Roving>()))
    }
}
