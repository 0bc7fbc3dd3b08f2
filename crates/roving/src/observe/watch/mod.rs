//! A watcher for deadlocks: it reports a program that stands still because a lock is held across a
//! wait, and names the place.
//!
//! A watched pool ([`PoolBuilder::watch_waits`](crate::PoolBuilder::watch_waits), or
//! `ROVING_WATCH=1` for all pools of a program) keeps a record of where each worker waits. One
//! thread per process reads these records. When a pool with waiting tasks has made no progress for
//! a second, the thread writes a report to standard error, once for each standstill: which worker
//! waits where, for how long, in which state the system sees its thread, and which locks it holds.
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
//! In a pool that is not watched, a worker tests a pointer each time it parks in a wait; [`held`]
//! and [`locked`] cost a load and a branch. In a watched pool each such wait captures a backtrace,
//! which takes some ten microseconds. Source lines are known if the program was built with `debug =
//! "line-tables-only"` or more; otherwise functions are named as far as their symbols go.

mod guard;
mod report;
mod system;
mod watcher;

pub use guard::{Held, Locked, held, locked};
pub(crate) use watcher::{enter, join_retired, leave};

use std::env;
use std::io::{self, Write as _};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::machine::lock::Mutex;

/// Gets each report.
type Reporter = Arc<dyn Fn(&str) + Send + Sync>;

static REPORTER: Mutex<Option<Reporter>> = Mutex::new(None);

/// Sends reports to `report` instead of standard error from now on. It is called on the watching
/// thread, and must not use a pool. Only the last one that was set gets them; for tests and
/// loggers.
///
/// ```
/// roving::watch::on_report(|text| eprintln!("{text}"));
/// ```
pub fn on_report(report: impl Fn(&str) + Send + Sync + 'static) {
    *REPORTER.lock() = Some(Arc::new(report));
}

fn reporter() -> Option<Reporter> {
    REPORTER.lock().clone()
}

/// Gives a report to who wants it, or to standard error.
pub(crate) fn tell(text: &str) {
    match reporter() {
        Some(report) => report(text),
        // Nobody is left to hear that standard error is closed.
        None => drop(io::stderr().write_all(text.as_bytes())),
    }
}

/// How long nothing moves before it is reported, by default.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// The patience that `ROVING_WATCH` asks for; read once.
pub(crate) fn wished() -> Option<Duration> {
    static WISHED: OnceLock<Option<Duration>> = OnceLock::new();
    *WISHED.get_or_init(ask)
}

fn ask() -> Option<Duration> {
    let value = env::var("ROVING_WATCH").ok()?;
    parse(&value).unwrap_or_else(|()| {
        crate::machine::os::say(&format!(
            "ROVING_WATCH={value:?} is not a time: say 1 (a second) or 2 to 3600000 milliseconds, or \
             unset it; nothing is watched"
        ));
        None
    })
}

fn parse(value: &str) -> Result<Option<Duration>, ()> {
    let value = value.trim_ascii();
    if value.is_empty() {
        return Ok(None);
    }
    match value.parse::<u64>() {
        Ok(0) => Ok(None),
        Ok(1) => Ok(Some(PATIENCE)),
        Ok(ms @ 2..=3_600_000) => Ok(Some(Duration::from_millis(ms))),
        _ => Err(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::pool::testing::of_any_text())]

        /// Any text is nothing, or a time within the bounds, or refused.
        #[test]
        fn fuzz_the_variable_of_the_watch(text in "[ 0-9+-]{0,12}|.{0,24}") {
            if let Ok(Some(patience)) = parse(&text) {
                prop_assert!((2..=3_600_000).contains(&patience.as_millis()));
                prop_assert!(text.trim_ascii().parse::<u64>().is_ok());
            }
        }
    }

    #[test]
    fn the_variable_is_a_switch_or_a_time() {
        assert_eq!(parse(""), Ok(None));
        assert_eq!(parse("0"), Ok(None));
        assert_eq!(parse("1"), Ok(Some(PATIENCE)));
        assert_eq!(parse(" 250 "), Ok(Some(Duration::from_millis(250))));
        for bad in ["yes", "-1", "3600001", "1.5", "99999999999999999999999"] {
            assert_eq!(parse(bad), Err(()), "{bad}");
        }
    }
}
