//! Every operation on the device that is there; where there is none, each test says so and ends.

use std::any::Any;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::{Wgpu, found};
use crate::backend::{
    Backend, Done, Download, HostBytes, HostBytesMut, Launch, LaunchArg, Memory, Outcome, Upload,
};
use crate::error::{Cause, DeviceError};
use crate::kernel::Kernel;

/// Tests take turns: a driver in software takes all cores for each device.
static TURN: Mutex<()> = Mutex::new(());

fn device() -> Option<(Wgpu, MutexGuard<'static, ()>)> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut reasons = Vec::new();
    for device in found() {
        match device {
            Ok(device) => return Some((device, turn)),
            Err(why) => reasons.push(why.to_string()),
        }
    }
    eprintln!("skipped: {}", reasons.join("; "));
    None
}

struct Bytes(Vec<u8>);

impl HostBytes for Bytes {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl HostBytesMut for Bytes {
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// The end of one operation.
struct Ending<T>(Receiver<(Outcome, T)>);

impl<T> Ending<T> {
    fn wait(self) -> (Outcome, T) {
        match self.0.recv_timeout(Duration::from_secs(120)) {
            Ok(end) => end,
            Err(RecvTimeoutError::Timeout) => panic!("an operation does not end"),
            Err(RecvTimeoutError::Disconnected) => panic!("an operation ended without a word"),
        }
    }

    fn right(self) -> T {
        let (outcome, end) = self.wait();
        outcome.unwrap();
        end
    }

    fn wrong(self) -> DeviceError {
        self.wait().0.unwrap_err()
    }
}

fn upload(device: &Wgpu, bytes: &[u8], to: &Memory) -> Ending<()> {
    let (sender, receiver) = channel();
    let done = Done::new(move |outcome, _| sender.send((outcome, ())).unwrap());
    let (from, to) = (Arc::new(Bytes(bytes.to_vec())), to.clone());
    device.upload(0, Upload { from, to, done });
    Ending(receiver)
}

fn download(device: &Wgpu, from: &Memory, bytes: usize) -> Ending<Vec<u8>> {
    let (sender, receiver) = channel();
    let done = Done::new(move |outcome, target| {
        let target = target.and_then(|target| target.into_any().downcast::<Bytes>().ok());
        let bytes = target.map(|bytes| bytes.0).unwrap_or_default();
        sender.send((outcome, bytes)).unwrap();
    });
    let (from, to) = (from.clone(), Box::new(Bytes(vec![0xee; bytes])));
    device.download(0, Download { from, to, done });
    Ending(receiver)
}

fn launch(
    device: &Wgpu,
    kernel: &'static Kernel,
    groups: u32,
    arguments: Vec<LaunchArg>,
) -> Ending<()> {
    let (sender, receiver) = channel();
    let done = Done::new(move |outcome, _| sender.send((outcome, ())).unwrap());
    let launch = Launch {
        kernel,
        groups: [groups, 1, 1],
        arguments,
        work: 1.0,
        done,
    };
    device.launch(1, launch);
    Ending(receiver)
}

fn buffer(memory: &Memory, bytes: usize, writable: bool) -> LaunchArg {
    let memory = memory.clone();
    LaunchArg::Memory {
        memory,
        bytes,
        writable,
    }
}

fn value(words: &[u32]) -> LaunchArg {
    LaunchArg::Value(bytemuck::cast_slice(words).into())
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(bytemuck::pod_read_unaligned)
        .collect()
}

/// to[i] = from[i] · factor + i · step
static SCALE: Kernel = Kernel::new("scale").wgsl(
    "@group(0) @binding(0) var<uniform> factor: u32;
     @group(0) @binding(1) var<storage, read> source: array<u32>;
     @group(0) @binding(2) var<storage, read_write> scaled: array<u32>;
     @group(0) @binding(3) var<uniform> step: vec2<u32>;
     @compute @workgroup_size(64)
     fn scale(@builtin(global_invocation_id) at: vec3<u32>) {
         if at.x < arrayLength(&scaled) {
             scaled[at.x] = source[at.x] * factor + at.x * step.x;
         }
     }",
    "scale",
);

fn scale(
    device: &Wgpu,
    from: &Memory,
    to: &Memory,
    count: usize,
    factor: u32,
    step: u32,
) -> Ending<()> {
    let arguments = vec![
        value(&[factor]),
        buffer(from, 4 * count, false),
        buffer(to, 4 * count, true),
        value(&[step, 99]),
    ];
    launch(device, &SCALE, (count as u32).div_ceil(64), arguments)
}

#[test]
fn what_goes_up_comes_down() {
    let Some((device, _turn)) = device() else {
        return;
    };
    assert!(!device.name().is_empty() && device.memory_bytes() > 0 && device.streams() > 0);
    for bytes in [0, 1, 3, 4, 17, 4096, 1_000_003] {
        let memory = device.alloc(bytes).unwrap();
        let data: Vec<u8> = (0..bytes).map(|i| (i * 7 + i / 256) as u8).collect();
        upload(&device, &data, &memory).right();
        assert_eq!(
            download(&device, &memory, bytes).right(),
            data,
            "{bytes} bytes"
        );
    }
}

#[test]
fn a_kernel_has_its_buffers_and_values() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let count = 1000;
    let (from, to) = (
        device.alloc(4 * count).unwrap(),
        device.alloc(4 * count).unwrap(),
    );
    let numbers: Vec<u32> = (0..count as u32).collect();
    let up = upload(&device, bytemuck::cast_slice(&numbers), &from);
    // Nobody waits in between: one stream is in order.
    let ran = scale(&device, &from, &to, count, 3, 1000);
    let again = scale(&device, &to, &from, count, 2, 0);
    let down = download(&device, &from, 4 * count);
    up.right();
    ran.right();
    again.right();
    let want: Vec<u32> = numbers.iter().map(|i| 2 * (i * 3 + i * 1000)).collect();
    assert_eq!(words(&down.right()), want);
}

#[test]
fn a_zero_sized_launch_ends() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let memory = device.alloc(64).unwrap();
    let (from, to) = (memory.clone(), device.alloc(64).unwrap());
    let arguments = vec![
        value(&[1]),
        buffer(&from, 64, false),
        buffer(&to, 64, true),
        value(&[1, 1]),
    ];
    launch(&device, &SCALE, 0, arguments).right();
}

#[test]
fn more_than_there_is_is_an_error() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let error = device.alloc(usize::MAX / 2).unwrap_err();
    assert_eq!(error.cause(), Cause::OutOfMemory);
    assert!(error.text().contains("at most"), "{error}");
    // And so is the sum of many that are not too much by themselves.
    let one = 64 << 20;
    let room = device.memory_bytes() / one + 1;
    if room < 4096 {
        let all: Vec<_> = (0..room).map(|_| device.alloc(one as usize)).collect();
        let error = all.last().unwrap().as_ref().unwrap_err();
        assert_eq!(error.cause(), Cause::OutOfMemory);
    }
    assert_eq!(device.used_bytes(), 0);
    device.alloc(1 << 20).unwrap();
}

#[test]
fn dropped_memory_is_given_back_when_it_is_no_longer_in_use() {
    let Some((device, _turn)) = device() else {
        return;
    };
    for _ in 0..20 {
        let bytes = 16 << 20;
        let memory = device.alloc(bytes).unwrap();
        assert_eq!(device.used_bytes(), bytes as u64);
        let up = upload(&device, &vec![5; bytes], &memory);
        drop(memory);
        up.right();
        // The operation lets go of it before it says that it has ended.
        assert_eq!(device.used_bytes(), 0);
    }
    let report = device.flight.device.generate_allocator_report();
    if let Some(report) = report {
        assert!(
            report.total_allocated_bytes < 200 << 20,
            "{}",
            report.total_allocated_bytes
        );
    }
}

static WRONG: Kernel = Kernel::new("wrong").wgsl(
    "@group(0) @binding(0) var<storage, read_write> numbers: array<f32>;
     @compute @workgroup_size(1) fn wrong() { numbers[0] = nothing_of_that_name; }",
    "wrong",
);
static NO_ENTRY: Kernel = Kernel::new("no entry").wgsl(
    "@group(0) @binding(0) var<storage, read_write> numbers: array<f32>;
     @compute @workgroup_size(1) fn other() { numbers[0] = 1.0; }",
    "main",
);
static NO_WGSL: Kernel = Kernel::new("no WGSL");
static READS: Kernel = Kernel::new("reads").wgsl(
    "@group(0) @binding(0) var<storage, read> numbers: array<f32>;
     @group(0) @binding(1) var<storage, read_write> sum: f32;
     @compute @workgroup_size(1) fn reads() { sum = numbers[0]; }",
    "reads",
);

#[test]
fn kernels_that_cannot_be_built_say_so_and_harm_nothing() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let memory = device.alloc(64).unwrap();
    for (kernel, words) in [
        (&WRONG, ["`wrong`", "line 2", "nothing_of_that_name"]),
        (&NO_ENTRY, ["`no entry`", "main", ""]),
        (&NO_WGSL, ["`no WGSL`", "Kernel::wgsl", ""]),
        // It may only read what it is given.
        (&READS, ["`reads`", "binding: 0", "LOAD"]),
    ] {
        for _ in 0..2 {
            let error = launch(&device, kernel, 1, vec![buffer(&memory, 64, true)]).wrong();
            assert_eq!(error.cause(), Cause::Kernel, "{error}");
            assert!(
                words.iter().all(|word| error.text().contains(word)),
                "{error}"
            );
            assert_eq!(error.text().lines().count(), 1, "{error}");
        }
    }
    // Too many groups, and one buffer for two purposes.
    let (other, both) = (device.alloc(64).unwrap(), buffer(&memory, 64, false));
    let most = device
        .flight
        .device
        .limits()
        .max_compute_workgroups_per_dimension;
    let error = launch(
        &device,
        &READS,
        most + 1,
        vec![both.clone(), buffer(&other, 4, true)],
    )
    .wrong();
    assert_eq!(error.cause(), Cause::Kernel, "{error}");
    let error = launch(&device, &READS, 1, vec![both, buffer(&memory, 64, true)]).wrong();
    assert_eq!(error.cause(), Cause::Kernel, "{error}");
    scale(&device, &memory, &other, 16, 1, 1).right();
}

#[test]
fn memory_of_others_is_refused() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let strange = Memory::new("of another back-end");
    assert_eq!(
        upload(&device, &[1], &strange).wrong().cause(),
        Cause::Kernel
    );
    let (outcome, target) = download(&device, &strange, 3).wait();
    assert!(outcome.is_err() && target.len() == 3, "the room comes back");
}

#[test]
fn many_threads_submit_at_once() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let count = 256;
    thread::scope(|scope| {
        for thread in 0..4_u32 {
            let device = &device;
            scope.spawn(move || {
                let (a, b) = (
                    device.alloc(4 * count).unwrap(),
                    device.alloc(4 * count).unwrap(),
                );
                for round in 0..25 {
                    let numbers = vec![thread * 1000 + round; count];
                    let up = upload(device, bytemuck::cast_slice(&numbers), &a);
                    let there = scale(device, &a, &b, count, 5, thread);
                    let back = scale(device, &b, &a, count, 1, round);
                    let down = download(device, &a, 4 * count);
                    up.right();
                    there.right();
                    back.right();
                    let want = (0..count as u32)
                        .map(|i| 5 * (thread * 1000 + round) + i * (thread + round));
                    assert_eq!(words(&down.right()), want.collect::<Vec<_>>());
                }
            });
        }
    });
    assert_eq!(device.used_bytes(), 0);
}

#[test]
fn the_end_of_an_operation_may_begin_others_and_drop_the_device() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let (device, (sender, ended)) = (Arc::new(device), channel());
    let memory = device.alloc(64).unwrap();
    let last = Arc::clone(&device);
    let done = Done::new(move |outcome, _| {
        outcome.unwrap();
        let (memory, weak) = (last.alloc(64).unwrap(), Arc::downgrade(&last));
        let then = sender.clone();
        let done = Done::new(move |outcome, _| {
            outcome.unwrap();
            then.send(weak.strong_count()).unwrap();
        });
        let from = Arc::new(Bytes(vec![1; 64]));
        last.upload(
            0,
            Upload {
                from,
                to: memory,
                done,
            },
        );
        drop(last);
    });
    let from = Arc::new(Bytes(vec![2; 64]));
    device.upload(
        0,
        Upload {
            from,
            to: memory,
            done,
        },
    );
    drop(device);
    // Whichever thread dropped it last: what was in flight has ended.
    let left = ended.recv_timeout(Duration::from_secs(120)).unwrap();
    assert!(left <= 1);
}

#[test]
fn a_lost_device_fails_all_that_is_asked_of_it() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let (a, b) = (device.alloc(64).unwrap(), device.alloc(64).unwrap());
    scale(&device, &a, &b, 16, 1, 1).right();
    device.flight.device.destroy();
    let ends = [
        upload(&device, &[1; 64], &a),
        scale(&device, &a, &b, 16, 1, 1),
        scale(&device, &a, &b, 16, 1, 1),
    ];
    for end in ends {
        let error = end.wrong();
        assert_eq!(error.cause(), Cause::Lost, "{error}");
    }
    assert_eq!(download(&device, &a, 64).wrong().cause(), Cause::Lost);
    assert_eq!(device.alloc(64).unwrap_err().cause(), Cause::Lost);
}
