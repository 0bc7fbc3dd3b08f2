//! Devices in a child of `fork`, which has none of their threads.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "fork and waitpid")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use common::Gate;
use common::numbers::{ADD_ONE, LEN, OTHER, STEP, add, added_on, buffer, devices, told};
use roving::Pool;
use roving_gpu::{Choice, Devices, Dual, Failure, HostCall, Kernel, Simulated};

/// One test at a time: what a thread of another one has locked at the fork stays locked in the
/// child, as when it builds a pool.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `body` in a child, and says whether it came to its end there. One that hangs is killed.
fn ends_in_child(body: impl FnOnce()) -> bool {
    // A thread of the device that has just woken this one is about to give its locks back.
    thread::sleep(Duration::from_millis(50));
    // SAFETY: the child ends by `_exit`; what it does in between is what is tested.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no fork: {}", std::io::Error::last_os_error());
    if child == 0 {
        let ended = catch_unwind(AssertUnwindSafe(body)).is_ok();
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(!ended)) }
    }
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let mut status = 0;
        // SAFETY: the child is ours, and the status has its place.
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        if ended == child {
            return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        }
        if Instant::now() > patience {
            // SAFETY: the child is ours.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the child hangs");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn is_refusal(told: &str) -> bool {
    told.contains("no threads in this process") && told.contains("build them in the child")
}

static GATE: Gate = Gate::new();
static WAITS: Kernel = Kernel::new("waits").host(|_: &mut HostCall<'_>| GATE.pass());

/// Also while a task has landed ahead of its kernel, which the drop would wait for.
#[test]
fn the_last_handle_waits_for_nothing() {
    let _alone = alone();
    for is_ahead in [false, true] {
        let devices = devices(Simulated::new());
        let numbers = buffer();
        let closed = GATE.close();
        if is_ahead {
            add(&devices, &STEP, &WAITS, &numbers);
            closed.wait();
        }
        let ended = ends_in_child(|| {
            drop(devices.clone());
            // SAFETY: the child has a copy of its own, and drops it once.
            drop(unsafe { std::ptr::read(&devices) });
        });
        drop(closed);
        assert!(ended, "with a task ahead: {is_ahead}");
        devices.wait();
    }
}

/// The call is made in the parent, whose drop waits for it.
#[test]
fn the_last_handle_waits_for_no_call_of_the_parent() {
    let _alone = alone();
    static CALLS: Gate = Gate::new();
    let builder = Devices::builder().backend(Simulated::new().fail_at(0, Failure::Lost));
    let builder = builder.choice(Choice::Gpu).on_failure(|_| CALLS.pass());
    let devices = builder.build().unwrap();
    let closed = CALLS.close();
    add(&devices, &STEP, &ADD_ONE, &buffer());
    closed.wait();
    // SAFETY: the child has a copy of its own, and drops it once.
    let ended = ends_in_child(|| drop(unsafe { std::ptr::read(&devices) }));
    drop(closed);
    assert!(ended);
}

/// A buffer keeps the device that has its numbers, and with it the back-end.
#[test]
fn a_buffer_that_has_outlived_its_devices_is_dropped() {
    let _alone = alone();
    let (devices, numbers) = added_on(Simulated::new());
    drop(devices);
    // SAFETY: the child has a copy of its own, and drops it once.
    assert!(ends_in_child(|| drop(unsafe { std::ptr::read(&numbers) })));
    assert_eq!(*numbers.read(), [2; LEN]);
}

/// By a task whose kernel is under way.
#[test]
fn a_buffer_that_was_held_is_waited_for_by_nobody() {
    let _alone = alone();
    static HOLDS: Gate = Gate::new();
    static HELD: Kernel = Kernel::new("held").host(|_: &mut HostCall<'_>| HOLDS.pass());
    let builder = Devices::builder().backend(Simulated::new());
    let devices = builder.choice(Choice::Gpu).build().unwrap();
    let numbers = buffer();
    let closed = HOLDS.close();
    thread::scope(|s| {
        s.spawn(|| add(&devices, &STEP, &HELD, &numbers));
        closed.wait();
        let ended = ends_in_child(|| {
            for _ in 0..2 {
                let told = told(|| assert_eq!(numbers.read().len(), LEN));
                // By whom it is held hangs on how far the task has come.
                let is_held = told.contains("use a buffer of the child's own");
                assert!(is_held || is_refusal(&told), "{told}");
            }
        });
        drop(closed);
        assert!(ended);
    });
}

#[test]
fn who_uses_them_is_told() {
    let _alone = alone();
    let (devices, numbers) = added_on(Simulated::new());
    // What a thread of the device has locked at the fork stays locked in the child.
    devices.wait();
    let in_child = || {
        let refused = |call: &mut (dyn FnMut() + Send)| assert!(is_refusal(&told(call)));
        refused(&mut || add(&devices, &STEP, &ADD_ONE, &numbers));
        // What has no other side runs here, as it does everywhere.
        Dual::new(&OTHER, &[LEN]).cpu(|| ()).run(&devices);
        refused(&mut || devices.wait());
        // Each time anew.
        for _ in 0..2 {
            refused(&mut || assert_eq!(numbers.read().len(), LEN));
        }
        // Devices of the child's own work.
        let (own, fresh) = added_on(Simulated::new());
        add(&own, &STEP, &ADD_ONE, &fresh);
        assert_eq!(*fresh.read(), [3; LEN]);
    };
    // Not in the global pool, which is the parent's.
    let ended = ends_in_child(|| Pool::new(1).unwrap().install(in_child));
    assert!(ended);
    assert_eq!(*numbers.read(), [2; LEN]);
}
