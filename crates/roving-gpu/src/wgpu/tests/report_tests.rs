//! Reports of errors, and wakers, on the device that is there.

use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use super::device;
use super::harness::{SWAP, WRONG};
use crate::{Arg, Buffer, Choice, Devices, Dual, Kind, Writes};

/// A kernel cannot be built, and the report of that reads what only the device has.
#[test]
fn a_report_may_read_what_only_its_device_has() {
    static FINE: Kind = Kind::new("fine");
    static BAD: Kind = Kind::new("bad");
    let Some((device, _turn)) = device() else {
        return;
    };
    let [kept, other] = [(); 2].map(|()| Buffer::<f32>::zeroed(64));
    let (sender, read) = channel();
    // Taken by the callback: the buffer keeps the device, and the device the callback.
    let both = Mutex::new(Some((kept.clone(), sender)));
    let builder = Devices::builder().backend(device).writes(Writes::Back);
    let builder = builder.choice(Choice::Gpu).on_failure(move |_| {
        let (kept, sender) = both.lock().unwrap().take().unwrap();
        sender.send(kept.read().to_vec()).unwrap();
    });
    let devices = builder.build().unwrap();
    Dual::new(&FINE, &[1])
        .updates(&kept)
        .updates(&other)
        .gpu(async |gpu| {
            let buffers = [Arg::update(&kept), Arg::update(&other)];
            gpu.launch(&SWAP, [1, 1, 1], &buffers).await
        })
        .run(&devices)
        .unwrap();
    devices.wait();
    let bad = Dual::new(&BAD, &[1]).updates(&other);
    let bad = bad.gpu(async |gpu| gpu.launch(&WRONG, [1, 1, 1], &[Arg::update(&other)]).await);
    assert!(bad.run(&devices).is_err());
    let numbers = read.recv_timeout(Duration::from_secs(120));
    assert_eq!(numbers.expect("it does not hang"), [0.0; 64]);
}

static SWAPPED: Kind = Kind::new("swapped");

/// Each has the other's numbers then.
fn swap(devices: &Devices, buffers: [&Buffer<u32>; 2]) {
    let [one, two] = buffers;
    let task = Dual::new(&SWAPPED, &[1]).updates(one).updates(two);
    let task = task.gpu(async |gpu| {
        let buffers = [Arg::update(one), Arg::update(two)];
        gpu.launch(&SWAP, [1, 1, 1], &buffers).await
    });
    task.run(devices).unwrap();
}

type Polled = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task whose executor is gone: whoever wakes it drops it, and with it a handle.
struct Orphan {
    task: Mutex<Option<Polled>>,
    is_called: Mutex<Sender<()>>,
    may_go_on: Mutex<Receiver<()>>,
    is_over: Mutex<Sender<()>>,
}

impl Wake for Orphan {
    fn wake(self: Arc<Self>) {
        let _ = self.is_called.lock().unwrap().send(());
        let _ = self.may_go_on.lock().unwrap().recv();
        let task = self.task.lock().unwrap().take();
        drop(task);
        let _ = self.is_over.lock().unwrap().send(());
    }
}

/// On the device's own thread, while another task has landed ahead of its kernel.
#[test]
fn a_waker_may_drop_the_last_handle() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let builder = Devices::builder().backend(device).writes(Writes::Back);
    let devices = builder.choice(Choice::Gpu).window(1).build().unwrap();
    let limit = Duration::from_secs(120);
    let [kept, other, one, two] = [1, 2, 3, 4].map(|number| Buffer::from(vec![number; 64]));
    swap(&devices, [&kept, &other]);
    devices.wait();
    let ((is_called, called), (go_on, may_go_on)) = (channel(), channel());
    let (is_over, over) = channel();
    let orphan = Arc::new(Orphan {
        task: Mutex::new(None),
        is_called: Mutex::new(is_called),
        may_go_on: Mutex::new(may_go_on),
        is_over: Mutex::new(is_over),
    });
    let own = devices.clone();
    let mut task: Polled = Box::pin(async move {
        let task = Dual::new(&SWAPPED, &[1]).reads(&kept);
        task.cpu(|| ()).on(&own).await;
    });
    let waker = Waker::from(Arc::clone(&orphan));
    let poll = task.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(poll.is_pending());
    *orphan.task.lock().unwrap() = Some(task);
    called.recv_timeout(limit).unwrap();
    swap(&devices, [&one, &two]);
    drop(devices);
    drop(go_on);
    over.recv_timeout(limit).expect("it does not hang");
    // The device ends what is on it.
    assert_eq!((one.into_vec(), two.into_vec()), (vec![4; 64], vec![3; 64]));
}
