//! The best that two cores can do: how long a cache line takes from one to the other, and how much
//! faster two threads are than one when they hand over work by spinning. Measured with every result
//! on two workers, because on virtual machines the first changes within seconds.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Turns of the ball in one measurement.
const TURNS: u64 = if cfg!(test) { 200 } else { 20_000 };
/// Looks at a word before the core is offered to others.
const PATIENCE: u64 = 100;
/// Says that no more work comes.
const END: u64 = u64::MAX;

/// A word on cache lines of its own.
#[repr(align(256))]
#[derive(Default)]
struct PaddedWord(AtomicU64);

impl PaddedWord {
    fn wait_for(&self, wanted: u64) {
        self.wait_until(|value| value == wanted);
    }

    fn wait_until(&self, good: impl Fn(u64) -> bool) -> u64 {
        for turn in 1u64.. {
            // Ordering: Acquire, to see what was done before `tell`.
            let value = self.0.load(Ordering::Acquire);
            if good(value) {
                return value;
            }
            // On a single core, only the other thread can tell.
            if turn.is_multiple_of(PATIENCE) {
                thread::yield_now();
            }
            spin_loop();
        }
        unreachable!("u64 has no end that is reached")
    }

    fn tell(&self, value: u64) {
        // Ordering: Release, so that who sees the value sees what was done before it.
        self.0.store(value, Ordering::Release);
    }
}

/// The time that a cache line takes from one core to the other.
pub(crate) fn one_way() -> Duration {
    let (ping, pong) = (PaddedWord::default(), PaddedWord::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 1..=TURNS {
                ping.wait_for(turn);
                pong.tell(turn);
            }
        });
        // The first turn waits for the thread to start.
        ping.tell(1);
        pong.wait_for(1);
        let start = Instant::now();
        for turn in 2..=TURNS {
            ping.tell(turn);
            pong.wait_for(turn);
        }
        start.elapsed() / (2 * (TURNS as u32 - 1))
    })
}

/// The time of `repeats` pairs of `leaf`, one of each pair handed over by spinning.
pub(crate) fn pairs(repeats: u64, leaf: impl Fn() + Sync) -> Duration {
    let (order, done) = (PaddedWord::default(), PaddedWord::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut last = 0;
            loop {
                last = order.wait_until(|value| value != last);
                if last == END {
                    break;
                }
                leaf();
                done.tell(last);
            }
        });
        // The first pair waits for the thread to start.
        order.tell(1);
        done.wait_for(1);
        let start = Instant::now();
        for pair in 2..repeats + 2 {
            order.tell(pair);
            leaf();
            done.wait_for(pair);
        }
        let time = start.elapsed();
        order.tell(END);
        time
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_runs_two_leaves() {
        let leaves = AtomicU64::new(0);
        pairs(50, || {
            // Ordering: only the sum matters; the end of the scope orders it before the read.
            leaves.fetch_add(1, Ordering::Relaxed);
        });
        // One leaf more, on the other thread, before the clock starts.
        assert_eq!(leaves.into_inner(), 101);
    }

    #[test]
    fn a_line_needs_some_time() {
        assert!(one_way() > Duration::ZERO);
    }
}
