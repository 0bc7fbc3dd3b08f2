//! The expected times of tasks.

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

/// The expected cost of a task, which decides its place in the queue. It changes only while the
/// task is not in the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) load: Load,
    pub(crate) class: usize,
}
