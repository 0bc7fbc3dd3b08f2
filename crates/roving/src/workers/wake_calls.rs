//! Waking of other workers, by one of them.

use crate::stats::{Activity, bump};
use crate::workers::registry::Registry;
use crate::workers::seats::Seat;
use crate::workers::sleep::Parts;

/// By which a worker calls others: it counts the calls, and the time that they take is its own.
#[derive(Clone, Copy)]
pub(crate) struct Calls<'w> {
    registry: &'w Registry,
    seat: &'w Seat,
}

impl<'w> Calls<'w> {
    pub(crate) fn new(registry: &'w Registry, seat: &'w Seat) -> Calls<'w> {
        Calls { registry, seat }
    }

    /// Wakes one sleeping worker, if there is one.
    pub(crate) fn wake_another(self) {
        self.wake(|registry| registry.wake_one().into());
    }

    /// Wakes one worker for what stands in the stack of `seat`, if there is one.
    pub(crate) fn wake_for(self, seat: usize) {
        self.wake(|registry| registry.wake_for(seat).into());
    }

    /// Wakes one worker for what this one has published in its stack, unless another will find it.
    pub(crate) fn wake_for_shown(self, seat: usize) {
        self.wake(|registry| registry.wake_for_shown(seat).into());
    }

    /// Wakes workers for the tasks that a claim has left in the stack of `seat`.
    pub(crate) fn wake_for_left(self, seat: usize, left: usize) {
        if left > 0 {
            self.wake(|registry| registry.wake_for_left(seat, left));
        }
    }

    fn wake(self, wakes: impl FnOnce(&Registry) -> usize) {
        let doing = self.seat.clock.enter(Activity::Switch);
        bump(&self.seat.stack.tally().wakes, wakes(self.registry) as u64);
        self.seat.clock.enter(doing);
    }
}
