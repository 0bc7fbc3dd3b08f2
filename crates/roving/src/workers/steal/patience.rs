//! How long a worker that finds nothing looks around, and what it does between two looks.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

/// One pause in so many gives the core to another thread, if one is waiting for it.
const YIELD_EVERY: usize = 2;
/// Pauses get twice as long after each so many rounds.
const ROUNDS_PER_DOUBLING: usize = 32;
/// The longest pause is two to the power of this many hints to the processor.
const PAUSE_BITS_MAX: usize = 5;

/// A worker's memory of when it last began to look around in vain.
pub(crate) struct Patience(Cell<Instant>);

impl Default for Patience {
    fn default() -> Patience {
        Patience(Cell::new(Instant::now()))
    }
}

impl Patience {
    /// Whether a worker that has paused in each round up to this one had better park. The clock
    /// decides and not the number of rounds, because a pause that gives the core away can take
    /// milliseconds.
    pub(crate) fn is_over(&self, round: usize, limit: Duration, is_closing: bool) -> bool {
        // Who drops a pool that has nothing to do need not wait for its workers' patience.
        round > 0 && (is_closing || self.0.get().elapsed() >= limit)
    }

    /// Between two looks around: almost nothing at first, then longer and longer, and now and then
    /// the core goes to another thread that may be waiting for it; not in the first `quick` rounds.
    pub(crate) fn pause(&self, round: usize, quick: usize) {
        if round == 0 {
            self.0.set(Instant::now());
        }
        if round >= quick && round % YIELD_EVERY == 0 {
            thread::yield_now();
        } else {
            for _ in 0..1 << (round / ROUNDS_PER_DOUBLING).min(PAUSE_BITS_MAX) {
                std::hint::spin_loop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::Patience;

    /// A worker that gives its core away between two looks gets it back when the system likes. Then
    /// it parks, whatever the number of looks, or it would keep its core from others for each of
    /// them.
    #[test]
    fn patience_ends_by_the_clock_and_not_by_the_number_of_looks() {
        let limit = Duration::from_millis(1);
        let patience = Patience::default();
        patience.pause(0, 1);
        thread::sleep(limit);
        assert!(patience.is_over(1, limit, false));
        patience.pause(1, 1);
        assert!(
            patience.is_over(2, limit, false),
            "another pause is no new search"
        );
        assert!(
            !patience.is_over(0, limit, false),
            "it has found something meanwhile"
        );
    }
}
