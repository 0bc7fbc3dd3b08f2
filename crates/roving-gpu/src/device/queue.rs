//! Tasks that wait for a device, by what the device gains.

use std::collections::VecDeque;
use std::sync::Arc;

use super::entry::{Cost, Entry};

/// What a task, or several of them, are expected to take; seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Load {
    /// Kernels.
    pub(crate) kernel: f64,
    /// Copies to the device.
    pub(crate) up: f64,
    /// Copies from it.
    pub(crate) down: f64,
    /// On the CPU instead.
    pub(crate) cpu: f64,
}

impl Load {
    /// All that is done for one task on a device, one after the other.
    pub(crate) fn alone(&self) -> f64 {
        self.up + self.kernel + self.down
    }

    /// What it adds to the time of a device whose transfers overlap with kernels.
    pub(crate) fn overlapped(&self) -> f64 {
        self.kernel.max(self.up).max(self.down)
    }

    pub(crate) fn add(&mut self, other: &Load) {
        self.kernel += other.kernel;
        self.up += other.up;
        self.down += other.down;
        self.cpu += other.cpu;
    }

    /// Takes away what was added. What rounding leaves is nothing.
    fn remove(&mut self, other: &Load) {
        for (sum, part) in [
            (&mut self.kernel, other.kernel),
            (&mut self.up, other.up),
            (&mut self.down, other.down),
            (&mut self.cpu, other.cpu),
        ] {
            *sum = (*sum - part).max(0.0);
        }
    }
}

/// Several loads, in any order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loads {
    pub(crate) sum: Load,
    pub(crate) count: usize,
}

impl Loads {
    pub(crate) fn add(&mut self, load: &Load) {
        self.sum.add(load);
        self.count += 1;
    }

    pub(crate) fn remove(&mut self, load: &Load) {
        self.count -= 1;
        if self.count == 0 {
            self.sum = Load::default();
        } else {
            self.sum.remove(load);
        }
    }
}

/// Tasks of about the same gain are in one class: half an octave.
const CLASSES: usize = 64;
/// The class of tasks that are as fast on both sides.
const EVEN: f64 = 32.0;

/// How much sooner the device is than the CPU, as a class.
pub(crate) fn class(load: &Load) -> usize {
    let (cpu, device) = (load.cpu, load.up.max(load.down) + load.kernel);
    if !(cpu > 0.0 && device > 0.0) {
        return EVEN as usize;
    }
    let steps = (2.0 * (cpu / device).log2()).floor();
    (EVEN + steps).clamp(0.0, (CLASSES - 1) as f64) as usize
}

/// The class of tasks that no CPU can do.
pub(crate) const DEVICE_ONLY: usize = CLASSES - 1;

#[derive(Debug)]
pub(crate) struct Queue {
    classes: Vec<(VecDeque<Arc<Entry>>, Loads)>,
    all: Loads,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Queue {
            classes: (0..CLASSES).map(|_| Default::default()).collect(),
            all: Loads::default(),
        }
    }

    pub(crate) fn loads(&self) -> &Loads {
        &self.all
    }

    /// What is done before a task that comes now: what gains as much or more.
    pub(crate) fn ahead_of(&self, class: usize) -> Load {
        let mut sum = Load::default();
        for (_, loads) in &self.classes[class..] {
            sum.add(&loads.sum);
        }
        sum
    }

    pub(crate) fn push(&mut self, entry: Arc<Entry>) {
        let Cost { load, class } = entry.cost();
        let (entries, loads) = &mut self.classes[class];
        loads.add(&load);
        self.all.add(&load);
        entries.push_back(entry);
    }

    /// Back to where it was taken from.
    pub(crate) fn push_oldest(&mut self, entry: Arc<Entry>) {
        let Cost { load, class } = entry.cost();
        let (entries, loads) = &mut self.classes[class];
        loads.add(&load);
        self.all.add(&load);
        entries.push_front(entry);
    }

    /// The oldest of the best class in which `wanted` holds for the oldest.
    pub(crate) fn pop(&mut self, wanted: impl Fn(&Entry) -> bool) -> Option<Arc<Entry>> {
        for (entries, loads) in self.classes.iter_mut().rev() {
            if entries.front().is_some_and(|entry| wanted(entry))
                && let Some(entry) = entries.pop_front()
            {
                let load = entry.load();
                loads.remove(&load);
                self.all.remove(&load);
                return Some(entry);
            }
        }
        None
    }

    /// The newest of the worst class in which `wanted` holds for the newest.
    pub(crate) fn worst(&self, wanted: impl Fn(&Entry) -> bool) -> Option<&Arc<Entry>> {
        let mut newest = self
            .classes
            .iter()
            .filter_map(|(entries, _)| entries.back());
        newest.find(|entry| wanted(entry))
    }

    /// The newest of the worst class of those for which `wanted` holds. Looks at all, if need be.
    pub(crate) fn worst_of_all(&self, wanted: impl Fn(&Entry) -> bool) -> Option<&Arc<Entry>> {
        let mut all = self
            .classes
            .iter()
            .flat_map(|(entries, _)| entries.iter().rev());
        all.find(|entry| wanted(entry))
    }

    /// False if it is not there.
    pub(crate) fn remove(&mut self, entry: &Arc<Entry>) -> bool {
        let Cost { load, class } = entry.cost();
        let (entries, loads) = &mut self.classes[class];
        // Whoever leaves the queue early is mostly one of the newest.
        let Some(at) = entries.iter().rposition(|one| Arc::ptr_eq(one, entry)) else {
            return false;
        };
        entries.remove(at);
        loads.remove(&load);
        self.all.remove(&load);
        true
    }

    pub(crate) fn drain(&mut self) -> Vec<Arc<Entry>> {
        let classes = std::mem::replace(self, Queue::new()).classes;
        let all = classes.into_iter().flat_map(|(entries, _)| entries);
        all.collect()
    }
}
