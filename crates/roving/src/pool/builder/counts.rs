//! The builder's settings for the number of workers, and for whose threads they get.

use super::PoolBuilder;
use crate::machine::os;
use crate::pool::error::{BuildError, Reason};
use crate::replay;
use crate::workers::arena::Arena;
use crate::workers::priority::Priority;
use crate::workers::settings::WORKERS_LIMIT;
use crate::workers::sleep::spares::StandIn;

impl PoolBuilder {
    /// Sets the number of workers to which the pool can be [resized](crate::Pool::resize), 1 to
    /// 768. By default the number that it starts with. Inactive workers have threads all the same,
    /// which sleep.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(1).workers_max(2).build().unwrap();
    /// assert_eq!((pool.workers(), pool.workers_max()), (1, 2));
    /// ```
    pub fn workers_max(mut self, workers: usize) -> PoolBuilder {
        self.workers_max = Some(workers);
        self
    }

    /// Resizes the pool by itself when the process may use more or fewer processors than before, as
    /// [`crate::Pool::refresh_quota`] does when it is called. Checked when work comes from outside,
    /// at most once a second; no thread is started for it. Off by default. Without
    /// [`Self::workers`] and [`Self::workers_max`] the pool can grow to as many workers as the
    /// machine has processors.
    ///
    /// ```
    /// let pool = roving::Pool::builder().follow_quota(true).build().unwrap();
    /// assert!(pool.workers() <= pool.workers_max());
    /// ```
    pub fn follow_quota(mut self, follow: bool) -> PoolBuilder {
        self.follow_quota = follow;
        self
    }

    /// Makes the pool a share of an arena: it has no threads of its own, and the arena's threads
    /// come when it has work. See [`Arena`].
    ///
    /// ```
    /// use roving::{Arena, Pool};
    ///
    /// let arena = Arena::new(2)?;
    /// let pool = Pool::builder().arena(&arena).workers(1).build()?;
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    #[inline]
    pub fn arena(mut self, arena: &Arena) -> PoolBuilder {
        self.arena = Some(Box::new(arena.clone()));
        self
    }

    /// Sets how many tasks of [`Pool::try_spawn`](crate::Pool::try_spawn) may wait for a worker:
    /// one more is refused. A task that has begun does not count, nor do those of
    /// [`Pool::spawn`](crate::Pool::spawn), calls of [`Pool::install`](crate::Pool::install) and
    /// anything else, none of which is ever refused. No limit by default.
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(1).queue_limit(1).build()?;
    /// pool.install(|| {
    ///     assert!(pool.try_spawn(|| ()).is_ok());
    ///     assert!(pool.try_spawn(|| ()).is_err(), "the only worker is here, and one task waits");
    ///     assert!(!pool.spawn(|| ()).is_finished(), "not refused");
    /// });
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    pub fn queue_limit(mut self, limit: usize) -> PoolBuilder {
        self.queue_limit = Some(limit);
        self
    }

    /// Sets the pool's class among the shares of its arena; [`Priority::Normal`] by default.
    /// Without an arena it has no effect.
    ///
    /// ```
    /// use roving::{Arena, Priority};
    ///
    /// let arena = Arena::new(2)?;
    /// let background = arena.pool().priority(Priority::Low).build()?;
    /// assert_eq!(background.install(|| 6 * 7), 42);
    /// # Ok::<(), roving::BuildError>(())
    /// ```
    pub fn priority(mut self, priority: Priority) -> PoolBuilder {
        self.priority = priority;
        self
    }

    fn is_replayed(&self) -> bool {
        self.schedule.is_asked()
    }

    /// How many workers work at first, how many there can be, and how many have to start.
    pub(super) fn counts(&self, cores: usize) -> Result<(usize, usize, usize), BuildError> {
        let threads = self.arena.as_ref().map(|arena| arena.threads());
        let size = match (self.is_replayed(), self.in_place.is_some()) {
            (true, _) => self.workers.unwrap_or(replay::WORKERS),
            (false, true) => 1,
            (false, false) => self.workers.or(threads).unwrap_or(cores),
        };
        let most = self.most(size, cores);
        for count in [size, most] {
            if count == 0 || count > WORKERS_LIMIT {
                return Err(Reason::Workers(count).into());
            }
        }
        if size > most {
            let workers = size;
            return Err(Reason::Size { workers, most }.into());
        }
        let least = match self.in_place.is_some() && !self.is_replayed() {
            true => most,
            false => self.workers_least.unwrap_or(most),
        };
        if least == 0 || least > most {
            return Err(Reason::WorkersLeast(least, most).into());
        }
        Ok((size, most, least))
    }

    /// How many workers the pool can have, if it starts with `size`.
    fn most(&self, size: usize, cores: usize) -> usize {
        if self.in_place.is_some() && !self.is_replayed() {
            return size;
        }
        let is_own = self.arena.is_none() && !self.is_replayed();
        let grows = self.follow_quota && self.workers.is_none() && is_own;
        let machine = match grows {
            true => os::online().unwrap_or(cores).min(WORKERS_LIMIT),
            false => size,
        };
        self.workers_max.unwrap_or(machine.max(size))
    }

    /// Refuses the settings that a share of an arena cannot have.
    pub(super) fn check_share(&self) -> Result<(), BuildError> {
        let Some(arena) = &self.arena else {
            return Ok(());
        };
        if let Some(name) = arena.left_behind() {
            return Err(Reason::LeftBehind(name.to_owned()).into());
        }
        let refused = [
            (self.pin.is_some(), "pin"),
            (self.stack_size.is_some(), "stack_size"),
            (self.in_place.is_some(), "caller_runs"),
            (self.adopts.is_some(), "adopt_current_thread"),
            (self.is_replayed(), "deterministic"),
            (self.stand_in != StandIn::ForAll, "stand_in"),
        ];
        match refused.into_iter().find(|(is_set, _)| *is_set) {
            Some((_, what)) => Err(Reason::Share(what).into()),
            None => Ok(()),
        }
    }
}
