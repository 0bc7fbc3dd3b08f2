//! The expected cost of tasks on a device.

use super::entry::{DeviceEntry, TaskFacts};
use super::load::{Cost, Load};
use super::queue;
use super::{Device, DeviceState};
use crate::buffer::hold::{Access, Use};
use crate::history::{Known, MeasuredSide};

/// By so much a mean has to move for what waits to be estimated again: less than a class of the
/// queue.
const MOVED: f64 = 1.25;

impl Device {
    /// Estimates the cost of a task here, its place in the queue, and the time of all that is
    /// before it.
    pub(crate) fn estimate(&self, task: &TaskFacts, cpu: Known) -> Estimate {
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
    pub(super) fn priced(&self, entry: &DeviceEntry, cpu: Known, known: Known) -> Cost {
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
    fn transfers(&self, state: &DeviceState, uses: &[Use], over: &[(u64, f64)]) -> Load {
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

    /// A task has ended: what is flying and what waits, of its kind, is expected to take what is
    /// known now, if that is something else.
    pub(super) fn learn(&self, state: &mut DeviceState, entry: &DeviceEntry, was_sample: bool) {
        let was = entry.load();
        let (cpu, device) = self.known_of(entry);
        let has_moved = |known: Known, was: f64| match known {
            Known::Measured(took) => !(was / MOVED..=was * MOVED).contains(&took.mean),
            Known::Nothing | Known::AtLeast(_) => false,
        };
        if was_sample || has_moved(device, was.kernel) || has_moved(cpu, was.cpu) {
            self.requeue(state, entry.kind);
        }
    }

    pub(super) fn requeue(&self, state: &mut DeviceState, kind: &str) {
        for entry in state.window.iter().filter(|entry| entry.kind == kind) {
            let mut inside = entry.lock();
            state.flying.remove(&inside.flying);
            let (cpu, device) = self.known_of(entry);
            inside.flying = inside.flying.priced(cpu, device);
            state.flying.add(&inside.flying);
            self.price(entry);
        }
        for entry in state.queue.drain() {
            if entry.kind == kind {
                self.price(&entry);
            }
            state.queue.push(entry);
        }
    }

    fn price(&self, entry: &DeviceEntry) {
        let (cpu, device) = self.known_of(entry);
        let load = entry.load().priced(cpu, device);
        let class = class(entry.may_leave, cpu, device, &load);
        entry.set_cost(Cost { load, class });
    }

    /// Returns the times of such a task as they are known: on the CPU, and here.
    fn known_of(&self, entry: &DeviceEntry) -> (Known, Known) {
        let cpu = self
            .common
            .history
            .known(entry.kind, MeasuredSide::Cpu, entry.work);
        (cpu, self.known(entry.kind, entry.work))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::{Poll, Waker};

    use crate::buffer::hold::WaitingTask;
    use crate::device::Device;
    use crate::device::entry::{DeviceEntry, TaskFacts};
    use crate::history::MeasuredSide;
    use crate::profile::Why;
    use crate::{Devices, Simulated};

    fn entry(device: &Arc<Device>) -> Arc<DeviceEntry> {
        let task = TaskFacts {
            kind: "kind",
            work: 1.0,
            uses: Vec::new(),
            has_cpu: true,
            blocks: false,
        };
        let Poll::Ready(held) = WaitingTask::new(&task.uses).poll_held(Waker::noop()) else {
            panic!("it has no buffers");
        };
        let cpu = device.common.history.known("kind", MeasuredSide::Cpu, 1.0);
        let cost = device.estimate(&task, cpu).cost;
        DeviceEntry::new(Arc::clone(device), &task, cost, Why::Sooner, held)
    }

    #[test]
    fn what_flies_and_waits_takes_as_long_as_the_last_ones() {
        let devices = Devices::builder().backend(Simulated::new()).build();
        let devices = devices.unwrap();
        let device = &devices.0.as_ref().unwrap().devices[0];
        let record = |side, seconds| device.common.history.record("kind", side, 1.0, seconds);
        let here = MeasuredSide::Device(&device.name);
        record(MeasuredSide::Cpu, 1.0);
        record(here, 1.0);
        let (flies, waits) = (entry(device), entry(device));
        let mut state = device.lock();
        device.enter_window(&mut state, &flies);
        state.queue.push(waits);
        // One side or the other moves by much, or by little.
        for (side, seconds, kernel, cpu) in [
            (here, 19.0, 10.0, 1.0),
            (MeasuredSide::Cpu, 3.0, 10.0, 2.0),
            (here, 16.0, 10.0, 2.0),
        ] {
            record(side, seconds);
            device.learn(&mut state, &flies, false);
            for load in [state.flying.sum, state.queue.loads().sum] {
                assert_eq!((load.kernel, load.cpu), (kernel, cpu));
            }
            assert_eq!((state.flying.count, state.queue.loads().count), (1, 1));
        }
        device.leave_window(&mut state, &flies);
        assert_eq!((state.flying.count, state.window.len()), (0, 0));
        // Nobody would take it, and it keeps the device.
        assert_eq!(state.queue.drain().len(), 1);
    }
}
