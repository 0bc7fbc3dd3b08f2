//! A number that others wait for: whose turn it is.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::futex;
use super::patience::Patience;

/// A number, and those who wait until it is what they need.
///
/// A sleeper counts itself, reads the bell, looks at the number once more, and sleeps if the bell
/// has not rung since. Who changes the number looks whether there are sleepers, and rings for them.
/// A fence stands between the two steps of each: either the change sees the sleeper, or the sleeper
/// sees the change.
#[derive(Default)]
pub(crate) struct Gate {
    number: AtomicU64,
    bell: AtomicU32,
    sleepers: AtomicU32,
}

impl Gate {
    /// Nobody uses it.
    pub(crate) fn reset(&self, number: u64) {
        // Ordering: Relaxed; handed on with what it belongs to.
        self.number.store(number, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn number(&self) -> u64 {
        // Ordering: Edge [gate]: Acquire, of what was done before the number was set.
        self.number.load(Ordering::Acquire)
    }

    /// Sets the number, and wakes all who wait.
    pub(crate) fn set(&self, number: u64) {
        // Ordering: Release: [gate].
        self.number.store(number, Ordering::Release);
        self.ring();
    }

    /// Wakes all who wait, to look again.
    #[inline]
    pub(crate) fn ring(&self) {
        // Ordering: SeqCst, and Relaxed behind it: see the type.
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            // Ordering: Edge [bell]: Release, of the change that it rings for.
            self.bell.fetch_add(1, Ordering::Release);
            futex::wake(&self.bell, i32::MAX);
        }
    }

    /// Waits until the number is as asked for, or the bell was rung for another reason.
    pub(crate) fn wait(&self, done: impl Fn(u64) -> bool) {
        let mut patience = Patience::default();
        loop {
            if done(self.number()) {
                return;
            }
            if patience.pause() {
                continue;
            }
            // Ordering: Relaxed, and SeqCst behind it: see the type.
            self.sleepers.fetch_add(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            // Ordering: Acquire. Pairs with [bell].
            let bell = self.bell.load(Ordering::Acquire);
            if !done(self.number()) {
                futex::wait(&self.bell, bell);
            }
            // Ordering: Relaxed; one sleeper less is only less to wake.
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::Gate;

    #[test]
    fn turns_come_in_order() {
        let gate = Gate::default();
        let said = std::sync::Mutex::new(Vec::new());
        thread::scope(|s| {
            for mine in (0..8).rev() {
                let (gate, said) = (&gate, &said);
                s.spawn(move || {
                    gate.wait(|number| number == mine);
                    said.lock().unwrap().push(mine);
                    gate.set(mine + 1);
                });
            }
        });
        assert_eq!(*said.lock().unwrap(), (0..8).collect::<Vec<_>>());
    }
}
