//! Memory objects of a program's own back-end: their drop is code of the program, which may use the
//! devices, and may panic.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::numbers::{ADD_ONE, BYTES, LEN, STEP, add, buffer, told};
use common::{Gate, within};
use roving_gpu::backend::{Backend, Download, Launch, LaunchArg, Memory, Upload};
use roving_gpu::{Buffer, Cause, Choice, DeviceError, Devices, Writes};

/// Called when a piece of memory is dropped.
type Hook = Arc<dyn Fn() + Send + Sync>;

/// The memory of a device: a vector, and that.
struct Piece {
    bytes: Mutex<Vec<u8>>,
    then: Hook,
    used: Arc<AtomicUsize>,
}

impl Piece {
    fn of(memory: &Memory) -> &Mutex<Vec<u8>> {
        &memory.get::<Piece>().unwrap().bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        struct GivesBack<'a>(&'a Piece);
        impl Drop for GivesBack<'_> {
            fn drop(&mut self) {
                let bytes = self.0.bytes.lock().unwrap().len();
                self.0.used.fetch_sub(bytes, Ordering::SeqCst);
            }
        }
        let _also_if_it_panics = GivesBack(self);
        (self.then)();
    }
}

/// A device that has ended each operation when it comes back from the call.
struct Own {
    bytes: u64,
    then: Hook,
    /// How many of the bytes are in use: until a piece is dropped.
    used: Arc<AtomicUsize>,
    /// It answers no more.
    is_lost: Arc<AtomicBool>,
}

impl Own {
    fn answers(&self) -> bool {
        !self.is_lost.load(Ordering::SeqCst)
    }
}

impl Backend for Own {
    fn name(&self) -> String {
        "own".to_owned()
    }

    fn memory_bytes(&self) -> u64 {
        self.bytes
    }

    fn streams(&self) -> usize {
        1
    }

    fn alloc(&self, bytes: usize) -> Result<Memory, DeviceError> {
        let sum = self.used.fetch_add(bytes, Ordering::SeqCst) + bytes;
        if sum as u64 > self.bytes {
            self.used.fetch_sub(bytes, Ordering::SeqCst);
            return Err(DeviceError::new(Cause::OutOfMemory, "as much as there is"));
        }
        Ok(Memory::new(Piece {
            bytes: Mutex::new(vec![0; bytes]),
            then: Arc::clone(&self.then),
            used: Arc::clone(&self.used),
        }))
    }

    fn upload(&self, _: usize, upload: Upload) {
        let mut to = Piece::of(upload.to()).lock().unwrap();
        to.copy_from_slice(upload.bytes());
        drop(to);
        upload.done(Ok(Duration::ZERO));
    }

    fn download(&self, _: usize, mut download: Download) {
        let from = download.from().clone();
        let from = Piece::of(&from).lock().unwrap().clone();
        download.bytes().copy_from_slice(&from);
        download.done(Ok(Duration::ZERO));
    }

    fn launch(&self, _: usize, launch: Launch) {
        if !self.answers() {
            // So it has failed, and the device is lost.
            return drop(launch);
        }
        for argument in launch.arguments() {
            if let LaunchArg::Memory { memory, .. } = argument {
                let mut numbers = Piece::of(memory).lock().unwrap();
                numbers.chunks_mut(4).for_each(|number| number[0] += 1);
            }
        }
        launch.done(Ok(Duration::ZERO));
    }
}

/// The device, and what loses it.
fn own(bytes: u64, then: Hook) -> (Devices, Arc<AtomicBool>) {
    let is_lost = Arc::new(AtomicBool::new(false));
    let lose = Arc::clone(&is_lost);
    let backend = Own {
        bytes,
        then,
        used: Arc::default(),
        is_lost,
    };
    let builder = Devices::builder().backend(backend).choice(Choice::Gpu);
    (builder.writes(Writes::Back).build().unwrap(), lose)
}

/// Each way in which a device lets go of memory, one after the other: 6 pieces in all.
fn let_go(devices: &Devices, lose: &AtomicBool) {
    let on_device = || {
        let numbers = buffer();
        add(devices, &STEP, &ADD_ONE, &numbers);
        numbers
    };
    // Its buffer goes.
    drop(on_device());
    // Others need the room.
    let old = on_device();
    assert_eq!(old.read()[..], [2; LEN]);
    let new = [(); 2].map(|()| on_device());
    assert_eq!(old.read()[..], [2; LEN]);
    // The device is lost, with the memory of the task that is there and of those that have ended.
    drop(new);
    let kept = on_device();
    lose.store(true, Ordering::SeqCst);
    add(devices, &STEP, &ADD_ONE, &old);
    assert_eq!(old.read()[..], [12; LEN]);
    assert!(told(|| drop(kept.read())).contains("lost"));
}

#[test]
fn memory_may_use_its_device_when_it_is_dropped() {
    within("own memory".to_owned(), || {
        static DROPPED: AtomicUsize = AtomicUsize::new(0);
        static DEVICES: Mutex<Option<Devices>> = Mutex::new(None);
        static OTHERS: Mutex<Vec<Buffer<u32>>> = Mutex::new(Vec::new());
        let asks: Hook = Arc::new(|| {
            DROPPED.fetch_add(1, Ordering::SeqCst);
            let devices = DEVICES.lock().unwrap().clone();
            if let Some(devices) = devices {
                assert_eq!(devices.profile().devices.len(), 1);
                let other = OTHERS.lock().unwrap().pop();
                drop(other);
            }
        });
        let (devices, lose) = own(2 * BYTES, asks);
        *DEVICES.lock().unwrap() = Some(devices.clone());
        OTHERS.lock().unwrap().extend((0..2).map(|_| buffer()));
        let_go(&devices, &lose);
        assert_eq!(DROPPED.load(Ordering::SeqCst), 6);
        *DEVICES.lock().unwrap() = None;
    });
}

/// Nobody who comes next is told of it, and nothing else is left undone.
#[test]
fn memory_may_panic_when_it_is_dropped() {
    within("broken memory".to_owned(), || {
        static DROPPED: AtomicUsize = AtomicUsize::new(0);
        let panics: Hook = Arc::new(|| {
            DROPPED.fetch_add(1, Ordering::SeqCst);
            panic!("the memory is broken");
        });
        let (devices, lose) = own(2 * BYTES, panics);
        let_go(&devices, &lose);
        assert_eq!(DROPPED.load(Ordering::SeqCst), 6);
    });
}

/// There is room when it is dropped: a task that has no other side does not fail before that.
#[test]
fn who_needs_the_room_waits_for_the_drop() {
    within("slow memory".to_owned(), || {
        static GATE: Gate = Gate::new();
        let (devices, _lose) = own(BYTES, Arc::new(|| GATE.pass()));
        let old = buffer();
        add(&devices, &STEP, &ADD_ONE, &old);
        assert_eq!(old.read()[..], [2; LEN]);
        let closed = GATE.close();
        thread::scope(|scope| {
            scope.spawn(|| drop(old));
            closed.wait();
            let new = buffer();
            scope.spawn(move || {
                add(&devices, &STEP, &ADD_ONE, &new);
                assert_eq!(new.read()[..], [2; LEN]);
            });
            thread::sleep(Duration::from_millis(50));
            drop(closed);
        });
    });
}
