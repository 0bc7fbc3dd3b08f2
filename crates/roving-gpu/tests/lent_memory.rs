//! Memory that a device has lent to another one for a copy: it is free when that has ended.

mod common;

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::numbers::{ADD_ONE, BYTES, LEN, OTHER, STEP, add, buffer};
use common::{Known, SAMPLES, Times, soon, within};
use roving_gpu::backend::{Backend, Download, Launch, LaunchArg, Memory, PeerCopy, Upload};
use roving_gpu::{Arg, Cause, Choice, DeviceError, Devices, Dual, Writes};

/// The memory of a device.
struct Piece {
    bytes: Mutex<Vec<u8>>,
    used: Arc<AtomicUsize>,
}

impl Drop for Piece {
    fn drop(&mut self) {
        let bytes = self.bytes.lock().unwrap().len();
        self.used.fetch_sub(bytes, Ordering::SeqCst);
    }
}

/// A device with so much memory, to which copies come when the test says so.
struct Card {
    bytes: u64,
    used: Arc<AtomicUsize>,
}

static COPY: Mutex<Option<PeerCopy>> = Mutex::new(None);

fn bytes(memory: &Memory) -> &Mutex<Vec<u8>> {
    &memory.get::<Piece>().unwrap().bytes
}

impl Backend for Card {
    fn name(&self) -> String {
        format!("card of {}", self.bytes)
    }

    fn memory_bytes(&self) -> u64 {
        self.bytes
    }

    fn streams(&self) -> usize {
        2
    }

    fn alloc(&self, bytes: usize) -> Result<Memory, DeviceError> {
        let sum = self.used.fetch_add(bytes, Ordering::SeqCst) + bytes;
        if sum as u64 > self.bytes {
            self.used.fetch_sub(bytes, Ordering::SeqCst);
            return Err(DeviceError::new(Cause::OutOfMemory, "as much as there is"));
        }
        Ok(Memory::new(Piece {
            bytes: Mutex::new(vec![0; bytes]),
            used: Arc::clone(&self.used),
        }))
    }

    fn upload(&self, _: usize, upload: Upload) {
        let mut to = bytes(upload.to()).lock().unwrap();
        to.copy_from_slice(upload.bytes());
        drop(to);
        upload.done(Ok(Duration::ZERO));
    }

    fn download(&self, _: usize, mut download: Download) {
        let from = bytes(download.from()).lock().unwrap().clone();
        download.bytes().copy_from_slice(&from);
        download.done(Ok(Duration::ZERO));
    }

    fn reaches(&self, other: &dyn Backend) -> bool {
        (other as &dyn Any).is::<Card>()
    }

    fn copy(&self, _: usize, copy: PeerCopy) {
        *COPY.lock().unwrap() = Some(copy);
    }

    fn launch(&self, _: usize, launch: Launch) {
        for argument in launch.arguments() {
            if let LaunchArg::Memory {
                memory,
                writable: true,
                ..
            } = argument
            {
                let mut numbers = bytes(memory).lock().unwrap();
                numbers.chunks_mut(4).for_each(|number| number[0] += 1);
            }
        }
        launch.done(Ok(Duration::ZERO));
    }
}

/// The small device has the numbers that a task copies to the large one. The host gets them, too,
/// and a task waits for the room that they have on the small one.
#[test]
fn who_needs_the_room_of_what_was_lent_finds_it_free() {
    within("lent memory".to_owned(), || {
        let card = |buffers: u64| Card {
            bytes: buffers * BYTES,
            used: Arc::default(),
        };
        let builder = Devices::builder().backend(card(1)).backend(card(8));
        // So what both can do is the small one's.
        let known = [("card of 16", 1e-6), ("card of 128", 1e3)];
        let known = known.map(|(card, mean)| Known::of(card, SAMPLES, mean));
        let times = Times::of("lent-memory", &STEP, &known);
        let builder = builder.choice(Choice::Gpu).writes(Writes::Back);
        let devices = builder.history(times.path()).build().unwrap();
        let lent = buffer();
        add(&devices, &STEP, &ADD_ONE, &lent);
        assert_eq!(devices.profile().devices[0].tasks, 1);
        let new = buffer();
        thread::scope(|scope| {
            scope.spawn(|| {
                let large = [(); 2].map(|()| buffer());
                let task = Dual::new(&OTHER, &[LEN]).reads(&lent);
                let task = task.updates(&large[0]).updates(&large[1]);
                let task = task.gpu(async |gpu| {
                    let all = [Arg::read(&lent), Arg::update(&large[0])];
                    gpu.launch(&ADD_ONE, [1, 1, 1], &all).await
                });
                task.run(&devices).unwrap();
            });
            soon("the copy has begun", || COPY.lock().unwrap().is_some());
            assert_eq!(lent.read()[..], [2; LEN]);
            let waits = scope.spawn(|| {
                let task = Dual::new(&STEP, &[LEN]).updates(&new);
                let task = task.gpu(async |gpu| {
                    assert_eq!(gpu.device(), "card of 16");
                    gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&new)]).await
                });
                task.run(&devices)
            });
            thread::sleep(Duration::from_millis(50));
            assert!(!waits.is_finished());
            let copy = COPY.lock().unwrap().take().unwrap();
            copy.done(Ok(Duration::ZERO));
            waits.join().unwrap().unwrap();
        });
    });
}
