//! Tasks that wait for a device, by what the device gains.

use std::collections::VecDeque;
use std::sync::Arc;

use super::entry::{Cost, Entry};
use crate::history::Known;

/// The expected times of a task, or of several; seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Load {
    /// Kernels.
    pub(crate) kernel: f64,
    /// Kernels, if each takes as long as the longest of its kind.
    pub(crate) kernel_most: f64,
    /// Copies to the device.
    pub(crate) up: f64,
    /// Copies from it.
    pub(crate) down: f64,
    /// On the CPU instead.
    pub(crate) cpu: f64,
}

impl Load {
    /// The load of the task at the times that are known now, with the same transfers.
    pub(crate) fn priced(self, cpu: Known, device: Known) -> Load {
        let kernel = device.took();
        Load {
            kernel: kernel.mean,
            kernel_most: kernel.most,
            cpu: cpu.took().mean,
            ..self
        }
    }

    /// All that is done for one task on a device, one after the other.
    pub(crate) fn alone(&self) -> f64 {
        self.up + self.kernel + self.down
    }

    /// The time of the task alone, if each kernel takes as long as the longest of its kind.
    pub(crate) fn alone_most(&self) -> f64 {
        self.up + self.kernel_most + self.down
    }

    /// The time that this adds to a device whose transfers overlap with kernels.
    pub(crate) fn overlapped(&self) -> f64 {
        self.kernel.max(self.up).max(self.down)
    }

    /// The time that this adds to such a device, if each kernel takes as long as the longest of its
    /// kind.
    pub(crate) fn overlapped_most(&self) -> f64 {
        self.kernel_most.max(self.up).max(self.down)
    }

    pub(crate) fn add(&mut self, other: &Load) {
        self.kernel += other.kernel;
        self.kernel_most += other.kernel_most;
        self.up += other.up;
        self.down += other.down;
        self.cpu += other.cpu;
    }

    /// Takes away what was added. What rounding leaves is nothing.
    pub(crate) fn remove(&mut self, other: &Load) {
        for (sum, part) in [
            (&mut self.kernel, other.kernel),
            (&mut self.kernel_most, other.kernel_most),
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

/// Where a task was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Oldest,
    Newest,
}

/// So many tasks of a class are looked at for a worker at most, and of a queue for a device.
const LOOKED_AT: usize = 8;

/// The tasks of a class. Workers begin with the oldest: where each task is followed by another, all
/// of these rows go on, and none is left over for the end. So does a device that does more of the
/// class than the workers. One that does less begins with the newest: neighbours are alike, and if
/// both sides came to the last ones together, all of those might be cheaper than the mean by which
/// the device had begun a long one.
#[derive(Debug, Default)]
struct Class {
    entries: VecDeque<Arc<Entry>>,
    loads: Loads,
}

impl Class {
    /// Where the device begins; beside so many workers, if they may take tasks.
    fn end(&self, workers: Option<f64>) -> End {
        let sum = &self.loads.sum;
        let must = self.entries.front().is_some_and(|entry| !entry.may_leave);
        match workers {
            Some(workers) if !must && sum.cpu < workers * sum.overlapped() => End::Newest,
            _ => End::Oldest,
        }
    }

    fn next(&self, end: End) -> Option<&Arc<Entry>> {
        match end {
            End::Oldest => self.entries.front(),
            End::Newest => self.entries.back(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Queue {
    classes: Vec<Class>,
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

    /// Returns the load that runs before a task that comes now: the tasks that gain as much or
    /// more.
    pub(crate) fn ahead_of(&self, class: usize) -> Load {
        let mut sum = Load::default();
        for class in &self.classes[class..] {
            sum.add(&class.loads.sum);
        }
        sum
    }

    pub(crate) fn push(&mut self, entry: Arc<Entry>) {
        // The device takes a task that no worker can have in any case, also where it does not want
        // the tasks that wait before it.
        let end = if entry.may_leave {
            End::Newest
        } else {
            End::Oldest
        };
        self.push_at(entry, end);
    }

    /// Also back to where it was taken from.
    pub(crate) fn push_at(&mut self, entry: Arc<Entry>, end: End) {
        let Cost { load, class } = entry.cost();
        let class = &mut self.classes[class];
        class.loads.add(&load);
        self.all.add(&load);
        match end {
            End::Oldest => class.entries.push_front(entry),
            End::Newest => class.entries.push_back(entry),
        }
    }

    /// The next one for the device, of the best class in which `wanted` holds for the next one.
    pub(crate) fn pop(
        &mut self,
        workers: Option<f64>,
        wanted: impl Fn(&Entry) -> bool,
    ) -> Option<(Arc<Entry>, End)> {
        for class in self.classes.iter_mut().rev() {
            let end = class.end(workers);
            if !class.next(end).is_some_and(|entry| wanted(entry)) {
                continue;
            }
            let entry = match end {
                End::Oldest => class.entries.pop_front(),
                End::Newest => class.entries.pop_back(),
            }?;
            let load = entry.load();
            class.loads.remove(&load);
            self.all.remove(&load);
            return Some((entry, end));
        }
        None
    }

    /// The next one for a worker: the oldest of each class that `may` be offered; and of these that
    /// of the worst class for which `wanted` holds.
    pub(crate) fn worst(
        &self,
        may: impl Fn(&Entry) -> bool,
        wanted: impl Fn(&Entry) -> bool,
    ) -> Option<&Arc<Entry>> {
        let mut offers = self.classes.iter().filter_map(|class| {
            let mut oldest = class.entries.iter().take(LOOKED_AT);
            oldest.find(|entry| may(entry))
        });
        offers.find(|entry| wanted(entry))
    }

    /// Some of those that the device would begin last: the newest of the worst classes.
    pub(crate) fn last(&self) -> Vec<Arc<Entry>> {
        let newest = self
            .classes
            .iter()
            .flat_map(|class| class.entries.iter().rev());
        newest.take(LOOKED_AT).map(Arc::clone).collect()
    }

    /// The oldest of the worst class of those for which `wanted` holds. Looks at all, if need be.
    pub(crate) fn worst_of_all(&self, wanted: impl Fn(&Entry) -> bool) -> Option<&Arc<Entry>> {
        let mut all = self.classes.iter().flat_map(|class| &class.entries);
        all.find(|entry| wanted(entry))
    }

    /// False if it is not there.
    pub(crate) fn remove(&mut self, entry: &Arc<Entry>) -> bool {
        let Cost { load, class } = entry.cost();
        let class = &mut self.classes[class];
        let is_it = |one: &Arc<Entry>| Arc::ptr_eq(one, entry);
        // A task that leaves the queue early is mostly the oldest, or one of the newest.
        let at = match class.entries.front() {
            Some(oldest) if is_it(oldest) => Some(0),
            _ => class.entries.iter().rposition(is_it),
        };
        let Some(at) = at else {
            return false;
        };
        class.entries.remove(at);
        class.loads.remove(&load);
        self.all.remove(&load);
        true
    }

    pub(crate) fn drain(&mut self) -> Vec<Arc<Entry>> {
        let classes = std::mem::replace(self, Queue::new()).classes;
        let all = classes.into_iter().flat_map(|class| class.entries);
        all.collect()
    }
}
