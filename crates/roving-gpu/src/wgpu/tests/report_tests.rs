//! A report of an error, on the device that is there.

use std::sync::Mutex;
use std::sync::mpsc::channel;
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
