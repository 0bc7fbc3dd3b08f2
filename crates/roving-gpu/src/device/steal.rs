//! Tasks that a device takes out of the queue of another one.
//!
//! A device for which nothing waits, and that has room, looks at the last tasks that another one
//! would begin: the newest of those that gain least there. It takes the one for which the fewest
//! bytes have to come, and only if it is done with it before the other is done with all that waits
//! there. What a device has begun stays with it, and so does a task that is measured there, or
//! whose GPU side has asked where it is.
//!
//! This is the only place where somebody locks two devices: that with the smaller index first.

use std::sync::{Arc, Weak};

use super::auto::{self, Standing};
use super::entry::{DeviceEntry, Phase};
use super::load::Cost;
use super::{Actions, Device, DeviceState};
use crate::buffer::hold::Use;
use crate::history::{Known, MeasuredSide};

impl Device {
    /// Takes what waits for other devices, as long as nothing waits for this one.
    pub(super) fn steal(self: &Arc<Self>) {
        let others = self.others.get().into_iter().flatten();
        for other in others.filter_map(Weak::upgrade) {
            while self.is_idle() && self.steal_from(&other) {}
        }
    }

    fn is_idle(&self) -> bool {
        let state = self.lock();
        self.steals(&state)
    }

    /// Whether it would take a task of another one.
    pub(super) fn steals(&self, state: &DeviceState) -> bool {
        let has_others = self.others.get().is_some_and(|others| !others.is_empty());
        let is_idle = state.lost.is_none() && state.queue.loads().count == 0;
        has_others && is_idle && self.has_room(state)
    }

    fn steal_from(self: &Arc<Self>, other: &Arc<Device>) -> bool {
        let last = other.lock().queue.last();
        let offers = last.into_iter().filter_map(|entry| {
            let cost = self.cost(&entry)?;
            Some((entry, cost))
        });
        // Of several that are as good, the newest, which is the first here.
        let best = offers.min_by_key(|(entry, _)| self.missing_bytes(entry));
        best.is_some_and(|(entry, cost)| self.take_from(other, &entry, cost))
    }

    /// The bytes that have to come for a task.
    fn missing_bytes(&self, entry: &DeviceEntry) -> usize {
        let is_missing = |one: &&Use| {
            let (content, (version, _)) = (&one.content, one.content.versions());
            one.access.reads() && !self.has(content.id(), version)
        };
        let missing = entry.uses.iter().filter(is_missing);
        missing.map(|one| one.content.bytes()).sum()
    }

    /// The cost of another device's task here, if that is known and it may come.
    fn cost(&self, entry: &DeviceEntry) -> Option<Cost> {
        let known = self.known(entry.kind, entry.work);
        let refusal = || self.refusal(entry.kind, &entry.uses, entry.may_leave);
        let is_near = |one: &Use| {
            let (content, (version, host)) = (&one.content, one.content.versions());
            let is_here = || self.has(content.id(), version) || self.reaches(&**content, version);
            !one.access.reads() || version == host || is_here()
        };
        let may_come = matches!(known, Known::Measured(_)) && refusal().is_none();
        let may_come = may_come && entry.uses.iter().all(is_near);
        let cpu = || {
            let history = &self.common.history;
            history.known(entry.kind, MeasuredSide::Cpu, entry.work)
        };
        may_come.then(|| self.priced(entry, cpu(), known))
    }

    /// Takes a task, if all is still as it was.
    fn take_from(
        self: &Arc<Self>,
        other: &Arc<Device>,
        entry: &Arc<DeviceEntry>,
        cost: Cost,
    ) -> bool {
        let (mut actions, mut others) = (Actions::default(), Actions::default());
        let is_first = self.index < other.index;
        let [first, second] = if is_first {
            [self, other]
        } else {
            [other, self]
        };
        let (mut first, mut second) = (first.lock(), second.lock());
        let (own, theirs) = match is_first {
            true => (&mut *first, &mut *second),
            false => (&mut *second, &mut *first),
        };
        let takes = self.would_take(own, other, theirs, entry, &cost);
        if takes {
            theirs.queue.remove(entry);
            theirs.replaced.left();
            other.no_longer_wanted(theirs, entry);
            other.answered(theirs, entry);
            entry.lock().device = Arc::clone(self);
            entry.set_cost(cost);
            self.push(own, entry);
            own.account.took();
            self.follow_up(own, &mut actions);
            others.calls = true;
            other.follow_up(theirs, &mut others);
            // If it does not want it after all, a worker may.
            actions.look = own.queue.loads().count > 0 && self.common.decides();
        }
        // What is buried may be code of others, which finds neither of them locked.
        first.open();
        second.open();
        drop((first, second));
        self.act(actions);
        other.act(others);
        takes
    }

    fn would_take(
        &self,
        own: &DeviceState,
        other: &Arc<Device>,
        theirs: &DeviceState,
        entry: &DeviceEntry,
        cost: &Cost,
    ) -> bool {
        let inside = entry.lock();
        let is_there = inside.phase == Phase::Queued && Arc::ptr_eq(&inside.device, other);
        let may_move = is_there && inside.may_move && !inside.is_sample && self.steals(own);
        drop(inside);
        let queue = theirs.queue.loads().sum;
        let ends_s = self.flying(own).mean + cost.load.alone();
        if !may_move || ends_s > other.flying(theirs).mean + queue.overlapped() {
            return false;
        }
        if !entry.may_leave || !self.common.decides() {
            return true;
        }
        if !self.may_trust(entry, &own.window) {
            return false;
        }
        let history = &self.common.history;
        let cpu = history.known(entry.kind, MeasuredSide::Cpu, entry.work);
        let known = self.known(entry.kind, entry.work);
        let standing = Standing {
            queue,
            ..self.standing(own)
        };
        auto::admits(cpu, known, &cost.load, &standing)
    }
}
