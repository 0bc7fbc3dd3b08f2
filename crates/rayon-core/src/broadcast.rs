//! Once on each thread of a pool.

use std::fmt;
use std::marker::PhantomData;

use roving::raw::calls::Target;

use crate::global::with_current;

/// Calls `op` once on each thread of the current pool and returns the results in the order of their
/// indices. A busy thread gets to it when it has finished what it does; one that waits in a `join`
/// or the like, at once.
///
/// # Panics
/// With the payload of one call that panicked, when all have ended.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
/// let squares = pool.install(|| rayon_core::broadcast(|context| context.index().pow(2)));
/// assert_eq!(squares, [0, 1, 4]);
/// ```
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    with_current(|pool| broadcast_in(pool, op))
}

/// See [`fn@broadcast`].
pub(crate) fn broadcast_in<OP, R>(pool: Target<'_>, op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let threads = pool.workers();
    pool.broadcast(|index| op(BroadcastContext::new(index, threads)))
}

/// As [`fn@broadcast`], and does not wait for it. Panics go to the pool's panic handler.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// rayon_core::spawn_broadcast(move |context| sender.send(context.index()).unwrap());
/// assert_eq!(receiver.into_iter().count(), rayon_core::current_num_threads());
/// ```
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    with_current(|pool| spawn_broadcast_in(pool, op));
}

/// See [`spawn_broadcast`].
pub(crate) fn spawn_broadcast_in<OP>(pool: Target<'_>, op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    let threads = pool.workers();
    pool.spawn_broadcast(move |index| op(BroadcastContext::new(index, threads)));
}

/// Which call of a broadcast this is.
///
/// ```
/// rayon_core::broadcast(|context| assert!(context.index() < context.num_threads()));
/// ```
pub struct BroadcastContext<'a> {
    index: usize,
    num_threads: usize,
    /// Neither `Send` nor `Sync`, and for this call only.
    here: PhantomData<&'a mut dyn Fn()>,
}

impl BroadcastContext<'_> {
    pub(crate) fn new(index: usize, num_threads: usize) -> Self {
        BroadcastContext {
            index,
            num_threads,
            here: PhantomData,
        }
    }

    /// The index of the thread that makes this call.
    ///
    /// ```
    /// let indices = rayon_core::broadcast(|context| context.index());
    /// assert_eq!(indices[0], 0);
    /// ```
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many threads make such a call.
    ///
    /// ```
    /// let threads = rayon_core::current_num_threads();
    /// rayon_core::broadcast(|context| assert_eq!(context.num_threads(), threads));
    /// ```
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.num_threads
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index)
            .field("num_threads", &self.num_threads)
            .finish()
    }
}
