//! Copies of buffers that fail, on one device: nothing is lost that the device still has, and only
//! those are told who need it.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use common::numbers::{
    ADD_ONE, BYTES, LEN, OTHER, STEP, add, added_on, buffer, devices, failing, told,
};
use common::{Gate, poll, soon, within};
use roving_gpu::{Buffer, Devices, Dual, Failure, HostCall, Kernel, Kind, Simulated};

#[test]
fn a_copy_that_cannot_be_made_to_free_memory_stays_where_it_is() {
    for failure in [Failure::OutOfMemory, Failure::Kernel] {
        within(format!("spill: {failure:?}"), move || {
            // The copy back, for the memory is wanted by another.
            let backend = failing(Simulated::new().memory_bytes(BYTES), failure, 1);
            let ((devices, first), second) = (added_on(backend), buffer());
            add(&devices, &STEP, &ADD_ONE, &second);
            assert_eq!(*second.read(), [11; LEN]);
            assert_eq!(*first.read(), [2; LEN]);
            // And now there is room.
            add(&devices, &STEP, &ADD_ONE, &second);
            assert_eq!(*second.read(), [12; LEN]);
        });
    }
}

#[test]
fn a_copy_that_cannot_be_fetched_can_be_fetched_later() {
    within("fetch".to_owned(), || {
        let (_devices, numbers) = added_on(failing(Simulated::new(), Failure::OutOfMemory, 1));
        let first = catch_unwind(AssertUnwindSafe(|| drop(numbers.read())));
        assert!(first.is_err());
        assert_eq!(*numbers.read(), [2; LEN]);
    });
}

/// Whether anything has failed there.
fn has_failed(devices: &Devices) -> bool {
    !devices.profile().devices[0].failures.is_empty()
}

/// A task needs the copy, which fails, and is dropped before it hears of that.
fn need_and_go(devices: &Devices, numbers: &Buffer<u32>) {
    let task = Dual::new(&OTHER, &[1]).reads(numbers).cpu(|| ());
    let mut task = Box::pin(task.on(devices));
    assert!(poll(&mut task).is_pending());
    soon("it has failed", || has_failed(devices));
}

/// The copy is made anew for a guard that comes after it has failed, for one that waits for it, and
/// for a task that does.
#[test]
fn a_fetch_that_fails_is_as_if_nobody_had_fetched() {
    static GATE: Gate = Gate::new();
    static KEPT: Kernel = Kernel::new("kept").host(|call: &mut HostCall<'_>| {
        GATE.pass();
        call.update::<u32>().iter_mut().for_each(|x| *x += 1);
    });
    for failure in [Failure::OutOfMemory, Failure::Kernel] {
        for more in [0, 1] {
            within(format!("fetch, and {more} more: {failure:?}"), move || {
                let (devices, numbers) = added_on(failing(Simulated::new(), failure, 1));
                numbers.fetch();
                soon("it has failed", || has_failed(&devices));
                (0..more).for_each(|_| add(&devices, &OTHER, &ADD_ONE, &numbers));
                assert_eq!(*numbers.read(), [2 + more; LEN]);
            });
        }
        within(format!("fetch, waited for: {failure:?}"), move || {
            let devices = devices(failing(Simulated::new(), failure, 1));
            let (numbers, closed) = (buffer(), GATE.close());
            add(&devices, &STEP, &KEPT, &numbers);
            numbers.fetch();
            let side = || numbers.read()[0];
            let task = Dual::new(&OTHER, &[1]).reads(&numbers).cpu(side);
            let mut task = Box::pin(task.on(&devices));
            assert!(poll(&mut task).is_pending());
            drop(closed);
            assert_eq!(*numbers.read(), [2; LEN]);
            assert_eq!(roving::task::block_on(task), 2);
        });
    }
}

/// A task has needed the copy, and was dropped before it heard that there is none.
#[test]
fn what_could_not_be_fetched_before_a_task_changed_it_is_not_told() {
    within("changed".to_owned(), || {
        let (devices, numbers) = added_on(failing(Simulated::new(), Failure::OutOfMemory, 1));
        need_and_go(&devices, &numbers);
        add(&devices, &OTHER, &ADD_ONE, &numbers);
        assert_eq!(*numbers.read(), [3; LEN]);
    });
}

#[test]
fn what_can_never_be_fetched_is_told_by_each_guard() {
    for failure in [Failure::OutOfMemory, Failure::Kernel] {
        within(format!("never: {failure:?}"), move || {
            let (devices, numbers) = added_on(failing(Simulated::new(), failure, 18));
            for _ in 0..2 {
                numbers.fetch();
                let reason = told(|| drop(numbers.read()));
                assert!(reason.contains("as planned"), "{reason}");
            }
            soon("the fetches have failed", || has_failed(&devices));
            let task = Dual::new(&STEP, &[LEN]).writes(&numbers);
            task.cpu(|| numbers.write().fill(7)).run(&devices);
            assert_eq!(numbers.into_vec(), [7; LEN]);
        });
    }
}

#[test]
fn a_device_that_is_lost_while_it_fetches_is_known_to_be() {
    within("lost".to_owned(), || {
        let backend = failing(Simulated::new(), Failure::Lost, 1);
        let gauge = backend.gauge();
        let ((devices, numbers), other) = (added_on(backend), buffer());
        numbers.fetch();
        soon("it is lost", || devices.profile().devices[0].is_lost);
        soon("memory is freed", || gauge.pieces() == 0);
        for _ in 0..2 {
            numbers.fetch();
            let reason = told(|| drop(numbers.read()));
            assert!(reason.contains("simulated") && reason.contains("as planned"));
        }
        add(&devices, &STEP, &ADD_ONE, &other);
        assert_eq!(*other.read(), [11; LEN]);
    });
}

/// The copy goes on, and then its memory is free; also where the program has let go of the device.
#[test]
fn what_is_fetched_may_be_dropped() {
    static GATE: Gate = Gate::new();
    static KEPT: Kernel = Kernel::new("kept").host(|_: &mut HostCall<'_>| GATE.pass());
    for (keeps, fail) in [(true, 0), (false, 0), (true, 1), (false, 1)] {
        within(format!("dropped: {keeps}, {fail}"), move || {
            let backend = Simulated::new().launch_time(Duration::from_millis(2));
            let backend = failing(backend, Failure::Lost, fail);
            let gauge = backend.gauge();
            let devices = devices(backend);
            let (numbers, closed) = (buffer(), GATE.close());
            add(&devices, &STEP, &KEPT, &numbers);
            numbers.fetch();
            closed.wait();
            drop(numbers);
            assert_eq!(gauge.pieces(), 1);
            drop(closed);
            let kept = keeps.then_some(devices);
            soon("memory is freed", || gauge.pieces() == 0);
            assert_eq!(gauge.operations(), 4);
            drop(kept);
        });
    }
}

/// The task is dropped before or after its copy has failed; the device could deliver the next one.
#[test]
fn a_guard_is_not_told_what_failed_for_a_task_that_is_gone() {
    within("gone".to_owned(), || {
        let (devices, numbers) = added_on(failing(Simulated::new(), Failure::OutOfMemory, 1));
        need_and_go(&devices, &numbers);
        assert_eq!(*numbers.read(), [2; LEN]);
    });
}

#[test]
fn a_kind_without_a_name_runs_where_a_copy_has_failed() {
    static NAMELESS: Kind = Kind::new("");
    within("nameless".to_owned(), || {
        let (devices, numbers) = added_on(failing(Simulated::new(), Failure::Kernel, 1));
        numbers.fetch();
        assert_eq!(*numbers.read(), [2; LEN]);
        add(&devices, &NAMELESS, &ADD_ONE, &numbers);
        assert_eq!(*numbers.read(), [3; LEN]);
    });
}

/// The kernel has failed whose results the task waits for.
#[test]
fn who_is_woken_by_a_loss_may_look_at_the_devices() {
    struct Looks(Devices, Mutex<Sender<bool>>);
    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            let _ = self.1.lock().unwrap().send(has_failed(&self.0));
        }
    }
    static GATE: Gate = Gate::new();
    static BREAKS: Kernel = Kernel::new("breaks").host(|_: &mut HostCall<'_>| {
        GATE.pass();
        panic!("it is broken");
    });
    within("woken".to_owned(), || {
        let devices = devices(Simulated::new());
        let (numbers, closed) = (buffer(), GATE.close());
        add(&devices, &STEP, &BREAKS, &numbers);
        let (sender, woken) = channel();
        let waker = Waker::from(Arc::new(Looks(devices.clone(), Mutex::new(sender))));
        let side = || numbers.read()[0];
        let task = Dual::new(&OTHER, &[1]).reads(&numbers).cpu(side);
        let mut task = Box::pin(task.on(&devices));
        let mut context = Context::from_waker(&waker);
        assert!(Pin::new(&mut task).poll(&mut context).is_pending());
        drop(closed);
        assert!(woken.recv().unwrap(), "what has failed is known");
        let reason = told(|| _ = roving::task::block_on(task));
        assert!(reason.contains("it is broken"), "{reason}");
    });
}
