//! A number that others wait for: whose turn it is.

use super::futex;
use super::patience::WaitPatience;
use crate::prim::{AtomicU32, AtomicU64, Ordering, ord};

/// A number, and those who wait until it is what they need.
///
/// A sleeper counts itself, reads the bell, looks at the number once more, and sleeps if the bell
/// has not rung since. Who changes the number, or what else they wait for, looks afterwards whether
/// there are sleepers, and rings for them. Both are read-modify-writes of `sleepers`, so one comes
/// first: either the change sees the sleeper, or the sleeper sees the change.
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
        // Ordering: Acquire. Pairs with [gate].
        self.number.load(ord("see_gate", Ordering::Acquire))
    }

    /// Sets the number, and wakes all who wait.
    pub(crate) fn set(&self, number: u64) {
        self.set_and(number, || ());
    }

    /// Sets the number, and wakes all who wait; also those that sleep elsewhere ([`Gate::asleep`]),
    /// if anybody sleeps.
    #[inline]
    pub(crate) fn set_and(&self, number: u64, wake: impl FnOnce()) {
        // Ordering: Edge [gate]: Release, of what was done before the number was set.
        self.number.store(number, ord("gate", Ordering::Release));
        self.ring_and(wake);
    }

    /// Wakes all who wait, to look again.
    #[inline]
    pub(crate) fn ring(&self) {
        self.ring_and(|| ());
    }

    /// As [`Gate::ring`]; also those that sleep elsewhere.
    #[inline]
    pub(crate) fn ring_and(&self, wake: impl FnOnce()) {
        // Ordering: AcqRel: see the type.
        if self
            .sleepers
            .fetch_add(0, ord("gate_tell", Ordering::AcqRel))
            > 0
        {
            // Ordering: Edge [bell]: Release, of the change that it rings for.
            self.bell.fetch_add(1, ord("bell", Ordering::Release));
            futex::wake(&self.bell, i32::MAX);
            wake();
        }
    }

    /// Waits until the number is as asked for, or the bell was rung for another reason.
    pub(crate) fn wait(&self, done: impl Fn(u64) -> bool) {
        let mut patience = WaitPatience::default();
        while !done(self.number()) {
            if !patience.pause() {
                self.sleep(&done);
            }
        }
    }

    /// Sleeps unless it is done, until the bell rings. May return early.
    pub(crate) fn sleep(&self, done: impl Fn(u64) -> bool) {
        self.asleep(|| {
            // Ordering: Acquire. Pairs with [bell].
            let bell = self.bell.load(ord("see_bell", Ordering::Acquire));
            if !done(self.number()) {
                futex::wait(&self.bell, bell);
            }
        });
    }

    /// Counts the calling thread as a sleeper while it is in `sleep`, which looks once more before
    /// it sleeps, and is woken by those that ring.
    pub(crate) fn asleep(&self, sleep: impl FnOnce()) {
        // Ordering: AcqRel: see the type.
        self.sleepers
            .fetch_add(1, ord("gate_sleep", Ordering::AcqRel));
        sleep();
        // Ordering: Relaxed; one sleeper less is only less to wake.
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
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
