//! Where the time of one worker goes.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::WorkerProfile;

/// What a worker is doing; see [`WorkerProfile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    Busy,
    Steal,
    Idle,
    Switch,
    Frame,
}

/// Adds up the time in each activity. When off, [`Clock::enter`] is one predictable branch.
pub(crate) struct Clock {
    hand: Option<Mutex<Hand>>,
}

struct Hand {
    now: Activity,
    since: Instant,
    spent: [Duration; 5],
}

impl Hand {
    fn advance(&mut self) {
        let time = Instant::now();
        self.spent[self.now as usize] += time.duration_since(self.since);
        self.since = time;
    }
}

#[cold]
fn turn(hand: &Mutex<Hand>, next: Activity) -> Activity {
    let mut hand = hand.lock().unwrap_or_else(PoisonError::into_inner);
    hand.advance();
    std::mem::replace(&mut hand.now, next)
}

impl Clock {
    /// A stopped clock, or one that has just begun to count what a worker does before it works.
    pub(crate) fn new(on: bool) -> Clock {
        let hand = Hand {
            now: Activity::Frame,
            since: Instant::now(),
            spent: Default::default(),
        };
        Clock {
            hand: on.then(|| Mutex::new(hand)),
        }
    }

    /// From now on the worker does `next`. Returns what it did until now.
    #[inline(always)]
    pub(crate) fn enter(&self, next: Activity) -> Activity {
        match &self.hand {
            None => next,
            Some(hand) => turn(hand, next),
        }
    }

    /// Writes the times so far.
    pub(crate) fn read(&self, into: &mut WorkerProfile) {
        if let Some(hand) = &self.hand {
            let mut hand = hand.lock().unwrap_or_else(PoisonError::into_inner);
            hand.advance();
            [into.busy, into.steal, into.idle, into.switch, into.frame] = hand.spent;
        }
    }

    /// Starts again from zero.
    pub(crate) fn reset(&self) {
        if let Some(hand) = &self.hand {
            let mut hand = hand.lock().unwrap_or_else(PoisonError::into_inner);
            hand.since = Instant::now();
            hand.spent = Default::default();
        }
    }
}
