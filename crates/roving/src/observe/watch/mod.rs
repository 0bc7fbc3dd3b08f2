//! A watcher for deadlocks: it reports a program that stands still because a lock is held across a
//! wait, and names the place.
//!
//! A watched pool ([`PoolBuilder::watch_waits`](crate::PoolBuilder::watch_waits), or
//! `ROVING_WATCH=1` for all pools of a program) keeps a record of where each worker waits. One
//! thread per process reads these records. When a pool with waiting tasks has made no progress for
//! a second, the thread writes a report to standard error, once for each standstill: which worker
//! waits where, for how long, in which state the system sees its thread, and which locks it holds;
//! and which thread outside of the pool holds a lock that a task wants.
//!
//! The runtime cannot see a lock of the standard library. So a program names its critical sections:
//! [`locked`] takes a lock and names it, [`held`] names one that has been taken.
//!
//! ```
//! use std::sync::Mutex;
//! use roving::watch;
//!
//! let accounts = Mutex::new(vec![10, 20]);
//! let total: i32 = roving::scope(|_| {
//!     let accounts = watch::locked("accounts", || accounts.lock().unwrap());
//!     accounts.iter().sum()
//! });
//! assert_eq!(total, 30);
//! ```
//!
//! | `ROVING_WATCH` | effect |
//! |---|---|
//! | unset, empty or `0` | only pools for which the program asks are watched |
//! | `1` | all pools: a report after one second without progress |
//! | a larger number | the same after so many milliseconds |
//!
//! Pools are watched by the feature `diagnostics`, which is on by default. Without it the names of
//! locks go nowhere.
//!
//! In a pool that is not watched, a worker tests a pointer each time it parks in a wait; [`held`]
//! and [`locked`] cost a load and a branch. In a watched pool each such wait captures a backtrace,
//! which takes some ten microseconds. Source lines are known if the program was built with `debug =
//! "line-tables-only"` or more; otherwise functions are named as far as their symbols go.

pub(super) mod guard;

pub use guard::{Held, Locked, held, locked};

use std::io::{self, Write as _};
use std::sync::Arc;

use crate::machine::os;
use crate::machine::per_process::{PerProcess, PerProcessGuard};
use crate::machine::prim::process_wide;
use crate::machine::unwind::{drop_quietly, run_quietly};

/// Gets each report.
type Reporter = Arc<dyn Fn(&str) + Send + Sync>;

process_wide! {
    static REPORTER: PerProcess<Option<Reporter>> = PerProcess::new();
}

/// A forked child tells who was told in its parent.
fn reporter() -> PerProcessGuard<'static, Option<Reporter>> {
    REPORTER.lock_inherited(Clone::clone)
}

/// Sends reports to `report` instead of standard error from now on. It is called on the watching
/// thread, and must not use a pool; a panic of it ends there. Only the last one that was set gets
/// them; for tests and loggers.
///
/// ```
/// roving::watch::on_report(|text| eprintln!("{text}"));
/// ```
pub fn on_report(report: impl Fn(&str) + Send + Sync + 'static) {
    // A program may fork before it has a pool.
    os::count_forks();
    let report: Reporter = Arc::new(report);
    let before = reporter().replace(report);
    // Without the lock: it may be the program's own that is dropped, and set another one.
    drop(before);
}

/// Gives a report to who wants it, or to standard error.
pub(crate) fn tell(text: &str) {
    let reporter = reporter().clone();
    match reporter {
        Some(report) => {
            run_quietly(|| report(text));
            // Another may have been set meanwhile.
            drop_quietly(report);
        }
        // Nobody is left to hear that standard error is closed.
        None => drop(io::stderr().write_all(text.as_bytes())),
    }
}
