//! One stream, the thread that gives it its operations, and the thread that waits for them.
//!
//! The first never waits for the device, so a chain of operations is on the stream as soon as it is
//! known. The second waits where somebody wants to know of an end; where nobody does (launches that
//! said they were queued), it waits for half of those that are on the stream at a time.
#![allow(unsafe_code)] // copies go on after the call that began them

use std::collections::{HashSet, VecDeque};
use std::ptr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaContext, CudaStream};

use roving::raw::panics::contain;

use super::blas::{Blas, Routine};
use super::calls;
use super::fault;
use super::marks::{self, Marks};
use super::memory::{Room, Store};
use super::module::Modules;
use super::point::{Marker, Point};
use super::staging::{Staged, Staging};
use crate::backend::device_thread::DeviceThread;
use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Download, Launch, Outcome, PeerCopy, Upload};
use crate::kernel::stream_call::StreamKept;

/// The state that the lanes of one device share.
pub(super) struct Common {
    pub(super) context: Arc<CudaContext>,
    pub(super) modules: Modules,
    store: Arc<Store>,
    staging: Staging,
    /// The devices, by their numbers, that copies have come from.
    known: Mutex<HashSet<usize>>,
    /// The text of the error with which the device was lost.
    lost: OnceLock<String>,
}

impl Common {
    pub(super) fn new(context: Arc<CudaContext>, modules: Modules, store: Arc<Store>) -> Self {
        Common {
            staging: Staging::new(&context),
            context,
            modules,
            store,
            known: Mutex::default(),
            lost: OnceLock::new(),
        }
    }

    /// Opens another device to this one, before the first copy from there.
    fn meet(&self, other: &Common) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.insert(other.context.ordinal()) {
            other.store.open_to(&self.store);
        }
    }

    /// Why nothing more can be done, if so.
    pub(super) fn loss(&self) -> Option<DeviceError> {
        let text = self.lost.get()?;
        Some(DeviceError::new(Cause::Lost, text.clone()))
    }

    /// Remembers an error after which there is no other.
    fn note(&self, error: DeviceError) -> DeviceError {
        if error.cause() == Cause::Lost {
            // The first reason is the one that counts.
            let _ = self.lost.set(error.text().into());
        }
        error
    }
}

/// An operation.
pub(super) enum Job {
    Upload(Upload),
    Download(Download),
    Launch(Launch),
    /// From that device.
    Copy(PeerCopy, Arc<Common>),
    /// Marks the stream as it is by now, for another stream.
    Mark(Marker),
    /// Puts all that comes behind that mark of another stream.
    After(Arc<Point>),
}

impl Job {
    fn done(self, outcome: Outcome) {
        match self {
            Job::Upload(upload) => upload.done(outcome),
            Job::Download(download) => download.done(outcome),
            Job::Launch(launch) => launch.done(outcome),
            Job::Copy(copy, _) => copy.done(outcome),
            // Dropping a marker settles its point.
            Job::Mark(_) | Job::After(_) => (),
        }
    }

    fn unbegun(self, Unbegun { error, is_refused }: Unbegun) {
        match self {
            Job::Launch(launch) if is_refused => launch.refused(error),
            Job::Copy(copy, from) => match from.loss() {
                Some(loss) => copy.refused(loss),
                None => copy.done(Err(error)),
            },
            other => other.done(Err(error)),
        }
    }
}

/// Why an operation is not on the stream, or not as it should be.
struct Unbegun {
    error: DeviceError,
    /// Nothing of it is there.
    is_refused: bool,
}

impl Unbegun {
    fn refused(error: DeviceError) -> Self {
        Unbegun {
            error,
            is_refused: true,
        }
    }

    fn failed(error: DeviceError) -> Self {
        Unbegun {
            error,
            is_refused: false,
        }
    }
}

/// The orders for a lane; its first thread sleeps while there are none.
#[derive(Default)]
pub(super) struct Inbox {
    state: Mutex<InboxState>,
    changed: Condvar,
}

/// The jobs in an inbox, and whether somebody gives or takes more.
#[derive(Default)]
struct InboxState {
    /// The oldest first.
    jobs: VecDeque<Job>,
    closed: bool,
    /// There is nobody any more who would take a job.
    is_left: bool,
}

impl Inbox {
    pub(super) fn push(&self, job: Job) {
        let mut state = self.state();
        if state.is_left {
            drop(state);
            job.done(Err(left()));
            return;
        }
        state.jobs.push_back(job);
        drop(state);
        self.changed.notify_one();
    }

    /// Notes that the thread that took jobs is gone: jobs that are here fail, and so do later ones.
    fn leave(&self) {
        let mut state = self.state();
        state.is_left = true;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        jobs.into_iter()
            .for_each(|job| finish(|| job.done(Err(left()))));
    }

    /// There will be no more.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_one();
    }

    /// The oldest job. `None`, if there will be none.
    fn take(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            let job = state.jobs.pop_front();
            if job.is_some() || state.closed {
                return job;
            }
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, InboxState> {
        // Each change of the state is one call that does not panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn left() -> DeviceError {
    DeviceError::new(Cause::Lost, "the thread of a stream has ended")
}

/// A panic in there has dropped the operation, and who waits for it has been told by that.
fn finish(end: impl FnOnce()) {
    let _ = contain(end);
}

/// The threads of a lane. They end when its inbox was closed and all has ended.
pub(super) fn start(
    common: &Arc<Common>,
    index: usize,
) -> Result<(Arc<Inbox>, [JoinHandle<()>; 2]), DeviceError> {
    let failed = |error| fault::of(error, "");
    let stream = common.context.new_stream().map_err(failed)?;
    let inbox = Arc::new(Inbox::default());
    let shared = Arc::new(LaneParts {
        common: Arc::clone(common),
        stream,
        spare: Mutex::default(),
    });
    let (flying, ends) = channel();
    let waiter = LaneWaiter {
        shared: Arc::clone(&shared),
        flying: VecDeque::new(),
        ends,
    };
    let thread = |name: &str, run: Box<dyn FnOnce() + Send>| {
        let thread = thread::Builder::new().name(format!("roving-cuda-{index}{name}"));
        let thread = thread.spawn(move || DeviceThread::during(run));
        thread.map_err(|error| DeviceError::new(Cause::NoDevice, error.to_string()))
    };
    let waiting = thread("-ends", Box::new(move || waiter.run()))?;
    let own = Arc::clone(&inbox);
    let giving = move || {
        let lane = Lane {
            kept: StreamKept::default(),
            blas: None,
            flying,
            shared,
            inbox: own,
            allocations: 0,
            known: HashSet::new(),
        };
        lane.run();
    };
    let giving = thread("", Box::new(giving))?;
    Ok((inbox, [giving, waiting]))
}

/// The parts that both threads of a lane have.
struct LaneParts {
    common: Arc<Common>,
    stream: Arc<CudaStream>,
    spare: Mutex<Vec<Marks>>,
}

impl LaneParts {
    fn spare(&self) -> MutexGuard<'_, Vec<Marks>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After an error, the stream may still be at work on what had been put on it before that.
    fn settle(&self) {
        // Either all of it has ended, or the device is lost, and ends nothing any more.
        let _ = self.stream.synchronize();
    }
}

/// The side that puts operations on the stream.
struct Lane {
    /// Dropped before the stream.
    kept: StreamKept,
    /// Made when it is first asked for: that takes long. `Some(None)`: there is none. Dropped
    /// before the stream.
    blas: Option<Option<Blas>>,
    flying: Sender<Flying>,
    shared: Arc<LaneParts>,
    inbox: Arc<Inbox>,
    /// The allocations that the stream is behind.
    allocations: u64,
    /// Kernels that were launched here, by their addresses.
    known: HashSet<usize>,
}

/// An operation on the stream, or one that did not get there.
struct Flying {
    job: Job,
    /// Somebody may wait for its end.
    is_awaited: bool,
    begun: Result<Begun, Unbegun>,
}

/// The parts of an operation that is on the stream.
struct Begun {
    marks: Marks,
    /// So long the host took to put it there, between the two marks, where that may be the loading
    /// of a kernel.
    loading: Duration,
    /// The pinned memory that a copy goes through.
    staged: Option<Staged>,
}

impl Lane {
    fn run(mut self) {
        // All that follows is done in this context. Where that fails, so will all else, and says
        // so.
        let _ = self.shared.common.context.bind_to_thread();
        while let Some(job) = self.inbox.take() {
            self.begin(job);
        }
    }

    fn begin(&mut self, mut job: Job) {
        let begun = match self.shared.common.loss() {
            Some(loss) => Err(Unbegun::refused(loss)),
            // The interface panics where a library is missing, or a function of it.
            None => contain(|| self.submit(&mut job)).unwrap_or_else(|_| {
                let text = "the interface of CUDA panicked; a library of it may be missing";
                Err(Unbegun::failed(DeviceError::new(Cause::Kernel, text)))
            }),
        };
        let begun = match begun {
            Ok(Some(begun)) => Ok(begun),
            // An order of streams has no end of its own. An event of another device has bound that
            // one's context to be destroyed.
            Ok(None) => {
                drop(job);
                let _ = self.shared.common.context.bind_to_thread();
                return;
            }
            Err(unbegun) => Err(match &job {
                // The other device is to blame.
                Job::Copy(_, from) if from.loss().is_some() => unbegun,
                _ => Unbegun {
                    error: self.shared.common.note(unbegun.error),
                    is_refused: unbegun.is_refused,
                },
            }),
        };
        let mut is_awaited = true;
        if let (Job::Launch(launch), Ok(_)) = (&mut job, &begun) {
            is_awaited = launch.queued.is_none();
            finish(|| launch.queued());
        }
        let flying = Flying {
            job,
            is_awaited,
            begun,
        };
        if let Err(returned) = self.flying.send(flying) {
            // The other thread is gone, with a panic.
            self.shared.settle();
            finish(|| returned.0.job.done(Err(left())));
        }
    }

    /// Gives nothing where nothing is to be waited for.
    fn submit(&mut self, job: &mut Job) -> Result<Option<Begun>, Unbegun> {
        let refused = |error| Unbegun::refused(fault::of(error, ""));
        let failed = |error| Unbegun::failed(fault::of(error, ""));
        let shared = Arc::clone(&self.shared);
        let (common, stream) = (&shared.common, &shared.stream);
        match job {
            Job::Mark(marker) => {
                let untimed = Some(CUevent_flags::CU_EVENT_DISABLE_TIMING);
                let event = common.context.new_event(untimed).map_err(refused)?;
                event.record(stream).map_err(refused)?;
                marker.0.settle(Some(event));
                return Ok(None);
            }
            Job::After(point) => {
                point.put_behind(stream).map_err(refused)?;
                return Ok(None);
            }
            // Building a kernel for its first launch takes none of the device's time.
            Job::Launch(launch)
                if launch.kernel().as_stream().is_none() && self.routine(launch).is_none() =>
            {
                let prepared = common.modules.prepare(launch.kernel());
                prepared.map_err(Unbegun::refused)?;
            }
            _ => (),
        }
        let ordered = common.store.put_behind(stream, &mut self.allocations);
        ordered.map_err(refused)?;
        let spare = shared.spare().pop();
        let marks = match spare {
            Some(marks) => marks,
            None => Marks::new(&common.context).map_err(refused)?,
        };
        marks.before.record(stream).map_err(refused)?;
        let mut staged = None;
        let start = Instant::now();
        let done = self.put(job, &mut staged);
        let loading = match job {
            Job::Launch(launch) if self.known.insert(ptr::from_ref(launch.kernel()).addr()) => {
                start.elapsed()
            }
            _ => Duration::ZERO,
        };
        if let Err(error) = done.and_then(|()| marks.after.record(stream).map_err(failed)) {
            // The pinned memory must not go before that.
            shared.settle();
            return Err(error);
        }
        Ok(Some(Begun {
            marks,
            loading,
            staged,
        }))
    }

    /// Puts an operation on the stream; a copy by way of pinned memory, if there is some.
    fn put(&mut self, job: &mut Job, staged: &mut Option<Staged>) -> Result<(), Unbegun> {
        let LaneParts { common, stream, .. } = &*self.shared;
        match job {
            Job::Upload(upload) => {
                let room = Room::of(upload.to()).map_err(Unbegun::refused)?;
                *staged = common.staging.of(upload.bytes().len());
                let from = match staged {
                    Some(staged) => staged.filled(upload.bytes()),
                    None => upload.bytes(),
                };
                // SAFETY: the job, which has both sides, and the pinned memory are flying from here
                // until the stream has ended it.
                unsafe { room.fill(from, stream) }.map_err(Unbegun::failed)
            }
            Job::Download(download) => {
                let memory = download.from().clone();
                let room = Room::of(&memory).map_err(Unbegun::refused)?;
                let len = download.bytes().len();
                *staged = common.staging.of(len);
                let to = match staged {
                    Some(staged) => staged.bytes(len),
                    None => download.bytes(),
                };
                // SAFETY: the job, which has both sides, and the pinned memory are flying from here
                // until the stream has ended it, and nobody looks into them there.
                unsafe { room.empty(to, stream) }.map_err(Unbegun::failed)
            }
            Job::Copy(copy, from) => {
                if let Some(loss) = from.loss() {
                    return Err(Unbegun::refused(loss));
                }
                let [to, room] = [copy.to(), copy.from()].map(Room::of);
                let (to, room) = (
                    to.map_err(Unbegun::refused)?,
                    room.map_err(Unbegun::refused)?,
                );
                common.meet(from);
                // SAFETY: the job, which has both sides, is flying from here until the stream has
                // ended it. What writes the other side is before the mark that this comes after.
                unsafe { to.take_from(room, copy.bytes(), stream) }.map_err(Unbegun::failed)
            }
            Job::Launch(launch) => self.launch(launch),
            Job::Mark(_) | Job::After(_) => Ok(()),
        }
    }

    /// The library and what it is to do, if the kernel names a routine and the library is there.
    fn routine(&mut self, launch: &Launch) -> Option<(&Blas, Routine)> {
        let routine = Routine::named(launch.kernel().as_library()?)?;
        let blas = self
            .blas
            .get_or_insert_with(|| Blas::new(&self.shared.stream));
        Some((blas.as_ref()?, routine))
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), Unbegun> {
        if let Some(function) = launch.kernel().as_stream() {
            // As a routine.
            let queued = calls::queue(function, launch, &self.shared.stream, &mut self.kept);
            return queued.map_err(Unbegun::failed);
        }
        match self.routine(launch) {
            // A routine may be several launches, of which some are on the stream.
            Some((blas, routine)) => blas.launch(routine, launch).map_err(Unbegun::failed),
            None => {
                let LaneParts { common, stream, .. } = &*self.shared;
                let launched = common.modules.launch(launch, stream);
                launched.map_err(Unbegun::refused)
            }
        }
    }
}

/// Also when its thread panics: nobody waits for ever, and the library goes when it has done all.
impl Drop for Lane {
    fn drop(&mut self) {
        finish(|| self.shared.settle());
        self.inbox.leave();
    }
}

/// The side that waits.
struct LaneWaiter {
    /// Received, the oldest first.
    flying: VecDeque<Flying>,
    ends: Receiver<Flying>,
    shared: Arc<LaneParts>,
}

impl LaneWaiter {
    fn run(mut self) {
        let _ = self.shared.common.context.bind_to_thread();
        loop {
            self.flying.extend(self.ends.try_iter());
            if self.flying.is_empty() {
                match self.ends.recv() {
                    Ok(flying) => self.flying.push_back(flying),
                    Err(_) => break,
                }
            } else {
                self.end_some();
            }
        }
    }

    /// Ends the oldest, up to one that is waited for.
    fn end_some(&mut self) {
        let stops = |flying: &Flying| flying.begun.is_err() || flying.is_awaited;
        let until = self.flying.iter().position(stops);
        let until = until.unwrap_or(self.flying.len() / 2);
        // One that did not begin comes after all that did before it.
        let last = match self.flying[until].begun {
            Err(_) if until > 0 => until - 1,
            _ => until,
        };
        let outcome = match &self.flying[last].begun {
            // The stream has a state that nobody knows.
            Err(_) => {
                self.shared.settle();
                Ok(())
            }
            Ok(begun) => begun.marks.after.synchronize(),
        };
        let lost = outcome.err().map(|error| {
            self.shared.settle();
            // Whatever was found here, the context gives nothing but the same from now on.
            let error = DeviceError::new(Cause::Lost, fault::text(error));
            self.shared.common.note(error)
        });
        for Flying { job, begun, .. } in self.flying.drain(..=last) {
            match (begun, &lost) {
                (Err(unbegun), _) => finish(|| job.unbegun(unbegun)),
                (Ok(_), Some(lost)) => finish(|| job.done(Err(lost.clone()))),
                (Ok(begun), None) => self.shared.end(job, begun),
            }
        }
    }
}

impl LaneParts {
    /// The end of an operation that the stream has done.
    fn end(
        &self,
        mut job: Job,
        Begun {
            marks,
            loading,
            staged,
        }: Begun,
    ) {
        let time = marks.time();
        self.spare().push(marks);
        if let (Job::Download(download), Some(mut staged)) = (&mut job, staged) {
            let to = download.bytes();
            to.copy_from_slice(staged.bytes(to.len()));
        }
        let outcome = time.map_err(|error| {
            let error = DeviceError::new(Cause::Lost, fault::text(error));
            self.common.note(error)
        });
        finish(|| match (job, outcome) {
            (Job::Launch(launch), Ok(time)) if marks::is_of_the_host(loading, time) => {
                launch.untimed()
            }
            (job, outcome) => job.done(outcome),
        });
    }
}

/// Also when its thread panics: nothing is freed under the stream, and nobody waits for ever.
impl Drop for LaneWaiter {
    fn drop(&mut self) {
        finish(|| self.shared.settle());
        for Flying { job, .. } in self.flying.drain(..) {
            finish(|| job.done(Err(left())));
        }
    }
}
