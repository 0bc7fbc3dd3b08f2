//! The figures of a pool for the recorders of the `metrics` crate. Needs the feature `metrics`.
//!
//! ```
//! // A recorder that is installed before, such as Prometheus', gets the figures.
//! let pool = roving::Pool::builder().workers(2).profile(true).build()?;
//! assert_eq!(pool.install(|| roving::join(|| 1, || 2)), (1, 2));
//! roving::metrics::publish("main", &pool);
//! # Ok::<(), roving::BuildError>(())
//! ```

use std::time::Duration;

use metrics::{counter, gauge};

use crate::{Pool, WorkerProfile};

/// Hands the figures of [`Pool::profile`] to the installed recorder. Nothing calls it periodically:
/// call it as often as you want the figures to be fresh.
///
/// Each has the labels `pool`, as given here, and `worker`, the index. Counters `roving_…_total`
/// bear the names of [`Counters`](crate::Counters). In pools that keep times, gauges
/// `roving_…_seconds` say how long the worker was busy, looking for work (`steal`), `idle`, in a
/// `switch`, in a `frame`. Takes some microseconds.
///
/// ```
/// let pool = roving::Pool::builder().workers(2).profile(true).build().unwrap();
/// pool.install(|| roving::join(|| (), || ()));
/// roving::metrics::publish("main", &pool);
/// ```
pub fn publish(name: &str, pool: &Pool) {
    let profile = pool.profile();
    for (index, worker) in profile.workers.iter().enumerate() {
        publish_one(
            &[("pool", name.to_owned()), ("worker", index.to_string())],
            worker,
        );
    }
}

macro_rules! counters {
    ($labels:expr, $from:expr, $($name:ident),* $(,)?) => {
        $(counter!(concat!("roving_", stringify!($name), "_total"), $labels).absolute($from.$name);)*
    };
}

fn publish_one(labels: &[(&'static str, String); 2], worker: &WorkerProfile) {
    counters!(
        labels,
        worker.counters,
        tasks,
        steals_tried,
        steals_empty,
        steals_busy,
        steals_won,
        tasks_stolen,
        publications,
        take_backs,
        leapfrogs,
        parks,
        wakes,
        continuations_stolen,
        suspensions,
        frames_allocated,
        frames_freed,
        tasks_dropped,
    );
    if worker.time() > Duration::ZERO {
        for (name, time) in worker.times() {
            gauge!(format!("roving_{name}_seconds"), labels).set(time.as_secs_f64());
        }
    }
}
