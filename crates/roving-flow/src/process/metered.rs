//! A process of which some polls are timed.

use std::pin::Pin;
use std::task::{Context, Poll};

use super::OfProcess;
use crate::state::meter::Meter;

/// How many polls are left out between two that are timed.
#[derive(Clone, Copy)]
struct Pace {
    /// The last pseudo-random number.
    noise: u32,
    /// Of those to come.
    left: u8,
    /// Of those since the last one that was timed.
    skipped: u8,
    /// The mean of `skipped`: doubled after each short poll, and nothing after a long one.
    mean: u8,
}

/// A poll that takes longer than reading the clock, by far.
const LONG_NS: u64 = 2_000;
const MEAN_MAX: u8 = 32;

impl Pace {
    fn new(process: u32) -> Pace {
        Pace {
            left: 0,
            skipped: 0,
            mean: 0,
            noise: process.wrapping_mul(0x9E37_79B9) | 1,
        }
    }

    /// A poll was timed. At random times, because what a process does may be periodic: one that is
    /// long every second time would always be seen to be short.
    fn timed(&mut self, poll_ns: u64) {
        self.mean = match poll_ns < LONG_NS {
            true => (2 * self.mean + 1).min(MEAN_MAX),
            false => 0,
        };
        // Marsaglia's xorshift.
        self.noise ^= self.noise << 13;
        self.noise ^= self.noise >> 17;
        self.noise ^= self.noise << 5;
        self.skipped = (self.noise % (2 * u32::from(self.mean) + 1)) as u8;
        self.left = self.skipped;
    }
}

/// A process, with some of its polls timed.
pub(crate) struct Metered<F> {
    pace: Pace,
    /// Pinned.
    future: F,
}

impl<F: OfProcess> Metered<F> {
    /// # Safety
    /// The process is that of a network that has a
    /// [meter](crate::channel::shared::Shared::timed_by) for as long as this is polled.
    pub(crate) unsafe fn new(future: F, process: u32) -> Metered<F> {
        Metered {
            pace: Pace::new(process),
            future,
        }
    }
}

impl<F: OfProcess> Future for Metered<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: nothing is moved out of it; the future is treated as pinned, below.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: it is pinned as part of this, and never moved.
        let mut future = unsafe { Pin::new_unchecked(&mut this.future) };
        let result = match this.pace.left {
            0 => {
                let polls = u64::from(this.pace.skipped) + 1;
                let (meter, process) = meter_of(future.as_mut());
                // SAFETY: the promise of `new`.
                let meter = unsafe { &*meter };
                let (result, poll_ns) =
                    meter.poll(process, polls, || future.as_mut().poll(context));
                this.pace.timed(poll_ns);
                result
            }
            _ => {
                this.pace.left -= 1;
                future.as_mut().poll(context)
            }
        };
        if result.is_ready() {
            let (meter, process) = meter_of(future);
            // SAFETY: the promise of `new`.
            unsafe { &*meter }.end(process);
        }
        result
    }
}

/// The meter of the process's network, and the index there.
fn meter_of(future: Pin<&mut impl OfProcess>) -> (*const Meter, usize) {
    let (shared, process) = future.process();
    // SAFETY: the process, which is borrowed, keeps it.
    (unsafe { &*shared }.timed_by(), process as usize)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::hint::black_box;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::channel::shared::Shared;
    use crate::machine::prim::Ordering::Relaxed;

    /// A process without ports.
    struct Lone<F>(Arc<Shared>, u32, Pin<Box<F>>);

    impl<F: Future<Output = ()>> Future for Lone<F> {
        type Output = ();

        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
            self.2.as_mut().poll(context)
        }
    }

    impl<F: Future<Output = ()>> OfProcess for Lone<F> {
        fn process(self: Pin<&mut Self>) -> (*const Shared, u32) {
            (Arc::as_ptr(&self.0), self.1)
        }
    }

    fn metered<F: Future<Output = ()>>(
        shared: &Arc<Shared>,
        index: u32,
        future: F,
    ) -> Metered<Lone<F>> {
        // SAFETY: each test keeps the meter of what is shared while it polls.
        unsafe { Metered::new(Lone(Arc::clone(shared), index, Box::pin(future)), index) }
    }

    fn spin(time: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < time {
            black_box(begin);
        }
    }

    #[test]
    fn a_process_is_charged_for_what_it_spins_and_not_for_what_it_waits() {
        let meter = Arc::new(Meter::new(2, 1));
        let shared = Arc::new(Shared::new());
        shared.time_by(Some(&meter));
        let has_worked = AtomicBool::new(false);
        // Ordering: none needed, one worker.
        let wait = poll_fn(|context| match has_worked.load(Relaxed) {
            true => Poll::Ready(()),
            false => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        });
        let work = async {
            spin(Duration::from_millis(20));
            // Ordering: as above.
            has_worked.store(true, Relaxed);
        };
        let both = &shared;
        let pool = roving::Pool::new(1).unwrap();
        pool.run(move |scope| async move {
            let first = scope.spawn(metered(both, 0, wait));
            metered(both, 1, work).await;
            first.await;
        });
        let spent = [meter.spent(0), meter.spent(1)];
        assert!(spent[1].time_ns >= 20_000_000, "{spent:?}");
        assert!(spent[0].time_ns < spent[1].time_ns, "{spent:?}");
        assert!(
            spent
                .iter()
                .all(|spent| spent.has_ended && spent.stopped_ns > 0)
        );
        assert!(meter.busy_ns(meter.now_ns()) >= 20_000_000);
    }

    /// Three polls of a microsecond's tenth, then one of half a millisecond, over and over.
    #[test]
    fn polls_that_are_long_now_and_then_are_not_missed() {
        let mut pace = Pace::new(7);
        let (mut told_ns, mut real_ns, mut timed) = (0, 0, 0);
        for poll in 0..100_000_u64 {
            let poll_ns = if poll % 4 == 3 { 500_000 } else { 100 };
            real_ns += poll_ns;
            if pace.left > 0 {
                pace.left -= 1;
                continue;
            }
            told_ns += poll_ns * (u64::from(pace.skipped) + 1);
            timed += 1;
            pace.timed(poll_ns);
        }
        let ratio = told_ns as f64 / real_ns as f64;
        assert!((0.95..1.05).contains(&ratio), "{ratio}");
        assert!(timed < 60_000, "{timed}");
    }

    #[test]
    fn of_short_polls_one_in_many_is_timed() {
        let mut pace = Pace::new(1);
        let mut timed = 0;
        for _ in 0..100_000 {
            match pace.left {
                0 => {
                    timed += 1;
                    pace.timed(100);
                }
                _ => pace.left -= 1,
            }
        }
        assert!((2_500..4_000).contains(&timed), "{timed}");
    }
}
