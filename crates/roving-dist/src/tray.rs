//! Where threads put things down for one that comes by.

use std::mem;
use std::sync::PoisonError;

use crate::prim::{AtomicBool, Mutex, Ordering};

/// Any thread puts things here, and one takes them, in their order. Who comes by for nothing takes
/// no lock.
///
/// Nothing stays behind unseen. Who puts something there says so afterwards; who takes says first
/// that nothing is there, and then looks under the lock. So either the look comes after the thing
/// was put there, and finds it; or it came before, and then what is said of the thing comes after
/// what was said by the look, because both have held the lock in between.
pub(crate) struct Tray<T> {
    things: Mutex<Vec<T>>,
    has_some: AtomicBool,
}

impl<T> Tray<T> {
    pub(crate) fn new() -> Tray<T> {
        Tray {
            things: Mutex::new(Vec::new()),
            has_some: AtomicBool::new(false),
        }
    }

    pub(crate) fn put(&self, thing: T) {
        let things = self.things.lock();
        things.unwrap_or_else(PoisonError::into_inner).push(thing);
        // Ordering: Relaxed; the lock orders it: see above.
        self.has_some.store(true, Ordering::Relaxed);
    }

    /// Whether there is something; a hint.
    pub(crate) fn has_some(&self) -> bool {
        // Ordering: Relaxed; what is there is found under the lock.
        self.has_some.load(Ordering::Relaxed)
    }

    /// Takes all that is there. By one thread at a time, so that it stays in order.
    pub(crate) fn take(&self) -> Vec<T> {
        if !self.has_some() {
            return Vec::new();
        }
        // Ordering: Relaxed; the lock orders it: see above.
        self.has_some.store(false, Ordering::Relaxed);
        let things = self.things.lock();
        mem::take(&mut *things.unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use std::sync::Arc;

    use super::*;
    use crate::prim::explore_within;

    #[test]
    fn loom_nothing_stays_on_a_tray_unseen() {
        explore_within(None, || {
            let tray = Arc::new(Tray::new());
            let there = Arc::clone(&tray);
            let thread = loom::thread::spawn(move || [1, 2].map(|thing| there.put(thing)));
            let mut taken = tray.take();
            taken.append(&mut tray.take());
            thread.join().unwrap();
            taken.append(&mut tray.take());
            assert_eq!(taken, [1, 2]);
        });
    }
}
