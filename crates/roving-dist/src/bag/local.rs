//! A task's view of the bag.

use super::tasks::Tasks;

/// The worker's part of a [`Bag`](crate::Bag), to which a task adds: its tasks, and its result so
/// far.
///
/// ```
/// use roving_dist::{Bag, World};
///
/// let pool = roving::Pool::new(1).unwrap();
/// let world = World::init()?;
/// let leaves = Bag::new(&world).run(&pool, [10_u32], |depth, local| {
///     if depth == 0 {
///         *local.result() += 1;
///     } else {
///         local.push(depth - 1);
///         local.push(depth - 1);
///     }
/// }, |a: u64, b| a + b)?;
/// assert_eq!(leaves, 1024);
/// # Ok::<(), roving_dist::Error>(())
/// ```
pub struct Local<'run, T, R> {
    pub(super) tasks: Tasks<T>,
    pub(super) result: R,
    pub(super) reduce: &'run (dyn Fn(R, R) -> R + Sync),
}

impl<T, R: Default> Local<'_, T, R> {
    /// Adds a task to the bag. The newest is run first, unless another worker or rank takes it.
    ///
    /// ```
    /// # use roving_dist::{Bag, World};
    /// # let (pool, world) = (roving::Pool::new(1).unwrap(), World::init()?);
    /// let sum = Bag::new(&world).run(&pool, [3_u32], |n, local| {
    ///     local.add(u64::from(n));
    ///     if n > 0 {
    ///         local.push(n - 1);
    ///     }
    /// }, |a: u64, b| a + b)?;
    /// assert_eq!(sum, 3 + 2 + 1);
    /// # Ok::<(), roving_dist::Error>(())
    /// ```
    #[inline]
    pub fn push(&mut self, task: T) {
        self.tasks.push(task);
    }

    /// Reduces `value` into the result.
    ///
    /// ```
    /// # use roving_dist::{Bag, World};
    /// # let (pool, world) = (roving::Pool::new(1).unwrap(), World::init()?);
    /// let longest = Bag::new(&world).run(
    ///     &pool,
    ///     ["a", "bag", "of"].map(String::from),
    ///     |word, local| local.add(word.len()),
    ///     usize::max,
    /// )?;
    /// assert_eq!(longest, 3);
    /// # Ok::<(), roving_dist::Error>(())
    /// ```
    #[inline]
    pub fn add(&mut self, value: R) {
        let result = std::mem::take(&mut self.result);
        self.result = (self.reduce)(result, value);
    }

    /// Returns this worker's result since it last gave its result away, to be changed in place.
    ///
    /// ```
    /// # use roving_dist::{Bag, World};
    /// # let (pool, world) = (roving::Pool::new(1).unwrap(), World::init()?);
    /// let count = Bag::new(&world).run(&pool, [(), ()], |(), local| *local.result() += 1, |a: u64, b| a + b)?;
    /// assert_eq!(count, 2);
    /// # Ok::<(), roving_dist::Error>(())
    /// ```
    #[inline]
    pub fn result(&mut self) -> &mut R {
        &mut self.result
    }

    /// Takes every other task, beginning with the oldest: half of the large and half of the small
    /// ones.
    pub(super) fn half(&mut self) -> Tasks<T> {
        let mut taken = Vec::with_capacity(self.tasks.len().div_ceil(2));
        let mut kept = Vec::with_capacity(self.tasks.len());
        for (place, task) in self.tasks.drain(..).enumerate() {
            match place % 2 {
                0 => taken.push(task),
                _ => kept.push(task),
            }
        }
        *self.tasks = kept;
        taken.into()
    }
}

impl<T, R> std::fmt::Debug for Local<'_, T, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Local")
            .field("tasks", &self.tasks.len())
            .finish_non_exhaustive()
    }
}
