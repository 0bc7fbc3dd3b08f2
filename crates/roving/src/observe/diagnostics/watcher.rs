//! The thread that looks at the pools that are watched. There is one while there is such a pool,
//! and none otherwise.

use std::ptr;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::pools::Pools;
use super::{stall_report, system};
use crate::machine::os;
use crate::machine::per_process::{PerProcess, PerProcessGuard};
use crate::machine::prim::process_wide;
use crate::machine::service::{self, Service};
use crate::observe::watch::{self, guard};
use crate::workers::registry::Registry;
use crate::workers::watched_parks::ParkTable;

#[derive(Default)]
struct Watcher {
    pools: Pools,
    service: Service,
}

process_wide! {
    /// Who waits is told when pools have come or gone.
    static WATCHER: PerProcess<Watcher> = PerProcess::new();
}

/// Looks for each time that nothing may move for.
const LOOKS: u32 = 4;

fn watcher() -> PerProcessGuard<'static, Watcher> {
    WATCHER.lock()
}

/// A pool has been made.
pub(crate) fn enter(registry: &Arc<Registry>) {
    if registry.watch.is_none() {
        return;
    }
    guard::begin();
    let mut watcher = watcher();
    watcher.pools.enter(registry);
    if let Err(error) = watcher.service.start("roving-watch", run) {
        os::say(&format!(
            "no thread can be started to watch pools ({error}); nothing is watched"
        ));
    }
    WATCHER.notify_all();
}

/// A pool ends. With the last one the thread does, before this returns.
pub(crate) fn leave(registry: &Registry) {
    if registry.watch.is_none() {
        return;
    }
    let thread = {
        let mut watcher = watcher();
        match watcher.pools.leave(registry) {
            true => watcher.service.end(),
            false => None,
        }
    };
    WATCHER.notify_all();
    if let Some(thread) = thread {
        service::join(thread);
    }
}

/// Joins the thread that has ended by itself, if there is one: before the code is unloaded.
#[inline]
pub(crate) fn join_retired() {
    let thread = watcher().service.take_retired();
    if let Some(thread) = thread {
        service::join(thread);
    }
}

/// The last fingerprint that was taken of a pool, and since when it has been the same.
struct Seen {
    pool: Weak<Registry>,
    print: Vec<u64>,
    since: Instant,
    is_reported: bool,
}

fn run(number: u64) {
    let mut seen: Vec<Seen> = Vec::new();
    loop {
        {
            let mut watcher = watcher();
            let is_last_gone = watcher.pools.leave(ptr::null());
            if !watcher.service.is_served_by(number) {
                return;
            }
            if is_last_gone {
                // It has ended by itself.
                return watcher.service.retire();
            }
        }
        seen.retain(|seen| seen.pool.strong_count() > 0);
        let mut pause = super::env_vars::PATIENCE;
        for place in 0.. {
            // One that goes meanwhile may let another one be missed, this time.
            let Some(pool) = watcher().pools.get(place) else {
                break;
            };
            if let Some(registry) = pool.upgrade() {
                look(&registry, &pool, &mut seen);
                let patience = registry.watch.as_ref().map(|watch| watch.patience);
                pause = pause.min(patience.unwrap_or(pause));
            }
        }
        let watcher = watcher();
        if watcher.service.is_served_by(number) {
            let pause = (pause / LOOKS).max(Duration::from_millis(1));
            drop(WATCHER.wait_timeout(watcher, pause));
        }
    }
}

fn look(registry: &Registry, pool: &Weak<Registry>, seen: &mut Vec<Seen>) {
    let Some(watch) = &registry.watch else { return };
    let (print, now) = (print(registry, watch), Instant::now());
    let known = seen.iter().position(|seen| seen.pool.ptr_eq(pool));
    let known = known.unwrap_or_else(|| {
        seen.push(Seen {
            pool: pool.clone(),
            print: Vec::new(),
            since: now,
            is_reported: false,
        });
        seen.len() - 1
    });
    let seen = &mut seen[known];
    if seen.print != print {
        *seen = Seen {
            pool: pool.clone(),
            print,
            since: now,
            is_reported: false,
        };
        return;
    }
    if seen.is_reported || now - seen.since < watch.patience {
        return;
    }
    let Some(text) = stall_report::of(registry, watch, now - seen.since) else {
        return;
    };
    seen.is_reported = true;
    watch::tell(&text);
}

/// Figures that change as soon as something moves: each thread's time on a processor, and what it
/// has counted.
fn print(registry: &Registry, watch: &ParkTable) -> Vec<u64> {
    let mut figures = Vec::new();
    for (seat, entry) in watch.entries() {
        let counters = registry.seats[seat].stack.tally().read();
        let counted = counters.tasks + counters.parks + counters.wakes + counters.suspensions;
        figures.push(seat as u64);
        figures.push(entry.number.and_then(system::time).unwrap_or(0));
        figures.push(counted + counters.steals_tried);
    }
    figures
}
