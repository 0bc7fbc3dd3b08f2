//! The clock of one worker, which divides its time among its activities.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::WorkerProfile;
use super::lane::{Event, Lane};

/// A worker's activity; see [`WorkerProfile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    Busy,
    Steal,
    Idle,
    Switch,
    Frame,
}

impl Activity {
    /// Its name in tables and traces: that of its field in [`WorkerProfile`].
    pub(crate) fn word(self) -> &'static str {
        match self {
            Activity::Busy => "busy",
            Activity::Steal => "steal",
            Activity::Idle => "idle",
            Activity::Switch => "switch",
            Activity::Frame => "frame",
        }
    }
}

/// How much of its workers' time a pool records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Nothing,
    /// How long each activity took in all.
    Times,
    /// That, and when it was.
    Trace,
}

/// Adds up the time in each activity. When off, [`Clock::enter`] is one predictable branch.
pub(crate) struct Clock {
    hand: Option<Mutex<Hand>>,
}

struct Hand {
    now: Activity,
    since: Instant,
    spent: [Duration; 5],
    lane: Option<Lane>,
}

impl Hand {
    fn advance(&mut self) {
        let time = Instant::now();
        self.spent[self.now as usize] += time.duration_since(self.since);
        if let Some(lane) = &mut self.lane {
            lane.state(self.now, self.since, time);
        }
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
    pub(crate) fn new(keep: Keep) -> Clock {
        let hand = || Hand {
            now: Activity::Frame,
            since: Instant::now(),
            spent: Default::default(),
            lane: (keep == Keep::Trace).then(Lane::default),
        };
        Clock {
            hand: (keep != Keep::Nothing).then(|| Mutex::new(hand())),
        }
    }

    fn with_hand<R>(&self, f: impl FnOnce(&mut Hand) -> R) -> Option<R> {
        let hand = self.hand.as_ref()?;
        Some(f(&mut hand.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Puts something else into the trace, if one is kept.
    pub(crate) fn note(&self, event: impl FnOnce(Instant) -> Event) {
        self.with_hand(|hand| {
            if let Some(lane) = &mut hand.lane {
                lane.push(event(Instant::now()));
            }
        });
    }

    /// The worker's present activity, where it is recorded.
    pub(crate) fn now(&self) -> Option<Activity> {
        self.with_hand(|hand| hand.now)
    }

    /// The trace so far, if one is kept.
    pub(crate) fn lane(&self) -> Option<Lane> {
        self.with_hand(|hand| {
            hand.advance();
            hand.lane.clone()
        })?
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
        self.with_hand(|hand| {
            hand.advance();
            [into.busy, into.steal, into.idle, into.switch, into.frame] = hand.spent;
        });
    }

    /// Starts again from zero.
    pub(crate) fn reset(&self) {
        self.with_hand(|hand| {
            hand.since = Instant::now();
            hand.spent = Default::default();
            hand.lane = hand.lane.take().map(|_| Lane::default());
        });
    }
}
