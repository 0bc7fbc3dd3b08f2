//! The work that is under way on a device, when the next task is chosen.

use std::collections::BTreeMap;
use std::time::Instant;

use super::auto::Standing;
use super::entry::DeviceEntry;
use super::{Device, DeviceState};
use crate::history::law::Took;

impl Device {
    /// How many tasks have ended here; and which are here now, in words, if any are.
    pub(crate) fn told(&self) -> (usize, Option<String>) {
        let state = self.lock();
        let mut counts = BTreeMap::<_, usize>::new();
        for entry in &state.window {
            *counts.entry(entry.kind).or_default() += 1;
        }
        let counts = counts
            .iter()
            .map(|(kind, count)| format!("{count} of `{kind}`"));
        let aboard = counts.collect::<Vec<_>>().join(", ");
        let waits = state.queue.loads().count;
        let told = format!("{aboard}; {waits} wait in its queue");
        (state.replaced.ended, (!aboard.is_empty()).then_some(told))
    }

    /// How long a worker that took the task would wait until tasks that have landed ahead have
    /// written what it reads; seconds.
    pub(super) fn wait_s(&self, state: &DeviceState, entry: &DeviceEntry) -> f64 {
        let read = entry.uses.iter().filter(|one| one.access.reads());
        let writers = read.filter_map(|one| state.table.get(one.content.id())?.writer());
        let done_at = writers.filter_map(|writer| writer.lock().done_at).max();
        done_at.map_or(0.0, |at| {
            at.saturating_duration_since(Instant::now()).as_secs_f64()
        })
    }

    /// Returns the rest of the work that the device has taken.
    pub(super) fn flying(&self, state: &DeviceState) -> Took {
        let since = state.flying_since.elapsed().as_secs_f64();
        let sum = &state.flying.sum;
        Took {
            mean: (sum.overlapped() - since).max(0.0),
            most: (sum.overlapped_most() - since).max(0.0),
        }
    }

    /// How many cores it takes away from workers that could use them, where so many other tasks
    /// wait.
    pub(super) fn cores(&self, others: usize) -> f64 {
        if !self.shares_cores {
            return 1.0;
        }
        let wanted = 1 + self.common.running() + others;
        wanted.min(self.common.workers()) as f64
    }

    pub(super) fn standing(&self, state: &DeviceState) -> Standing {
        let loads = state.queue.loads();
        let (workers, fetching) = (self.common.workers(), self.common.fetching());
        // Whoever asks is free.
        let free = workers.saturating_sub(self.common.running()).max(1);
        // What follows comes by a worker that polls the tasks which have ended. The last one that
        // is free does not leave the device without.
        let is_refilled = fetching + 1 < free;
        // Where nothing flies, a task that the device does not want is taken, whatever its worker
        // has before it: those may wait for buffers that this one holds.
        let taken = match state.flying.count {
            0 => 0,
            _ => fetching / free,
        };
        let there_s = loads.sum.overlapped() + state.flying.sum.overlapped();
        let coming = match is_refilled {
            true => state.replaced.share(loads.count + state.flying.count) * there_s,
            false => 0.0,
        };
        Standing {
            flying: self.flying(state),
            queue: loads.sum,
            coming,
            taken: taken as f64,
            workers: workers as f64,
            shares_cores: self.shares_cores,
            cores: self.cores(loads.count.saturating_sub(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::task::{Poll, Waker};

    use super::super::entry::TaskFacts;
    use super::super::load::{Cost, Load};
    use super::*;
    use crate::buffer::AnyBuffer;
    use crate::buffer::hold::{Access, Use, WaitingTask};
    use crate::common::{Fetching, Running};
    use crate::history::MeasuredSide;
    use crate::profile::Why;
    use crate::{Arg, Buffer, Choice, Devices, Dual, Kernel, Kind, Simulated};

    fn device(devices: &Devices) -> &Arc<Device> {
        &devices.0.as_ref().unwrap().devices[0]
    }

    #[test]
    fn what_follows_counts_for_all_free_workers_but_the_last() {
        let devices = Devices::builder().backend(Simulated::new()).build();
        let devices = devices.unwrap();
        let device = device(&devices);
        let pool = roving::Pool::new(3).unwrap();
        pool.install(|| device.common.see_pool());
        let mut state = device.lock();
        let one = Load {
            kernel: 2.0,
            ..Load::default()
        };
        state.flying.add(&one);
        assert_eq!(device.standing(&state).coming, 0.0);
        // The one before has ended, and this one came.
        state.replaced.ended();
        state.replaced.came();
        let mut engaged = Vec::new();
        for coming in [2.0, 2.0, 0.0, 0.0] {
            assert_eq!(device.standing(&state).coming, coming);
            engaged.push(Fetching::new(&device.common));
        }
    }

    #[test]
    fn what_was_taken_comes_first_unless_the_device_does_nothing() {
        let devices = Devices::builder().backend(Simulated::new()).build();
        let devices = devices.unwrap();
        let device = device(&devices);
        let pool = roving::Pool::new(3).unwrap();
        pool.install(|| device.common.see_pool());
        let mut fetching = Vec::new();
        let running = Running::new(&device.common, "runs", None);
        let taken = |flies: bool| {
            let mut state = device.lock();
            let one = Load::default();
            flies.then(|| state.flying.add(&one));
            let taken = device.standing(&state).taken;
            flies.then(|| state.flying.remove(&one));
            taken
        };
        for each in [0.0, 0.0, 1.0, 1.0, 2.0] {
            assert_eq!((taken(true), taken(false)), (each, 0.0));
            fetching.push(Fetching::new(&device.common));
        }
        // Only one is free now for these five.
        let _running = (running, Running::new(&device.common, "runs", None));
        assert_eq!(taken(true), 5.0);
    }

    #[test]
    fn a_worker_waits_for_what_the_device_has_still_to_write() {
        static GATE: Mutex<()> = Mutex::new(());
        static KEPT: Kernel = Kernel::new("kept").host(|_| drop(GATE.lock()));
        static LONG: Kind = Kind::new("long");
        let devices = Devices::builder().backend(Simulated::new());
        let devices = devices.choice(Choice::Gpu).build().unwrap();
        let device = device(&devices);
        let side = MeasuredSide::Device(&device.name);
        device.common.history.record("long", side, 1.0, 50.0);
        let [written, other] = [(); 2].map(|()| Buffer::from(vec![1_u32]));
        let closed = GATE.lock();
        // Lands ahead of its kernel.
        let task = Dual::new(&LONG, &[1]).updates(&written);
        task.gpu(async |gpu| gpu.launch(&KEPT, [1, 1, 1], &[Arg::update(&written)]).await)
            .run(&devices)
            .unwrap();
        let wait_s = |buffer: &Buffer<u32>, access| {
            let content = buffer.content().0;
            let task = TaskFacts {
                kind: "long",
                work: 1.0,
                uses: vec![Use { content, access }],
                has_cpu: true,
                blocks: false,
            };
            let Poll::Ready(held) = WaitingTask::new(&task.uses).poll_held(Waker::noop()) else {
                panic!("nobody else holds it");
            };
            let (load, class) = (Load::default(), 0);
            let entry = DeviceEntry::new(
                Arc::clone(device),
                &task,
                Cost { load, class },
                Why::Sooner,
                held,
            );
            device.wait_s(&device.lock(), &entry)
        };
        assert!((40.0..=50.0).contains(&wait_s(&written, Access::Read)));
        assert!(wait_s(&written, Access::Update) > 0.0);
        assert_eq!(wait_s(&written, Access::Write), 0.0);
        assert_eq!(wait_s(&other, Access::Read), 0.0);
        drop(closed);
        devices.wait();
        assert_eq!(wait_s(&written, Access::Read), 0.0);
    }
}
