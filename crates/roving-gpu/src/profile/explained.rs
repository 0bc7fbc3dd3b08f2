//! The times that `Choice::Auto` expected of tasks, and those that came.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// By kind and by the power of two at or below the work.
#[derive(Debug, Default)]
pub(crate) struct Explained(BTreeMap<(&'static str, i32), Sums>);

/// Sums over the tasks of one kind and about one size.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    decided: f64,
    cpu_s: f64,
    device_s: f64,
    ahead_s: f64,
    on_cpu: Came,
    on_device: Came,
}

/// So many tasks, and their seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Came {
    tasks: f64,
    seconds: f64,
}

/// The seconds that a task was expected to take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    /// On the worker that has come to it.
    pub(crate) cpu: f64,
    /// On the device, with the copies that it needs.
    pub(crate) device: f64,
    /// Until the device comes to it.
    pub(crate) ahead: f64,
}

fn class(work: f64) -> i32 {
    work.log2().floor() as i32
}

impl Explained {
    pub(crate) fn expect(&mut self, kind: &'static str, work: f64, expected: Expected) {
        let sums = self.0.entry((kind, class(work))).or_default();
        sums.decided += 1.0;
        sums.cpu_s += expected.cpu;
        sums.device_s += expected.device;
        sums.ahead_s += expected.ahead;
    }

    /// A task has taken so long: its CPU side, or its kernels. Those of which nothing was expected
    /// do not count.
    pub(crate) fn came(&mut self, kind: &'static str, work: f64, on_device: bool, seconds: f64) {
        if let Some(sums) = self.0.get_mut(&(kind, class(work))) {
            let came = if on_device {
                &mut sums.on_device
            } else {
                &mut sums.on_cpu
            };
            came.tasks += 1.0;
            came.seconds += seconds;
        }
    }

    /// A line for each kind and size.
    pub(crate) fn lines(&self) -> String {
        let mut text = String::new();
        for ((kind, class), sums) in &self.0 {
            let from = f64::from(*class).exp2();
            let mean = |sum: f64| millis(sum / sums.decided);
            let _ = writeln!(
                text,
                "{kind}, work {from:.3e} to {:.3e}: {} decided; expected {} on the CPU, {} on a device \
                 after {} of others; {}; {}",
                2.0 * from,
                sums.decided,
                mean(sums.cpu_s),
                mean(sums.device_s),
                mean(sums.ahead_s),
                sums.on_cpu.words("on the CPU"),
                sums.on_device.words("on a device"),
            );
        }
        text
    }
}

impl Came {
    fn words(self, place: &str) -> String {
        if self.tasks == 0.0 {
            return format!("none {place}");
        }
        let mean = millis(self.seconds / self.tasks);
        format!("{} {place} took {mean}", self.tasks)
    }
}

fn millis(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_told_for_each_kind_and_size() {
        let mut explained = Explained::default();
        let expected = |cpu, device| Expected {
            cpu,
            device,
            ahead: 0.0,
        };
        explained.expect("step", 5.0, expected(1e-3, 3e-3));
        explained.expect("step", 7.0, expected(3e-3, 5e-3));
        explained.came("step", 6.0, false, 4e-3);
        explained.came("step", 6.0, true, 2e-3);
        // Nobody has expected anything of it.
        explained.came("step", 8.0, true, 2e-3);
        assert_eq!(
            explained.lines(),
            "step, work 4.000e0 to 8.000e0: 2 decided; expected 2.000 ms on the CPU, 4.000 ms on a \
             device after 0.000 ms of others; 1 on the CPU took 4.000 ms; 1 on a device took 2.000 ms\n"
        );
    }
}
