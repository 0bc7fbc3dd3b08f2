//! A task on its way through a device.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Instant;

use roving::raw::forks::ProcessMark;

use super::load::{Cost, Load};
use super::queue::{QueueLane, Queueable};
use super::{Actions, Device, DeviceState};
use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Memory, Target};
use crate::buffer::content::Content;
use crate::buffer::hold::{HeldBuffers, Use};
use crate::buffer::lent::Down;
use crate::common::LEFT_BEHIND;
use crate::kernel::Kernel;
use crate::profile::Why;

/// A task that was given to a device. Its state changes only while the device is locked.
pub(crate) struct DeviceEntry {
    pub(crate) kind: &'static str,
    pub(crate) work: f64,
    pub(crate) uses: Vec<Use>,
    /// A worker may take it out of the queue.
    pub(crate) may_leave: bool,
    /// Its device's threads are there.
    process: ProcessMark,
    cost: Mutex<Cost>,
    state: Mutex<EntryState>,
}

/// Where it is. Each transition is made by the method of `Device` that is named.
///
/// ```text
/// Fresh   --enqueue--> Queued --admit--> Flying --settle--> Landed | Failed
///                                       Flying --land_ahead--> Landed    (its operations go on)
/// Queued  --take_back, abandon--> Returned          (on the CPU, or dropped)
/// Queued  --fail_all--> Failed                      (the device is lost)
/// Queued  --take_from--> Queued                     (of another device)
/// ```
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    Fresh,
    Queued,
    Flying,
    Landed,
    Failed(DeviceError),
    Returned,
}

pub(crate) struct EntryState {
    /// Changes only in the queue, with both devices locked.
    pub(crate) device: Arc<Device>,
    /// Another device may take it out of the queue.
    pub(crate) may_move: bool,
    pub(crate) phase: Phase,
    pub(crate) held: Option<HeldBuffers>,
    pub(crate) stream: usize,
    /// The stream is its own, for as long as it is in the window.
    pub(crate) owns_stream: bool,
    /// The task's share of the device's window.
    pub(crate) flying: Load,
    /// It counts there.
    pub(crate) in_window: bool,
    /// When it is expected to be done, since it counts there.
    pub(crate) done_at: Option<Instant>,
    /// Where its buffers are, in the order of `uses`.
    pub(crate) memories: Vec<Memory>,
    /// Launches that are still to be given to the back-end.
    pub(crate) recorded: Vec<Recorded>,
    /// By number, how launches ended, and who wants to know: those that have not ended, and those
    /// that somebody may ask for.
    pub(crate) launches: BTreeMap<usize, Launched>,
    /// How many there have been.
    pub(crate) launched: usize,
    /// Operations that have not ended.
    pub(crate) under_way: usize,
    /// Launches among them that the back-end may still refuse.
    pub(crate) unqueued: usize,
    /// Tasks that landed ahead, and whose operations its own follow; until it has come down.
    pub(crate) before: Vec<Before>,
    /// It has landed ahead of its operations: by number, the buffers that it writes with the
    /// versions that it made of them.
    pub(crate) ahead: Option<Vec<(usize, u64)>>,
    /// It has failed after it had landed, or has read the results of one that has.
    pub(crate) spoilt: Option<DeviceError>,
    /// Uploads of others that it waits for, and buffers of which it is not known yet where they
    /// come from.
    pub(crate) arrivals: usize,
    /// Buffers that come from other devices and have not arrived.
    pub(crate) crossing: usize,
    /// Tasks of other devices that copy what it writes, while it has landed ahead.
    pub(crate) followers: Vec<Down>,
    /// Whether its results were copied to the host since its last launch.
    pub(crate) is_copied: bool,
    /// New copies for the host, in the order of `uses`.
    pub(crate) copies: Vec<Option<Target>>,
    /// Launches that the back-end was given, but for those that it refused. If there are any, what
    /// the task writes is no longer what it was.
    pub(crate) begun: usize,
    /// The first failure.
    pub(crate) error: Option<DeviceError>,
    /// The GPU side has ended; nothing more will be launched.
    pub(crate) is_closed: bool,
    /// Its GPU side waits for something else than the device.
    pub(crate) is_away: bool,
    /// No launch that the GPU side awaited has ended since it was polled last, so nobody is about
    /// to poll it.
    pub(crate) is_polled: bool,
    /// The end of a launch has woken it since its last poll began.
    pub(crate) is_woken: bool,
    /// Nobody wants the result.
    pub(crate) is_abandoned: bool,
    /// A worker is to say whether it takes the task: its lane in the queue.
    pub(crate) is_called: bool,
    pub(crate) kernel_s: f64,
    /// The times of all its launches so far are known.
    pub(crate) is_timed: bool,
    pub(crate) admitted: Option<Instant>,
    /// Told the history that a first measurement has begun.
    pub(crate) is_sample: bool,
    pub(crate) waker: Option<Waker>,
}

/// A task whose operations those of another one follow.
pub(crate) struct Before {
    pub(crate) entry: Arc<DeviceEntry>,
    /// The other one reads what this one writes.
    pub(crate) is_read: bool,
}

/// A launch that the back-end was not told of yet.
pub(crate) struct Recorded {
    pub(crate) kernel: &'static Kernel,
    pub(crate) groups: [u32; 3],
    pub(crate) arguments: Vec<RecordedArg>,
    pub(crate) shared: usize,
    pub(crate) work: f64,
    pub(crate) number: usize,
}

/// An argument, before it is known where buffers are.
pub(crate) enum RecordedArg {
    Buffer {
        /// Its place among the buffers of the task.
        number: usize,
        /// The bytes of it that the kernel is given.
        range: Range<usize>,
        /// The kernel may write them.
        writable: bool,
    },
    Value(Box<[u8]>),
}

#[derive(Default)]
pub(crate) struct Launched {
    pub(crate) outcome: Option<Result<(), DeviceError>>,
    /// The back-end will not refuse it any more.
    pub(crate) is_queued: bool,
    /// The back-end has nothing more to say of it.
    has_ended: bool,
    /// Nobody asks for it any more.
    is_left: bool,
    pub(crate) waker: Option<Waker>,
}

/// The facts about a task from which an entry is made.
pub(crate) struct TaskFacts {
    pub(crate) kind: &'static str,
    pub(crate) work: f64,
    pub(crate) uses: Vec<Use>,
    pub(crate) has_cpu: bool,
    /// A worker is blocked while it runs.
    pub(crate) blocks: bool,
}

impl DeviceEntry {
    pub(crate) fn new(
        device: Arc<Device>,
        task: &TaskFacts,
        cost: Cost,
        why: Why,
        held: HeldBuffers,
    ) -> Arc<DeviceEntry> {
        Arc::new(DeviceEntry {
            kind: task.kind,
            work: task.work,
            uses: task.uses.clone(),
            // Nobody is to be sooner where something is to be measured.
            may_leave: task.has_cpu && why != Why::Sample,
            process: device.common.process,
            cost: Mutex::new(cost),
            state: Mutex::new(EntryState {
                device,
                may_move: why != Why::Sample,
                phase: Phase::Fresh,
                held: Some(held),
                stream: 0,
                owns_stream: false,
                flying: Load::default(),
                in_window: false,
                done_at: None,
                memories: Vec::new(),
                recorded: Vec::new(),
                launches: BTreeMap::new(),
                launched: 0,
                under_way: 0,
                unqueued: 0,
                before: Vec::new(),
                ahead: None,
                spoilt: None,
                arrivals: 0,
                crossing: 0,
                followers: Vec::new(),
                is_copied: false,
                copies: Vec::new(),
                begun: 0,
                error: None,
                is_closed: false,
                is_away: false,
                is_polled: false,
                is_woken: false,
                is_abandoned: false,
                is_called: false,
                kernel_s: 0.0,
                is_timed: true,
                admitted: None,
                is_sample: false,
                waker: None,
            }),
        })
    }

    pub(crate) fn device(&self) -> Arc<Device> {
        Arc::clone(&self.lock().device)
    }

    /// Why nothing comes of the task in a forked child: it was given to a device of the parent.
    pub(crate) fn left_behind(&self) -> Option<DeviceError> {
        let is_left = !self.process.is_here();
        is_left.then(|| DeviceError::new(Cause::NoDevice, LEFT_BEHIND))
    }

    /// The device, which the task stays with from now on.
    pub(crate) fn stays(&self) -> Arc<Device> {
        let mut inside = self.lock();
        inside.may_move = false;
        Arc::clone(&inside.device)
    }

    /// Does something with its device locked, whichever that is then.
    pub(super) fn with<R>(
        &self,
        change: impl FnOnce(&Arc<Device>, &mut DeviceState, &mut Actions) -> R,
    ) -> R {
        let mut change = Some(change);
        loop {
            let device = self.device();
            let done = device.with(|state, actions| {
                // Another device may have taken it meanwhile.
                let is_here = Arc::ptr_eq(&self.lock().device, &device);
                let change = change.take_if(|_| is_here)?;
                Some(change(&device, state, actions))
            });
            if let Some(result) = done {
                return result;
            }
        }
    }

    /// Only with the device locked, or to look.
    pub(crate) fn lock(&self) -> MutexGuard<'_, EntryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn load(&self) -> Load {
        self.cost().load
    }

    pub(crate) fn set_cost(&self, cost: Cost) {
        *self.cost.lock().unwrap_or_else(PoisonError::into_inner) = cost;
    }

    pub(crate) fn phase(&self) -> Phase {
        self.lock().phase.clone()
    }

    /// The number of a buffer among those that the task declared.
    pub(crate) fn position(&self, id: u64) -> Option<usize> {
        self.uses.iter().position(|one| one.content.id() == id)
    }
}

impl Queueable for DeviceEntry {
    fn cost(&self) -> Cost {
        *self.cost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lane(&self) -> QueueLane {
        match self.may_leave {
            false => QueueLane::Bound,
            true if self.lock().is_called => QueueLane::Called,
            true => QueueLane::Free,
        }
    }
}

impl EntryState {
    pub(crate) fn fail(&mut self, error: DeviceError) {
        self.error.get_or_insert(error);
    }

    /// Returns the number of another launch.
    pub(crate) fn next_launch(&mut self) -> usize {
        let number = self.launched;
        self.launches.insert(number, Launched::default());
        self.launched += 1;
        number
    }

    /// A launch has ended, or never will begin. It is forgotten when nobody asks for it.
    pub(crate) fn launch_ended(&mut self, number: usize) {
        let ends = |launched: &mut Launched| launched.has_ended = true;
        self.after_launch(number, ends);
    }

    /// Nobody asks for a launch any more. Returns the waker of who did.
    pub(crate) fn leave_launch(&mut self, number: usize) -> Option<Waker> {
        let leaves = |launched: &mut Launched| {
            launched.is_left = true;
            launched.waker.take()
        };
        self.after_launch(number, leaves)?
    }

    fn after_launch<R>(
        &mut self,
        number: usize,
        change: impl FnOnce(&mut Launched) -> R,
    ) -> Option<R> {
        let launched = self.launches.get_mut(&number)?;
        let result = change(launched);
        if launched.has_ended && launched.is_left {
            self.launches.remove(&number);
        }
        Some(result)
    }

    /// The wakers of all who wait for a launch of it: its GPU side, or others that were given the
    /// launch.
    pub(crate) fn take_launch_wakers(&mut self) -> impl Iterator<Item = Waker> {
        let launches = self.launches.values_mut();
        launches.filter_map(|launched| launched.waker.take())
    }

    /// Why nothing more comes of its launches, if that is so.
    pub(crate) fn end(&self) -> Option<DeviceError> {
        let left_out = || DeviceError::new(Cause::Kernel, "the task has ended without this launch");
        match &self.phase {
            Phase::Failed(error) => Some(error.clone()),
            Phase::Landed | Phase::Returned => Some(self.error.clone().unwrap_or_else(left_out)),
            Phase::Fresh | Phase::Queued | Phase::Flying => None,
        }
    }

    /// The error of a task that landed ahead of its operations, and whose results this one reads.
    pub(crate) fn spoilt_before(&self) -> Option<DeviceError> {
        let mut read = self.before.iter().filter(|one| one.is_read);
        read.find_map(|one| one.entry.lock().spoilt.clone())
    }

    /// Nothing more will be launched, and nothing of what was launched can be refused: what follows
    /// on its stream finds what it writes.
    pub(crate) fn is_all_queued(&self) -> bool {
        let is_whole = self.is_closed && !self.is_abandoned && self.error.is_none();
        let is_given = self.unqueued == 0 && self.arrivals == 0 && self.recorded.is_empty();
        is_whole && is_given && self.begun > 0 && self.crossing == 0
    }

    /// It is on the device, and its GPU side waits for something else.
    pub(crate) fn waits_elsewhere(&self) -> bool {
        self.phase == Phase::Flying && !self.is_closed && self.is_polled && self.is_idle()
    }

    /// Everything that was asked for so far has ended.
    pub(crate) fn is_idle(&self) -> bool {
        self.under_way == 0 && self.arrivals == 0 && self.recorded.is_empty()
    }
}

/// A buffer on its way to a task.
#[derive(Clone)]
pub(super) struct Incoming {
    pub(super) entry: Arc<DeviceEntry>,
    /// Its place among the buffers of the task.
    pub(super) number: usize,
    /// The version that is copied.
    pub(super) version: u64,
}

impl Incoming {
    pub(super) fn content(&self) -> &Arc<dyn Content> {
        &self.entry.uses[self.number].content
    }
}

impl fmt::Debug for DeviceEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceEntry")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
