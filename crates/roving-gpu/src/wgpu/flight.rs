//! The operations in flight, and the thread that waits for them.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use ::wgpu::{
    BindGroup, CommandBuffer, CommandEncoder, ComputePass, ComputePipeline, Device, PollType,
    Queue, SubmissionIndex,
};

use roving::raw::panics::contain;

use super::fault;
use super::places::BoundBytes;
use crate::backend::Outcome;
use crate::backend::device_thread::DeviceThread;
use crate::backend::error::{Cause, DeviceError};

/// A callback for the end of an operation.
pub(super) type End = Box<dyn FnOnce(Outcome) + Send>;

/// A device with its one queue, and all that was given to it and has not ended.
///
/// The driver calls nobody: somebody has to wait in it. That is a thread of this type, which waits
/// for the oldest submission, and sleeps when there is none. Submissions end in their order, so
/// none is seen late.
pub(super) struct Flight {
    pub(super) device: Device,
    pub(super) queue: Queue,
    state: Mutex<FlightState>,
    /// Something was submitted, or there will be no more.
    changed: Condvar,
    /// The text of the error with which the device was lost.
    lost: OnceLock<String>,
}

/// Submissions, and launches that are none yet.
#[derive(Default)]
struct FlightState {
    /// The oldest first.
    entries: VecDeque<Submitted>,
    /// Launches that were not submitted yet.
    open: Option<OpenLaunches>,
    closed: bool,
}

/// A submission that has not ended.
struct Submitted {
    started: Instant,
    /// The submission to wait for; or why there is none.
    submission: Result<SubmissionIndex, DeviceError>,
    /// Whoever is to hear of it. The device did so many things, one after the other.
    ends: Vec<End>,
}

/// Launches that will be one submission. Only those are put together that come while the device has
/// enough to do: while there are [`AHEAD`] submissions. So no launch waits for another.
struct OpenLaunches {
    encoder: CommandEncoder,
    /// Dropped before the encoder is finished.
    pass: ComputePass<'static>,
    started: Instant,
    /// The binding of the last launch.
    bound: Option<(Binding, BindGroup)>,
    ends: Vec<End>,
}

/// A kernel with its arguments.
#[derive(PartialEq)]
pub(super) struct Binding {
    pub(super) pipeline: ComputePipeline,
    /// Its arguments, in their order.
    pub(super) places: Vec<BoundBytes>,
}

/// One is under way, and one is there when it ends.
const AHEAD: usize = 2;
/// So many launches are one submission at most.
const TOGETHER: usize = 64;

impl Flight {
    /// Also starts the thread, which ends when [`Flight::close`] has been called and all has ended.
    pub(super) fn new(
        device: Device,
        queue: Queue,
    ) -> std::io::Result<(Arc<Self>, JoinHandle<()>)> {
        let flight = Arc::new(Flight {
            device,
            queue,
            state: Mutex::default(),
            changed: Condvar::new(),
            lost: OnceLock::new(),
        });
        flight.listen();
        let waiting = Arc::clone(&flight);
        let thread = thread::Builder::new()
            .name("roving-wgpu".into())
            .spawn(move || waiting.wait_for_all())?;
        Ok((flight, thread))
    }

    /// Hears of the loss of the device, and of errors that no scope has caught, after which nothing
    /// is certain.
    fn listen(self: &Arc<Self>) {
        let weak = Arc::downgrade(self);
        let lose = move |text: String| {
            if let Some(flight) = weak.upgrade() {
                // The first reason is the one that counts.
                let _ = flight.lost.set(text);
            }
        };
        let also = lose.clone();
        self.device.set_device_lost_callback(move |reason, text| {
            let text = fault::first_line(&text);
            lose(if text.is_empty() {
                format!("{reason:?}")
            } else {
                text.into()
            });
        });
        self.device.on_uncaptured_error(Arc::new(move |error| {
            also(fault::of(error, "").text().into())
        }));
    }

    /// Why nothing more can be done, if so.
    pub(super) fn loss(&self) -> Option<DeviceError> {
        let text = self.lost.get()?;
        Some(DeviceError::new(Cause::Lost, text.clone()))
    }

    /// Why something failed: a device that is lost is told of while it is polled, and refuses
    /// before that.
    pub(super) fn reason(&self, error: DeviceError) -> DeviceError {
        if self.loss().is_none() {
            self.poll(PollType::Poll);
        }
        self.loss().unwrap_or(error)
    }

    /// Submits, after all that was submitted before. `then` is called at once when that is done;
    /// `end` by the thread when the device has done it. Time is counted from `started`.
    pub(super) fn submit(
        &self,
        started: Instant,
        commands: Option<CommandBuffer>,
        then: impl FnOnce(),
        end: End,
    ) {
        let mut state = self.state();
        self.flush(&mut state);
        let submission = self.submitted(commands);
        if submission.is_ok() {
            then();
        }
        self.push(
            &mut state,
            Submitted {
                started,
                submission,
                ends: vec![end],
            },
        );
    }

    /// Submits a launch, after all that was submitted before; together with others if the device
    /// is busy.
    pub(super) fn launch(&self, binding: Binding, group: BindGroup, groups: [u32; 3], end: End) {
        let mut state = self.state();
        let open = state.open.get_or_insert_with(|| {
            let mut encoder = self.device.create_command_encoder(&Default::default());
            let pass = encoder.begin_compute_pass(&Default::default());
            OpenLaunches {
                pass: pass.forget_lifetime(),
                encoder,
                started: Instant::now(),
                bound: None,
                ends: Vec::new(),
            }
        });
        if open.bound.as_ref().is_none_or(|(last, _)| *last != binding) {
            open.pass.set_pipeline(&binding.pipeline);
            open.pass.set_bind_group(0, &group, &[]);
            open.bound = Some((binding, group));
        }
        let [x, y, z] = groups;
        open.pass.dispatch_workgroups(x, y, z);
        open.ends.push(end);
        let is_full = open.ends.len() >= TOGETHER;
        if is_full || state.entries.len() < AHEAD {
            self.flush(&mut state);
        }
    }

    /// The group of a binding, if the last launch had the same and was not submitted yet.
    pub(super) fn group_of(&self, binding: &Binding) -> Option<BindGroup> {
        let state = self.state();
        let (last, group) = state.open.as_ref()?.bound.as_ref()?;
        (last == binding).then(|| group.clone())
    }

    /// Submits the launches that were not submitted yet. Whatever else is given to the queue comes
    /// after them.
    pub(super) fn flush_all(&self) {
        self.flush(&mut self.state());
    }

    fn flush(&self, state: &mut FlightState) {
        let Some(open) = state.open.take() else {
            return;
        };
        let OpenLaunches {
            encoder,
            pass,
            started,
            ends,
            ..
        } = open;
        let finished = fault::caught(&self.device, "", || {
            drop(pass);
            encoder.finish()
        });
        let submission = finished.and_then(|commands| self.submitted(Some(commands)));
        self.push(
            state,
            Submitted {
                started,
                submission,
                ends,
            },
        );
    }

    fn submitted(&self, commands: Option<CommandBuffer>) -> Result<SubmissionIndex, DeviceError> {
        match self.loss() {
            Some(loss) => Err(loss),
            None => fault::caught(&self.device, "", || self.queue.submit(commands)),
        }
    }

    /// Has the thread say that an operation failed. Nobody is called from within his own call.
    pub(super) fn fail(&self, error: DeviceError, end: End) {
        let started = Instant::now();
        let submission = Err(self.loss().unwrap_or(error));
        let mut state = self.state();
        self.flush(&mut state);
        self.push(
            &mut state,
            Submitted {
                started,
                submission,
                ends: vec![end],
            },
        );
    }

    fn push(&self, state: &mut FlightState, entry: Submitted) {
        state.entries.push_back(entry);
        if state.entries.len() == 1 {
            self.changed.notify_one();
        }
    }

    /// There will be no more.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_one();
    }

    fn wait_for_all(&self) {
        let _here = DeviceThread::enter();
        // When the device had last ended something.
        let mut free = Instant::now();
        while let Some(submission) = self.oldest() {
            let waited = submission.map(|index| self.wait_for(index));
            let entry = {
                let mut state = self.state();
                let entry = state.entries.pop_front();
                // The device has less to do than it might.
                self.flush(&mut state);
                entry
            };
            let Some(entry) = entry else {
                unreachable!("only this thread takes entries")
            };
            let now = Instant::now();
            let outcome = match entry.submission {
                Err(error) => Err(self.reason(error)),
                Ok(_) => match self.loss() {
                    Some(loss) => Err(loss),
                    None => Ok((now - free.max(entry.started)) / entry.ends.len() as u32),
                },
            };
            if waited.is_some() {
                free = now;
            }
            for end in entry.ends {
                // A panic in there has dropped the operation, and who waits for it has been told by
                // that.
                let _ = contain(|| end(outcome.clone()));
            }
        }
    }

    /// Sleeps until there is something. `Some(None)`: it was never submitted.
    fn oldest(&self) -> Option<Option<SubmissionIndex>> {
        let mut state = self.state();
        loop {
            if let Some(entry) = state.entries.front() {
                return Some(entry.submission.as_ref().ok().cloned());
            }
            if state.closed {
                return None;
            }
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits in the driver. Whatever else has ended by then is told when its turn comes, at once.
    fn wait_for(&self, index: SubmissionIndex) {
        self.poll(PollType::Wait {
            submission_index: Some(index),
            timeout: None,
        });
    }

    fn poll(&self, how: PollType) {
        // The library panics where a device is lost in a way that it does not know.
        let text = match contain(|| self.device.poll(how)) {
            Ok(Ok(_)) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the driver failed while it was waited for".into(),
        };
        let _ = self.lost.set(text);
    }

    fn state(&self) -> MutexGuard<'_, FlightState> {
        // Each change of the state is one call that does not panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
