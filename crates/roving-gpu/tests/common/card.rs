//! A device of the tests' own, with their own memory objects: it has ended each operation when it
//! comes back from the call, but for copies to other devices, which a test may keep.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use roving_gpu::backend::{Backend, Download, Launch, LaunchArg, Memory, PeerCopy, Upload};
use roving_gpu::{Cause, DeviceError};

/// Called when a piece of memory is dropped.
pub(crate) type Hook = Arc<dyn Fn() + Send + Sync>;

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

/// Its only kernel adds 1 to each number of each buffer that is updated.
pub(crate) struct Card {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) streams: usize,
    pub(crate) then: Hook,
    /// It answers no more.
    pub(crate) is_lost: Arc<AtomicBool>,
    /// Where copies to it from another one come, if there can be any.
    pub(crate) copies: Option<&'static Mutex<Option<PeerCopy>>>,
    /// How many of the bytes are in use: until a piece is dropped.
    pub(crate) used: Arc<AtomicUsize>,
}

impl Card {
    pub(crate) fn new(name: impl Into<String>, bytes: u64) -> Card {
        Card {
            name: name.into(),
            bytes,
            streams: 1,
            then: Arc::new(|| ()),
            is_lost: Arc::default(),
            copies: None,
            used: Arc::default(),
        }
    }
}

impl Backend for Card {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn memory_bytes(&self) -> u64 {
        self.bytes
    }

    fn streams(&self) -> usize {
        self.streams
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
        let from = Piece::of(download.from()).lock().unwrap().clone();
        download.bytes().copy_from_slice(&from);
        download.done(Ok(Duration::ZERO));
    }

    fn reaches(&self, other: &dyn Backend) -> bool {
        self.copies.is_some() && (other as &dyn Any).is::<Card>()
    }

    fn copy(&self, _: usize, copy: PeerCopy) {
        let copies = self.copies.expect("it reaches no other");
        *copies.lock().unwrap() = Some(copy);
    }

    fn launch(&self, _: usize, launch: Launch) {
        if self.is_lost.load(Ordering::SeqCst) {
            // So it has failed, and the device is lost.
            return drop(launch);
        }
        for argument in launch.arguments() {
            if let LaunchArg::Memory {
                memory,
                writable: true,
                ..
            } = argument
            {
                let mut numbers = Piece::of(memory).lock().unwrap();
                numbers.chunks_mut(4).for_each(|number| number[0] += 1);
            }
        }
        launch.done(Ok(Duration::ZERO));
    }
}
