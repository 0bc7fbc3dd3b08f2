//! A buffer of a few numbers and the tasks that add to it, with write-back.

use roving::raw::panics::contain;
use roving_gpu::{
    Arg, Buffer, Choice, Devices, Dual, Failure, HostCall, Kernel, Kind, Simulated, Writes,
};

pub(crate) static STEP: Kind = Kind::new("step");
pub(crate) static OTHER: Kind = Kind::new("other");
pub(crate) static ADD_ONE: Kernel = Kernel::new("add one").host(|call: &mut HostCall<'_>| {
    call.update::<u32>().iter_mut().for_each(|x| *x += 1);
});

pub(crate) const LEN: usize = 4;
pub(crate) const BYTES: u64 = 4 * LEN as u64;

pub(crate) fn devices(backend: Simulated) -> Devices {
    let builder = Devices::builder().backend(backend).writes(Writes::Back);
    builder.choice(Choice::Gpu).build().unwrap()
}

/// The device, of which so many operations fail when a first task has gone well: its memory, a copy
/// there and a launch. What comes then is the copy to the host, or the memory of the next task.
pub(crate) fn failing(backend: Simulated, failure: Failure, operations: u64) -> Simulated {
    let numbers = 3..3 + operations;
    numbers.fold(backend, |backend, at| backend.fail_at(at, failure))
}

/// Devices, and a buffer to which a task has added there: only the device has the numbers.
pub(crate) fn added_on(backend: Simulated) -> (Devices, Buffer<u32>) {
    let (devices, numbers) = (devices(backend), buffer());
    add(&devices, &STEP, &ADD_ONE, &numbers);
    (devices, numbers)
}

pub(crate) fn buffer() -> Buffer<u32> {
    Buffer::from(vec![1; LEN])
}

/// Adds 1 on a device, and 10 on the CPU.
pub(crate) fn add(
    devices: &Devices,
    kind: &'static Kind,
    kernel: &'static Kernel,
    to: &Buffer<u32>,
) {
    Dual::new(kind, &[LEN])
        .updates(to)
        .cpu(|| to.write().iter_mut().for_each(|x| *x += 10))
        .gpu(async |gpu| gpu.launch(kernel, [1, 1, 1], &[Arg::update(to)]).await)
        .run(devices);
}

/// With which words it panics.
pub(crate) fn told(run: impl FnOnce()) -> String {
    contain(run).expect_err("a panic").expect("a text")
}
