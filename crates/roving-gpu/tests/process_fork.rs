//! Devices in a child of `fork`, which has none of their threads.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "fork and waitpid")]

mod common;

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use common::Gate;
use common::numbers::{ADD_ONE, LEN, OTHER, STEP, add, added_on, buffer, devices, told};
use roving::Pool;
use roving_gpu::{Arg, Cause, Choice, Devices, Dual, Failure, HostCall, Kernel, Simulated};

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

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// In its first poll, and once it is on the device.
#[test]
fn a_gpu_side_that_forks_is_told_by_its_launches() {
    let _alone = alone();
    for is_aboard in [false, true] {
        let (devices, numbers) = (devices(Simulated::new()), buffer());
        let task = Dual::new(&OTHER, &[LEN]).updates(&numbers);
        let task = task.gpu(async |gpu| {
            let launch = || gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&numbers)]);
            if is_aboard {
                launch().await?;
            }
            let mut before = launch();
            let ended = ends_in_child(|| {
                // One that was begun may have ended before the fork, and gone well.
                let begun = (!is_aboard).then_some(&mut before);
                for one in begun.into_iter().chain([&mut launch()]) {
                    let Poll::Ready(Err(error)) = poll(Pin::new(one)) else {
                        panic!("it has not failed");
                    };
                    assert_eq!(error.cause(), Cause::NoDevice);
                    assert!(is_refusal(error.text()));
                }
            });
            assert!(ended, "aboard: {is_aboard}");
            before.await
        });
        task.run(&devices).unwrap();
        assert_eq!(*numbers.read(), [2 + u32::from(is_aboard); LEN]);
    }
}

/// Whatever its GPU side says.
#[test]
fn a_task_on_a_device_has_failed_in_the_child() {
    let _alone = alone();
    for launches in [false, true] {
        let (devices, numbers) = (devices(Simulated::new()), buffer());
        let goes_on = AtomicBool::new(false);
        let task = Dual::new(&OTHER, &[LEN]).updates(&numbers);
        let task = task.gpu(async |gpu| {
            if launches {
                drop(gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&numbers)]));
            }
            // Ordering: Relaxed, all: one thread.
            poll_fn(|_| match goes_on.load(Ordering::Relaxed) {
                true => Poll::Ready(Ok(())),
                false => Poll::Pending,
            })
            .await
        });
        let mut task = pin!(task.on(&devices));
        assert!(poll(task.as_mut()).is_pending());
        let ended = ends_in_child(|| {
            // Ordering: Relaxed, as above.
            goes_on.store(true, Ordering::Relaxed);
            let Poll::Ready(Err(failed)) = poll(task.as_mut()) else {
                panic!("it has not failed");
            };
            assert_eq!(failed.cause(), Cause::NoDevice);
            assert!(is_refusal(&failed.to_string()));
        });
        assert!(ended, "launches: {launches}");
        // Ordering: Relaxed, as above.
        goes_on.store(true, Ordering::Relaxed);
        roving::task::block_on(task).unwrap();
    }
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
