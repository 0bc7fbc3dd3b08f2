//! A device that computes on the host, at a declared speed.

use std::time::Duration;

use crate::backend::{Backend, Download, Launch, Memory, Upload};
use crate::error::{Cause, DeviceError};

/// A device for tests and for studies of scheduling: kernels run their host functions, on a thread of its own, and end
/// when the declared time has passed.
#[derive(Clone, Debug)]
#[must_use]
pub struct Simulated {
    name: String,
    speed: f64,
    bytes_per_s: f64,
    launch: Duration,
    memory_bytes: u64,
    streams: usize,
    shares_cores: bool,
    failures: Vec<(u64, Failure)>,
}

/// How a simulated device fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It is gone, with its memory and with all that was under way.
    Lost,
    /// This operation finds no memory.
    OutOfMemory,
    /// This operation fails, having done half of its work.
    Kernel,
}

impl Simulated {
    /// As fast as the host computes.
    #[expect(
        clippy::new_without_default,
        reason = "a device is not a value that one has by default"
    )]
    pub fn new() -> Self {
        Simulated {
            name: String::from("simulated"),
            speed: f64::INFINITY,
            bytes_per_s: f64::INFINITY,
            launch: Duration::ZERO,
            memory_bytes: u64::MAX,
            streams: 4,
            shares_cores: false,
            failures: Vec::new(),
        }
    }

    /// Its name, by which measured times are kept.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// How much work it does in a second, in the unit of [`crate::Dual::work`].
    pub fn speed(mut self, work_per_s: f64) -> Self {
        self.speed = work_per_s;
        self
    }

    /// How fast it copies, in each direction.
    pub fn bytes_per_s(mut self, bytes_per_s: f64) -> Self {
        self.bytes_per_s = bytes_per_s;
        self
    }

    /// What each operation takes at least.
    pub fn launch_time(mut self, time: Duration) -> Self {
        self.launch = time;
        self
    }

    /// How much memory it has.
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// How many streams it has.
    pub fn streams(mut self, streams: usize) -> Self {
        self.streams = streams.max(1);
        self
    }

    /// It is to be treated as one that computes on the workers' own cores.
    pub fn shares_cores(mut self, shares: bool) -> Self {
        self.shares_cores = shares;
        self
    }

    /// Operation number `index`, counted from 0 over all of them, fails.
    pub fn fail_at(mut self, index: u64, failure: Failure) -> Self {
        self.failures.push((index, failure));
        self
    }
}

impl Backend for Simulated {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    fn streams(&self) -> usize {
        self.streams
    }

    fn shares_cores(&self) -> bool {
        self.shares_cores
    }

    fn alloc(&self, _: usize) -> Result<Memory, DeviceError> {
        Err(DeviceError::new(Cause::Lost, "not there"))
    }

    fn upload(&self, _: usize, upload: Upload) {
        upload.done(Err(DeviceError::new(Cause::Lost, "not there")));
    }

    fn download(&self, _: usize, download: Download) {
        download.done(Err(DeviceError::new(Cause::Lost, "not there")));
    }

    fn launch(&self, _: usize, launch: Launch) {
        launch.done(Err(DeviceError::new(Cause::Lost, "not there")));
    }
}
