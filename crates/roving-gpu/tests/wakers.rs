//! Programs that poll with a fresh waker each time, or give up waiting again and again.

mod common;

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use common::Gate;
use common::numbers::{ADD_ONE, OTHER, STEP, add, buffer, devices};
use roving_gpu::{Arg, Dual, HostCall, Kernel, Simulated};

struct Alive {
    _one: Arc<()>,
}

impl Wake for Alive {
    fn wake(self: Arc<Self>) {}
}

/// Polls each future with fresh wakers, of which it may keep one, and drops it.
fn keep_one_waker<F: Future>(future: impl Fn() -> F) {
    let alive = Arc::new(());
    for _ in 0..10 {
        let mut future = pin!(future());
        for _ in 0..10 {
            let _one = Arc::clone(&alive);
            let waker = Waker::from(Arc::new(Alive { _one }));
            let mut context = Context::from_waker(&waker);
            assert!(future.as_mut().poll(&mut context).is_pending());
            drop(waker);
            assert_eq!(Arc::strong_count(&alive), 2);
        }
    }
    assert_eq!(Arc::strong_count(&alive), 1);
}

static GATE: Gate = Gate::new();
static KEPT: Kernel = Kernel::new("kept").host(|_: &mut HostCall<'_>| GATE.pass());

#[test]
fn who_waits_for_a_buffer_that_a_guard_holds_leaves_no_wakers() {
    let (devices, numbers) = (devices(Simulated::new()), buffer());
    let guard = numbers.write();
    keep_one_waker(|| {
        let task = Dual::new(&OTHER, &[1]).updates(&numbers);
        task.gpu(async |gpu| {
            gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&numbers)])
                .await
        })
        .on(&devices)
    });
    drop(guard);
}

#[test]
fn who_waits_for_a_buffer_that_comes_from_a_device_leaves_no_wakers() {
    let (devices, numbers) = (devices(Simulated::new()), buffer());
    let closed = GATE.close();
    // It lands ahead of its kernel.
    add(&devices, &STEP, &KEPT, &numbers);
    closed.wait();
    keep_one_waker(|| {
        Dual::new(&OTHER, &[1])
            .reads(&numbers)
            .cpu(|| ())
            .on(&devices)
    });
    drop(closed);
    devices.wait();
}
