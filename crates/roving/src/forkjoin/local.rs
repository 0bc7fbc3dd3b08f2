//! `WorkerLocal`: one value a worker.

use std::cell::OnceCell;
use std::fmt;
use std::sync::Arc;

use crate::machine::prim::Padded;
use crate::pool::with_current_registry;
use crate::workers::Worker;
use crate::workers::registry::Registry;

/// One value for each worker of a pool, made when the worker first asks for it. No two workers
/// share a cache line. Use a `Cell` or `RefCell` inside to change it: a worker that waits in a
/// `join` may run another part of the same computation, which sees the same value.
///
/// ```
/// use std::cell::Cell;
/// use roving::{Pool, WorkerLocal, par_for};
///
/// let pool = Pool::new(2).unwrap();
/// let total: u64 = pool.install(|| {
///     let sums = WorkerLocal::new(|| Cell::new(0));
///     par_for(0..1000, |i| {
///         sums.with(|sum| sum.set(sum.get() + i as u64));
///     });
///     sums.into_iter().map(Cell::into_inner).sum()
/// });
/// assert_eq!(total, 499_500);
/// ```
pub struct WorkerLocal<T> {
    registry: Arc<Registry>,
    values: Box<[Padded<OnceCell<T>>]>,
    init: Box<dyn Fn() -> T + Send + Sync>,
}

// SAFETY: each cell is used by one worker's thread alone (`with`), or through `&mut`. The values
// are made on one thread and dropped on another, so they have to be `Send`.
unsafe impl<T: Send> Sync for WorkerLocal<T> {}

impl<T: Send> WorkerLocal<T> {
    /// Creates values for the workers of the current pool: the one that the calling thread works
    /// for, or the global one. `init` makes each value when it is first asked for.
    ///
    /// ```
    /// let local = roving::WorkerLocal::new(Vec::<u8>::new);
    /// assert_eq!(local.into_iter().count(), 0);
    /// ```
    pub fn new(init: impl Fn() -> T + Send + Sync + 'static) -> WorkerLocal<T> {
        let registry = with_current_registry(Arc::clone);
        let values = (0..registry.seats.most())
            .map(|_| Padded(OnceCell::new()))
            .collect();
        WorkerLocal {
            registry,
            values,
            init: Box::new(init),
        }
    }

    /// Calls `f` with the calling worker's value. Must not be called by `init`.
    ///
    /// # Panics
    /// The calling thread is no worker of the pool: a value that nobody changed there would be
    /// missing from the result. Where that is meant, call [`Self::try_with`].
    ///
    /// ```
    /// let pool = roving::Pool::new(1).unwrap();
    /// let local = pool.install(|| roving::WorkerLocal::new(|| 5));
    /// assert_eq!(pool.install(|| local.with(|value| *value)), 5);
    /// ```
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        match self.try_with(f) {
            Some(result) => result,
            None => outside(&self.registry),
        }
    }

    /// Calls `f` with the calling worker's value; `None` on a thread that is no worker of the pool.
    /// Must not be called by `init`.
    ///
    /// ```
    /// let pool = roving::Pool::new(1).unwrap();
    /// let local = pool.install(|| roving::WorkerLocal::new(|| 5));
    /// assert_eq!(local.try_with(|value| *value), None);
    /// assert_eq!(pool.install(|| local.try_with(|value| *value)), Some(5));
    /// ```
    pub fn try_with<R>(&self, f: impl FnOnce(&T) -> R) -> Option<R> {
        // The reference must not outlive the call: in an in-place pool another thread may be the
        // same worker after it.
        let index = Worker::with_current(|worker| {
            let mine = worker.filter(|worker| Arc::ptr_eq(worker.registry(), &self.registry));
            mine.map(Worker::index)
        })?;
        let cell = &self.values[index];
        cell.get_or_init(&self.init);
        // The cell made the reference that it has just returned by a mutable one, which ends when a
        // call inside of `f` reads the value. This one is shared.
        cell.get().map(f)
    }

    /// Returns the values that have been made.
    ///
    /// ```
    /// let pool = roving::Pool::new(1).unwrap();
    /// let mut local = pool.install(|| roving::WorkerLocal::new(|| 5));
    /// pool.install(|| local.with(|_| ()));
    /// local.iter_mut().for_each(|value| *value += 1);
    /// assert_eq!(local.into_iter().collect::<Vec<_>>(), [6]);
    /// ```
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut().filter_map(|value| value.0.get_mut())
    }
}

/// Panics, with the names of the pool whose value was asked for and of the one that did.
#[cold]
#[inline(never)]
#[track_caller]
fn outside(of: &Registry) -> ! {
    let of = &of.settings.name;
    let here =
        Worker::with_current(|worker| worker.map(|worker| worker.registry().settings.name.clone()));
    let here = match here {
        Some(name) => format!("a worker of another pool, `{name}`"),
        None => "a thread that is no worker".to_owned(),
    };
    panic!(
        "a WorkerLocal of the pool `{of}` has no value for {here}: call `with` inside of its own \
         pool, or `try_with`"
    )
}

impl<T> IntoIterator for WorkerLocal<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    /// The values that have been made, in the order of the workers.
    fn into_iter(self) -> Self::IntoIter {
        let values = self
            .values
            .into_iter()
            .filter_map(|value| value.0.into_inner());
        values.collect::<Vec<T>>().into_iter()
    }
}

impl<T> fmt::Debug for WorkerLocal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerLocal").finish_non_exhaustive()
    }
}
