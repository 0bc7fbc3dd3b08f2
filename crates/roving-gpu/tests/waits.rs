//! Devices and threads that wait say what for, where `ROVING_WATCH` asks for it.

mod common;

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::within;
use roving::watch;
use roving_gpu::{Arg, Buffer, Choice, Devices, Dual, HostCall, Kernel, Kind, Simulated};

static STUCK: Kind = Kind::new("stuck");
static KERNEL: Kernel = Kernel::new("stuck").host(|call: &mut HostCall<'_>| {
    // As long as the report about it takes.
    wait_for("no task on device `toy` has ended for 20ms: 1 of `stuck`; 0 wait in its queue");
    wait_for("a thread has waited 20ms for a buffer of 3 elements");
    call.update::<u32>()[0] = 7;
});

static TOLD: Mutex<String> = Mutex::new(String::new());

fn wait_for(text: &str) {
    while !TOLD.lock().unwrap().contains(text) {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_kernel_that_does_not_end_is_told_of_and_so_is_who_waits_for_it() {
    if std::env::var_os("ROVING_WATCH").is_none() {
        let test = "a_kernel_that_does_not_end_is_told_of_and_so_is_who_waits_for_it";
        let status = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .env("ROVING_WATCH", "20")
            .status();
        assert!(status.unwrap().success());
        return;
    }
    within("watch".to_owned(), || {
        watch::on_report(|text| *TOLD.lock().unwrap() += text);
        let device = Simulated::new().name("toy");
        let devices = Devices::builder().backend(device).choice(Choice::Gpu);
        let devices = Arc::new(devices.build().unwrap());
        let numbers = Buffer::from(vec![0_u32; 3]);
        let (there, of) = (Arc::clone(&devices), numbers.clone());
        let task = thread::spawn(move || {
            Dual::new(&STUCK, &[3])
                .updates(&of)
                .gpu(async |gpu| gpu.launch(&KERNEL, [1, 1, 1], &[Arg::update(&of)]).await)
                .run(&there)
                .unwrap();
        });
        // It has the buffer by then.
        wait_for("1 of `stuck`");
        assert_eq!(numbers.read()[0], 7);
        task.join().unwrap();
    });
}
