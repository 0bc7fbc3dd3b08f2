//! Statistics: the workers of a pool, counted and timed.

use std::time::Duration;

use roving::Pool;

use crate::call::required;
use crate::status::{Status, guard};

/// `roving_stats` of the header.
#[repr(C)]
pub(crate) struct Stats {
    wall_ns: u64,
    busy_ns: u64,
    steal_ns: u64,
    idle_ns: u64,
    tasks: u64,
    tasks_stolen: u64,
    steals_tried: u64,
    publications: u64,
    take_backs: u64,
    leapfrogs: u64,
    parks: u64,
    wakes: u64,
    max_depth: u64,
    tasks_dropped: u64,
}

/// # Safety
/// Both are null, or valid.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_pool_stats(pool: *const Pool, stats: *mut Stats) -> Status {
    guard(|| {
        let (pool, stats) = (
            required(pool.cast_mut(), "pool")?,
            required(stats, "stats")?,
        );
        // SAFETY: not null, and the caller says that it is alive.
        let profile = unsafe { &*pool }.profile();
        let (total, wall) = (profile.total(), profile.wall);
        let counters = total.counters;
        let made = Stats {
            wall_ns: nanoseconds(wall),
            busy_ns: nanoseconds(total.busy),
            steal_ns: nanoseconds(total.steal),
            idle_ns: nanoseconds(total.idle),
            tasks: counters.tasks,
            tasks_stolen: counters.tasks_stolen,
            steals_tried: counters.steals_tried,
            publications: counters.publications,
            take_backs: counters.take_backs,
            leapfrogs: counters.leapfrogs,
            parks: counters.parks,
            wakes: counters.wakes,
            max_depth: counters.max_depth,
            tasks_dropped: counters.tasks_dropped,
        };
        // SAFETY: not null, and the caller says that it is valid.
        unsafe { stats.write(made) };
        Ok(())
    })
}

/// # Safety
/// The pool is null, or alive.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_pool_reset_stats(pool: *const Pool) -> Status {
    guard(|| {
        let pool = required(pool.cast_mut(), "pool")?;
        // SAFETY: not null, and the caller says that it is alive.
        unsafe { &*pool }.reset_profile();
        Ok(())
    })
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos().try_into().unwrap_or(u64::MAX)
}
