//! Tasks that wait for a device, by what the device gains.

use std::collections::VecDeque;
use std::sync::Arc;

use super::load::{Cost, Load, Loads};

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

/// A task, as the queue knows it.
pub(crate) trait Queueable {
    /// Its expected cost, which changes only while it is not in the queue.
    fn cost(&self) -> Cost;
    /// A worker may take it out of the queue.
    fn may_leave(&self) -> bool;
}

/// Where a task was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueEnd {
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
#[derive(Debug)]
struct Class<T> {
    /// Those that no worker can have, apart from the others: the device takes them in any case,
    /// also where it does not want what waits beside them.
    bound: VecDeque<Arc<T>>,
    free: VecDeque<Arc<T>>,
    loads: Loads,
}

impl<T: Queueable> Class<T> {
    fn new() -> Self {
        Class {
            bound: VecDeque::new(),
            free: VecDeque::new(),
            loads: Loads::default(),
        }
    }

    fn lane(&mut self, entry: &T) -> &mut VecDeque<Arc<T>> {
        match entry.may_leave() {
            true => &mut self.free,
            false => &mut self.bound,
        }
    }

    /// The next one for the device; beside so many workers, if they may take tasks.
    fn next(&self, workers: Option<f64>) -> Option<(&Arc<T>, QueueEnd)> {
        if let Some(oldest) = self.bound.front() {
            return Some((oldest, QueueEnd::Oldest));
        }
        let sum = &self.loads.sum;
        match workers {
            Some(workers) if sum.cpu < workers * sum.overlapped() => {
                Some((self.free.back()?, QueueEnd::Newest))
            }
            _ => Some((self.free.front()?, QueueEnd::Oldest)),
        }
    }
}

/// Tasks that wait, in classes of gain.
#[derive(Debug)]
pub(crate) struct GainQueue<T> {
    classes: Vec<Class<T>>,
    all: Loads,
}

impl<T: Queueable> GainQueue<T> {
    pub(crate) fn new() -> Self {
        GainQueue {
            classes: (0..CLASSES).map(|_| Class::new()).collect(),
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

    pub(crate) fn push(&mut self, entry: Arc<T>) {
        self.push_at(entry, QueueEnd::Newest);
    }

    /// Also back to where it was taken from.
    pub(crate) fn push_at(&mut self, entry: Arc<T>, end: QueueEnd) {
        let Cost { load, class } = entry.cost();
        let class = &mut self.classes[class];
        class.loads.add(&load);
        self.all.add(&load);
        let lane = class.lane(&entry);
        match end {
            QueueEnd::Oldest => lane.push_front(entry),
            QueueEnd::Newest => lane.push_back(entry),
        }
    }

    /// The next one for the device, of the best class in which `wanted` holds for the next one.
    pub(crate) fn pop(
        &mut self,
        workers: Option<f64>,
        wanted: impl Fn(&T) -> bool,
    ) -> Option<(Arc<T>, QueueEnd)> {
        let best_first = self.classes.iter().rev();
        let mut next = best_first.filter_map(|class| class.next(workers));
        let (entry, end) = next.find(|(entry, _)| wanted(entry))?;
        let entry = Arc::clone(entry);
        self.remove(&entry);
        Some((entry, end))
    }

    /// The next one for a worker: the oldest of each class that `may` be offered; and of these that
    /// of the worst class for which `wanted` holds.
    pub(crate) fn worst(
        &self,
        may: impl Fn(&T) -> bool,
        wanted: impl Fn(&T) -> bool,
    ) -> Option<&Arc<T>> {
        let mut offers = self.classes.iter().filter_map(|class| {
            let mut oldest = class.free.iter().take(LOOKED_AT);
            oldest.find(|entry| may(entry))
        });
        offers.find(|entry| wanted(entry))
    }

    /// Some of those that the device would begin last: the newest of the worst classes.
    pub(crate) fn last(&self) -> Vec<Arc<T>> {
        let lanes = self.classes.iter();
        let lanes = lanes.flat_map(|class| [&class.free, &class.bound]);
        let newest = lanes.flat_map(|lane| lane.iter().rev());
        newest.take(LOOKED_AT).map(Arc::clone).collect()
    }

    /// The oldest of the worst class of those for which `wanted` holds. Looks at all that a worker
    /// may have, if need be.
    pub(crate) fn worst_of_all(&self, wanted: impl Fn(&T) -> bool) -> Option<&Arc<T>> {
        let mut all = self.classes.iter().flat_map(|class| &class.free);
        all.find(|entry| wanted(entry))
    }

    /// False if it is not there.
    pub(crate) fn remove(&mut self, entry: &Arc<T>) -> bool {
        let Cost { load, class } = entry.cost();
        let class = &mut self.classes[class];
        let lane = class.lane(entry);
        let is_it = |one: &Arc<T>| Arc::ptr_eq(one, entry);
        // A task that leaves the queue is mostly the oldest, or one of the newest.
        let at = match lane.front() {
            Some(oldest) if is_it(oldest) => Some(0),
            _ => lane.iter().rposition(is_it),
        };
        let Some(at) = at else {
            return false;
        };
        lane.remove(at);
        class.loads.remove(&load);
        self.all.remove(&load);
        true
    }

    pub(crate) fn drain(&mut self) -> Vec<Arc<T>> {
        let classes = std::mem::replace(self, GainQueue::new()).classes;
        let all = classes
            .into_iter()
            .flat_map(|class| class.bound.into_iter().chain(class.free));
        all.collect()
    }
}
