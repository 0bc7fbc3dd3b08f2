//! How fast a core's clock runs, so that times can be told in cycles as the papers do.

use std::hint::black_box;
use std::time::Instant;

/// Additions in one trial; each waits for the one before it, and takes one cycle on every processor
/// of today.
const ADDITIONS: u64 = 4_000_000;
/// Trials; the fastest counts, for others may have the core.
const TRIALS: usize = 9;

/// Cycles in a nanosecond, by a chain of additions.
pub(super) fn ghz() -> f64 {
    let best = (0..TRIALS).map(|_| {
        let start = Instant::now();
        black_box(chain(black_box(1)));
        start.elapsed().as_secs_f64()
    });
    ADDITIONS as f64 / best.fold(f64::INFINITY, f64::min) / 1e9
}

/// A sum of which the compiler cannot know what is added, in blocks of sixteen, so that the loop
/// costs nothing.
#[inline(never)]
fn chain(step: u64) -> u64 {
    let (mut sum, step) = (step, black_box(step));
    for _ in 0..ADDITIONS / 16 {
        // Alternating operations keep the compiler from multiplying.
        for _ in 0..8 {
            sum = sum.wrapping_add(step);
            sum ^= step;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_clock_runs() {
        let ghz = super::ghz();
        assert!(ghz > 0.001 && ghz < 100.0, "{ghz}");
    }
}
