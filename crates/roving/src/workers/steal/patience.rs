//! How long a worker that finds nothing looks around, and what it does between two looks.
//!
//! It keeps its core meanwhile. To yield looks kinder, and is not, where other programs compute:
//! the system charges the time slice that was given away to the thread that gave it. So not only
//! does the core come back milliseconds later; the thread is late again when it is woken from its
//! next park. One that parks is charged nothing, and gets a core at once when it is woken. As
//! workers are woken by one another, such delays add up.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::machine::meeting_points::{At, meet, now};

/// Pauses get twice as long after each so many rounds.
const ROUNDS_PER_DOUBLING: usize = 32;
/// The longest pause is two to the power of this many hints to the processor.
const PAUSE_BITS_MAX: usize = 5;

/// A worker's memory of when it last began to look around in vain.
pub(crate) struct Patience(Cell<Instant>);

impl Default for Patience {
    fn default() -> Patience {
        Patience(Cell::new(now()))
    }
}

impl Patience {
    /// Whether a worker that has paused in each round up to this one had better park. The clock
    /// decides and not the number of rounds: the system may take the core away in any of them.
    pub(crate) fn is_over(&self, round: usize, limit: Duration, is_closing: bool) -> bool {
        // Who drops a pool that has nothing to do need not wait for its workers' patience.
        round > 0 && (is_closing || now().saturating_duration_since(self.0.get()) >= limit)
    }

    /// Between two looks around: almost nothing at first, then longer and longer.
    pub(crate) fn pause(&self, round: usize) {
        if round == 0 {
            self.0.set(now());
        }
        meet(At::Poll);
        for _ in 0..1 << (round / ROUNDS_PER_DOUBLING).min(PAUSE_BITS_MAX) {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::Patience;

    /// A worker that loses its core between two looks gets it back when the system likes. Then it
    /// parks, whatever the number of looks, or it would keep its core from others for each of them.
    #[test]
    fn patience_ends_by_the_clock_and_not_by_the_number_of_looks() {
        let limit = Duration::from_millis(1);
        let patience = Patience::default();
        patience.pause(0);
        thread::sleep(limit);
        assert!(patience.is_over(1, limit, false));
        patience.pause(1);
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
