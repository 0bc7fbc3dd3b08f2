//! The expected cost of tasks on a device.

use super::entry::{Cost, Entry, Task};
use super::queue::{self, Load};
use super::{Device, State};
use crate::buffer::hold::{Access, Use};
use crate::history::{Known, Side};

impl Device {
    /// Estimates the cost of a task here, its place in the queue, and the time of all that is
    /// before it.
    pub(crate) fn estimate(&self, task: &Task, cpu: Known) -> Estimate {
        let known = self.known(task.kind, task.work);
        let over = self.all_over_s(&task.uses);
        let state = self.lock();
        let load = self.transfers(&state, &task.uses, &over);
        let load = load.priced(cpu, known);
        let class = class(task.has_cpu, cpu, known, &load);
        let ahead = state.queue.ahead_of(class).overlapped() + self.flying(&state).mean;
        Estimate {
            known,
            cost: Cost { load, class },
            ahead_s: ahead,
            cores: self.cores(state.queue.loads().count),
        }
    }

    /// The cost here of a task that waits for another device.
    pub(super) fn priced(&self, entry: &Entry, cpu: Known, known: Known) -> Cost {
        let over = self.all_over_s(&entry.uses);
        let load = self.transfers(&self.lock(), &entry.uses, &over);
        let load = load.priced(cpu, known);
        let class = class(entry.may_leave, cpu, known, &load);
        Cost { load, class }
    }

    /// The times of buffers, by their ids, that only other devices have: those are asked, so not
    /// with this one locked.
    fn all_over_s(&self, uses: &[Use]) -> Vec<(u64, f64)> {
        let over = uses.iter().filter_map(|one| {
            let (version, host) = one.content.versions();
            let seconds = || (one.content.id(), self.over_s(&*one.content, version));
            (one.access.reads() && version != host).then(seconds)
        });
        over.collect()
    }

    /// The copies that a task takes.
    fn transfers(&self, state: &State, uses: &[Use], over: &[(u64, f64)]) -> Load {
        let is_through = self.common.is_through();
        let history = &self.common.history;
        let transfer = |direction, one: &Use| {
            history.transfer_s(&self.name, direction, one.content.bytes() as f64)
        };
        let mut load = Load::default();
        for one in uses {
            let id = one.content.id();
            let is_there = state.table.has(id, one.content.versions().0)
                || (one.access == Access::Read && state.wanted.contains_key(&id));
            if one.access.reads() && !is_there {
                let over = over.iter().find(|(other, _)| *other == id);
                load.up += over.map_or_else(|| transfer(0, one), |(_, seconds)| *seconds);
            }
            if one.access.writes() && is_through {
                load.down += transfer(1, one);
            }
        }
        load
    }

    pub(super) fn requeue(&self, state: &mut State, kind: &str) {
        for entry in state.queue.drain() {
            if entry.kind == kind {
                let history = &self.common.history;
                let cpu = history.known(entry.kind, Side::Cpu, entry.work);
                let known = self.known(entry.kind, entry.work);
                let load = entry.load().priced(cpu, known);
                let class = class(entry.may_leave, cpu, known, &load);
                entry.set_cost(Cost { load, class });
            }
            state.queue.push(entry);
        }
    }
}

/// Where a task stands in the queue.
fn class(has_cpu: bool, cpu: Known, device: Known, load: &Load) -> usize {
    match (cpu, device) {
        _ if !has_cpu => queue::DEVICE_ONLY,
        (Known::Measured(_), Known::Measured(_)) => queue::class(load),
        _ => queue::class(&Load::default()),
    }
}

/// See [`Device::estimate`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    pub(crate) known: Known,
    pub(crate) cost: Cost,
    pub(crate) ahead_s: f64,
    pub(crate) cores: f64,
}

impl Estimate {
    /// When the task would be done here, from now.
    pub(crate) fn finish_s(&self) -> f64 {
        self.ahead_s + self.cost.load.alone()
    }
}
