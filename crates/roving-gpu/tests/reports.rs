//! The callback for errors of devices: what it may do, and when it is called.

mod common;

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::numbers::{ADD_ONE, LEN, STEP, add, buffer};
use common::{Gate, within};
use roving_gpu::{
    Arg, Buffer, Cause, Choice, DeviceReport, Devices, DevicesBuilder, Dual, Failure, HostCall,
    Kernel, Kind, Simulated, TaskError, Writes,
};

static BAD: Kind = Kind::new("bad");
static BREAKS: Kernel = Kernel::new("breaks").host(|_: &mut HostCall<'_>| panic!("it is broken"));

fn builder(backend: Simulated) -> DevicesBuilder {
    let builder = Devices::builder().backend(backend).choice(Choice::Gpu);
    builder.writes(Writes::Back)
}

fn breaks(devices: &Devices, numbers: &Buffer<u32>) -> Result<(), TaskError> {
    let task = Dual::new(&BAD, &[1]).updates(numbers);
    task.gpu(async |gpu| {
        gpu.launch(&BREAKS, [1, 1, 1], &[Arg::update(numbers)])
            .await
    })
    .run(devices)
}

/// The act of a callback, with the devices and a buffer whose only valid copy is there; it gives
/// the numbers in that.
type Act = fn(Devices, &Buffer<u32>) -> Vec<u32>;

/// A kernel fails, and the callback does that.
fn in_a_report(what: &str, act: Act) {
    within(what.to_owned(), move || {
        let kept = buffer();
        let (sender, told) = channel();
        let (from, sender) = (kept.clone(), Mutex::new(sender));
        // Taken by the callback.
        let handle = Arc::new(Mutex::new(None::<Devices>));
        let own = Arc::clone(&handle);
        let devices = builder(Simulated::new()).on_failure(move |_| {
            let devices = own.lock().unwrap().take().unwrap();
            sender.lock().unwrap().send(act(devices, &from)).unwrap();
        });
        let devices = devices.build().unwrap();
        add(&devices, &STEP, &ADD_ONE, &kept);
        devices.wait();
        *handle.lock().unwrap() = Some(devices.clone());
        let _ = breaks(&devices, &buffer());
        assert_eq!(told.recv().unwrap(), [2; LEN]);
    });
}

#[test]
fn a_report_may_read_what_only_its_device_has() {
    in_a_report("read", |_, kept| kept.read().to_vec());
}

#[test]
fn a_report_may_run_a_task_on_its_device_and_wait_for_that() {
    in_a_report("run", |devices, _| {
        let other = buffer();
        add(&devices, &STEP, &ADD_ONE, &other);
        devices.wait();
        other.into_vec()
    });
}

/// The callback drops the last handle, and the calls that are due are not to be waited for in it.
#[test]
fn a_report_may_drop_its_devices() {
    static GATE: Gate = Gate::new();
    within("drop".to_owned(), || {
        let (sender, told) = channel::<()>();
        let (handle, sender) = (Arc::new(Mutex::new(None::<Devices>)), Mutex::new(sender));
        let own = Arc::clone(&handle);
        let devices = builder(Simulated::new()).on_failure(move |_| {
            GATE.pass();
            drop(own.lock().unwrap().take());
            sender.lock().unwrap().send(()).unwrap();
        });
        let devices = devices.build().unwrap();
        let closed = GATE.close();
        *handle.lock().unwrap() = Some(devices.clone());
        let numbers = buffer();
        thread::scope(|scope| {
            scope.spawn(|| drop(breaks(&devices, &numbers)));
            closed.wait();
        });
        drop(devices);
        drop(closed);
        told.recv().unwrap();
    });
}

/// It owns a buffer whose only valid copy is there, which keeps the device.
#[test]
fn the_callback_goes_with_the_last_handle_and_the_buffer_stays() {
    within("goes".to_owned(), || {
        let (kept, owned) = (buffer(), Arc::new(()));
        let (from, is_there) = (kept.clone(), Arc::downgrade(&owned));
        let devices = builder(Simulated::new()).on_failure(move |_| {
            let _ = (&from, &owned);
        });
        let devices = devices.build().unwrap();
        add(&devices, &STEP, &ADD_ONE, &kept);
        devices.wait();
        drop(devices);
        assert!(is_there.upgrade().is_none());
        assert_eq!(kept.into_vec(), [2; LEN]);
    });
}

/// Each cause once, in the order of the errors; the end of the devices waits for the callback.
#[test]
fn all_reports_have_come_in_their_order_when_the_devices_are_gone() {
    fn slowly(list: &Mutex<Vec<Cause>>, report: &DeviceReport) {
        thread::sleep(Duration::from_millis(20));
        list.lock().unwrap().push(report.error.cause());
    }
    within("order".to_owned(), || {
        let list = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&list);
        // Memory, a copy there and a kernel, twice; then memory.
        let backend = Simulated::new().fail_at(6, Failure::Lost);
        let devices = builder(backend).writes(Writes::Through);
        let devices = devices.on_failure(move |report| slowly(&own, report));
        let devices = devices.build().unwrap();
        for _ in 0..2 {
            assert!(breaks(&devices, &buffer()).is_err());
        }
        assert!(breaks(&devices, &buffer()).is_err());
        drop(devices);
        assert_eq!(*list.lock().unwrap(), [Cause::Kernel, Cause::Lost]);
    });
}

/// The first call panics.
#[test]
fn a_report_comes_after_one_that_has_panicked() {
    fn called(sender: &Mutex<Sender<Cause>>, report: &DeviceReport) {
        let cause = report.error.cause();
        sender.lock().unwrap().send(cause).unwrap();
        assert_eq!(cause, Cause::Lost);
    }
    within("panics".to_owned(), || {
        let (sender, told) = channel();
        let sender = Mutex::new(sender);
        let backend = Simulated::new().fail_at(3, Failure::Lost);
        let devices = builder(backend).writes(Writes::Through);
        let devices = devices.on_failure(move |report| called(&sender, report));
        let devices = devices.build().unwrap();
        for cause in [Cause::Kernel, Cause::Lost] {
            assert!(breaks(&devices, &buffer()).is_err());
            assert_eq!(told.recv().unwrap(), cause);
        }
    });
}
