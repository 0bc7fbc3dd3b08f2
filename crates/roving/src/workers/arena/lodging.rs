//! The kind of pool that is a share of an arena.

use std::ops::Range;
use std::sync::Arc;

use super::share::{Share, Station};
use super::stay::{Stay, keep_for_the_end};
use crate::workers::Worker;
use crate::workers::inject::JobKind;
use crate::workers::job::Job;
use crate::workers::outside_calls::call_from_outside;
use crate::workers::pool_kind::{PoolKind, Unfit};
use crate::workers::priority::Priority;
use crate::workers::registry::Registry;
use crate::workers::seats::Desk;
use crate::workers::wait::wait_here;

/// A pool that has no threads of its own: those of an arena come to its seats.
pub(super) struct Lodging {
    share: Arc<Share>,
}

impl Lodging {
    #[inline]
    pub(super) fn new(share: Share) -> Lodging {
        let share = Arc::new(share);
        Lodging { share }
    }
}

impl PoolKind for Lodging {
    #[inline]
    fn threads(&self, _workers: usize) -> Range<usize> {
        0..0
    }

    /// It has no threads that could be too few.
    #[inline]
    fn workers_least(&self, _wished: usize, workers: usize) -> usize {
        workers
    }

    #[inline]
    fn desk(&self, seat: usize) -> Option<Box<dyn Desk>> {
        Some(Box::new(Station::new(&self.share, seat)))
    }

    #[inline]
    fn unmade(&self) {
        self.share.close();
    }

    #[inline]
    fn begin(&self, pool: &Arc<Registry>) -> Result<(), Unfit> {
        self.share.belongs_to(Arc::downgrade(pool) as _);
        pool.put_to_sleep();
        Ok(())
    }

    /// A worker of another pool takes a seat here, if its thread is one of the arena's and there is
    /// one.
    #[inline]
    fn call(&self, pool: &Arc<Registry>, call: &mut dyn FnMut()) -> bool {
        Worker::with_waiting(|worker| {
            let Some(worker) = worker else {
                return false;
            };
            pool.check_has_threads();
            let number = self.share.core.number_here();
            let seat = number.and_then(|number| Stay(worker).seat_to_visit(pool, number));
            match seat {
                Some(seat) => Stay(worker).visit(pool, seat, call),
                None => call_from_outside(pool, Some(worker), call, |job| {
                    let woken = pool.inject_urgent(job);
                    pool.spares.call_waits(pool, woken);
                    // And that one a thread.
                    self.share.urge(Arc::as_ptr(pool).cast());
                }),
            }
            true
        })
    }

    #[inline]
    fn spawn(&self, pool: &Arc<Registry>, class: Priority, job: Job) {
        pool.check_has_threads();
        if let Some(job) = keep_for_the_end(pool, job) {
            pool.inject_in(class, JobKind::Detached, job);
        }
    }

    #[inline]
    fn close(&self, _pool: &Registry) -> bool {
        self.share.close();
        true
    }

    /// A task drops its own pool, which ends by itself when the task has.
    #[inline]
    fn end(&self, pool: &Arc<Registry>) -> Option<bool> {
        pool.close();
        let waits = !Worker::is_or_was(pool);
        if waits {
            wait_here(|| self.share.is_over());
            (pool.hooks.leave)(pool);
        }
        Some(waits)
    }
}
