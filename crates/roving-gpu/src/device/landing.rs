//! Tasks on the device: what follows from the end of an operation.

use std::sync::Arc;

use super::entry::{Entry, EntryState, Phase};
use super::{Actions, Device, State};
use crate::error::{Cause, DeviceError};
use crate::history::Side;

impl Device {
    /// The GPU side has ended.
    pub(crate) fn close(self: &Arc<Self>, entry: &Arc<Entry>, outcome: Result<(), DeviceError>) {
        self.with(|state, actions| {
            let mut inside = entry.lock();
            inside.is_closed = true;
            if let Err(error) = outcome {
                inside.fail(error);
                inside.recorded.clear();
            }
            let is_flying = inside.phase == Phase::Flying;
            drop(inside);
            if is_flying {
                self.advance(state, actions, entry);
            }
        });
    }

    /// Does what is next for a task of which nothing is under way.
    pub(super) fn advance(
        self: &Arc<Self>,
        state: &mut State,
        actions: &mut Actions,
        entry: &Arc<Entry>,
    ) {
        let inside = entry.lock();
        if inside.phase != Phase::Flying || !inside.is_idle() {
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
        }
    }

    /// The end of a task here.
    pub(super) fn settle(
        self: &Arc<Self>,
        state: &mut State,
        actions: &mut Actions,
        entry: &Arc<Entry>,
    ) {
        self.leave_window(state, entry);
        self.back(state, entry);
        if entry.lock().phase == Phase::Flying {
            state.aboard -= 1;
        }
        let error = self.outcome(state, entry);
        match &error {
            None => self.commit(state, entry),
            Some(error) => self.give_up(state, actions, entry, error),
        }
        let mut inside = entry.lock();
        if !inside.memories.is_empty() {
            inside.memories.clear();
            for one in &entry.uses {
                state.table.unpin(one.content.id());
            }
        }
        let was_sample = inside.is_sample;
        self.end_sample(entry, &mut inside);
        inside.copies.clear();
        actions.releases.extend(inside.held.take());
        actions.wakes.extend(inside.waker.take());
        for launched in &mut inside.launches {
            actions.wakes.extend(launched.waker.take());
        }
        inside.phase = error.map_or(Phase::Landed, Phase::Failed);
        drop(inside);
        if was_sample {
            self.requeue(state, entry.kind);
        }
        actions.entries.push(Arc::clone(entry));
        self.call_one(state, actions);
    }

    /// The outcome of a task that ends: its results may have been lost while it waited for
    /// something else.
    fn outcome(&self, state: &State, entry: &Entry) -> Option<DeviceError> {
        let inside = entry.lock();
        let mut copies = entry.uses.iter().zip(&inside.copies);
        let is_here_only =
            inside.begun > 0 && copies.any(|(one, copy)| one.access.writes() && copy.is_none());
        let loss = state.lost.as_ref().filter(|_| is_here_only);
        inside.error.as_ref().or(loss).cloned()
    }

    /// The first measurement of a kind here is over, or will not be made.
    pub(super) fn end_sample(&self, entry: &Entry, inside: &mut EntryState) {
        if std::mem::take(&mut inside.is_sample) {
            let history = &self.common.history;
            history.end(entry.kind, Side::Device(&self.name));
        }
    }

    /// All went well: what the task has written is valid from now on.
    fn commit(&self, state: &mut State, entry: &Entry) {
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
            let version = one
                .content
                .written(self.place(), inside.copies[number].take());
            if let Some(copy) = state.table.get_mut(id) {
                copy.version = Some(version);
            }
        }
        if !inside.is_abandoned {
            let (history, seconds) = (&self.common.history, inside.kernel_s);
            history.record(entry.kind, Side::Device(&self.name), entry.work, seconds);
            state.account.landed();
        }
    }

    /// Something failed: what the task was to write is as it was before, on the host.
    fn give_up(
        self: &Arc<Self>,
        state: &mut State,
        actions: &mut Actions,
        entry: &Entry,
        error: &DeviceError,
    ) {
        let inside = entry.lock();
        if inside.begun > 0 {
            for one in entry.uses.iter().filter(|one| one.access.writes()) {
                if one.access.reads() {
                    let version = one.content.versions().0;
                    let reason = format!("{}: {error}", self.name);
                    one.content.lose(version, &reason);
                }
                state.table.spoil(one.content.id());
            }
        }
        drop(inside);
        self.failed(state, actions, entry.kind, error);
    }

    /// Draws the conclusions for other tasks.
    pub(super) fn failed(
        self: &Arc<Self>,
        state: &mut State,
        actions: &mut Actions,
        kind: &'static str,
        error: &DeviceError,
    ) {
        state.account.failed(error.cause());
        actions.reports.push(error.clone());
        match error.cause() {
            Cause::Kernel => {
                state.refused.insert(kind);
            }
            Cause::Lost if state.lost.is_none() => {
                state.lost = Some(error.clone());
                state.table.clear();
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
            Cause::Lost | Cause::OutOfMemory | Cause::NoDevice => {}
        }
    }
}
