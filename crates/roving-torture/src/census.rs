//! Counted values: each that is made must be dropped, once. Counts lie in shards, so that counting
//! puts no order between the threads that are under test.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::random::mix2;

const SHARDS: usize = 64;

thread_local! {
    static SHARD: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Where the calling thread counts.
pub(crate) fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let known = SHARD.try_with(Cell::get).unwrap_or(0);
    if known != usize::MAX {
        return known;
    }
    let shard = NEXT.fetch_add(1, Relaxed) % SHARDS;
    // A thread that is on its way out counts in the first.
    let _ = SHARD.try_with(|own| own.set(shard));
    shard
}

#[derive(Default)]
#[repr(align(128))]
struct Shard {
    made: AtomicU64,
    dropped: AtomicU64,
    /// The sum of the numbers of those made less those dropped: 0 only when they are the same ones.
    balance: AtomicU64,
    ran: AtomicU64,
}

/// The counts of one program.
pub(crate) struct Census {
    shards: [Shard; SHARDS],
    jobs: Mutex<Jobs>,
    ended: Condvar,
}

/// The counts of detached jobs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jobs {
    pub(crate) ended: u64,
    pub(crate) sum: u64,
    /// The numbers of the panics.
    pub(crate) panics: Vec<u32>,
}

/// The counts of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) made: u64,
    pub(crate) dropped: u64,
    pub(crate) balance: u64,
    pub(crate) ran: u64,
}

impl Counts {
    /// Returns the error in the counts once everything has ended.
    pub(crate) fn complaint(&self) -> Option<String> {
        let (made, dropped) = (self.made, self.dropped);
        match (made == dropped, self.balance) {
            (true, 0) => None,
            (true, _) => Some(format!(
                "of {made} values one was dropped twice and another never"
            )),
            (false, _) => Some(format!("{made} values were made and {dropped} dropped")),
        }
    }
}

impl Census {
    /// Lives as long as the process, so that a value which is dropped too late is still counted.
    pub(crate) fn leak() -> &'static Census {
        Box::leak(Box::new(Census {
            shards: std::array::from_fn(|_| Shard::default()),
            jobs: Mutex::default(),
            ended: Condvar::new(),
        }))
    }

    #[inline]
    pub(crate) fn one(&'static self) -> Counted {
        let index = shard();
        let shard = &self.shards[index];
        let number = mix2(index as u64, shard.made.fetch_add(1, Relaxed));
        shard.balance.fetch_add(number, Relaxed);
        Counted {
            census: self,
            number,
        }
    }

    /// So many tasks have run.
    #[inline]
    pub(crate) fn ran(&self, count: u64) {
        self.shards[shard()].ran.fetch_add(count, Relaxed);
    }

    /// Exact once everything that counts has ended, and its end was waited for.
    pub(crate) fn counts(&self) -> Counts {
        let mut all = Counts::default();
        for shard in &self.shards {
            all.made += shard.made.load(Relaxed);
            all.dropped += shard.dropped.load(Relaxed);
            all.balance = all.balance.wrapping_add(shard.balance.load(Relaxed));
            all.ran += shard.ran.load(Relaxed);
        }
        all
    }

    /// For the next program. Nothing of the one before is left.
    pub(crate) fn reset(&self) {
        for shard in &self.shards {
            for word in [&shard.made, &shard.dropped, &shard.balance, &shard.ran] {
                word.store(0, Relaxed);
            }
        }
        *self.jobs() = Jobs::default();
    }

    pub(crate) fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn job_ended(&self, outcome: Result<u64, u32>) {
        let mut jobs = self.jobs();
        jobs.ended += 1;
        match outcome {
            Ok(value) => jobs.sum = jobs.sum.wrapping_add(value),
            Err(id) => jobs.panics.push(id),
        }
        self.ended.notify_all();
    }

    /// Waits until so many jobs have ended, or the time is up.
    pub(crate) fn wait_for_jobs(&self, count: u64, limit: Duration) -> bool {
        let jobs = self.jobs();
        let waited = self
            .ended
            .wait_timeout_while(jobs, limit, |jobs| jobs.ended < count);
        waited.is_ok_and(|(jobs, _)| jobs.ended >= count)
    }
}

/// A value whose drop is counted.
pub(crate) struct Counted {
    census: &'static Census,
    number: u64,
}

impl Counted {
    pub(crate) fn census(&self) -> &'static Census {
        self.census
    }
}

impl Clone for Counted {
    fn clone(&self) -> Counted {
        self.census.one()
    }
}

impl Drop for Counted {
    #[inline]
    fn drop(&mut self) {
        let shard = &self.census.shards[shard()];
        shard.dropped.fetch_add(1, Relaxed);
        shard.balance.fetch_sub(self.number, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_once_is_right_and_all_else_is_not() {
        let census = Census::leak();
        let one = census.one();
        assert!(census.counts().complaint().is_some(), "it is alive");
        drop(one.clone());
        drop(one);
        assert_eq!(census.counts().complaint(), None);
        std::mem::forget(census.one());
        let text = census.counts().complaint().unwrap();
        assert_eq!(text, "3 values were made and 2 dropped");
        census.reset();
        assert_eq!(census.counts(), Counts::default());
    }

    #[test]
    fn one_dropped_twice_does_not_make_up_for_one_that_leaked() {
        let census = Census::leak();
        let (a, b) = (census.one(), census.one());
        let twice = Counted {
            census,
            number: a.number,
        };
        std::mem::forget(b);
        drop((a, twice));
        assert!(census.counts().complaint().is_some());
    }
}
