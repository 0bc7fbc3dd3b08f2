//! One repetition of a workload: so many runs between two looks at the clock.

use std::time::Instant;

use rayon::ThreadPool;

use crate::work::Work;

/// Who calls: the main thread, as most programs do, or a thread of a pool.
pub(crate) struct Caller(Option<ThreadPool>);

impl Caller {
    /// The thread that reads the orders; the work goes to the global pool.
    pub(crate) fn outside() -> Caller {
        Caller(None)
    }

    /// A thread of a pool that is as large as the global one would be.
    pub(crate) fn inside() -> Result<Caller, String> {
        let pool = rayon::ThreadPoolBuilder::new().build();
        pool.map(|pool| Caller(Some(pool)))
            .map_err(|error| format!("no pool: {error}"))
    }

    /// Nanoseconds of one run, by `runs` in a row; or what was wrong with an answer. The clock runs
    /// on the calling thread: to enter the pool from inside is not part of the time.
    pub(crate) fn time(&self, work: &mut dyn Work, runs: usize) -> Result<f64, String> {
        work.prepare(runs);
        let mut timed = || {
            let start = Instant::now();
            for run in 0..runs {
                work.run(run);
            }
            start.elapsed()
        };
        let time = match &self.0 {
            Some(pool) => pool.install(timed),
            None => timed(),
        };
        work.check()?;
        Ok(time.as_nanos() as f64 / runs as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::value;

    #[test]
    fn both_callers_time_and_check() {
        let inside = |n: &usize| *n + usize::from(rayon::current_thread_index().is_some());
        let mut work = value(1, |n| n + 1, inside);
        let time = Caller::inside().and_then(|caller| caller.time(&mut *work, 3));
        assert!(time.is_ok_and(|nanos| nanos > 0.0));
        // Outside of a pool that function is wrong.
        assert!(Caller::outside().time(&mut *work, 3).is_err());
    }
}
