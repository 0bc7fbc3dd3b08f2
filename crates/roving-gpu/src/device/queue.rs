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
    /// Its expected cost. Like its lane, it changes only while it is not in the queue.
    fn cost(&self) -> Cost;
    fn lane(&self) -> QueueLane;
}

/// Who may take a task out of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueLane {
    /// The device alone. It does so in any case, also where it does not want what waits beside it.
    Bound,
    /// The device, or a worker that is called.
    Free,
    /// A worker was called for it, and has not answered. It may never do so: nothing waits behind
    /// such a task.
    Called,
}

/// Where a task was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueEnd {
    Oldest,
    Newest,
}

/// So many tasks of a queue are looked at for another device at most.
const LOOKED_AT: usize = 8;

/// The tasks of a class. Workers begin with the oldest: where each task is followed by another, all
/// of these rows go on, and none is left over for the end. So does a device that does more of the
/// class than the workers. One that does less begins with the newest: neighbours are alike, and if
/// both sides came to the last ones together, all of those might be cheaper than the mean by which
/// the device had begun a long one.
#[derive(Debug)]
struct Class<T> {
    /// By number of [`QueueLane`], as the device comes to them.
    lanes: [VecDeque<Arc<T>>; 3],
    loads: Loads,
}

impl<T: Queueable> Class<T> {
    fn new() -> Self {
        Class {
            lanes: [const { VecDeque::new() }; 3],
            loads: Loads::default(),
        }
    }

    fn free(&self) -> &VecDeque<Arc<T>> {
        &self.lanes[QueueLane::Free as usize]
    }

    /// The next one of each lane for the device; beside so many workers, if they may take tasks.
    fn next(&self, workers: Option<f64>) -> impl Iterator<Item = (&Arc<T>, QueueEnd)> {
        let sum = &self.loads.sum;
        let free = match workers {
            Some(workers) if sum.cpu < workers * sum.overlapped() => QueueEnd::Newest,
            _ => QueueEnd::Oldest,
        };
        let ends = [QueueEnd::Oldest, free, QueueEnd::Oldest];
        self.lanes.iter().zip(ends).filter_map(|(lane, end)| {
            let next = match end {
                QueueEnd::Oldest => lane.front(),
                QueueEnd::Newest => lane.back(),
            };
            Some((next?, end))
        })
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

    /// The classes in which there are tasks: mostly one or two.
    fn in_use(&self) -> impl DoubleEndedIterator<Item = &Class<T>> {
        let classes = self.classes.iter();
        classes.filter(|class| class.loads.count > 0)
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
        let lane = &mut class.lanes[entry.lane() as usize];
        match end {
            QueueEnd::Oldest => lane.push_front(entry),
            QueueEnd::Newest => lane.push_back(entry),
        }
    }

    /// The next one for the device, of the best class in which `wanted` holds for the next one of a
    /// lane.
    pub(crate) fn pop(
        &mut self,
        workers: Option<f64>,
        wanted: impl Fn(&T) -> bool,
    ) -> Option<(Arc<T>, QueueEnd)> {
        let (entry, end) = self
            .in_use()
            .rev()
            .flat_map(|class| class.next(workers))
            .find(|(entry, _)| wanted(entry))
            .map(|(entry, end)| (Arc::clone(entry), end))?;
        self.remove(&entry);
        Some((entry, end))
    }

    /// The next one for a worker: of the oldest of each class that of the worst class for which
    /// `wanted` holds.
    pub(crate) fn worst(&self, wanted: impl Fn(&T) -> bool) -> Option<&Arc<T>> {
        let mut oldest = self.in_use().filter_map(|class| class.free().front());
        oldest.find(|entry| wanted(entry))
    }

    /// All that a worker may be called for, those of the worst class first, and the oldest of each.
    pub(crate) fn free(&self) -> impl Iterator<Item = &Arc<T>> {
        self.in_use().flat_map(Class::free)
    }

    /// Some of those that the device would begin last: the newest of the worst classes.
    pub(crate) fn last(&self) -> Vec<Arc<T>> {
        let lanes = self.in_use().flat_map(|class| class.lanes.iter().rev());
        let newest = lanes.flat_map(|lane| lane.iter().rev());
        newest.take(LOOKED_AT).map(Arc::clone).collect()
    }

    /// False if it is not there.
    pub(crate) fn remove(&mut self, entry: &Arc<T>) -> bool {
        let Cost { load, class } = entry.cost();
        let class = &mut self.classes[class];
        let lane = &mut class.lanes[entry.lane() as usize];
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
        let lanes = classes.into_iter().flat_map(|class| class.lanes);
        lanes.flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its number, and its lane.
    struct One(u32, QueueLane);

    impl Queueable for One {
        fn cost(&self) -> Cost {
            let load = Load::default();
            Cost { load, class: 0 }
        }

        fn lane(&self) -> QueueLane {
            self.1
        }
    }

    #[test]
    fn a_task_that_is_called_hides_none_from_the_device() {
        let mut queue = GainQueue::new();
        let lanes = [
            QueueLane::Called,
            QueueLane::Free,
            QueueLane::Free,
            QueueLane::Bound,
        ];
        for (number, lane) in (0..).zip(lanes) {
            queue.push(Arc::new(One(number, lane)));
        }
        let mut next = |wanted: &dyn Fn(u32) -> bool| {
            let next = queue.pop(Some(1.0), |one| wanted(one.0));
            next.map(|(one, _)| one.0)
        };
        // It comes to what no worker can have, and then to the others.
        assert_eq!(next(&|number| number > 0), Some(3));
        assert_eq!(next(&|number| number > 0), Some(1));
        assert_eq!(next(&|number| number > 2), None);
        assert_eq!(next(&|number| number < 1), Some(0));
        assert_eq!(next(&|_| true), Some(2));
        assert_eq!(queue.loads().count, 0);
    }
}
