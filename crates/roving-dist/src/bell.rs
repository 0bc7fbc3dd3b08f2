//! How somebody who sleeps is told that there is something to do.

use std::sync::PoisonError;
use std::task::Waker;

use crate::prim::{AtomicBool, Mutex, Ordering, fence, ord};

/// One sleeps, any number ring.
///
/// No ringing is lost. Who has something to do for the sleeper writes that down, and then reads
/// whether it sleeps ([`Bell::ring`]); the sleeper says that it sleeps, and then looks for
/// something to do ([`Bell::sleep`]). There is a fence between the two on both sides, so that one
/// sees the other.
pub(crate) struct Bell {
    sleeps: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Bell {
    pub(crate) fn new() -> Bell {
        Bell {
            sleeps: AtomicBool::new(false),
            waker: Mutex::new(None),
        }
    }

    /// Wakes the sleeper, if it sleeps. What it is to find was written before.
    pub(crate) fn ring(&self) {
        // Ordering: Edge [nudge]: in the manner of Dekker, who has something for the pump to do has
        // written that, and then reads whether it sleeps; the pump says that it sleeps, and then
        // looks for something to do.
        fence(ord("ring_fence", Ordering::SeqCst));
        // Ordering: Relaxed, both; the fence orders them, and the waker is under its lock.
        if self.sleeps.load(Ordering::Relaxed) && self.sleeps.swap(false, Ordering::Relaxed) {
            let waker = self.waker.lock();
            let waker = waker.unwrap_or_else(PoisonError::into_inner).take();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// Says that its owner sleeps, and will be woken by that waker. The owner looks for something
    /// to do afterwards, and if it finds something, says that it is [awake](Self::wake).
    pub(crate) fn sleep(&self, waker: &Waker) {
        let slot = self.waker.lock();
        *slot.unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
        // Ordering: Relaxed; the fence orders it.
        self.sleeps.store(true, Ordering::Relaxed);
        // Ordering: SeqCst. Pairs with [nudge]: the other half.
        fence(ord("sleep_fence", Ordering::SeqCst));
    }

    /// Its owner is awake.
    pub(crate) fn wake(&self) {
        // Ordering: Relaxed; a ringing that is not needed does no harm.
        self.sleeps.store(false, Ordering::Relaxed);
    }

    /// Whether its owner says that it sleeps; a hint.
    pub(crate) fn is_asleep(&self) -> bool {
        // Ordering: Relaxed; for people.
        self.sleeps.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use std::sync::Arc;

    use super::*;
    use crate::prim::{Woken, explore_within};

    #[test]
    fn loom_no_pump_sleeps_on_something_to_do() {
        explore_within(None, || {
            let shared = Arc::new((Bell::new(), AtomicBool::new(false)));
            let woken = Arc::new(Woken::default());
            let there = Arc::clone(&shared);
            let thread = loom::thread::spawn(move || {
                // Ordering: Relaxed; the bell's fence orders it.
                there.1.store(true, Ordering::Relaxed);
                there.0.ring();
            });
            shared.0.sleep(&Waker::from(Arc::clone(&woken)));
            // Ordering: Relaxed; the bell's fence orders it.
            let is_seen = shared.1.load(Ordering::Relaxed);
            thread.join().unwrap();
            assert!(is_seen || woken.times() > 0);
        });
    }

    /// A waker that somebody has taken belongs to one sleep; the next one has its own.
    #[test]
    fn loom_of_two_who_ring_one_wakes_also_the_second_sleep() {
        explore_within(None, || {
            let shared = Arc::new((Bell::new(), AtomicBool::new(false)));
            let (first, second) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
            let there = Arc::clone(&shared);
            shared.0.sleep(&Waker::from(Arc::clone(&first)));
            let thread = loom::thread::spawn(move || there.0.ring());
            shared.0.ring();
            thread.join().unwrap();
            assert!(first.times() > 0);
            shared.0.sleep(&Waker::from(Arc::clone(&second)));
            shared.0.ring();
            assert!(second.times() > 0);
        });
    }

    /// A test with a bug that only a model checker sees.
    #[cfg(roving_canary)]
    #[test]
    fn canary_a_flag_without_fences_is_no_bell() {
        explore_within(None, || {
            let shared = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
            let there = Arc::clone(&shared);
            let thread = loom::thread::spawn(move || {
                // Ordering: Relaxed, all here: that is the bug.
                there.0.store(true, Ordering::Relaxed);
                there.1.load(Ordering::Relaxed)
            });
            shared.1.store(true, Ordering::Relaxed);
            let seen = shared.0.load(Ordering::Relaxed);
            assert!(thread.join().unwrap() || seen);
        });
    }
}
