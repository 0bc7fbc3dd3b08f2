//! Whom a worker follows while it is parked in a wait: those from which it may steal then.

/// Most seats that one worker follows.
const FOLLOWED_MAX: usize = 16;

/// The seats that a worker follows while it is parked.
#[derive(Clone, Copy, Default)]
pub(crate) struct Followed {
    seats: [usize; FOLLOWED_MAX],
    length: usize,
}

impl Followed {
    /// False if it is among them already, or there is no room.
    pub(super) fn add(&mut self, seat: usize) -> bool {
        let adds = self.length < FOLLOWED_MAX && !self.seats().contains(&seat);
        if adds {
            self.seats[self.length] = seat;
            self.length += 1;
        }
        adds
    }

    pub(super) fn seats(&self) -> &[usize] {
        &self.seats[..self.length]
    }
}
