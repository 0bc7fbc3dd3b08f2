//! A device that computes on the host, at a declared speed.

mod clock;
mod execute;
mod failure;
mod memory;
mod work;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Backend, Download, Launch, Memory, PeerCopy, Upload};
use clock::Clock;
pub use failure::Failure;
pub use memory::Gauge;
use memory::SimulatedMemory;
use work::Work;

/// A device for tests and for studies of scheduling: kernels run their host functions, on a thread
/// of its own, and end when the declared time has passed. It runs one kernel at a time, and one
/// copy in each direction.
///
/// ```
/// use roving_gpu::{Arg, Buffer, Choice, Devices, Dual, HostCall, Kernel, Kind, Simulated};
/// use std::time::{Duration, Instant};
///
/// static WAIT: Kind = Kind::new("wait");
/// static KERNEL: Kernel = Kernel::new("wait").host(|call: &mut HostCall<'_>| {
///     call.update::<u8>()[0] = 1;
/// });
/// let backend = Simulated::new().speed(100.0).bytes_per_s(1e9).memory_bytes(1 << 20);
/// let gauge = backend.gauge();
/// let devices = Devices::builder().backend(backend).choice(Choice::Gpu).build().unwrap();
/// let (byte, start) = (Buffer::from(vec![0_u8]), Instant::now());
/// Dual::new(&WAIT, &[1])
///     .updates(&byte)
///     .cpu(|| ())
///     .gpu(async |gpu| gpu.launch(&KERNEL, [1, 1, 1], &[Arg::update(&byte)]).await)
///     .run(&devices);
/// assert_eq!(byte.into_vec(), [1]); // Waits for the kernel.
/// assert!(start.elapsed() >= Duration::from_millis(10));
/// assert_eq!(gauge.operations(), 4); // Memory, a copy there, the kernel, a copy back.
/// ```
#[derive(Debug)]
#[must_use]
pub struct Simulated {
    settings: Settings,
    gauge: Gauge,
    clock: OnceLock<Clock>,
}

#[derive(Clone, Debug)]
struct Settings {
    name: String,
    speed: f64,
    bytes_per_s: f64,
    launch: Duration,
    memory_bytes: u64,
    streams: usize,
    shares_cores: bool,
    /// Bytes per second, and a latency.
    link: Option<(f64, Duration)>,
    failures: HashMap<u64, Failure>,
}

impl Simulated {
    /// Creates a device that is as fast as the host computes.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let devices = Devices::builder().backend(Simulated::new()).build().unwrap();
    /// assert_eq!(devices.names(), ["simulated"]);
    /// ```
    #[expect(
        clippy::new_without_default,
        reason = "a device is not a value that one has by default"
    )]
    pub fn new() -> Self {
        Simulated {
            settings: Settings {
                name: String::from("simulated"),
                speed: f64::INFINITY,
                bytes_per_s: f64::INFINITY,
                launch: Duration::ZERO,
                memory_bytes: u64::MAX,
                streams: 4,
                shares_cores: false,
                link: None,
                failures: HashMap::new(),
            },
            gauge: Gauge::default(),
            clock: OnceLock::new(),
        }
    }

    /// Sets the name, by which measured times are kept.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let devices = Devices::builder().backend(Simulated::new().name("toy")).build().unwrap();
    /// assert_eq!(devices.names(), ["toy"]);
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// Sets how much work the device does in a second, in the unit of [`crate::Dual::work`].
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let backend = Simulated::new().speed(1e9);
    /// assert!(Devices::builder().backend(backend).build().is_ok());
    /// ```
    pub fn speed(mut self, work_per_s: f64) -> Self {
        self.settings.speed = work_per_s;
        self
    }

    /// Sets how fast the device copies, in each direction.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let backend = Simulated::new().bytes_per_s(10e9);
    /// assert!(Devices::builder().backend(backend).build().is_ok());
    /// ```
    pub fn bytes_per_s(mut self, bytes_per_s: f64) -> Self {
        self.settings.bytes_per_s = bytes_per_s;
        self
    }

    /// Sets the least time of each operation.
    ///
    /// ```
    /// use roving_gpu::Simulated;
    /// use std::time::Duration;
    ///
    /// let backend = Simulated::new().launch_time(Duration::from_micros(10));
    /// assert!(roving_gpu::Devices::builder().backend(backend).build().is_ok());
    /// ```
    pub fn launch_time(mut self, time: Duration) -> Self {
        self.settings.launch = time;
        self
    }

    /// Sets how much memory the device has.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let backend = Simulated::new().memory_bytes(1 << 30);
    /// assert!(Devices::builder().backend(backend).build().is_ok());
    /// ```
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.settings.memory_bytes = bytes;
        self
    }

    /// Sets how many streams the device has.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let backend = Simulated::new().streams(2);
    /// assert!(Devices::builder().backend(backend).build().is_ok());
    /// ```
    pub fn streams(mut self, streams: usize) -> Self {
        self.settings.streams = streams.max(1);
        self
    }

    /// Sets whether the scheduler treats the device as one that computes on the workers' own cores.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let backend = Simulated::new().shares_cores(true);
    /// assert!(Devices::builder().backend(backend).build().is_ok());
    /// ```
    pub fn shares_cores(mut self, shares: bool) -> Self {
        self.settings.shares_cores = shares;
        self
    }

    /// Gives it a link to the other simulated devices that have one: copies between two of them go
    /// from memory to memory, at the lower bandwidth and the longer latency of both. Without a link
    /// they go by way of the host.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let card = |name| Simulated::new().name(name).link(50e9, Duration::from_micros(3));
    /// let devices = Devices::builder().backend(card("a")).backend(card("b")).build().unwrap();
    /// assert_eq!(devices.names(), ["a", "b"]);
    /// ```
    pub fn link(mut self, bytes_per_s: f64, latency: Duration) -> Self {
        self.settings.link = Some((bytes_per_s, latency));
        self
    }

    /// Makes operation number `index` fail, counted from 0 over all operations.
    ///
    /// ```
    /// use roving_gpu::{Buffer, Choice, Devices, Dual, Failure, Kind, Simulated};
    ///
    /// static SIDE: Kind = Kind::new("side");
    /// let backend = Simulated::new().fail_at(0, Failure::Lost);
    /// let devices = Devices::builder().backend(backend).choice(Choice::Gpu).build().unwrap();
    /// let numbers = Buffer::from(vec![1_u32]);
    /// let task = Dual::new(&SIDE, &[1]).reads(&numbers).cpu(|| "CPU").gpu(async |_gpu| Ok("GPU"));
    /// assert_eq!(task.run(&devices), "CPU"); // since the device is lost
    /// ```
    pub fn fail_at(mut self, index: u64, failure: Failure) -> Self {
        self.settings.failures.insert(index, failure);
        self
    }

    /// Returns counters of the device, which also work while it is in use.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let backend = Simulated::new();
    /// let gauge = backend.gauge();
    /// let _devices = Devices::builder().backend(backend).build().unwrap();
    /// assert_eq!((gauge.operations(), gauge.pieces()), (0, 0));
    /// ```
    pub fn gauge(&self) -> Gauge {
        self.gauge.clone()
    }

    /// The next operation, and whether it is to fail.
    fn next(&self) -> Option<Failure> {
        let index = self.gauge.next_operation();
        self.settings.failures.get(&index).copied()
    }

    fn submit(&self, stream: usize, engine: usize, declared: Duration, work: Work) {
        let failure = self.next();
        self.clock()
            .submit((stream, Some(engine)), declared, work, failure);
    }

    fn clock(&self) -> &Clock {
        let streams = self.settings.streams;
        self.clock
            .get_or_init(|| Clock::start(streams, self.gauge.clone()))
    }

    /// The time that so many bytes take from another device to this one: by the slower of their
    /// links.
    fn link_time(&self, other: &Simulated, bytes: usize) -> Option<Duration> {
        let (own, others) = (self.settings.link?, other.settings.link?);
        let (speed, latency) = (own.0.min(others.0), own.1.max(others.1));
        Some(latency + seconds(bytes as f64 / speed))
    }

    fn transfer_time(&self, bytes: usize) -> Duration {
        self.settings.launch + seconds(bytes as f64 / self.settings.bytes_per_s)
    }
}

/// A time beyond which an operation is as good as endless.
const SECONDS_MAX: f64 = 1e6;

fn seconds(seconds: f64) -> Duration {
    if seconds.is_nan() {
        return Duration::ZERO;
    }
    Duration::from_secs_f64(seconds.clamp(0.0, SECONDS_MAX))
}

/// Numbers of the device's engines: this one runs kernels, the others copy.
const KERNELS: usize = 0;
const UPLOADS: usize = 1;
const DOWNLOADS: usize = 2;
const COPIES: usize = 3;

impl Backend for Simulated {
    fn name(&self) -> String {
        self.settings.name.clone()
    }

    fn memory_bytes(&self) -> u64 {
        self.settings.memory_bytes
    }

    fn streams(&self) -> usize {
        self.settings.streams
    }

    fn shares_cores(&self) -> bool {
        self.settings.shares_cores
    }

    fn alloc(&self, bytes: usize) -> Result<Memory, DeviceError> {
        let failure = self.next();
        if failure == Some(Failure::Lost) {
            self.gauge.lose();
        }
        if self.gauge.is_lost() {
            return Err(DeviceError::new(Cause::Lost, "as planned"));
        }
        match failure {
            Some(Failure::OutOfMemory) => Err(DeviceError::new(Cause::OutOfMemory, "as planned")),
            Some(Failure::Kernel) => Err(DeviceError::new(Cause::Kernel, "as planned")),
            Some(Failure::Lost) | None => {
                let piece = SimulatedMemory::new(bytes, self.settings.memory_bytes, &self.gauge)?;
                Ok(Memory::new(Arc::new(piece)))
            }
        }
    }

    fn upload(&self, stream: usize, upload: Upload) {
        let time = self.transfer_time(upload.bytes().len());
        self.submit(stream, UPLOADS, time, Work::Upload(upload));
    }

    fn download(&self, stream: usize, mut download: Download) {
        let time = self.transfer_time(download.bytes().len());
        self.submit(stream, DOWNLOADS, time, Work::Download(download));
    }

    fn follow(&self, stream: usize, other: usize) {
        // Before the first operation there is nothing to wait for.
        if let Some(clock) = self.clock.get() {
            clock.follow(stream, other);
        }
    }

    fn reaches(&self, other: &dyn Backend) -> bool {
        let other = other.downcast_ref();
        other.is_some_and(|other| self.link_time(other, 0).is_some())
    }

    fn copy(&self, stream: usize, copy: PeerCopy) {
        let (source, source_stream) = copy.source();
        let other = source.downcast_ref::<Simulated>();
        let time = |other| self.link_time(other, copy.bytes());
        let Some((other, time)) = other.and_then(|other| Some((other, time(other)?))) else {
            copy.refused(DeviceError::new(Cause::Peer, "there is no link"));
            return;
        };
        let passed = source_stream.map(|of| {
            let (mark, passed) = work::mark();
            let mark = Work::Mark(mark);
            let marked = other.clock().submit((of, None), Duration::ZERO, mark, None);
            self.clock().not_before(stream, marked);
            passed
        });
        self.submit(stream, COPIES, time, Work::Copy(copy, passed));
    }

    fn launch(&self, stream: usize, mut launch: Launch) {
        let queued = launch.queued.take().filter(|_| execute::is_fit(&launch));
        let time = self.settings.launch + seconds(launch.work() / self.settings.speed);
        self.submit(stream, KERNELS, time, Work::Launch(launch));
        // Not before: another device may copy what it writes as soon as that is told.
        if let Some(tell) = queued {
            tell();
        }
    }
}
