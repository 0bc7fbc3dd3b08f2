//! A back-end whose calls panic: who waits for what it was to do hears of it, whoever calls it.

mod common;

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::numbers::{ADD_ONE, LEN, STEP, buffer};
use common::within;
use roving_gpu::backend::{Backend, Download, Launch, LaunchArg, Memory, Upload};
use roving_gpu::{Arg, Buffer, Choice, DeviceError, Devices, Dual, Writes};

type Bytes = Mutex<Vec<u8>>;

/// The calls that can panic.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Alloc,
    Upload,
    Download,
    Launch,
}

/// A device whose memory is in vectors, with a thread on which operations end. Calls panic when as
/// many of their kind as that have been made.
struct Broken {
    call: Call,
    left: Mutex<u32>,
    ends: Mutex<Sender<Box<dyn FnOnce() + Send>>>,
}

impl Broken {
    fn new(call: Call, left: u32) -> Broken {
        let (ends, due) = channel::<Box<dyn FnOnce() + Send>>();
        thread::spawn(move || due.into_iter().for_each(|end| end()));
        let (left, ends) = (Mutex::new(left), Mutex::new(ends));
        Broken { call, left, ends }
    }

    fn comes(&self, call: Call) {
        let mut left = self.left.lock().unwrap();
        if call != self.call {
            return;
        }
        if *left == 0 {
            drop(left);
            panic!("the back-end is broken");
        }
        *left -= 1;
    }

    fn end(&self, end: impl FnOnce() + Send + 'static) {
        self.ends.lock().unwrap().send(Box::new(end)).unwrap();
    }
}

fn bytes(memory: &Memory) -> Vec<u8> {
    memory.get::<Bytes>().unwrap().lock().unwrap().clone()
}

impl Backend for Broken {
    fn name(&self) -> String {
        "broken".to_owned()
    }

    fn memory_bytes(&self) -> u64 {
        1 << 20
    }

    fn streams(&self) -> usize {
        1
    }

    fn alloc(&self, bytes: usize) -> Result<Memory, DeviceError> {
        self.comes(Call::Alloc);
        Ok(Memory::new(Bytes::new(vec![0; bytes])))
    }

    fn upload(&self, _: usize, upload: Upload) {
        self.comes(Call::Upload);
        self.end(move || {
            let to = upload.to().clone();
            let to = to.get::<Bytes>().unwrap();
            to.lock().unwrap().copy_from_slice(upload.bytes());
            upload.done(Ok(Duration::ZERO));
        });
    }

    fn download(&self, _: usize, mut download: Download) {
        self.comes(Call::Download);
        self.end(move || {
            let from = bytes(download.from());
            download.bytes().copy_from_slice(&from);
            download.done(Ok(Duration::ZERO));
        });
    }

    fn launch(&self, _: usize, mut launch: Launch) {
        self.comes(Call::Launch);
        launch.queued();
        self.end(move || {
            for argument in launch.arguments() {
                if let LaunchArg::Memory { memory, .. } = argument {
                    let numbers = memory.get::<Bytes>().unwrap();
                    let mut numbers = numbers.lock().unwrap();
                    numbers.chunks_mut(4).for_each(|number| number[0] += 1);
                }
            }
            launch.done(Ok(Duration::ZERO));
        });
    }
}

/// Four tasks of two buffers each, one after the other and at the same time; each has run on one
/// side or the other, or says that its buffer is lost.
fn all_end(call: Call, left: u32, writes: Writes) {
    within(format!("{call:?} {left}, {writes:?}"), move || {
        let builder = Devices::builder().backend(Broken::new(call, left));
        let builder = builder.choice(Choice::Gpu).writes(writes);
        let devices = Arc::new(builder.build().unwrap());
        let pairs: Vec<[Buffer<u32>; 2]> = (0..4).map(|_| [buffer(), buffer()]).collect();
        let run = |[one, two]: &[Buffer<u32>; 2]| {
            Dual::new(&STEP, &[LEN])
                .updates(one)
                .updates(two)
                .cpu(|| {
                    for numbers in [one, two] {
                        numbers.write().iter_mut().for_each(|x| *x += 1);
                    }
                })
                .gpu(async |gpu| {
                    let both = [Arg::update(one), Arg::update(two)];
                    gpu.launch(&ADD_ONE, [1, 1, 1], &both).await
                })
                .run(&devices);
        };
        thread::scope(|scope| {
            let threads: Vec<_> = pairs.iter().map(|pair| scope.spawn(|| run(pair))).collect();
            threads
                .into_iter()
                .for_each(|thread| thread.join().unwrap());
        });
        for numbers in pairs.into_iter().flatten() {
            // What only the device had may be lost, and then that is a panic.
            let numbers = thread::spawn(move || numbers.into_vec()).join();
            let is_right = numbers
                .as_ref()
                .map_or(writes == Writes::Back, |numbers| *numbers == [2; LEN]);
            assert!(is_right, "{numbers:?}");
        }
    });
}

#[test]
fn calls_that_panic_leave_nobody_waiting() {
    for writes in [Writes::Through, Writes::Back] {
        for call in [Call::Alloc, Call::Upload, Call::Download, Call::Launch] {
            (0..4).for_each(|left| all_end(call, left, writes));
        }
    }
}
