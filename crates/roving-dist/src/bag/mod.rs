//! Bags: tasks of which nobody knows how many there will be, run by all ranks together.
//!
//! Within a rank the workers of a pool steal from each other. A rank that has nothing asks others:
//! lifeline-based global load balancing (Saraswat, Kambadur, Kodali, Grove and Krishnamoorthy,
//! PPoPP 2011). [`lifeline`] says whom it asks, [`segment`] who answers and with what,
//! [`engagement`] how the end is noticed, [`cut`] how checkpoints are made, and [`rank`] puts it
//! together.

mod cut;
mod engagement;
mod lifeline;
mod local;
mod message;
mod rank;
pub mod rules;
mod segment;
mod state;
mod tasks;

use std::any::type_name;
use std::sync::{Arc, Mutex, PoisonError};

use roving::Pool;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use local::Local;

use crate::checkpoint::{self, Checkpoints, Loaded, Which};
use crate::error::Error;
use crate::unwind;
use crate::world::World;
use cut::{Cuts, Saved};
use rank::{Rank, RankHoldings};
use state::SharedBag;
use tasks::Tasks;

/// A collection of tasks that all ranks run together: each may add more, and adds to a result. For
/// searches: a rank without tasks takes half of another's, until there are none.
///
/// ```
/// use roving_dist::{Bag, World};
///
/// /// The number of ways to put queens on the rest of a board of `n` rows.
/// fn queens(n: u32) -> u64 {
///     let results = World::threads(2, |world| {
///         let pool = roving::Pool::new(2).unwrap();
///         let root: Vec<u32> = Vec::new();
///         Bag::new(&world).run(&pool, Some(root), |columns, local| {
///             if columns.len() == n as usize {
///                 return *local.result() += 1;
///             }
///             for column in 0..n {
///                 let hits = |(row, other): (usize, &u32)| {
///                     let away = (columns.len() - row) as u32;
///                     column == *other || column.abs_diff(*other) == away
///                 };
///                 if !columns.iter().enumerate().any(hits) {
///                     let mut more = columns.clone();
///                     more.push(column);
///                     local.push(more);
///                 }
///             }
///         }, |a: u64, b| a + b)
///     });
///     results[0].clone().unwrap()
/// }
/// assert_eq!(queens(6), 4);
/// ```
#[derive(Debug)]
pub struct Bag<'world> {
    world: &'world World,
    checkpoints: Option<Checkpoints>,
}

impl<'world> Bag<'world> {
    /// Creates a bag of all ranks of `world`.
    ///
    /// ```
    /// let world = roving_dist::World::init()?;
    /// let bag = roving_dist::Bag::new(&world);
    /// # let _ = bag;
    /// # Ok::<(), roving_dist::Error>(())
    /// ```
    pub fn new(world: &'world World) -> Self {
        Bag {
            world,
            checkpoints: None,
        }
    }

    /// Writes the remaining tasks and the result so far to a directory, again and again, so that a
    /// run that was killed can resume.
    ///
    /// ```
    /// use roving_dist::{Bag, Checkpoints, World};
    /// use std::time::Duration;
    ///
    /// let directory = std::env::temp_dir().join(format!("roving-bag-example-{}", std::process::id()));
    /// let checkpoints = Checkpoints::to(&directory).every(Duration::from_secs(60)).resume(true);
    /// let world = World::init()?;
    /// let pool = roving::Pool::new(1).unwrap();
    /// let bag = Bag::new(&world).checkpoints(checkpoints);
    /// let sum = bag.run(&pool, 1..=4_u64, |n, local| local.add(n), |a, b| a + b)?;
    /// assert_eq!(sum, 10);
    /// # std::fs::remove_dir_all(&directory).unwrap();
    /// # Ok::<(), roving_dist::Error>(())
    /// ```
    #[must_use]
    pub fn checkpoints(mut self, checkpoints: Checkpoints) -> Self {
        self.checkpoints = Some(checkpoints);
        self
    }

    /// Runs the tasks in `roots` and all tasks that they add, and reduces their results. Every rank
    /// calls this, and every rank gets the result. The roots are those of rank 0; the others' are
    /// dropped.
    ///
    /// `reduce` has to be associative and commutative, and `R::default()` must change nothing: in
    /// which order tasks run, and where, depends on the run. A task should take a microsecond or
    /// more when it is sent to another rank, and may take as long as it likes; ranks that ask
    /// meanwhile wait for the next task's end.
    ///
    /// # Errors
    /// The run has failed on some rank, which the error names; it was cancelled there
    /// ([`roving::Cancel`]) before all tasks had ended, and the last checkpoint stays; or the
    /// checkpoints cannot be used.
    ///
    /// # Panics
    /// With what `work`, `reduce` or the iterator of roots panics with, on that rank; the others
    /// get an error.
    ///
    /// ```
    /// use roving_dist::{Bag, World};
    ///
    /// let leaves = World::threads(3, |world| {
    ///     let pool = roving::Pool::new(1).unwrap();
    ///     Bag::new(&world).run(&pool, [12_u32], |depth, local| {
    ///         if depth == 0 {
    ///             return local.add(1);
    ///         }
    ///         local.push(depth - 1);
    ///         local.push(depth - 1);
    ///     }, |a: u64, b| a + b)
    /// });
    /// assert_eq!(leaves, [Ok(4096), Ok(4096), Ok(4096)]);
    /// ```
    pub fn run<T, R>(
        &self,
        pool: &Pool,
        roots: impl IntoIterator<Item = T>,
        work: impl Fn(T, &mut Local<'_, T, R>) + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> Result<R, Error>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        R: Default + Serialize + DeserializeOwned + Send + 'static,
    {
        let link = self.world.link();
        let tag = link.tags(1);
        let (tasks, result) = (type_name::<T>(), type_name::<R>());
        let runs = format!("tasks `{tasks}` and result `{result}`");
        let checkpoints = self.checkpoints.as_ref();
        let (plan, parts) = checkpoint::open(self.world, checkpoints, "bag", runs, Which::Shared)?;
        let shared = Arc::new(SharedBag::new(link, tag, Cuts::new(link.ranks(), plan)));
        let rank = Rank {
            shared: Arc::clone(&shared),
            ranks: link.ranks(),
            workers: pool.workers(),
            work: &work,
            reduce: &reduce,
            held: Mutex::new(RankHoldings {
                tasks: Tasks::default(),
                result: None,
            }),
        };
        let handler = Arc::clone(&shared);
        self.caught("the roots of a bag", || {
            let nothing = R::default();
            rank.held().result = Some(nothing);
            match parts {
                Some(parts) => rank.restore(parts),
                None if link.rank() == 0 => rank.held().tasks.extend(roots),
                None => {}
            }
        });
        link.open(tag, move |from, bytes| handler.handle(from, bytes));
        let lead = || pool.install(|| rank.lead());
        let led = link.told("a task of a bag", lead);
        link.close(tag);
        // Whatever came: who resumes in the same directory must not find them at work.
        shared.wait_for_writers();
        unwind::resumed(led)?;
        let held = rank
            .held
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let result = self.caught("the result of a bag", || {
            self.gather(held.result.unwrap_or_default(), &reduce)
        })?;
        // After the end: what is on the disk is not needed any more.
        if let Some(files) = shared.files() {
            checkpoint::close(self.world, &files)?;
        }
        Ok(result)
    }

    /// Reduces the results of all ranks. Rank 0 does, and sends the total: no other rank gets more
    /// than that.
    fn gather<R>(&self, result: R, reduce: impl Fn(R, R) -> R) -> Result<R, Error>
    where
        R: Default + Serialize + DeserializeOwned,
    {
        let failed = |error: postcard::Error| self.world.fail(format_args!("a result: {error}"));
        let (mine, own) = match self.world.rank() {
            0 => (Vec::new(), Some(result)),
            _ => (postcard::to_stdvec(&result).map_err(failed)?, None),
        };
        let total = |parts: Vec<Vec<u8>>| {
            let mut total = own.unwrap_or_default();
            for bytes in parts.into_iter().skip(1) {
                total = reduce(total, postcard::from_bytes(&bytes).map_err(failed)?);
            }
            let bytes = match self.world.ranks() {
                1 => Vec::new(),
                _ => postcard::to_stdvec(&total).map_err(failed)?,
            };
            Ok((total, bytes))
        };
        let read = |bytes: &[u8]| postcard::from_bytes(bytes).map_err(failed);
        self.world.meet(&mine, total, read)
    }

    /// Calls `f`; a panic of it is an error on the other ranks, which says where it was.
    fn caught<V>(&self, which: &str, f: impl FnOnce() -> V) -> V {
        unwind::resumed(self.world.link().told(which, f))
    }
}

impl<T, R, F> Rank<'_, T, R, F>
where
    T: Serialize + DeserializeOwned + Send + 'static,
    R: Default + Serialize + DeserializeOwned + Send + 'static,
    F: Fn(T, &mut Local<'_, T, R>) + Sync,
{
    /// Goes on from a cut.
    fn restore(&self, parts: Loaded<Saved>) {
        let link = &self.shared.link;
        for (path, (tasks, result)) in parts {
            let tasks = tasks.iter().map(|tasks| whole::<Vec<T>>(tasks));
            let tasks = tasks.collect::<Option<Vec<_>>>();
            let (Some(tasks), Some(result)) = (tasks, whole(&result)) else {
                link.fail(format_args!(
                    "checkpoint `{}` has tasks or a result that this program cannot read: its types \
                     have changed since; take another directory",
                    path.display()
                ));
                return;
            };
            let tasks: Vec<T> = tasks.into_iter().flatten().collect();
            self.add(tasks.into(), result);
        }
    }
}

/// The value that these bytes are, and nothing else.
fn whole<V: DeserializeOwned>(bytes: &[u8]) -> Option<V> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Some(value),
        _ => None,
    }
}
