//! How a thread waits for something that nobody will wake it for: first it looks often, then
//! seldom.

use std::hint::spin_loop;
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread looks without a pause.
const SPIN: Duration = Duration::from_micros(50);
/// How long it gives its core to others between looks, but does not sleep.
const YIELD: Duration = Duration::from_micros(200);
/// The first sleep. Each is twice as long as the one before.
const SLEEP_FIRST: Duration = Duration::from_micros(20);
/// When nothing has happened for so long, sleeps grow on, up to so many times the usual.
const LONG: Duration = Duration::from_millis(200);
const LONG_FACTOR: u32 = 5;

/// Pauses that grow as long as nothing happens.
pub(crate) struct Backoff {
    /// More threads look than there are cores: nobody spins.
    crowded: bool,
    yields: Duration,
    sleep_max: Duration,
    quiet: Option<Instant>,
    looks: u32,
    sleep: Duration,
}

impl Backoff {
    /// With sleeps of up to `sleep_max`.
    pub(crate) fn new(crowded: bool, sleep_max: Duration) -> Backoff {
        Backoff {
            crowded,
            yields: YIELD,
            sleep_max,
            quiet: None,
            looks: 0,
            sleep: SLEEP_FIRST,
        }
    }

    /// For a thread that sleeps between all its looks.
    pub(crate) fn sleeping(sleep_max: Duration) -> Backoff {
        Backoff {
            yields: Duration::ZERO,
            ..Backoff::new(true, sleep_max)
        }
    }

    /// Something has happened.
    pub(crate) fn reset(&mut self) {
        self.quiet = None;
        self.looks = 0;
        self.sleep = SLEEP_FIRST;
    }

    /// Nothing has. How long to sleep, if it is time for that; otherwise it has paused.
    pub(crate) fn next(&mut self) -> Option<Duration> {
        self.looks += 1;
        if !self.crowded && self.looks < 16 {
            spin_loop();
            return None;
        }
        let now = Instant::now();
        let quiet = now.duration_since(*self.quiet.get_or_insert(now));
        if !self.crowded && quiet < SPIN {
            spin_loop();
            return None;
        }
        if quiet < self.yields {
            thread::yield_now();
            return None;
        }
        let most = match quiet < LONG {
            true => self.sleep_max,
            false => self.sleep_max * LONG_FACTOR,
        };
        let sleep = self.sleep;
        self.sleep = (sleep * 2).min(most);
        Some(sleep)
    }

    /// Nothing has happened: pauses.
    pub(crate) fn pause(&mut self) {
        if let Some(sleep) = self.next() {
            thread::sleep(sleep);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_most_and_begin_anew() {
        let most = Duration::from_millis(2);
        let mut backoff = Backoff::sleeping(most);
        let mut last = Duration::ZERO;
        for _ in 0..20 {
            let sleep = backoff.next().unwrap();
            assert!(sleep >= last && sleep <= most * LONG_FACTOR);
            last = sleep;
        }
        assert!(last >= most);
        backoff.reset();
        assert_eq!(backoff.next(), Some(SLEEP_FIRST));
    }

    #[test]
    fn who_waits_looks_often_before_it_sleeps() {
        let mut backoff = Backoff::new(false, Duration::from_millis(1));
        assert!((0..10).all(|_| backoff.next().is_none()));
        while backoff.next().is_none() {}
    }
}
