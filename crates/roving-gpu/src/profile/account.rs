//! The account of a device's time, booked as it passes.

use std::time::{Duration, Instant};

use super::{DeviceEngine, DeviceProfile};
use crate::backend::error::Cause;

/// As many spans are kept before they are added up.
const SPANS_MAX: usize = 1024;

/// A time in which the device did something; seconds since the account was opened.
#[derive(Clone, Copy, Debug)]
struct BusySpan {
    start: f64,
    end: f64,
    is_kernel: bool,
}

#[derive(Debug)]
pub(crate) struct Account {
    opened: Instant,
    /// Up to here all is added up.
    settled: f64,
    spans: Vec<BusySpan>,
    under_way: usize,
    kernel_s: f64,
    transfer_s: f64,
    totals: DeviceProfile,
}

impl Account {
    pub(crate) fn new() -> Self {
        Account {
            opened: Instant::now(),
            settled: 0.0,
            spans: Vec::new(),
            under_way: 0,
            kernel_s: 0.0,
            transfer_s: 0.0,
            totals: DeviceProfile::default(),
        }
    }

    pub(crate) fn begin(&mut self, engine: DeviceEngine) {
        self.under_way += 1;
        let totals = &mut self.totals;
        match engine {
            DeviceEngine::Kernel => totals.launches += 1,
            DeviceEngine::Upload => totals.uploads += 1,
            DeviceEngine::Download => totals.downloads += 1,
            DeviceEngine::Peer => totals.peer_copies += 1,
        }
    }

    pub(crate) fn end(&mut self, engine: DeviceEngine, bytes: usize, time: Duration) {
        self.under_way -= 1;
        match engine {
            DeviceEngine::Kernel => {}
            DeviceEngine::Upload => self.totals.bytes_up += bytes as u64,
            DeviceEngine::Download => self.totals.bytes_down += bytes as u64,
            DeviceEngine::Peer => self.totals.bytes_from_peers += bytes as u64,
        }
        let end = self.opened.elapsed().as_secs_f64();
        self.book(engine, (end - time.as_secs_f64()).max(0.0), end);
    }

    fn book(&mut self, engine: DeviceEngine, start: f64, end: f64) {
        if engine != DeviceEngine::Kernel {
            self.totals.copy_s += end - start;
        }
        self.spans.push(BusySpan {
            start,
            end,
            is_kernel: engine == DeviceEngine::Kernel,
        });
        if self.under_way == 0 || self.spans.len() >= SPANS_MAX {
            self.settle();
        }
    }

    /// Adds up the spans so far: each moment counts once, as a kernel if one ran.
    fn settle(&mut self) {
        let kernels = union(
            self.settled,
            self.spans.iter().filter(|span| span.is_kernel),
        );
        let all = union(self.settled, self.spans.iter());
        self.kernel_s += kernels;
        self.transfer_s += (all - kernels).max(0.0);
        let ends = self.spans.iter().map(|span| span.end);
        self.settled = ends.fold(self.settled, f64::max);
        self.spans.clear();
    }

    /// A task was taken out of the queue of another device.
    pub(crate) fn took(&mut self) {
        self.totals.tasks_taken += 1;
    }

    /// Another device has copied from here.
    pub(crate) fn gave(&mut self, bytes: usize) {
        self.totals.bytes_to_peers += bytes as u64;
    }

    pub(crate) fn avoided(&mut self, bytes: usize) {
        self.totals.uploads_avoided += 1;
        self.totals.bytes_avoided += bytes as u64;
    }

    pub(crate) fn landed(&mut self) {
        self.totals.tasks += 1;
    }

    pub(crate) fn failed(&mut self, cause: Cause) {
        *self.totals.failures.entry(cause).or_default() += 1;
    }

    pub(crate) fn profile(&mut self) -> DeviceProfile {
        self.settle();
        let wall_s = self.opened.elapsed().as_secs_f64();
        DeviceProfile {
            wall_s,
            kernel_s: self.kernel_s,
            transfer_s: self.transfer_s,
            idle_s: wall_s - self.kernel_s - self.transfer_s,
            ..self.totals.clone()
        }
    }
}

/// How long at least one of them goes on, after `from`.
fn union<'a>(from: f64, spans: impl Iterator<Item = &'a BusySpan>) -> f64 {
    let mut sorted: Vec<_> = spans.map(|span| (span.start, span.end)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut until, mut sum) = (from, 0.0);
    for (start, end) in sorted {
        if end > until {
            sum += end - start.max(until);
            until = end;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_moment_counts_once() {
        let mut account = Account::new();
        account.under_way = 1;
        account.book(DeviceEngine::Kernel, 2.0, 3.0);
        account.book(DeviceEngine::Upload, 0.0, 2.5);
        account.book(DeviceEngine::Kernel, 2.5, 4.0);
        account.book(DeviceEngine::Download, 6.0, 7.0);
        account.settle();
        assert_eq!((account.kernel_s, account.transfer_s), (2.0, 3.0));
        // A time that arrives after it was settled counts from there on.
        account.book(DeviceEngine::Kernel, 5.0, 8.0);
        account.settle();
        assert_eq!((account.kernel_s, account.transfer_s), (3.0, 3.0));
        assert_eq!(account.totals.copy_s, 3.5);
    }

    #[test]
    fn the_times_add_up() {
        let mut account = Account::new();
        account.begin(DeviceEngine::Kernel);
        account.end(DeviceEngine::Kernel, 0, Duration::from_secs(0));
        let profile = account.profile();
        let sum = profile.kernel_s + profile.transfer_s + profile.idle_s;
        assert!((sum - profile.wall_s).abs() < 1e-9);
        assert_eq!(profile.launches, 1);
    }
}
