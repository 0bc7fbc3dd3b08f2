//! Every operation on the device that is there; where there is none, each test says so and ends.

mod report_tests;

use std::sync::MutexGuard;

use super::harness::{self, On, buffer, first, part};
use super::{Wgpu, found};
use crate::backend::Backend;
use crate::backend::error::Cause;
use crate::kernel::Kernel;
use crate::{Arg, Buffer, Choice, Devices, Dual, Kind, Why};

fn device() -> Option<(Wgpu, MutexGuard<'static, ()>)> {
    first(found)
}

/// Waits until `look` finds something, and returns it.
fn soon<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..60_000 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("it is never found");
}

#[test]
fn what_goes_up_comes_down() {
    if let Some((device, _turn)) = device() {
        harness::what_goes_up_comes_down(On(&device, 0));
    }
}

#[test]
fn a_kernel_has_its_buffers_and_values() {
    if let Some((device, _turn)) = device() {
        harness::a_kernel_has_its_buffers_and_values(On(&device, 1));
    }
}

#[test]
fn a_kernel_has_parts_of_a_buffer() {
    if let Some((device, _turn)) = device() {
        harness::a_kernel_has_parts_of_a_buffer(On(&device, 0));
    }
}

#[test]
fn more_than_there_is_is_an_error() {
    let Some((device, _turn)) = device() else {
        return;
    };
    harness::more_than_there_is_is_an_error(On(&device, 0));
    assert_eq!(device.used_bytes(), 0);
    // And so is the sum of many that are not too much by themselves.
    let one = 64 << 20;
    let room = device.memory_bytes() / one + 1;
    if room < 4096 {
        let all: Vec<_> = (0..room).map(|_| device.alloc(one as usize)).collect();
        let error = all.last().unwrap().as_ref().unwrap_err();
        assert_eq!(error.cause(), Cause::OutOfMemory);
    }
    assert_eq!(device.used_bytes(), 0);
}

#[test]
fn dropped_memory_is_given_back_when_it_is_no_longer_in_use() {
    let Some((device, _turn)) = device() else {
        return;
    };
    harness::dropped_memory_is_given_back(On(&device, 0), || device.used_bytes());
    // The library keeps some blocks, and not twenty buffers.
    if let Some(report) = device.flight.device.generate_allocator_report() {
        let allocated: u64 = report.allocations.iter().map(|one| one.size).sum();
        assert!(allocated < 200 << 20, "{allocated}");
    }
}

#[test]
fn kernels_that_cannot_be_built_say_so_and_harm_nothing() {
    let Some((device, _turn)) = device() else {
        return;
    };
    harness::kernels_that_cannot_be_built_say_so(On(&device, 0), "line 2", "Kernel::wgsl");
}

static READS: Kernel = Kernel::new("reads").wgsl(
    "@group(0) @binding(0) var<storage, read> numbers: array<f32>;
     @group(0) @binding(1) var<storage, read_write> sum: f32;
     @compute @workgroup_size(1) fn reads() { sum = numbers[0]; }",
    "reads",
);

#[test]
fn launches_that_cannot_be_say_so_and_harm_nothing() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let on = On(&device, 0);
    let (memory, other) = (on.alloc(64), on.alloc(64));
    let read = || buffer(&memory, 64, false);
    let most = device
        .flight
        .device
        .limits()
        .max_compute_workgroups_per_dimension;
    for (groups, arguments, words) in [
        // It may only read the first, and there is no second.
        (1, vec![buffer(&memory, 64, true)], "binding: 0"),
        (1, vec![read()], "binding: 1"),
        // Too many groups.
        (most + 1, vec![read(), buffer(&other, 4, true)], "65535"),
        // One buffer for two purposes; and parts of it.
        (1, vec![read(), buffer(&memory, 64, true)], "given twice"),
        (
            1,
            vec![part(&memory, 0..8, false), part(&memory, 0..4, true)],
            "given twice",
        ),
        // A part that is not of words, or begins within one.
        (1, vec![read(), part(&other, 0..6, true)], "whole words"),
        (1, vec![read(), part(&other, 2..6, true)], "multiple of"),
        (
            1,
            vec![part(&memory, 2..6, false), buffer(&other, 4, true)],
            "a whole word",
        ),
    ] {
        let error = on.launch(&READS, groups, arguments).wrong();
        assert_eq!(error.cause(), Cause::Kernel, "{error}");
        assert!(error.text().starts_with("`reads`: "), "{error}");
        assert!(error.text().contains(words) || most != 65535, "{error}");
    }
    on.launch(&READS, 1, vec![read(), buffer(&other, 4, true)])
        .right();
}

static SIXTEEN: Kernel = Kernel::new("sixteen").wgsl(
    "@group(0) @binding(0) var<storage, read_write> numbers: array<u32, 16>;
     @compute @workgroup_size(16) fn sixteen(@builtin(local_invocation_index) at: u32) {
         numbers[at] += 1u;
     }",
    "sixteen",
);

/// A buffer that is too small for its kernel, which fits others: launches that the device is given
/// together with that one are done.
#[test]
fn a_launch_that_is_refused_harms_none_that_is_submitted_with_it() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let on = On(&device, 0);
    let (memory, small, large) = (on.alloc(64), on.alloc(32), on.alloc(32 << 20));
    on.upload(&[0; 64], &memory).right();
    let launch = |memory, bytes| on.launch(&SIXTEEN, 1, vec![buffer(memory, bytes, true)]);
    launch(&memory, 64).right();
    // So much that what follows is submitted together.
    let ups = [(); 3].map(|()| on.upload(&vec![0; 32 << 20], &large));
    let good = [(); 5].map(|()| launch(&memory, 64));
    let bad = launch(&small, 32);
    let more = [(); 5].map(|()| launch(&memory, 64));
    ups.into_iter()
        .chain(good)
        .chain(more)
        .for_each(|end| end.right());
    let error = bad.wrong();
    assert_eq!(error.cause(), Cause::Kernel, "{error}");
    assert!(error.text().starts_with("`sixteen`: "), "{error}");
    assert_eq!(on.download(&memory, 4).right(), 11_u32.to_ne_bytes());
}

#[test]
fn memory_of_others_is_refused() {
    if let Some((device, _turn)) = device() {
        harness::memory_of_others_is_refused(On(&device, 0));
    }
}

#[test]
fn many_threads_submit_at_once() {
    if let Some((device, _turn)) = device() {
        harness::many_threads_submit_at_once(&device, || device.used_bytes());
    }
}

#[test]
fn the_end_of_an_operation_may_begin_others_and_drop_the_device() {
    if let Some((device, _turn)) = device() {
        harness::an_end_may_begin_others_and_drop_the_device(device);
    }
}

#[test]
fn a_lost_device_fails_all_that_is_asked_of_it() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let on = On(&device, 0);
    let (a, b) = (on.alloc(64), on.alloc(64));
    on.scale(&a, &b, 16, [1, 1]).right();
    device.flight.device.destroy();
    // It is told of while the device is polled, once nothing is in flight.
    let lost = soon(|| {
        let _ = device.flight.device.poll(::wgpu::PollType::Poll);
        device.flight.loss()
    });
    assert_eq!(lost.cause(), Cause::Lost);
    let ends = [
        on.upload(&[1; 64], &a),
        on.scale(&a, &b, 16, [1, 1]),
        on.scale(&a, &b, 16, [1, 1]),
    ];
    for end in ends {
        let error = end.wrong();
        assert_eq!(error.cause(), Cause::Lost, "{error}");
    }
    assert_eq!(on.download(&a, 64).wrong().cause(), Cause::Lost);
    assert_eq!(device.alloc(64).unwrap_err().cause(), Cause::Lost);
}

static COUNT: Kind = Kind::new("count up");
static COUNT_UP: Kernel = Kernel::new("count up").wgsl(
    "@group(0) @binding(0) var<storage, read_write> numbers: array<u32>;
     @compute @workgroup_size(64) fn count(@builtin(global_invocation_id) at: vec3<u32>) {
         if at.x < arrayLength(&numbers) { numbers[at.x] += 1; }
     }",
    "count",
);

/// One more on the device, or a hundred more on the CPU.
fn count_up(devices: &Devices, numbers: &Buffer<u32>) {
    let groups = [numbers.len().div_ceil(64) as u32, 1, 1];
    Dual::new(&COUNT, &[numbers.len()])
        .updates(numbers)
        .cpu(|| numbers.write().iter_mut().for_each(|number| *number += 100))
        .gpu(async |gpu| gpu.launch(&COUNT_UP, groups, &[Arg::update(numbers)]).await)
        .run(devices);
}

#[test]
fn a_task_that_does_not_fit_runs_on_the_cpu() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let limits = device.flight.device.limits();
    let most = limits
        .max_storage_buffer_binding_size
        .min(limits.max_buffer_size);
    if most > 1 << 30 {
        eprintln!("skipped: this device takes buffers of {most} bytes");
        return;
    }
    let builder = Devices::builder().backend(device);
    let devices = builder.choice(Choice::Gpu).build().unwrap();
    let small = Buffer::<u32>::zeroed(1000);
    count_up(&devices, &small);
    let large = Buffer::<u32>::zeroed(most as usize / 4 + 1);
    count_up(&devices, &large);
    count_up(&devices, &small);
    assert_eq!(small.into_vec(), [2; 1000]);
    assert!(large.into_vec().iter().all(|number| *number == 100));
    // Nothing had to make room for what never fits.
    let profile = devices.profile();
    assert_eq!(
        (profile.devices[0].tasks, profile.devices[0].uploads),
        (2, 1)
    );
    let why = Why::Failed(Cause::OutOfMemory);
    assert!(
        profile
            .kinds
            .values()
            .any(|kind| kind.cpu.get(&why) == Some(&1)),
        "{profile}"
    );
}
