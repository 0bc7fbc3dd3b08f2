//! How fast the CPU side of a task is said to be. With a simulated device, it is slower than it
//! could be, so that the device, which computes on the same cores, can be faster.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// The work that one worker does in a second, or what it can.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WorkPace(Option<f64>);

impl WorkPace {
    /// So much work in a second, at most.
    pub(crate) fn of(work_per_s: f64) -> WorkPace {
        WorkPace(Some(work_per_s))
    }

    /// How long that much work is said to take, where that is said.
    pub(crate) fn seconds(self, work: f64) -> Option<f64> {
        self.0.map(|speed| work / speed)
    }

    /// How many nanoseconds 1024 units of work are said to take; 0 where nothing is said.
    pub(crate) fn nanos_of_1024(self) -> u32 {
        self.seconds(1024.0)
            .map_or(0, |seconds| (seconds * 1e9).round() as u32)
    }

    /// Runs `body`, and does not return before that much work may be done.
    pub(crate) fn spend<R>(self, work: f64, body: impl FnOnce() -> R) -> R {
        self.spend_counted(|| (body(), work))
    }

    /// Spends the declared time on `body`, which itself finds out how much work it was.
    pub(crate) fn spend_counted<R>(self, body: impl FnOnce() -> (R, f64)) -> R {
        let start = self.0.map(|_| Instant::now());
        let (result, work) = body();
        if let (Some(start), Some(declared)) = (start, self.seconds(work)) {
            let left = Duration::from_secs_f64(declared).saturating_sub(start.elapsed());
            if !left.is_zero() {
                sleep(left);
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_as_long_as_it_is_said_to() {
        let start = Instant::now();
        assert_eq!(WorkPace::of(1e3).spend(5.0, || 7), 7);
        assert!(start.elapsed() >= Duration::from_millis(5));
        assert_eq!(WorkPace::of(1e3).seconds(5.0), Some(0.005));
        assert_eq!(WorkPace::default().seconds(5.0), None);
        assert_eq!(WorkPace::default().spend(f64::INFINITY, || 8), 8);
    }
}
