//! Tasks on the device: what follows from the end of an operation.

use std::sync::Arc;
use std::task::{Poll, Waker};

use super::entry::{DeviceEntry, EntryState, Phase};
use super::{Actions, Device, DeviceState};
use crate::backend::error::{Cause, DeviceError};
use crate::history::MeasuredSide;

impl Device {
    /// The GPU side has ended.
    pub(crate) fn close(entry: &Arc<DeviceEntry>, outcome: Result<(), DeviceError>) {
        entry.with(|device, state, actions| {
            let mut inside = entry.lock();
            inside.is_closed = true;
            if let Err(error) = outcome {
                inside.fail(error);
                inside.recorded.clear();
            }
            let is_flying = inside.phase == Phase::Flying;
            drop(inside);
            if is_flying {
                device.advance(state, actions, entry);
            }
        });
    }

    /// Does what is next for a task of which nothing is under way.
    pub(super) fn advance(
        self: &Arc<Self>,
        state: &mut DeviceState,
        actions: &mut Actions,
        entry: &Arc<DeviceEntry>,
    ) {
        let inside = entry.lock();
        let (is_idle, is_flying) = (inside.is_idle(), inside.phase == Phase::Flying);
        if inside.ahead.is_some() {
            drop(inside);
            if is_idle {
                self.come_down(state, actions, entry);
            }
            return;
        }
        if !is_idle {
            let may_land = is_flying && self.lands_ahead() && inside.is_all_queued();
            // A device that is lost has not computed it.
            let may_land = may_land && state.lost.is_none();
            drop(inside);
            if may_land {
                self.land_ahead(state, actions, entry);
            }
            return;
        }
        if !is_flying {
            return;
        }
        let has_failed = inside.error.is_some();
        let (is_closed, is_abandoned) = (inside.is_closed, inside.is_abandoned);
        let writes = entry.uses.iter().any(|one| one.access.writes());
        // Before it is known whether the GPU side goes on: mostly it does not.
        let is_to_copy = writes && inside.begun > 0 && !inside.is_copied;
        drop(inside);
        if has_failed {
            self.settle(state, actions, entry);
        } else if is_to_copy && !is_abandoned && self.common.is_through() {
            self.copy_out(state, actions, entry);
        } else if is_closed {
            self.settle(state, actions, entry);
        } else {
            self.leave_window(state, entry);
            self.go_away(state, entry);
            actions.calls = true;
        }
    }

    /// The end of a task here.
    pub(super) fn settle(
        self: &Arc<Self>,
        state: &mut DeviceState,
        actions: &mut Actions,
        entry: &Arc<DeviceEntry>,
    ) {
        self.leave_window(state, entry);
        self.back(state, entry);
        if entry.lock().phase == Phase::Flying {
            state.aboard -= 1;
        }
        let error = self.outcome(state, entry);
        match &error {
            None => self.commit(state, actions, entry),
            Some(error) => self.give_up(state, actions, entry, error),
        }
        let mut inside = entry.lock();
        if !inside.memories.is_empty() {
            state.give_back(actions, &mut inside.memories);
            for one in &entry.uses {
                state.table.unpin(one.content.id());
            }
        }
        let was_sample = inside.is_sample;
        self.end_sample(entry, &mut inside);
        inside.copies.clear();
        let before = inside.before.drain(..);
        actions.entries.extend(before.map(|one| one.entry));
        actions.releases.extend(inside.held.take());
        actions.wakes.extend(inside.waker.take());
        actions.wakes.extend(inside.take_launch_wakers());
        inside.phase = error.map_or(Phase::Landed, Phase::Failed);
        drop(inside);
        self.learn(state, entry, was_sample);
        actions.entries.push(Arc::clone(entry));
        actions.calls = true;
    }

    /// The outcome of a task that ends: its results may have been lost while it waited for
    /// something else.
    fn outcome(&self, state: &DeviceState, entry: &DeviceEntry) -> Option<DeviceError> {
        let inside = entry.lock();
        let mut copies = entry.uses.iter().zip(&inside.copies);
        let is_here_only =
            inside.begun > 0 && copies.any(|(one, copy)| one.access.writes() && copy.is_none());
        let loss = state.lost.as_ref().filter(|_| is_here_only);
        let error = inside.error.as_ref().or(loss).cloned();
        error.or_else(|| inside.spoilt_before())
    }

    /// The first measurement of a kind here is over, or will not be made.
    pub(super) fn end_sample(&self, entry: &DeviceEntry, inside: &mut EntryState) {
        if std::mem::take(&mut inside.is_sample) {
            let history = &self.common.history;
            history.end(entry.kind, MeasuredSide::Device(&self.name));
        }
    }

    /// Whether all tasks that have landed ahead have come down; if not, wakes when they have.
    pub(crate) fn poll_down(&self, waker: &Waker) -> Poll<()> {
        let mut state = self.lock();
        if state.ahead == 0 {
            return Poll::Ready(());
        }
        state.waiters.push(waker.clone());
        Poll::Pending
    }

    /// All that a task does is queued, and what follows on its stream finds what it writes: it
    /// ends, and its operations go on. Its buffers are free for others, who line up behind it on
    /// this device, and fetch from it elsewhere.
    fn land_ahead(&self, state: &mut DeviceState, actions: &mut Actions, entry: &Arc<DeviceEntry>) {
        let mut inside = entry.lock();
        let mut made = Vec::new();
        for (number, one) in entry.uses.iter().enumerate() {
            let writes = one.access.writes();
            let version = writes.then(|| {
                let (version, home) = one.content.written(self.place(), None);
                actions.homes.extend(home);
                version
            });
            made.extend(version.map(|version| (number, version)));
            if let Some(copy) = state.table.get_mut(one.content.id()) {
                copy.version = version.or(copy.version);
                copy.ahead.push((Arc::clone(entry), writes));
            }
        }
        inside.ahead = Some(made);
        state.ahead += 1;
        inside.phase = Phase::Landed;
        state.account.landed();
        actions.releases.extend(inside.held.take());
        actions.wakes.extend(inside.waker.take());
    }

    /// The last operation of a task that has landed ahead has ended. If one of them has failed, or
    /// one of a task whose results it reads, nobody finds what it was to write.
    fn come_down(
        self: &Arc<Self>,
        state: &mut DeviceState,
        actions: &mut Actions,
        entry: &Arc<DeviceEntry>,
    ) {
        self.leave_window(state, entry);
        state.aboard -= 1;
        state.ahead -= 1;
        let mut inside = entry.lock();
        let before = inside.spoilt_before();
        // A kernel that fails on what another has left behind is not to blame.
        let is_own = |own: &DeviceError| before.is_none() || own.cause() == Cause::Lost;
        let own = inside.error.clone().filter(is_own);
        let error = before.or_else(|| own.clone());
        for (number, version) in inside.ahead.take().unwrap_or_default() {
            let Some(error) = &error else { continue };
            let content = &entry.uses[number].content;
            let reason = format!("{}: {error}", self.name);
            actions.wakes.extend(content.lose(version, &reason));
            let copy = state.table.get_mut(content.id());
            if let Some(copy) = copy.filter(|copy| copy.version == Some(version)) {
                copy.version = None;
            }
        }
        for one in &entry.uses {
            let id = one.content.id();
            if let Some(copy) = state.table.get_mut(id) {
                // Mostly the oldest.
                let at = copy
                    .ahead
                    .iter()
                    .position(|(other, _)| Arc::ptr_eq(other, entry));
                at.map(|at| copy.ahead.remove(at));
            }
            state.table.unpin(id);
        }
        if error.is_none() {
            self.measured(entry, &inside);
        }
        let followers = inside.followers.drain(..);
        actions
            .downs
            .extend(followers.map(|then| (then, error.clone())));
        inside.spoilt = error;
        state.give_back(actions, &mut inside.memories);
        inside.copies.clear();
        let before = inside.before.drain(..);
        actions.entries.extend(before.map(|one| one.entry));
        actions.entries.push(Arc::clone(entry));
        let was_sample = inside.is_sample;
        self.end_sample(entry, &mut inside);
        drop(inside);
        if let Some(error) = own {
            self.failed(state, actions, Some(entry.kind), &error);
        }
        self.learn(state, entry, was_sample);
        actions.calls = true;
    }

    /// Keeps the time of a task whose kernels went well.
    fn measured(&self, entry: &DeviceEntry, inside: &EntryState) {
        if !inside.is_timed {
            return;
        }
        let (history, seconds) = (&self.common.history, inside.kernel_s);
        history.record(
            entry.kind,
            MeasuredSide::Device(&self.name),
            entry.work,
            seconds,
        );
        self.common.came(entry.kind, entry.work, true, seconds);
    }

    /// All went well: what the task has written is valid from now on.
    fn commit(&self, state: &mut DeviceState, actions: &mut Actions, entry: &DeviceEntry) {
        let mut inside = entry.lock();
        if inside.begun == 0 {
            return;
        }
        let is_through = self.common.is_through();
        for (number, one) in entry.uses.iter().enumerate() {
            let id = one.content.id();
            if !one.access.writes() {
                continue;
            }
            if inside.is_abandoned && is_through {
                // The host's copy is as it was before, and stays the valid one.
                state.table.spoil(id);
                continue;
            }
            let target = inside.copies[number].take();
            let (version, home) = one.content.written(self.place(), target);
            actions.homes.extend(home);
            if let Some(copy) = state.table.get_mut(id) {
                copy.version = Some(version);
            }
        }
        if !inside.is_abandoned {
            self.measured(entry, &inside);
            state.account.landed();
        }
    }

    /// Something failed: what the task was to write is as it was before, on the host.
    fn give_up(
        self: &Arc<Self>,
        state: &mut DeviceState,
        actions: &mut Actions,
        entry: &DeviceEntry,
        error: &DeviceError,
    ) {
        let inside = entry.lock();
        if inside.begun > 0 {
            for one in entry.uses.iter().filter(|one| one.access.writes()) {
                // Also what was to be written all over: kernels have begun with it.
                let reason = format!("{}: {error}", self.name);
                actions.losses.push((Arc::clone(&one.content), reason));
                state.table.spoil(one.content.id());
            }
        }
        drop(inside);
        self.failed(state, actions, Some(entry.kind), error);
    }

    /// Draws the conclusions for other tasks. A copy to the host has no kind.
    pub(super) fn failed(
        self: &Arc<Self>,
        state: &mut DeviceState,
        actions: &mut Actions,
        kind: Option<&'static str>,
        error: &DeviceError,
    ) {
        state.account.failed(error.cause());
        actions.reports.push(error.clone());
        match error.cause() {
            Cause::Kernel => state.refused.extend(kind),
            Cause::Lost if state.lost.is_none() => {
                state.lost = Some(error.clone());
                state.table.clear(&mut actions.let_go);
                for entry in state.queue.drain() {
                    self.answered(state, &entry);
                    self.no_longer_wanted(state, &entry);
                    let mut inside = entry.lock();
                    self.end_sample(&entry, &mut inside);
                    inside.phase = Phase::Failed(error.clone());
                    actions.releases.extend(inside.held.take());
                    actions.wakes.extend(inside.waker.take());
                    drop(inside);
                    actions.entries.push(entry);
                }
            }
            Cause::Lost | Cause::OutOfMemory | Cause::NoDevice | Cause::Peer => {}
        }
    }
}
