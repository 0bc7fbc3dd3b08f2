//! Panics of the program's code on the thread of a device, with payloads whose drop panics as well:
//! who waits is told, and the device goes on.

mod common;

use std::panic::panic_any;
use std::sync::{Mutex, PoisonError};

use common::{Gate, soon, within};
use roving_gpu::{
    Arg, Buffer, Cause, Choice, Devices, DevicesBuilder, Dual, HostCall, Kernel, Kind, Simulated,
    TaskError, Writes,
};

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the drop of a payload");
    }
}

static BAD: Kind = Kind::new("bad");
static FINE: Kind = Kind::new("fine");
static GATE: Gate = Gate::new();
/// The gate is one, and so are those who close it.
static TURN: Mutex<()> = Mutex::new(());
static THROWS_BOMB: Kernel = Kernel::new("throws a bomb").host(|_: &mut HostCall<'_>| {
    GATE.pass();
    panic_any(Bomb);
});
static PANICS: Kernel = Kernel::new("panics").host(|_: &mut HostCall<'_>| {
    GATE.pass();
    panic!("a text");
});
static FILL: Kernel = Kernel::new("fill").host(|call: &mut HostCall<'_>| {
    call.update::<u32>().fill(7);
});

fn run(
    devices: &Devices,
    kind: &'static Kind,
    kernel: &'static Kernel,
    numbers: &Buffer<u32>,
) -> Result<(), TaskError> {
    Dual::new(kind, &[1])
        .updates(numbers)
        .gpu(async |gpu| gpu.launch(kernel, [1, 1, 1], &[Arg::update(numbers)]).await)
        .run(devices)
}

/// That kernel panics while another task waits for the device, and one comes later: both go well.
fn goes_on(what: &str, kernel: &'static Kernel, build: fn(DevicesBuilder) -> DevicesBuilder) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for writes in [Writes::Through, Writes::Back] {
        within(format!("{what}, {writes:?}"), move || {
            let backend = Simulated::new();
            let gauge = backend.gauge();
            let builder = Devices::builder().backend(backend).choice(Choice::Gpu);
            let devices = build(builder.writes(writes)).build().unwrap();
            let [bad, second, third] = [(); 3].map(|()| Buffer::from(vec![1_u32; 4]));
            let closed = GATE.close();
            std::thread::scope(|scope| {
                let first = scope.spawn(|| run(&devices, &BAD, kernel, &bad));
                closed.wait();
                let other = scope.spawn(|| run(&devices, &FINE, &FILL, &second));
                // Memory, a copy there and a launch, for each.
                soon("the other is there, too", || gauge.operations() == 6);
                // With write-back it ends before its kernel, and its numbers are lost.
                let first = if writes == Writes::Back {
                    let first = first.join().unwrap();
                    drop(closed);
                    first
                } else {
                    drop(closed);
                    first.join().unwrap()
                };
                assert_eq!(first.is_err(), writes == Writes::Through, "{first:?}");
                other.join().unwrap().unwrap();
            });
            run(&devices, &FINE, &FILL, &third).unwrap();
            assert_eq!(
                (second.into_vec(), third.into_vec()),
                (vec![7; 4], vec![7; 4])
            );
            let device = &devices.profile().devices[0];
            assert!(!device.is_lost);
            assert_eq!(device.failures[&Cause::Kernel], 1);
        });
    }
}

#[test]
fn a_payload_of_a_kernel_whose_drop_panics_ends_no_device() {
    goes_on("kernel", &THROWS_BOMB, |builder| builder);
}

#[test]
fn a_payload_of_a_report_whose_drop_panics_ends_no_device() {
    goes_on("report", &PANICS, |builder| {
        builder.on_failure(|_| panic_any(Bomb))
    });
}
