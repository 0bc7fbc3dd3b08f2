//! The reports that a program wants of a pool.

use std::path::PathBuf;
use std::time::Duration;

use super::PoolBuilder;

impl PoolBuilder {
    /// Prints the profile to standard error when the pool ends, or the program. Implies
    /// [`Self::profile`]. `ROVING_PROFILE=1` does this without a change of the program; see
    /// [`crate::trace`].
    ///
    /// ```
    /// let pool = roving::Pool::builder().workers(1).report(true).build().unwrap();
    /// assert_eq!(pool.install(|| roving::join(|| 1, || 2)), (1, 2));
    /// drop(pool); // prints where the time of its worker went
    /// ```
    pub fn report(mut self, report: bool) -> PoolBuilder {
        self.debt.report = report;
        self
    }

    /// Writes a trace to `file` when the pool ends, or the program. Implies [`Self::profile`]. For
    /// all pools of a program together: `ROVING_TRACE=FILE`; see [`crate::trace`].
    ///
    /// ```
    /// let file = std::env::temp_dir().join(format!("roving-{}.json", std::process::id()));
    /// drop(roving::Pool::builder().workers(1).trace(&file).build().unwrap());
    /// assert!(std::fs::read_to_string(&file).unwrap().contains("traceEvents"));
    /// # std::fs::remove_file(&file).unwrap();
    /// ```
    pub fn trace(mut self, file: impl Into<PathBuf>) -> PoolBuilder {
        self.debt.trace = Some(file.into());
        self
    }

    /// Reports to standard error where the workers wait, when nothing has moved for `patience`
    /// although tasks wait: as when a lock is held across a wait, and a task needs it. For
    /// debugging; see [`crate::watch`], also for what it costs. For all pools of a program:
    /// `ROVING_WATCH=1`.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let builder = roving::Pool::builder().workers(2).watch_waits(Duration::from_secs(5));
    /// assert_eq!(builder.build().unwrap().install(|| roving::join(|| 1, || 2)), (1, 2));
    /// ```
    pub fn watch_waits(mut self, patience: Duration) -> PoolBuilder {
        self.debt.watch = Some(patience);
        self
    }
}
