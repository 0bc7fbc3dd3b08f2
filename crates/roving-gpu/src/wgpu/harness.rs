//! The tests of back-ends for real devices: each operation by itself, and the promises of all of
//! them.
#![allow(unsafe_code)] // kernels in CUDA C++

use std::any::Any;
use std::ops::Range;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::backend::error::{Cause, DeviceError};
use crate::backend::{
    Backend, Done, Download, HostBytes, HostBytesMut, Launch, LaunchArg, Memory, Outcome, Remains,
    Upload,
};
use crate::kernel::Kernel;

/// Tests take turns: a driver in software takes all cores for each device.
static TURN: Mutex<()> = Mutex::new(());

/// The first device; where there is none, that is said.
pub(crate) fn first<D>(
    found: impl FnOnce() -> Vec<Result<D, DeviceError>>,
) -> Option<(D, MutexGuard<'static, ()>)> {
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

pub(crate) struct Bytes(pub(crate) Vec<u8>);

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
pub(crate) struct Ending<T>(Receiver<(Outcome, T)>);

impl<T> Ending<T> {
    pub(crate) fn wait(self) -> (Outcome, T) {
        match self.0.recv_timeout(Duration::from_secs(120)) {
            Ok(end) => end,
            Err(RecvTimeoutError::Timeout) => panic!("an operation does not end"),
            Err(RecvTimeoutError::Disconnected) => panic!("an operation ended without a word"),
        }
    }

    pub(crate) fn right(self) -> T {
        let (outcome, end) = self.wait();
        outcome.unwrap();
        end
    }

    pub(crate) fn wrong(self) -> DeviceError {
        self.wait().0.unwrap_err()
    }
}

/// A device, and the stream that is used.
#[derive(Clone, Copy)]
pub(crate) struct On<'a>(pub(crate) &'a dyn Backend, pub(crate) usize);

impl On<'_> {
    pub(crate) fn alloc(self, bytes: usize) -> Memory {
        self.0.alloc(bytes).unwrap()
    }

    pub(crate) fn upload(self, bytes: &[u8], to: &Memory) -> Ending<()> {
        let (sender, receiver) = channel();
        let done = Done::new(move |outcome, _| sender.send((outcome, ())).unwrap());
        let (from, to) = (Arc::new(Bytes(bytes.to_vec())), to.clone());
        self.0.upload(self.1, Upload { from, to, done });
        Ending(receiver)
    }

    pub(crate) fn download(self, from: &Memory, bytes: usize) -> Ending<Vec<u8>> {
        let (sender, receiver) = channel();
        let done = Done::new(move |outcome, left| {
            let bytes = match left {
                Remains::Copy(target) => target.into_any().downcast::<Bytes>().ok(),
                Remains::Nothing | Remains::Untimed | Remains::Untouched => None,
            };
            let bytes = bytes.map(|bytes| bytes.0).unwrap_or_default();
            sender.send((outcome, bytes)).unwrap();
        });
        let (from, to) = (from.clone(), Box::new(Bytes(vec![0xee; bytes])));
        self.0.download(self.1, Download { from, to, done });
        Ending(receiver)
    }

    pub(crate) fn launch(
        self,
        kernel: &'static Kernel,
        groups: u32,
        arguments: Vec<LaunchArg>,
    ) -> Ending<()> {
        self.launch_sharing(0, kernel, groups, arguments)
    }

    /// With so many bytes for each group.
    pub(crate) fn launch_sharing(
        self,
        shared: usize,
        kernel: &'static Kernel,
        groups: u32,
        arguments: Vec<LaunchArg>,
    ) -> Ending<()> {
        let (sender, receiver) = channel();
        let done = Done::new(move |outcome, _| sender.send((outcome, ())).unwrap());
        let launch = Launch {
            queued: None,
            kernel,
            groups: [groups, 1, 1],
            arguments,
            shared,
            work: 1.0,
            done,
        };
        self.0.launch(self.1, launch);
        Ending(receiver)
    }

    /// Launches [`SCALE`].
    pub(crate) fn scale(
        self,
        from: &Memory,
        to: &Memory,
        count: usize,
        [factor, step]: [u32; 2],
    ) -> Ending<()> {
        let arguments = vec![
            value(&[factor]),
            buffer(from, 4 * count, false),
            buffer(to, 4 * count, true),
            value(&[step, count as u32]),
        ];
        self.launch(&SCALE, (count as u32).div_ceil(64), arguments)
    }
}

pub(crate) fn buffer(memory: &Memory, bytes: usize, writable: bool) -> LaunchArg {
    part(memory, 0..bytes, writable)
}

pub(crate) fn part(memory: &Memory, range: Range<usize>, writable: bool) -> LaunchArg {
    let memory = memory.clone();
    LaunchArg::Memory {
        memory,
        range,
        writable,
    }
}

pub(crate) fn value(words: &[u32]) -> LaunchArg {
    LaunchArg::Value(bytemuck::cast_slice(words).into())
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(bytemuck::pod_read_unaligned)
        .collect()
}

/// scaled[i] = source[i] · factor + i · step
pub(crate) static SCALE: Kernel =
    // SAFETY: each thread looks at one number below the count, which launches take from the
    // buffers.
    unsafe {
        Kernel::new("scale")
            .wgsl(
                "@group(0) @binding(0) var<uniform> factor: u32;
         @group(0) @binding(1) var<storage, read> source: array<u32>;
         @group(0) @binding(2) var<storage, read_write> scaled: array<u32>;
         @group(0) @binding(3) var<uniform> step_and_count: vec2<u32>;
         @compute @workgroup_size(64)
         fn scale(@builtin(global_invocation_id) at: vec3<u32>) {
             if at.x < step_and_count.y {
                 scaled[at.x] = source[at.x] * factor + at.x * step_and_count.x;
             }
         }",
                "scale",
            )
            .cuda(
                "struct StepAndCount { unsigned step, count; };
         extern \"C\" __global__ void scale(
             unsigned factor, const unsigned *source, unsigned *scaled, StepAndCount given
         ) {
             unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
             if (at < given.count) scaled[at] = source[at] * factor + at * given.step;
         }",
                "scale",
                [64, 1, 1],
            )
    };

/// Each of two, with the other's numbers.
pub(crate) static SWAP: Kernel =
    // SAFETY: each thread looks at one number of both, of which the test gives as many as threads.
    unsafe {
        Kernel::new("swap")
            .wgsl(
                "@group(0) @binding(0) var<storage, read_write> one: array<u32>;
         @group(0) @binding(1) var<storage, read_write> two: array<u32>;
         @compute @workgroup_size(64) fn swap(@builtin(global_invocation_id) at: vec3<u32>) {
             let kept = one[at.x];
             one[at.x] = two[at.x];
             two[at.x] = kept;
         }",
                "swap",
            )
            .cuda(
                "extern \"C\" __global__ void swap(unsigned *one, unsigned *two) {
             unsigned at = blockIdx.x * blockDim.x + threadIdx.x, kept = one[at];
             one[at] = two[at];
             two[at] = kept;
         }",
                "swap",
                [64, 1, 1],
            )
    };

pub(crate) static WRONG: Kernel =
    // SAFETY: it does not compile.
    unsafe {
        Kernel::new("wrong")
    .wgsl(
        "@group(0) @binding(0) var<storage, read_write> numbers: array<f32>;
         @compute @workgroup_size(1) fn wrong() { numbers[0] = nothing_of_that_name; }",
        "wrong",
    )
    .cuda(
        "extern \"C\" __global__ void\nwrong(float *numbers) { numbers[0] = nothing_of_that_name; }",
        "wrong",
        [1, 1, 1],
    )
    };
static NO_ENTRY: Kernel =
    // SAFETY: it is not found.
    unsafe {
        Kernel::new("no entry")
            .wgsl(
                "@group(0) @binding(0) var<storage, read_write> numbers: array<f32>;
         @compute @workgroup_size(1) fn other() { numbers[0] = 1.0; }",
                "main",
            )
            .cuda(
                "extern \"C\" __global__ void other(float *numbers) { numbers[0] = 1; }",
                "main",
                [1, 1, 1],
            )
    };
static NO_SOURCE: Kernel = Kernel::new("no source");

pub(crate) fn what_goes_up_comes_down(on: On<'_>) {
    let device = on.0;
    assert!(!device.name().is_empty() && device.memory_bytes() > 0 && device.streams() > 0);
    for bytes in [0, 1, 3, 4, 17, 4096, 1_000_003] {
        let memory = on.alloc(bytes);
        let data: Vec<u8> = (0..bytes).map(|i| (i * 7 + i / 256) as u8).collect();
        on.upload(&data, &memory).right();
        assert_eq!(on.download(&memory, bytes).right(), data, "{bytes} bytes");
    }
}

pub(crate) fn a_kernel_has_its_buffers_and_values(on: On<'_>) {
    let count = 1000;
    let (from, to) = (on.alloc(4 * count), on.alloc(4 * count));
    let numbers: Vec<u32> = (0..count as u32).collect();
    let up = on.upload(bytemuck::cast_slice(&numbers), &from);
    // Nobody waits in between: a stream is in order.
    let ran = on.scale(&from, &to, count, [3, 1000]);
    let again = on.scale(&to, &from, count, [2, 0]);
    let down = on.download(&from, 4 * count);
    up.right();
    ran.right();
    again.right();
    let want: Vec<u32> = numbers.iter().map(|i| 2 * (i * 3 + i * 1000)).collect();
    assert_eq!(words(&down.right()), want);
    // And none of nothing.
    on.scale(&from, &to, 0, [1, 1]).right();
}

/// One part is read and another written, of one buffer; also where the first begins anywhere.
pub(crate) fn a_kernel_has_parts_of_a_buffer(on: On<'_>) {
    let count = 1024_u32;
    let all = on.alloc(4 * count as usize);
    let mut numbers: Vec<u32> = (0..count).collect();
    let up = on.upload(bytemuck::cast_slice(&numbers), &all);
    let bytes = |words: Range<usize>| 4 * words.start..4 * words.end;
    let mut launches = Vec::new();
    // The last are of nothing, at the end and inside of what is written.
    for (from, to) in [
        (0..64, 128..192),
        (3..67, 192..256),
        (130..200, 512..582),
        (1024..1024, 1024..1024),
        (70..70, 70..70),
    ] {
        let arguments = vec![
            value(&[3]),
            part(&all, bytes(from.clone()), false),
            part(&all, bytes(to.clone()), true),
            value(&[7, to.len() as u32]),
        ];
        launches.push(on.launch(&SCALE, to.len().div_ceil(64) as u32, arguments));
        for at in 0..to.len() {
            numbers[to.start + at] = numbers[from.start + at] * 3 + at as u32 * 7;
        }
    }
    // Two that are written.
    let two = [640..704, 896..960].map(|words| part(&all, bytes(words), true));
    launches.push(on.launch(&SWAP, 1, two.to_vec()));
    let (one, two) = numbers.split_at_mut(896);
    one[640..704].swap_with_slice(&mut two[..64]);
    let down = on.download(&all, 4 * count as usize);
    up.right();
    launches.into_iter().for_each(Ending::right);
    assert_eq!(words(&down.right()), numbers);
}

pub(crate) fn more_than_there_is_is_an_error(on: On<'_>) {
    let error = on.0.alloc(usize::MAX / 2).unwrap_err();
    assert_eq!(error.cause(), Cause::OutOfMemory);
    assert!(error.text().contains("at most"), "{error}");
    let memory = on.alloc(1 << 20);
    on.upload(&vec![1; 1 << 20], &memory).right();
}

pub(crate) fn dropped_memory_is_given_back(on: On<'_>, used_bytes: impl Fn() -> u64) {
    for _ in 0..20 {
        let bytes = 16 << 20;
        let memory = on.alloc(bytes);
        assert_eq!(used_bytes(), bytes as u64);
        let up = on.upload(&vec![5; bytes], &memory);
        drop(memory);
        up.right();
        // The operation lets go of it before it says that it has ended.
        assert_eq!(used_bytes(), 0);
    }
}

pub(crate) fn kernels_that_cannot_be_built_say_so(on: On<'_>, line: &str, language: &str) {
    let memory = on.alloc(64);
    for (kernel, words) in [
        (&WRONG, ["`wrong`", line, "nothing_of_that_name"]),
        (&NO_ENTRY, ["`no entry`", "main", ""]),
        (&NO_SOURCE, ["`no source`", language, ""]),
    ] {
        for _ in 0..2 {
            let error = on
                .launch(kernel, 1, vec![buffer(&memory, 64, true)])
                .wrong();
            assert_eq!(error.cause(), Cause::Kernel, "{error}");
            assert!(
                words.iter().all(|word| error.text().contains(word)),
                "{error}"
            );
            assert_eq!(error.text().lines().count(), 1, "{error}");
        }
    }
    // Nothing was harmed.
    on.scale(&memory, &on.alloc(64), 16, [1, 1]).right();
}

pub(crate) fn memory_of_others_is_refused(on: On<'_>) {
    let strange = Memory::new("of another back-end");
    assert_eq!(on.upload(&[1], &strange).wrong().cause(), Cause::Kernel);
    let (outcome, target) = on.download(&strange, 3).wait();
    assert!(outcome.is_err() && target.len() == 3, "the room comes back");
    let error = on.scale(&strange, &strange, 16, [1, 1]).wrong();
    assert_eq!(error.cause(), Cause::Kernel, "{error}");
    let memory = on.alloc(64);
    on.scale(&memory, &on.alloc(64), 16, [1, 1]).right();
}

pub(crate) fn many_threads_submit_at_once(device: &dyn Backend, used_bytes: impl Fn() -> u64) {
    let count = 256;
    thread::scope(|scope| {
        for thread in 0..4_u32 {
            let on = On(device, thread as usize % device.streams());
            scope.spawn(move || {
                let (a, b) = (on.alloc(4 * count), on.alloc(4 * count));
                for round in 0..25 {
                    let number = thread * 1000 + round;
                    let up = on.upload(bytemuck::cast_slice(&vec![number; count]), &a);
                    let there = on.scale(&a, &b, count, [5, thread]);
                    let back = on.scale(&b, &a, count, [1, round]);
                    let down = on.download(&a, 4 * count);
                    up.right();
                    there.right();
                    back.right();
                    let want = (0..count as u32).map(|i| 5 * number + i * (thread + round));
                    assert_eq!(words(&down.right()), want.collect::<Vec<_>>());
                }
            });
        }
    });
    assert_eq!(used_bytes(), 0);
}

pub(crate) fn an_end_may_begin_others_and_drop_the_device(device: impl Backend) {
    let (device, (sender, ended)) = (Arc::new(device), channel());
    let memory = device.alloc(64).unwrap();
    let last = Arc::clone(&device);
    let done = Done::new(move |outcome, _| {
        outcome.unwrap();
        let memory = last.alloc(64).unwrap();
        let done = Done::new(move |outcome, _| {
            outcome.unwrap();
            sender.send(()).unwrap();
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
    // Whichever thread dropped it last: what was in flight ends.
    ended.recv_timeout(Duration::from_secs(120)).unwrap();
}
