//! The last handle of devices is dropped by the program's code on a thread that they need to get
//! on, or that their end waits for: the drop waits for nothing, and the devices end by themselves.

mod common;

use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use common::numbers::{ADD_ONE, LEN, STEP, add, buffer, devices};
use common::{Gate, Times, soon, within};
use roving_gpu::{
    Buffer, Choice, Devices, DevicesBuilder, Dual, Failure, HostCall, Kernel, Kind, Simulated,
    Writes,
};

static OTHER: Kind = Kind::new("other");

fn builder(backend: Simulated) -> DevicesBuilder {
    let builder = Devices::builder().backend(backend).choice(Choice::Gpu);
    builder.writes(Writes::Back).window(1)
}

type Polled = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Waits for numbers that only the device has; the future has a handle of its own.
fn reader(devices: Devices, numbers: Buffer<u32>) -> Polled {
    Box::pin(async move {
        let task = Dual::new(&OTHER, &[LEN]).reads(&numbers);
        task.cpu(|| ()).on(&devices).await;
    })
}

/// Drops a task when it is woken, and with it a handle, as one does whose executor is gone.
struct Orphan<F> {
    before: F,
    task: Mutex<Option<Polled>>,
    told: Mutex<Sender<()>>,
}

impl<F> Orphan<F> {
    fn new(before: F, told: Sender<()>) -> Arc<Orphan<F>> {
        let (task, told) = (Mutex::new(None), Mutex::new(told));
        Arc::new(Orphan { before, task, told })
    }

    fn drop_task(&self) {
        let task = self.task.lock().unwrap().take();
        drop(task);
        let _ = self.told.lock().unwrap().send(());
    }
}

impl<F: Fn() + Send + Sync + 'static> Wake for Orphan<F> {
    fn wake(self: Arc<Self>) {
        (self.before)();
        self.drop_task();
    }
}

/// Polls it once; it waits, and will wake that.
fn wait_for<F: Fn() + Send + Sync + 'static>(task: &mut Polled, orphan: &Arc<Orphan<F>>) {
    let waker = Waker::from(Arc::clone(orphan));
    let poll = task.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(poll.is_pending());
}

/// When its buffer has come, on the device's own thread, while another task has landed ahead of its
/// kernel.
#[test]
fn a_waker_drops_the_last_handle() {
    static GATE: Gate = Gate::new();
    within("waker".to_owned(), || {
        let backend = Simulated::new();
        let (gauge, times) = (backend.gauge(), Times::none("last-handle"));
        let devices = builder(backend).history(times.path()).build().unwrap();
        let [kept, numbers] = [(); 2].map(|()| buffer());
        add(&devices, &STEP, &ADD_ONE, &kept);
        devices.wait();
        let (sender, told) = channel();
        let closed = GATE.close();
        let orphan = Orphan::new(|| GATE.pass(), sender);
        let mut task = reader(devices.clone(), kept);
        wait_for(&mut task, &orphan);
        *orphan.task.lock().unwrap() = Some(task);
        // The waker is called, and waits.
        closed.wait();
        add(&devices, &STEP, &ADD_ONE, &numbers);
        drop(devices);
        drop(closed);
        told.recv().unwrap();
        // The device ends what is on it.
        assert_eq!(numbers.into_vec(), [2; LEN]);
        soon("times are kept", || times.path().exists());
        soon("memory is freed", || gauge.pieces() == 0);
    });
}

/// Each of two wakers, on its device's thread, drops the last handle of the other's.
#[test]
fn two_wakers_drop_the_last_handles_of_each_other() {
    static GATES: [Gate; 2] = [Gate::new(), Gate::new()];
    within("two wakers".to_owned(), || {
        let closed = GATES.each_ref().map(Gate::close);
        let (sender, told) = channel();
        let both = Arc::new(Barrier::new(2));
        let devices = [(); 2].map(|()| builder(Simulated::new()).build().unwrap());
        let orphans = GATES.each_ref().map(|gate| {
            let both = Arc::clone(&both);
            let before = move || {
                gate.pass();
                both.wait();
            };
            Orphan::new(before, sender.clone())
        });
        for at in 0..2 {
            let kept = buffer();
            add(&devices[at], &STEP, &ADD_ONE, &kept);
            devices[at].wait();
            let mut task = reader(devices[at].clone(), kept);
            wait_for(&mut task, &orphans[at]);
            *orphans[1 - at].task.lock().unwrap() = Some(task);
        }
        closed.iter().for_each(|closed| closed.wait());
        let all = devices.map(|devices| {
            let numbers = buffer();
            add(&devices, &STEP, &ADD_ONE, &numbers);
            numbers
        });
        drop(closed);
        (0..2).for_each(|_| told.recv().unwrap());
        for numbers in all {
            assert_eq!(numbers.into_vec(), [2; LEN]);
        }
    });
}

/// And another kernel comes behind.
#[test]
fn a_kernel_drops_the_last_handle() {
    static GATE: Gate = Gate::new();
    static HANDLE: Mutex<Option<Devices>> = Mutex::new(None);
    static DROPS: Kernel = Kernel::new("drops").host(|_: &mut HostCall<'_>| {
        GATE.pass();
        let handle = HANDLE.lock().unwrap().take();
        drop(handle);
    });
    within("kernel".to_owned(), || {
        let backend = Simulated::new();
        let gauge = backend.gauge();
        let devices = builder(backend).window(2).build().unwrap();
        let closed = GATE.close();
        let [one, two] = [(); 2].map(|()| buffer());
        add(&devices, &OTHER, &DROPS, &one);
        closed.wait();
        add(&devices, &STEP, &ADD_ONE, &two);
        *HANDLE.lock().unwrap() = Some(devices);
        drop(closed);
        let both = (one.into_vec(), two.into_vec());
        assert_eq!(both, (vec![1; LEN], vec![2; LEN]));
        soon("memory is freed", || gauge.pieces() == 0);
    });
}

/// Each of two callbacks drops the last handle of the other's devices.
#[test]
fn two_reports_drop_the_last_handles_of_each_other() {
    static GATES: [Gate; 2] = [Gate::new(), Gate::new()];
    within("reports".to_owned(), || {
        let closed = GATES.each_ref().map(Gate::close);
        let (sender, told) = channel();
        let slots = [(); 2].map(|()| Arc::new(Mutex::new(None::<Devices>)));
        let devices = [0, 1].map(|at| {
            let (other, told) = (Arc::clone(&slots[1 - at]), Mutex::new(sender.clone()));
            let devices = builder(Simulated::new().fail_at(0, Failure::Lost));
            let devices = devices.on_failure(move |_| {
                GATES[at].pass();
                drop(other.lock().unwrap().take());
                told.lock().unwrap().send(()).unwrap();
            });
            devices.build().unwrap()
        });
        for devices in &devices {
            add(devices, &STEP, &ADD_ONE, &buffer());
        }
        closed.iter().for_each(|closed| closed.wait());
        for (slot, devices) in slots.iter().zip(devices) {
            *slot.lock().unwrap() = Some(devices);
        }
        drop(closed);
        (0..2).for_each(|_| told.recv().unwrap());
    });
}

/// Asks other devices when it is dropped.
struct Asks(Devices);

impl Drop for Asks {
    fn drop(&mut self) {
        self.0.profile();
    }
}

/// A buffer keeps the devices that have written it, until another device writes it: they end there,
/// with what the program has given them.
#[test]
fn devices_that_a_buffer_has_kept_end_where_no_other_is_locked() {
    within("a buffer's devices".to_owned(), || {
        let second = devices(Simulated::new());
        let asks = Asks(second.clone());
        let builder = Devices::builder().backend(Simulated::new());
        let builder = builder.choice(Choice::Gpu).on_failure(move |_| _ = &asks);
        let first = builder.build().unwrap();
        let numbers = buffer();
        add(&first, &STEP, &ADD_ONE, &numbers);
        first.wait();
        drop(first);
        drop(numbers.read());
        // Its thread lets go of it.
        thread::sleep(Duration::from_millis(50));
        add(&second, &STEP, &ADD_ONE, &numbers);
        assert_eq!(numbers.read()[..], [3; LEN]);
    });
}
