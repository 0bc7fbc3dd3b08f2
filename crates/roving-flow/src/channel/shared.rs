//! The shared state of a network's processes, and of those that watch them.

use std::any::Any;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::PoisonError;
use std::task::Waker;

use roving::raw::panics::drop_quietly;

use super::holders::{DroppedPort, Handle};
use super::words::ChannelEnd;
use crate::machine::prim::{
    Arc, AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Mutex, OnceLock, Ordering,
    RwLock, RwLockReadGuard, fence, lock, ord,
};
use crate::machine::runtime::{CancelledError, Place, is_cancelled};
use crate::machine::unwind::DueWaker;
use crate::state::all_counts::Lines;
use crate::state::control::Control;
use crate::state::doubt::Doubt;
use crate::state::late_ports::LeftPorts;
use crate::state::meter::Meter;
use crate::state::names::NetworkPlan;
use crate::state::process_waker::Tasks;

/// One process of a cycle, and what it waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ChannelWait {
    pub(crate) process: u32,
    pub(crate) channel: u32,
    pub(crate) end: ChannelEnd,
}

/// A channel that was made larger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GrownChannel {
    pub(crate) channel: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// How a network failed.
pub(crate) enum NetworkFailure {
    Panicked(u32, Box<dyn Any + Send>),
    /// With the error's text, made before anyone has the lock under which a failure is kept: it is
    /// code of the program.
    Failed(u32, Box<dyn std::error::Error + Send + Sync>, String),
    Deadlock(Vec<ChannelWait>),
    Full(Vec<ChannelWait>, u32),
    Cancelled,
}

/// Where the whole network is being cancelled, some of what a process awaits may end as cancelled
/// before the network is told: that is no failure of the process.
impl NetworkFailure {
    /// A process has unwound with that.
    pub(crate) fn unwound(process: u32, payload: Box<dyn Any + Send>) -> NetworkFailure {
        match payload.is::<CancelledError>() && is_cancelled() {
            true => NetworkFailure::Cancelled,
            false => NetworkFailure::Panicked(process, payload),
        }
    }

    /// A process has returned that error.
    pub(crate) fn returned(
        process: u32,
        error: Box<dyn std::error::Error + Send + Sync>,
    ) -> NetworkFailure {
        match error.is::<CancelledError>() && is_cancelled() {
            true => NetworkFailure::Cancelled,
            false => {
                let text = panic::catch_unwind(AssertUnwindSafe(|| error.to_string()));
                let text = text.unwrap_or_else(|_| "an error without text".into());
                NetworkFailure::Failed(process, error, text)
            }
        }
    }
}

/// The network has been stopped.
const STOPPED: u32 = 1;
/// There are [`LeftPorts`].
const LEFT: u32 = 2;

pub(crate) struct Shared {
    pub(crate) lines: Lines,
    controls: OnceLock<Box<[Control]>>,
    /// Where each process is to run, once somebody places them.
    places: OnceLock<Box<[Place]>>,
    tasks: Tasks,
    /// The channels, from when the network runs until it has ended.
    pub(crate) channels: RwLock<Vec<Handle>>,
    pub(crate) plan: OnceLock<NetworkPlan>,
    /// Processes that have not been polled yet.
    unstarted: AtomicUsize,
    /// Processes that have not ended.
    running: AtomicUsize,
    /// [`STOPPED`] and [`LEFT`], bits: what keeps a process from being suspended as usual.
    disturbed: AtomicU32,
    pub(crate) doubt: Doubt,
    pub(crate) left: Mutex<LeftPorts<DroppedPort>>,
    pub(crate) failure: Mutex<Option<NetworkFailure>>,
    /// Wakers that are somebody else's, left to the processes of a network in a deadlock: who finds
    /// that may hold any lock.
    due: Mutex<Vec<DueWaker>>,
    /// How many messages each channel had sent and received when the network failed. Afterwards
    /// its processes drop their ports, and with them what they have not received.
    pub(crate) at_failure: OnceLock<Box<[(u64, u64)]>>,
    /// A process has waited for room: deadlocks are looked for at each suspension, until a look
    /// at the whole network finds no such process.
    pub(crate) writers: AtomicBool,
    /// Held by who looks at the network.
    pub(crate) detector: Mutex<()>,
    pub(crate) growths: Mutex<Vec<GrownChannel>>,
    /// The largest capacity to which a channel may grow.
    pub(crate) capacity_max: AtomicU32,
    /// A process has done what makes the outcome depend on who is faster.
    sees_speed: AtomicBool,
    /// Looks at the whole network.
    pub(crate) looks: AtomicU64,
    /// Called when nothing can go on but by what comes from outside, and when all have ended.
    pub(crate) rest: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// Times processes, if they are timed: set before they begin, and there until the last has
    /// ended. The run has it, and gives it up before it makes its report.
    timed_by: AtomicPtr<Meter>,
    /// Estimates the time of processes, if somebody wants to know.
    pub(crate) meter: OnceLock<Arc<Meter>>,
}

impl Shared {
    pub(crate) fn new() -> Shared {
        Shared {
            lines: Lines::new(),
            controls: OnceLock::new(),
            places: OnceLock::new(),
            tasks: Tasks::new(),
            channels: RwLock::new(Vec::new()),
            plan: OnceLock::new(),
            unstarted: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            disturbed: AtomicU32::new(0),
            doubt: Doubt::new(),
            left: Mutex::new(LeftPorts::new()),
            failure: Mutex::new(None),
            due: Mutex::new(Vec::new()),
            at_failure: OnceLock::new(),
            writers: AtomicBool::new(false),
            detector: Mutex::new(()),
            growths: Mutex::new(Vec::new()),
            capacity_max: AtomicU32::new(u32::MAX),
            sees_speed: AtomicBool::new(false),
            looks: AtomicU64::new(0),
            rest: OnceLock::new(),
            timed_by: AtomicPtr::new(ptr::null_mut()),
            meter: OnceLock::new(),
        }
    }

    /// The network is about to run.
    pub(crate) fn begin(&self, plan: NetworkPlan, channels: Vec<Handle>, processes: usize) {
        // Ordering: Relaxed; what the processes are handed over with orders it.
        self.unstarted.store(processes, Ordering::Relaxed);
        self.running.store(processes, Ordering::Relaxed);
        let _ = self.plan.set(plan);
        *self
            .channels
            .write()
            .unwrap_or_else(PoisonError::into_inner) = channels;
        let _ = self
            .controls
            .set((0..processes).map(|_| Control::new()).collect());
        if self.is_stopped() {
            self.end_waits_elsewhere()
                .into_iter()
                .for_each(DueWaker::wake);
        }
    }

    pub(crate) fn channels(&self) -> RwLockReadGuard<'_, Vec<Handle>> {
        self.channels.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn controls(&self) -> &[Control] {
        self.controls.get().map_or(&[], |controls| controls)
    }

    /// Only processes that run are asked for, hence it is there.
    #[inline(always)]
    pub(crate) fn control(&self, process: u32) -> &Control {
        &self.controls()[process as usize]
    }

    /// The processes that are about to begin are timed by that.
    #[cfg(not(loom))]
    pub(crate) fn time_by(&self, meter: Option<&Arc<Meter>>) {
        let meter = meter.map_or(ptr::null(), Arc::as_ptr);
        // Ordering: Relaxed; what the processes are handed over with orders it.
        self.timed_by.store(meter.cast_mut(), Ordering::Relaxed);
    }

    /// The meter of the processes.
    #[cfg(not(loom))]
    pub(crate) fn timed_by(&self) -> *const Meter {
        // Ordering: Relaxed, as above.
        self.timed_by.load(Ordering::Relaxed)
    }

    /// Where the processes are to run; anywhere at first.
    pub(crate) fn places(&self) -> &[Place] {
        let anywhere = || self.controls().iter().map(|_| Place::new(None)).collect();
        self.places.get_or_init(anywhere)
    }

    /// By the process, before it says anywhere that it waits: how it is woken. Returns its entry.
    #[inline]
    pub(crate) fn suspends(&self, process: u32, waker: &Waker) -> &Control {
        let control = self.control(process);
        control.task.set(&self.tasks, waker);
        control
    }

    /// By a thread that has claimed the process where it waits; it may have ended since.
    #[inline]
    pub(crate) fn wake(&self, process: u32) {
        self.control(process).task.wake(&self.tasks);
    }

    /// A process is polled for the first time.
    pub(crate) fn process_started(&self) {
        // Ordering: Relaxed; read after a fence when all else is quiet.
        self.unstarted.fetch_sub(1, Ordering::Relaxed);
    }

    /// A process has ended; whether there are others.
    pub(crate) fn process_ended(&self) -> bool {
        // Ordering: Relaxed; nothing is handed over.
        self.running.fetch_sub(1, Ordering::Relaxed) != 1
    }

    /// Whether nothing can go on but by what comes from outside; see [`Lines::are_quiet`].
    pub(crate) fn is_quiet(&self) -> bool {
        // Ordering: Relaxed; who polls a process for the first time asks later.
        self.lines.are_quiet() && self.unstarted.load(Ordering::Relaxed) == 0
    }

    /// Whether some thread is about to drop messages that nobody will take, which may wake anybody:
    /// it asks whether all is quiet after that.
    pub(crate) fn has_unread(&self) -> bool {
        self.channels().iter().any(|words| words.has_unread())
    }

    /// Nothing can go on but by what comes from outside, or all have ended. Whether somebody wants
    /// to know.
    pub(crate) fn tell_rest(&self) -> bool {
        self.rest.get().map(|tell| tell()).is_some()
    }

    /// Whether all processes have ended.
    pub(crate) fn is_over(&self) -> bool {
        // Ordering: Relaxed; a hint.
        self.running.load(Ordering::Relaxed) == 0
    }

    /// The caller does what Kahn's model does not have: the outcome may depend on who is faster.
    #[inline]
    pub(crate) fn is_no_kahn_network(&self) {
        // Ordering: Relaxed, both; read when all processes have ended.
        if !self.sees_speed.load(Ordering::Relaxed) {
            self.sees_speed.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_kahn_network(&self) -> bool {
        // Ordering: Relaxed, as above.
        !self.sees_speed.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        // Ordering: Relaxed. A process that fails sets this before it closes its ports, so whoever
        // sees one of those closed, by [sent] or [taken], sees this as well.
        self.disturbed.load(Ordering::Relaxed) & STOPPED != 0
    }

    /// Whether the network has been stopped, or there are [`LeftPorts`].
    #[inline(always)]
    pub(crate) fn is_disturbed(&self) -> bool {
        // Ordering: Relaxed; after the fence of who is being suspended, or has ended.
        self.disturbed.load(Ordering::Relaxed) != 0
    }

    /// There are [`LeftPorts`] from now on, or none any more. By who has their lock.
    pub(crate) fn has_left(&self, has_some: bool) {
        // Ordering: Relaxed, both. Who has left some is a fence afterwards; who sees this for
        // longer than it is so finds none.
        match has_some {
            true => self.disturbed.fetch_or(LEFT, Ordering::Relaxed),
            false => self.disturbed.fetch_and(!LEFT, Ordering::Relaxed),
        };
    }

    /// As [`Self::is_stopped`], by who is no process, and has said since that it waits: what was
    /// sent before the network was stopped is there.
    pub(crate) fn was_stopped(&self) -> bool {
        // Ordering: Acquire. Pairs with [stopped].
        self.disturbed.load(ord("see_stopped", Ordering::Acquire)) & STOPPED != 0
    }

    /// The network ends with that; the first failure counts. But a panic counts before a request to
    /// end, which a process that computes may not have heard of: it would be lost.
    pub(crate) fn stop(&self, failure: NetworkFailure) {
        self.stop_and_owe(failure)
            .into_iter()
            .for_each(DueWaker::wake);
    }

    /// As [`Self::stop`], by who may hold a lock: wakers that are somebody else's are left to the
    /// caller.
    pub(crate) fn stop_and_owe(&self, failure: NetworkFailure) -> Vec<DueWaker> {
        self.stop_with(failure, |due| due).unwrap_or_default()
    }

    /// As [`Self::stop`], where a process waits, which is woken: it wakes others when it ends.
    pub(crate) fn stop_by_processes(&self, failure: NetworkFailure) {
        self.stop_with(failure, |due| lock(&self.due).extend(due));
    }

    /// A process ends: see [`Self::stop_by_processes`].
    pub(crate) fn wake_due(&self) {
        if self.is_stopped() {
            let due = mem::take(&mut *lock(&self.due));
            due.into_iter().for_each(DueWaker::wake);
        }
    }

    /// Calls `others` with whoever waits at a channel and is no process, before the processes are
    /// woken. None when the network has been stopped before.
    fn stop_with<R>(
        &self,
        failure: NetworkFailure,
        others: impl FnOnce(Vec<DueWaker>) -> R,
    ) -> Option<R> {
        {
            let mut first = lock(&self.failure);
            match (&*first, &failure) {
                (None, _) => {}
                (Some(NetworkFailure::Cancelled), NetworkFailure::Panicked(..)) => {
                    *first = Some(failure);
                    return None;
                }
                (Some(_), _) => {
                    drop(first);
                    drop_quietly(failure);
                    return None;
                }
            }
            *first = Some(failure);
            // Not if the network is ending on another thread, which has the lock then: the caller
            // may hold it as a reader.
            if let Ok(channels) = self.channels.try_read() {
                let counts = channels
                    .iter()
                    .map(|words| (words.sent().number(), words.taken().number()));
                let _first = self.at_failure.set(counts.collect());
            }
            // Ordering: Edge [stopped]: Release, for what the caller has sent before; see also
            // `is_stopped`.
            self.disturbed
                .fetch_or(STOPPED, ord("stopped", Ordering::Release));
            // Ordering: in the manner of Dekker: either who is being suspended sees that, after its
            // own fence, or its waker is seen below. Pairs with [wait].
            fence(ord("stop_fence", Ordering::SeqCst));
        }
        let result = others(self.end_waits_elsewhere());
        for control in self.controls() {
            control.task.wake(&self.tasks);
        }
        Some(result)
    }

    /// The network has stopped: whoever waits at its channels and is no process, which may be what
    /// a process waits for within its turn, waits no more. Returns whom to wake.
    fn end_waits_elsewhere(&self) -> Vec<DueWaker> {
        let mut due = Vec::new();
        // As above. Before the network runs, it looks here when it begins to.
        if let Ok(channels) = self.channels.try_read() {
            for words in &*channels {
                words.end_waits_elsewhere(&mut due);
            }
        }
        due
    }

    /// All processes have ended: the network gives up its channels, which keep what is shared.
    /// Ports that are held outside keep theirs.
    pub(crate) fn end(&self) {
        let channels = self.channels.write();
        let gone = mem::take(&mut *channels.unwrap_or_else(PoisonError::into_inner));
        // Messages may be dropped with it: not under the lock.
        drop(gone);
    }

    /// The network, which has these channels, will never run. Nothing stops it from now on, and who
    /// has its ports goes on with them; but whoever waits there waits no more if it was cancelled.
    pub(crate) fn never_begins(&self, channels: &[Handle]) {
        if self.take_failure().is_some() {
            let mut due = Vec::new();
            for words in channels {
                words.end_waits_elsewhere(&mut due);
            }
            due.into_iter().for_each(DueWaker::wake);
        }
    }

    /// All processes have ended. From now on nothing stops the network, and who has its ports goes
    /// on with them.
    pub(crate) fn take_failure(&self) -> Option<NetworkFailure> {
        lock(&self.failure).replace(NetworkFailure::Cancelled)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Of a run that has unwound: what it panicked with may panic when it is dropped.
        drop_quietly(lock(&self.failure).take());
        for mut control in self.controls.take().into_iter().flatten() {
            control.task.give_up(&self.tasks);
        }
    }
}
