//! The state that all devices of a program share.

pub(crate) mod choice;
pub(crate) mod reporter;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use roving::raw::forks::ProcessMark;

use crate::backend::error::{Cause, DeviceError};
use crate::explored::look::Look;
use crate::history::{History, MeasuredSide};
use crate::profile::explained::{Expected, Explained};
use crate::profile::trace::Recorder;
use crate::profile::{KindProfile, Why};
use choice::{Choice, Writes};
use reporter::{DeviceReport, OnFailure, Reporter};

/// A device, as who wants it to look at its queue knows it.
pub(crate) trait HasQueue: Send + Sync {
    fn common(&self) -> &Common;
    /// Calls the tasks of its queue that a worker had better take.
    fn call(self: Arc<Self>);
    /// Something was measured for the first time, or is not being measured any more.
    fn estimate_again(self: Arc<Self>, kind: &str);
    /// Tasks wait for it. Whether it has something to do meanwhile.
    fn has_queue(&self) -> Option<bool>;
}

/// Says in a forked child what is wrong with devices of the parent.
pub(crate) const LEFT_BEHIND: &str = "the devices have no threads in this process, which was forked after they were built: build \
     them in the child";

pub(crate) struct Common {
    pub(crate) history: History,
    pub(crate) recorder: Recorder,
    pub(crate) choice: Choice,
    pub(crate) writes: Writes,
    /// Its threads are those of the devices.
    pub(crate) process: ProcessMark,
    reporter: Option<Arc<Reporter>>,
    /// All devices of the program. Whoever looks at them keeps none of the program's handles, so
    /// that times are saved when the program lets go of the last one.
    pub(crate) devices: OnceLock<Arc<[Weak<dyn HasQueue>]>>,
    /// How many CPU sides are running.
    running: AtomicUsize,
    /// How many wait for their buffers.
    fetching: AtomicUsize,
    /// How many workers the pool has that was last seen.
    workers: AtomicUsize,
    /// A worker will look at the queues when it has nothing else to do.
    look: Look,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    kinds: BTreeMap<&'static str, KindProfile>,
    explained: Explained,
    reported: BTreeSet<(usize, Cause)>,
    reports: Vec<String>,
}

impl Common {
    pub(crate) fn new(
        choice: Choice,
        writes: Writes,
        history: History,
        on_failure: Option<OnFailure>,
    ) -> Self {
        Common {
            history,
            recorder: Recorder::new(),
            choice,
            writes,
            process: ProcessMark::here(),
            reporter: on_failure.map(Reporter::new),
            devices: OnceLock::new(),
            running: AtomicUsize::new(0),
            fetching: AtomicUsize::new(0),
            workers: AtomicUsize::new(thread::available_parallelism().map_or(1, NonZero::get)),
            look: Look::new(),
            told: Mutex::default(),
        }
    }

    /// Panics in a forked child, where whatever is on a device would be waited for in vain.
    #[inline]
    pub(crate) fn check_process(&self) {
        assert!(self.process.is_here(), "{LEFT_BEHIND}");
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_through(&self) -> bool {
        self.writes == Writes::Through
    }

    /// Whether tasks may still go elsewhere once they are in a queue.
    pub(crate) fn decides(&self) -> bool {
        self.choice == Choice::Auto
    }

    pub(crate) fn running(&self) -> usize {
        // Ordering: Relaxed: an estimate.
        self.running.load(Ordering::Relaxed)
    }

    /// How many CPU sides wait for their buffers.
    pub(crate) fn fetching(&self) -> usize {
        // Ordering: Relaxed: an estimate.
        self.fetching.load(Ordering::Relaxed)
    }

    pub(crate) fn workers(&self) -> usize {
        // Ordering: Relaxed: an estimate.
        self.workers.load(Ordering::Relaxed)
    }

    /// Looks at the pool that the calling thread works for.
    pub(crate) fn see_pool(&self) {
        if roving::current_worker().is_some() {
            // Ordering: Relaxed: an estimate.
            self.workers
                .store(roving::current_workers(), Ordering::Relaxed);
        }
    }

    /// Has a worker look at the queues when it has nothing else to do.
    pub(crate) fn look(&self) {
        if self.look.ask() {
            let look = DueLook(self.devices.get().cloned());
            roving::spawn(move || drop(look));
        }
    }

    /// Something was measured for the first time, or is not being measured any more.
    fn estimate_again(&self, kind: &str) {
        living(self.devices.get()).for_each(|device| device.estimate_again(kind));
    }

    /// A worker may be free.
    fn look_if_queued(&self) {
        for device in living(self.devices.get()) {
            match device.has_queue() {
                Some(true) => self.look(),
                // There may be nobody else who would.
                Some(false) => device.call(),
                None => {}
            }
        }
    }

    /// A choice is made between two sides, by these times.
    pub(crate) fn expect(&self, kind: &'static str, work: f64, expected: Expected) {
        self.told().explained.expect(kind, work, expected);
    }

    /// A task for which a choice may have been made has taken so long.
    pub(crate) fn came(&self, kind: &'static str, work: f64, on_device: bool, seconds: f64) {
        self.told().explained.came(kind, work, on_device, seconds);
    }

    pub(crate) fn explain(&self) -> String {
        self.told().explained.lines()
    }

    /// A task has run on a device.
    pub(crate) fn count_gpu(&self, kind: &'static str, why: Why) {
        let mut told = self.told();
        let profile = told.kinds.entry(kind).or_default();
        *profile.gpu.entry(why).or_default() += 1;
    }

    /// So many tasks have run on the CPU, in so many seconds together.
    pub(crate) fn count_cpu(&self, kind: &'static str, why: Why, tasks: u64, seconds: f64) {
        let mut told = self.told();
        let profile = told.kinds.entry(kind).or_default();
        *profile.cpu.entry(why).or_default() += tasks;
        profile.cpu_s += seconds;
    }

    /// Notes an error. [`Common::call_due`] is to follow.
    pub(crate) fn report(&self, device: usize, name: &str, error: &DeviceError) {
        let report = DeviceReport {
            device: name.to_owned(),
            error: error.clone(),
        };
        let mut told = self.told();
        if !told.reported.insert((device, error.cause())) {
            return;
        }
        told.reports.push(report.to_string());
        drop(told);
        if let Some(reporter) = &self.reporter {
            reporter.put(report);
        }
    }

    /// Has the program told of the errors that were noted.
    pub(crate) fn call_due(&self) {
        if let Some(reporter) = &self.reporter {
            reporter.call_due();
        }
    }

    /// Whether the program was told of all of them; if not, wakes when it was.
    pub(crate) fn poll_told(&self, waker: &Waker) -> Poll<()> {
        let reporter = self.reporter.as_ref();
        reporter.map_or(Poll::Ready(()), |reporter| reporter.poll_idle(waker))
    }

    /// The program has been told of all errors that it hears of.
    pub(crate) fn end_reports(&self) {
        if let Some(reporter) = &self.reporter {
            reporter.end();
        }
    }

    /// Something to be told in the profile.
    pub(crate) fn note(&self, notes: impl IntoIterator<Item = String>) {
        self.told().reports.extend(notes);
    }

    pub(crate) fn kinds(&self) -> BTreeMap<&'static str, KindProfile> {
        self.told().kinds.clone()
    }

    pub(crate) fn reports(&self) -> Vec<String> {
        self.told().reports.clone()
    }
}

/// The devices that are still there.
fn living(all: Option<&Arc<[Weak<dyn HasQueue>]>>) -> impl Iterator<Item = Arc<dyn HasQueue>> {
    let all = all.into_iter().flat_map(|all| all.iter());
    all.filter_map(Weak::upgrade)
}

/// A look at the queues of all devices, which is due: the drop is the look. So it comes also where
/// its job is dropped unrun, because whoever asked for it was cancelled: the tasks of others rely
/// on it.
struct DueLook(Option<Arc<[Weak<dyn HasQueue>]>>);

impl Drop for DueLook {
    fn drop(&mut self) {
        let mut devices = living(self.0.as_ref()).peekable();
        if let Some(first) = devices.peek() {
            first.common().look.begin();
        }
        devices.for_each(|device| device.call());
    }
}

/// A CPU side that waits for its buffers.
pub(crate) struct Fetching<'a>(&'a Common);

impl<'a> Fetching<'a> {
    pub(crate) fn new(common: &'a Common) -> Self {
        // Ordering: Relaxed: an estimate.
        common.fetching.fetch_add(1, Ordering::Relaxed);
        Fetching(common)
    }
}

impl Drop for Fetching<'_> {
    fn drop(&mut self) {
        // Ordering: Relaxed: an estimate.
        self.0.fetching.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The first measurement of a kind on the CPU: from when its task is sent there, which may have to
/// fetch its buffers first, until its CPU side has ended, or will not run. Other tasks of the kind
/// wait in the queue of a device for what comes of it; its end calls them. Not to be dropped while
/// a device is locked.
pub(crate) struct Sample {
    common: Arc<Common>,
    kind: &'static str,
}

impl Sample {
    /// Begins one, if the kind was not measured yet and is not being measured.
    pub(crate) fn first(common: &Arc<Common>, kind: &'static str) -> Option<Sample> {
        let is_first = common.history.begin_first(kind, MeasuredSide::Cpu);
        is_first.then(|| Sample::of(common, kind))
    }

    /// Begins one, if the kind was not measured yet: its task runs here in any case.
    fn also(common: &Arc<Common>, kind: &'static str) -> Option<Sample> {
        let is_sample = common.history.begin(kind, MeasuredSide::Cpu);
        is_sample.then(|| Sample::of(common, kind))
    }

    fn of(common: &Arc<Common>, kind: &'static str) -> Sample {
        let common = Arc::clone(common);
        Sample { common, kind }
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        self.common.history.end(self.kind, MeasuredSide::Cpu);
        self.common.estimate_again(self.kind);
    }
}

/// A CPU side that runs.
pub(crate) struct Running<'a> {
    common: &'a Common,
    kind: &'static str,
    /// Dropped when this one does not count any more.
    _sample: Option<Sample>,
    begun: Instant,
}

impl<'a> Running<'a> {
    /// `sample` is what was begun when the task was sent here.
    pub(crate) fn new(common: &'a Arc<Common>, kind: &'static str, sample: Option<Sample>) -> Self {
        // Ordering: Relaxed: an estimate.
        common.running.fetch_add(1, Ordering::Relaxed);
        Running {
            common,
            kind,
            _sample: sample.or_else(|| Sample::also(common, kind)),
            begun: Instant::now(),
        }
    }

    /// It has ended, and did not panic: how long it took.
    pub(crate) fn ended(self, work: f64) -> Duration {
        let time = self.begun.elapsed();
        let history = &self.common.history;
        history.record(self.kind, MeasuredSide::Cpu, work, time.as_secs_f64());
        self.common.recorder.cpu(self.kind, time);
        time
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // Ordering: Relaxed: an estimate.
        self.common.running.fetch_sub(1, Ordering::Relaxed);
        // Also when it panicked.
        self.common.look_if_queued();
    }
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Common").finish_non_exhaustive()
    }
}
