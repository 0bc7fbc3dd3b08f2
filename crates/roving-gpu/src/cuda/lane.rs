//! One stream, and the thread that gives it its operations and waits for them.
#![allow(unsafe_code)] // copies go on after the call that began them

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError};

use super::blas::{Blas, Routine};
use super::fault;
use super::memory::Room;
use super::module::Modules;
use crate::backend::{Download, Launch, Outcome, Upload};
use crate::error::{Cause, DeviceError};

/// The state that the lanes of one device share.
pub(super) struct Common {
    pub(super) context: Arc<CudaContext>,
    pub(super) modules: Modules,
    /// The text of the error with which the device was lost.
    lost: OnceLock<String>,
}

impl Common {
    pub(super) fn new(context: Arc<CudaContext>, modules: Modules) -> Self {
        Common {
            context,
            modules,
            lost: OnceLock::new(),
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
}

impl Job {
    fn done(self, outcome: Outcome) {
        match self {
            Job::Upload(upload) => upload.done(outcome),
            Job::Download(download) => download.done(outcome),
            Job::Launch(launch) => launch.done(outcome),
        }
    }

    fn unbegun(self, Unbegun { error, is_refused }: Unbegun) {
        match self {
            Job::Launch(launch) if is_refused => launch.refused(error),
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

/// The orders for a lane; its thread sleeps while there are none.
#[derive(Default)]
pub(super) struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
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

    /// The oldest job. `None`, if there is none now and `busy`, or if there will be none.
    fn take(&self, busy: bool) -> Option<Job> {
        let mut state = self.state();
        loop {
            let job = state.jobs.pop_front();
            if job.is_some() || busy || state.closed {
                return job;
            }
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change of the state is one call that does not panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn left() -> DeviceError {
    DeviceError::new(Cause::Lost, "the thread of a stream has ended")
}

/// A panic in there has dropped the operation, and who waits for it has been told by that.
fn finish(end: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(end));
}

/// A lane's thread. It ends when its inbox was closed and all has ended.
pub(super) fn start(
    common: &Arc<Common>,
    index: usize,
) -> Result<(Arc<Inbox>, JoinHandle<()>), DeviceError> {
    let failed = |error| fault::of(error, "");
    let stream = common.context.new_stream().map_err(failed)?;
    let inbox = Arc::new(Inbox::default());
    let (common, own) = (Arc::clone(common), Arc::clone(&inbox));
    let thread = thread::Builder::new()
        .name(format!("roving-cuda-{index}"))
        .spawn(move || Lane::new(common, own, stream).run());
    let thread = thread.map_err(|error| DeviceError::new(Cause::NoDevice, error.to_string()))?;
    Ok((inbox, thread))
}

struct Lane {
    /// Made when it is first asked for: that takes long. `Some(None)`: there is none. Dropped
    /// before the stream.
    blas: Option<Option<Blas>>,
    common: Arc<Common>,
    inbox: Arc<Inbox>,
    stream: Arc<CudaStream>,
    /// On the stream, the oldest first.
    flying: VecDeque<Flying>,
    spare: Vec<Marks>,
}

/// An operation on the stream, or one that did not get there.
struct Flying {
    job: Job,
    marks: Result<Marks, Unbegun>,
}

/// Events before and after an operation.
struct Marks {
    before: CudaEvent,
    after: CudaEvent,
}

impl Lane {
    fn new(common: Arc<Common>, inbox: Arc<Inbox>, stream: Arc<CudaStream>) -> Self {
        Lane {
            blas: None,
            common,
            inbox,
            stream,
            flying: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    fn run(&mut self) {
        // All that follows is done in this context. Where that fails, so will all else, and says
        // so.
        let _ = self.common.context.bind_to_thread();
        loop {
            match self.inbox.take(!self.flying.is_empty()) {
                Some(job) => self.begin(job),
                None if self.flying.is_empty() => break,
                None => self.end_oldest(),
            }
        }
    }

    fn begin(&mut self, mut job: Job) {
        let begun = match self.common.loss() {
            Some(loss) => Err(Unbegun::refused(loss)),
            // The interface panics where a library is missing, or a function of it.
            None => catch_unwind(AssertUnwindSafe(|| self.submit(&mut job))).unwrap_or_else(|_| {
                let text = "the interface of CUDA panicked; a library of it may be missing";
                Err(Unbegun::failed(DeviceError::new(Cause::Kernel, text)))
            }),
        };
        let marks = begun.map_err(|Unbegun { error, is_refused }| Unbegun {
            error: self.common.note(error),
            is_refused,
        });
        self.flying.push_back(Flying { job, marks });
    }

    fn submit(&mut self, job: &mut Job) -> Result<Marks, Unbegun> {
        let refused = |error| Unbegun::refused(fault::of(error, ""));
        let failed = |error| Unbegun::failed(fault::of(error, ""));
        // Building a kernel for its first launch takes none of the device's time.
        if let Job::Launch(launch) = job {
            if self.routine(launch).is_none() {
                let prepared = self.common.modules.prepare(launch.kernel());
                prepared.map_err(Unbegun::refused)?;
            }
        }
        let marks = match self.spare.pop() {
            Some(marks) => marks,
            None => Marks::new(&self.common.context).map_err(refused)?,
        };
        marks.before.record(&self.stream).map_err(refused)?;
        match job {
            Job::Upload(upload) => {
                let room = Room::of(upload.to()).map_err(Unbegun::refused)?;
                // SAFETY: the job, which has both sides, is in `flying` from here until the stream
                // has ended it.
                unsafe { room.fill(upload.bytes(), &self.stream) }.map_err(Unbegun::failed)?;
            }
            Job::Download(download) => {
                let memory = download.from().clone();
                let room = Room::of(&memory).map_err(Unbegun::refused)?;
                // SAFETY: the job, which has both sides, is in `flying` from here until the stream
                // has ended it, and nobody looks into it there.
                unsafe { room.empty(download.bytes(), &self.stream) }.map_err(Unbegun::failed)?;
            }
            Job::Launch(launch) => self.launch(launch)?,
        }
        marks.after.record(&self.stream).map_err(failed)?;
        Ok(marks)
    }

    /// The library and what it is to do, if the kernel names a routine and the library is there.
    fn routine(&mut self, launch: &Launch) -> Option<(&Blas, Routine)> {
        let routine = Routine::named(launch.kernel().as_library()?)?;
        let blas = self.blas.get_or_insert_with(|| Blas::new(&self.stream));
        Some((blas.as_ref()?, routine))
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), Unbegun> {
        match self.routine(launch) {
            // A routine may be several launches, of which some are on the stream.
            Some((blas, routine)) => blas.launch(routine, launch).map_err(Unbegun::failed),
            None => {
                let launched = self.common.modules.launch(launch, &self.stream);
                launched.map_err(Unbegun::refused)
            }
        }
    }

    fn end_oldest(&mut self) {
        let Some(Flying { job, marks }) = self.flying.pop_front() else {
            return;
        };
        let marks = match marks {
            Ok(marks) => marks,
            Err(unbegun) => {
                self.settle();
                return finish(|| job.unbegun(unbegun));
            }
        };
        let outcome = marks.wait().map_err(|error| {
            // Whatever was found here, the context gives nothing but the same from now on.
            let text = fault::text(error);
            self.common.note(DeviceError::new(Cause::Lost, text))
        });
        self.spare.push(marks);
        if outcome.is_err() {
            self.settle();
        }
        finish(|| job.done(outcome));
    }

    /// After an error, the stream may still be at work on what had been put on it before that.
    fn settle(&self) {
        // Either all of it has ended, or the device is lost, and ends nothing any more.
        let _ = self.stream.synchronize();
    }
}

/// Also when its thread panics: nothing is freed under the stream, and nobody waits for ever.
impl Drop for Lane {
    fn drop(&mut self) {
        finish(|| self.settle());
        for Flying { job, .. } in self.flying.drain(..) {
            finish(|| job.done(Err(left())));
        }
        self.inbox.leave();
    }
}

impl Marks {
    fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        // Waiting for them sleeps.
        let event = || context.new_event(Some(CUevent_flags::CU_EVENT_BLOCKING_SYNC));
        Ok(Marks {
            before: event()?,
            after: event()?,
        })
    }

    /// Sleeps until the operation has ended. Gives the time that it took.
    fn wait(&self) -> Result<Duration, DriverError> {
        self.after.synchronize()?;
        let ms = self.before.elapsed_ms(&self.after)?;
        Ok(Duration::from_secs_f64(f64::from(ms.max(0.0)) / 1e3))
    }
}
