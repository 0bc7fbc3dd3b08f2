//! Locks that all of a process uses, which another thread holds when it is forked.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "pipes and variables")]

#[path = "common/forks.rs"]
mod forks;

use std::mem;
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
    beside_as(name, &act, &act);
}

/// As `beside`, where each child calls something else.
fn beside_as(name: &str, act: impl Fn() + Sync, in_children: impl Fn()) {
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
                in_children();
                true
            })
        };
        let all = panic::catch_unwind(AssertUnwindSafe(|| (0..40).all(|_| is_well())));
        ends.store(true, SeqCst);
        assert!(all.unwrap_or(false), "{name}");
    });
}

/// A thread asks for the times of a pool, one of whose workers forks. Its child goes on.
fn of_the_times_of_a_worker(pool: &Pool) {
    let ends = AtomicBool::new(false);
    let goes_on = || {
        drop(trace::span("of a worker"));
        join(|| join(|| 1, || 2), || 3) == ((1, 2), 3)
    };
    thread::scope(|s| {
        s.spawn(|| {
            while !ends.load(SeqCst) {
                drop(pool.profile());
            }
        });
        let forks = || pool.install(|| (0..40).all(|_| in_child(goes_on)));
        let all = panic::catch_unwind(AssertUnwindSafe(forks));
        ends.store(true, SeqCst);
        assert!(all.unwrap_or(false));
    });
}

/// Threads come to a pool without threads and go, and its child may be refused.
fn of_a_pool_without_threads() {
    let pool = Pool::builder().caller_runs().build().unwrap();
    let is_told = |told: &str| told == "no panic" || is_refusal(told);
    beside("a pool without threads", || {
        let told = message(|| pool.install(|| ()));
        assert!(is_told(&told), "{told}");
        let told = message(|| pool.spawn(|| ()));
        assert!(is_told(&told), "{told}");
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

/// One process tells after the other, each of which is the child of the one before.
fn all_tell(is_told: &dyn Fn(usize) -> bool, down: usize) -> bool {
    is_told(down) && (down == 12 || in_child(|| all_tell(is_told, down + 1)))
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
    // And processes all of which tell.
    assert!(in_child(|| all_tell(&is_told, 1)));
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

/// A thread copies what its process inherits while another one forks.
fn of_what_is_being_inherited() {
    // So many that it takes a while.
    let enter = || (0..1 << 18).for_each(|_| mem::forget(watch::held("of many")));
    let forks_beside = || {
        let copies = thread::spawn(|| drop(watch::held("first")));
        thread::sleep(Duration::from_millis(2));
        let is_well = in_child(|| {
            // SAFETY: for when its parent is killed.
            unsafe { libc::alarm(60) };
            drop(watch::held("second"));
            true
        });
        copies.join().is_ok() && is_well
    };
    // Each process copies once.
    assert!(in_child(|| {
        enter();
        (0..5).all(|_| in_child(forks_beside))
    }));
}

/// Has standard error go into a pipe that takes no more.
fn close_standard_error() {
    let mut ends = [0; 2];
    // SAFETY: the ends have their place, and what is written is there.
    unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK), 0);
        let bytes = [0_u8; 4096];
        for at_once in [bytes.len(), 1] {
            while libc::write(ends[1], bytes.as_ptr().cast(), at_once) > 0 {}
        }
        assert_eq!(libc::fcntl(ends[1], libc::F_SETFL, 0), 0);
        assert_eq!(libc::dup2(ends[1], 2), 2);
    }
}

/// In a process that has had no pool: a thread that makes the first one reads the variables, and
/// cannot say that one of them is wrong.
fn of_the_variables() {
    assert!(in_child(|| {
        close_standard_error();
        // SAFETY: this process has one thread.
        unsafe { std::env::set_var("ROVING_WATCH", "nonsense") };
        thread::spawn(|| pass(Pool::builder()));
        thread::sleep(Duration::from_millis(100));
        in_child(|| {
            // SAFETY: this process has one thread, too. The alarm is for when its parent is killed.
            unsafe {
                libc::alarm(60);
                std::env::remove_var("ROVING_WATCH");
            }
            pass(Pool::builder());
            true
        })
    }));
}

/// One test: a fork is no matter for other tests of the same process.
#[test]
fn what_other_threads_had_locked_is_free_in_a_child() {
    of_the_variables();
    let file = scratch();
    let traced = Pool::builder().workers(1).trace(&file);
    let pool = traced.watch_waits(Duration::from_secs(60)).build().unwrap();
    of_who_is_told();
    of_what_is_being_inherited();
    let held = watch::held("kept");
    beside("a section", || drop(watch::held("of all")));
    drop(held);
    beside("a span", || drop(trace::span("of all")));
    of_the_times_of_a_worker(&pool);
    of_a_pool_without_threads();
    beside("who is told", || watch::on_report(|_| ()));
    beside("who watches", || {
        pass(Pool::builder().watch_waits(Duration::from_secs(60)));
    });
    beside("what is owed", || pass(Pool::builder().trace(&file)));
    let uses_global = || {
        let told = message(|| join(|| 1, || 2));
        assert!(told == "no panic" || is_refusal(&told), "{told}");
        _ = roving::embed::shutdown_global();
    };
    // Without threads: a thread of the parent that ends at the fork leaves a lock of the standard
    // library closed in the child, which each thread takes when it starts.
    beside_as("the global pool", uses_global, || {
        _ = roving::embed::shutdown_global();
        Pool::builder().caller_runs().build_global().unwrap();
        uses_global();
    });
    drop(pool);
    std::fs::remove_file(file).unwrap();
}
