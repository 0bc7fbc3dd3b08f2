//! Tasks in the queue of a device: how they come there, are called, and leave it.

use std::sync::{Arc, Weak};

use super::auto::{self, Standing};
use super::entry::{DeviceEntry, Phase};
use super::queue::QueueEnd;
use super::{Actions, Device, DeviceState};
use crate::common::Sample;
use crate::history::{Known, MeasuredSide};

/// Once a task of the queue was alone so often, the next ones are not put there to be looked for,
/// but for one in [`ALONE_EVERY`].
const ALONE_MAX: u32 = 4;
const ALONE_EVERY: u32 = 8;

/// A worker has a task of the queue.
pub(crate) struct Taken {
    /// It is to be measured.
    pub(crate) sample: Option<Sample>,
}

/// The fate of a task that was put into the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queued {
    OnItsWay,
    /// Nobody else wants it, and it is the only one: better to run it right here.
    Lonely,
}

impl Device {
    /// Takes a task into the queue.
    pub(crate) fn enqueue(self: &Arc<Self>, entry: &Arc<DeviceEntry>, blocks: bool) -> Queued {
        self.with(|state, actions| {
            let mut inside = entry.lock();
            if let Some(error) = &state.lost {
                inside.phase = Phase::Failed(error.clone());
                actions.releases.extend(inside.held.take());
                return;
            }
            if inside.error.is_some() {
                drop(inside);
                self.settle(state, actions, entry);
                return;
            }
            inside.phase = Phase::Queued;
            let history = &self.common.history;
            inside.is_sample = history.begin(entry.kind, MeasuredSide::Device(&self.name));
            drop(inside);
            self.push(state, entry);
        });
        let others = self.others.get().into_iter().flatten();
        for other in others.filter_map(Weak::upgrade) {
            if entry.phase() == Phase::Queued {
                other.steal();
            }
        }
        if entry.may_leave && self.common.decides() && entry.phase() == Phase::Queued {
            return self.see_to(entry, blocks);
        }
        Queued::OnItsWay
    }

    pub(super) fn push(&self, state: &mut DeviceState, entry: &Arc<DeviceEntry>) {
        for one in entry.uses.iter().filter(|one| one.access.reads()) {
            *state.wanted.entry(one.content.id()).or_default() += 1;
        }
        state.queue.push(Arc::clone(entry));
        state.replaced.came();
    }

    /// A task had to stay in the queue. Has a worker look at it, if that may be better.
    ///
    /// Something always leads on from here. If something is flying, its landing does; if a CPU side
    /// is running, its end does. Else this is the only task, and either runs at once, or a worker
    /// is to look. On a pool of one worker the latter needs that one, which must not be blocked.
    fn see_to(self: &Arc<Self>, entry: &Arc<DeviceEntry>, blocks: bool) -> Queued {
        let mut state = self.lock();
        if !self.worker_takes(&state, entry, &self.standing(&state)) {
            return Queued::OnItsWay;
        }
        let is_alone = state.queue.loads().count == 1 && self.common.running() == 0;
        let must_look = self.common.workers() == 1 && !blocks;
        if is_alone && state.flying.count == 0 && !must_look {
            return Queued::Lonely;
        }
        if is_alone && state.alone >= ALONE_MAX {
            state.alone += 1;
            if state.alone % ALONE_EVERY != 0 {
                return Queued::Lonely;
            }
        }
        drop(state);
        self.common.look();
        Queued::OnItsWay
    }

    fn worker_takes(&self, state: &DeviceState, entry: &DeviceEntry, standing: &Standing) -> bool {
        let history = &self.common.history;
        let cpu = history.known(entry.kind, MeasuredSide::Cpu, entry.work);
        let device = self.known(entry.kind, entry.work);
        let wait_s = self.wait_s(state, entry);
        auto::takes(cpu, device, &entry.load(), wait_s, standing)
    }

    /// Calls tasks that a worker had better take, when the device has taken those that it wants.
    /// Returns whether it may want others now.
    ///
    /// While something flies, that is one at a time, and its landing leads on. Where nothing flies,
    /// each task is one that the device wants or one that a worker takes, as both ask the same
    /// question. A task that is called may never be polled again, and then nobody leads on: so all
    /// that a worker takes are called, and what they have hidden from the device it finds now.
    pub(super) fn call_tasks(&self, state: &mut DeviceState, actions: &mut Actions) -> bool {
        let is_idle = state.flying.count == 0;
        if !self.common.decides() || state.has_called && !is_idle {
            return false;
        }
        let standing = self.standing(state);
        let takes = |entry: &DeviceEntry| self.worker_takes(state, entry, &standing);
        let called: Vec<_> = match is_idle {
            true => state
                .queue
                .free()
                .filter(|entry| takes(entry))
                .map(Arc::clone)
                .collect(),
            false => state
                .queue
                .worst(takes)
                .map(Arc::clone)
                .into_iter()
                .collect(),
        };
        for entry in &called {
            state.queue.remove(entry);
            let mut inside = entry.lock();
            inside.is_called = true;
            // Not a clone, which is code of others: who is woken polls it, and brings another one.
            actions.wakes.extend(inside.waker.take());
            drop(inside);
            state.queue.push(Arc::clone(entry));
            state.has_called = true;
        }
        is_idle && !called.is_empty()
    }

    /// A worker has been called, or is asked anyhow (`at_once`). It has the task now if something
    /// is returned.
    pub(crate) fn take_back(entry: &Arc<DeviceEntry>, at_once: bool) -> Option<Taken> {
        if !at_once && !entry.lock().is_called {
            return None;
        }
        entry.with(|device, state, actions| {
            if entry.phase() != Phase::Queued {
                return None;
            }
            let takes = at_once || device.worker_takes(state, entry, &device.standing(state));
            let taken = takes.then(|| device.taken(entry)).flatten();
            if taken.is_some() {
                let alone = state.queue.loads().count == 1;
                if !at_once {
                    state.alone = if alone { state.alone + 1 } else { 0 };
                }
                device.leave_queue(state, entry, Phase::Returned, actions);
                actions.look = !alone;
            }
            device.answered(state, entry);
            actions.calls = taken.is_none();
            taken
        })
    }

    /// A task of a kind that was never measured on the CPU is measured, unless another one is.
    fn taken(&self, entry: &DeviceEntry) -> Option<Taken> {
        let history = &self.common.history;
        match history.known(entry.kind, MeasuredSide::Cpu, entry.work) {
            Known::Measured(_) => Some(Taken { sample: None }),
            Known::Nothing | Known::AtLeast(_) => {
                let sample = Some(Sample::first(&self.common, entry.kind)?);
                Some(Taken { sample })
            }
        }
    }

    /// A task that was called is no longer waited for. If it is in the queue, others may be called.
    pub(super) fn answered(&self, state: &mut DeviceState, entry: &Arc<DeviceEntry>) {
        if !entry.lock().is_called {
            return;
        }
        let waits = state.queue.remove(entry);
        entry.lock().is_called = false;
        state.has_called = false;
        if waits {
            state.queue.push_at(Arc::clone(entry), QueueEnd::Oldest);
        }
    }

    fn leave_queue(
        &self,
        state: &mut DeviceState,
        entry: &Arc<DeviceEntry>,
        phase: Phase,
        actions: &mut Actions,
    ) {
        if state.queue.remove(entry) {
            state.replaced.left();
        }
        self.no_longer_wanted(state, entry);
        let mut inside = entry.lock();
        self.end_sample(entry, &mut inside);
        inside.phase = phase;
        actions.releases.extend(inside.held.take());
    }

    pub(super) fn no_longer_wanted(&self, state: &mut DeviceState, entry: &DeviceEntry) {
        for one in entry.uses.iter().filter(|one| one.access.reads()) {
            let id = one.content.id();
            if let Some(count) = state.wanted.get_mut(&id) {
                *count -= 1;
                if *count == 0 {
                    state.wanted.remove(&id);
                }
            }
        }
    }

    /// Nobody waits for the task any more.
    pub(crate) fn abandon(entry: &Arc<DeviceEntry>) {
        entry.with(|device, state, actions| {
            device.answered(state, entry);
            match entry.phase() {
                Phase::Queued => {
                    device.leave_queue(state, entry, Phase::Returned, actions);
                    // It may have been called in the place of another.
                    actions.calls = true;
                }
                Phase::Flying => {
                    let mut inside = entry.lock();
                    inside.is_abandoned = true;
                    inside.is_closed = true;
                    inside.recorded.clear();
                    drop(inside);
                    device.advance(state, actions, entry);
                }
                Phase::Fresh | Phase::Landed | Phase::Failed(_) | Phase::Returned => {
                    actions.releases.extend(entry.lock().held.take());
                }
            }
            // Its GPU side is dropped by now. Who still awaits a launch does so elsewhere, and
            // hears by nothing else that it will never begin.
            if matches!(entry.phase(), Phase::Failed(_) | Phase::Returned) {
                actions.wakes.extend(entry.lock().take_launch_wakers());
            }
            // A waker may hold on to whatever it likes: it is dropped when the device is open
            // again.
            actions.wakers.extend(entry.lock().waker.take());
        });
    }
}
