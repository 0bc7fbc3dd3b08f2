//! A child of `fork` in a scope: it has no threads, and is told so.
#![cfg(target_os = "linux")]

mod common;

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, mpsc};

use common::watched;

unsafe extern "C" {
    /// Of POSIX, as is the rest.
    fn fork() -> i32;
    fn waitpid(child: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(code: i32) -> !;
}

/// Runs `body` in a child, and says whether it returned true there.
fn in_child(body: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child ends by `_exit`; what it does in between is what is tested.
    let child = unsafe { fork() };
    if child == 0 {
        end_child(body);
    }
    is_well(child)
}

fn end_child(body: impl FnOnce() -> bool) -> ! {
    let is_well = panic::catch_unwind(AssertUnwindSafe(body)).unwrap_or(false);
    // SAFETY: ends the child at once.
    unsafe { _exit(i32::from(!is_well)) }
}

fn is_well(child: i32) -> bool {
    assert!(child > 0, "no fork: {}", std::io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: the child is ours, and the status has its place.
    let ended = unsafe { waitpid(child, &raw mut status, 0) };
    ended == child && status == 0
}

fn is_refused(call: impl FnOnce()) -> bool {
    let Err(payload) = panic::catch_unwind(AssertUnwindSafe(call)) else {
        return false;
    };
    let text = payload.downcast_ref::<String>();
    text.is_some_and(|text| text.contains("no threads in this process"))
}

/// One test: a fork is no matter for other tests of the same process.
#[test]
fn a_scope_in_a_child_is_refused_as_other_calls_are() {
    watched(|| {
        let pool = common::pool(2);
        assert!(in_child(|| is_refused(|| pool.scope(|_| ()))));
        assert!(in_child(|| is_refused(|| pool.in_place_scope(|_| ()))));
        assert!(in_child(|| is_refused(|| pool.in_place_scope_fifo(|_| ()))));
        // The child comes to the end of the scope in which it was forked, and spawns more there.
        let (go, goes) = mpsc::channel::<()>();
        let (mut child, mut is_more_refused) = (0, true);
        let scope = || {
            pool.in_place_scope_fifo(|s| {
                s.spawn_fifo(move |_| _ = goes.recv());
                // SAFETY: the child ends by `_exit` below.
                child = unsafe { fork() };
                if child == 0 {
                    is_more_refused = is_refused(|| s.spawn_fifo(|_| ()))
                        && is_refused(|| s.spawn_broadcast(|_, _| ()));
                } else {
                    go.send(()).unwrap();
                }
            });
        };
        let told = is_refused(scope);
        if child == 0 {
            end_child(|| told && is_more_refused);
        }
        assert!(!told && is_well(child));
        // A worker goes on with what is its own, in order.
        assert!(pool.install(|| {
            in_child(|| {
                let order = Mutex::new(Vec::new());
                pool.in_place_scope_fifo(|s| {
                    for number in 0..3 {
                        let order = &order;
                        s.spawn_fifo(move |_| order.lock().unwrap().push(number));
                    }
                });
                order.into_inner().unwrap() == [0, 1, 2]
            })
        }));
        // Also with more than its stack has room for: the scope's queue is not there.
        assert!(pool.install(|| {
            in_child(|| {
                let count = Mutex::new(0);
                pool.in_place_scope(|s| {
                    (0..20_000).for_each(|_| s.spawn(|_| *count.lock().unwrap() += 1));
                });
                count.into_inner().unwrap() == 20_000
            })
        }));
    });
}
