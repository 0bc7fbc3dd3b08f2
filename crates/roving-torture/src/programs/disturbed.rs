//! Programs on one large pool, for the row that stops its workers meanwhile.

use std::sync::Arc;

use roving::{BuildError, Pool};

use super::generate::{self, Limits};
use super::round;
use super::serial;
use super::setup::RoundPools;
use crate::census::Census;
use crate::dog::Dog;
use crate::random::{SplitMix, mix2};

/// The pool, and what its programs are compared with.
pub(crate) struct Disturbed {
    pools: Arc<RoundPools>,
    workers: usize,
}

impl Disturbed {
    pub(crate) fn new(pool: Pool) -> Disturbed {
        let workers = pool.workers();
        Disturbed {
            pools: Arc::new(RoundPools::of(pool)),
            workers,
        }
    }

    /// A builder of a pool whose detached jobs are heard of.
    pub(crate) fn pool(workers: usize, name: &str) -> Result<Pool, BuildError> {
        RoundPools::builder().workers(workers).name(name).build()
    }

    /// Runs the program of that seed, of up to so many tasks. Returns how many ran.
    pub(crate) fn one(
        &self,
        seed: u64,
        tasks_max: u64,
        census: &'static Census,
        dog: &Dog,
        replay: &str,
    ) -> Result<u64, String> {
        let mut random = SplitMix::new(seed);
        let limits = Limits {
            tasks: random.magnitude(tasks_max),
            pools: 0,
            may_come_back: true,
            resize: None,
            throws: random.one_in(2),
        };
        let program = generate::program(mix2(seed, 1), limits);
        let expected = serial::expected(&program, &[self.workers]);
        let what = format!("program {seed} on {} workers", self.workers);
        let leash = dog.watch_with(what, replay.to_owned(), Some(self.pools.told_later()));
        let done = round::check(&program, &expected, &self.pools, census, dog.limit())?;
        drop(leash);
        Ok(done.tasks)
    }

    /// Ends the pool.
    pub(crate) fn end(self) {
        if let Some(pools) = Arc::into_inner(self.pools) {
            pools.end();
        }
    }
}
