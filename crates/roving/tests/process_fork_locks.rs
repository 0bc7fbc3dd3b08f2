//! Locks that all of a process uses, which another thread holds when it is forked.
#![cfg(target_os = "linux")]

#[path = "common/forks.rs"]
mod forks;

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use forks::{in_child, is_refusal, message};
use roving::raw::reports::tell_standstill;
use roving::{Pool, PoolBuilder, join, trace, watch};

/// Two threads call `act` again and again while this one forks, and each child calls it as well.
fn beside(name: &str, act: impl Fn() + Sync) {
    let ends = AtomicBool::new(false);
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                while !ends.load(SeqCst) {
                    act();
                }
            });
        }
        let is_well = || {
            in_child(|| {
                act();
                true
            })
        };
        let all = panic::catch_unwind(AssertUnwindSafe(|| (0..40).all(|_| is_well())));
        ends.store(true, SeqCst);
        assert!(all.unwrap_or(false), "{name}");
    });
}

/// A pool that begins and ends without threads of its own.
fn pass(builder: PoolBuilder) {
    drop(builder.caller_runs().build().unwrap());
}

fn scratch() -> PathBuf {
    let name = format!("forks-{}.json", std::process::id());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Calls `body` in a child of a child and so on, so many forks down.
fn so_far_below(forks: usize, body: &dyn Fn() -> bool) -> bool {
    match forks {
        0 => body(),
        _ => in_child(|| so_far_below(forks - 1, body)),
    }
}

/// A child tells who is told in its parent, unless it says otherwise.
fn of_who_is_told() {
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    watch::on_report(|_| _ = TOLD.fetch_add(1, SeqCst));
    let is_told = |so_often| {
        tell_standstill("as a test");
        TOLD.load(SeqCst) == so_often
    };
    assert!(in_child(|| is_told(1)));
    // Processes between them that tell nothing.
    for so_far_down in 2..=7 {
        assert!(so_far_below(so_far_down, &|| is_told(1)));
    }
    // Of several that have said who is told, the nearest counts.
    assert!(in_child(|| {
        watch::on_report(|_| _ = TOLD.fetch_add(2, SeqCst));
        (1..=6).all(|so_far_down| so_far_below(so_far_down, &|| is_told(2)))
    }));
    assert!(in_child(|| {
        watch::on_report(|_| ());
        is_told(0)
    }));
    assert!(is_told(1));
}

/// One test: a fork is no matter for other tests of the same process.
#[test]
fn what_other_threads_had_locked_is_free_in_a_child() {
    let file = scratch();
    let traced = Pool::builder().workers(1).trace(&file);
    let pool = traced.watch_waits(Duration::from_secs(60)).build().unwrap();
    of_who_is_told();
    let held = watch::held("kept");
    beside("a section", || drop(watch::held("of all")));
    drop(held);
    beside("a span", || drop(trace::span("of all")));
    beside("who is told", || watch::on_report(|_| ()));
    beside("who watches", || {
        pass(Pool::builder().watch_waits(Duration::from_secs(60)));
    });
    beside("what is owed", || pass(Pool::builder().trace(&file)));
    beside("the global pool", || {
        let told = message(|| join(|| 1, || 2));
        assert!(told == "no panic" || is_refusal(&told), "{told}");
        _ = roving::embed::shutdown_global();
    });
    drop(pool);
    std::fs::remove_file(file).unwrap();
}
