//! The clock of one worker, which divides its time among its activities.

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::WorkerProfile;
use super::activity::Activity;
use super::lane::{Event, Lane};
use crate::machine::os::forks;
use crate::machine::prim::{Mutex, MutexGuard};

/// How much of its workers' time a pool records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Nothing,
    /// How long each activity took in all.
    Times,
    /// That, and when it was.
    Trace,
}

/// How long no worker of a pool had anything to do: all were idle, and none waited in a task.
pub(crate) struct Quiet(Mutex<AtWork>);

struct AtWork {
    workers: usize,
    /// When the last of them became idle, while all are.
    since: Option<Instant>,
    quiet: Duration,
}

impl Quiet {
    pub(crate) fn new() -> Quiet {
        Quiet(Mutex::new(AtWork {
            workers: 0,
            since: None,
            quiet: Duration::ZERO,
        }))
    }

    fn with<R>(&self, f: impl FnOnce(&mut AtWork) -> R) -> R {
        f(&mut self.0.lock())
    }

    fn begin(&self) {
        self.with(|at_work| {
            at_work.quiet = at_work.time(Instant::now());
            at_work.since = None;
            at_work.workers += 1;
        });
    }

    fn end(&self) {
        self.with(|at_work| {
            at_work.workers -= 1;
            at_work.since = (at_work.workers == 0).then(Instant::now);
        });
    }

    /// Returns the time until `now`.
    pub(crate) fn time(&self, now: Instant) -> Duration {
        self.with(|at_work| at_work.time(now))
    }

    /// Starts again from zero.
    #[inline]
    pub(crate) fn reset(&self, now: Instant) {
        self.with(|at_work| {
            at_work.since = at_work.since.map(|_| now);
            at_work.quiet = Duration::ZERO;
        });
    }
}

impl AtWork {
    fn time(&self, now: Instant) -> Duration {
        let time = |since| now.duration_since(since);
        self.quiet + self.since.map_or(Duration::ZERO, time)
    }
}

/// Adds up the time in each activity. When off, [`Clock::enter`] is one predictable branch.
pub(crate) struct Clock {
    hand: Option<Mutex<Hand>>,
    /// [`forks`] in the process whose time it divides. In a child the hand may be held by a thread
    /// that is not there.
    forks: usize,
}

pub(crate) struct Hand {
    now: Activity,
    since: Instant,
    spent: [Duration; 6],
    lane: Option<Lane>,
    /// The workers of the pool share it.
    quiet: Arc<Quiet>,
}

impl Hand {
    fn advance(&mut self, time: Instant) {
        self.spent[self.now as usize] += time.duration_since(self.since);
        if let Some(lane) = &mut self.lane {
            lane.state(self.now, self.since, time);
        }
        self.since = time;
    }

    /// Writes the times until `now`, which is later than when the hand was held.
    pub(crate) fn read(&mut self, now: Instant, into: &mut WorkerProfile) {
        self.advance(now);
        let [busy, steal, idle, waiting, switch, frame] = self.spent;
        (into.busy, into.steal, into.idle) = (busy, steal, idle + waiting);
        (into.waiting, into.switch, into.frame) = (waiting, switch, frame);
    }

    /// Starts again from zero.
    #[inline]
    pub(crate) fn reset(&mut self, now: Instant) {
        self.since = now;
        self.spent = Default::default();
        self.lane = self.lane.take().map(|_| Lane::default());
    }
}

#[cold]
fn turn(clock: &Clock, next: Activity) -> Activity {
    let Some(mut hand) = clock.hold() else {
        return next;
    };
    hand.advance(Instant::now());
    match (hand.now == Activity::Idle, next == Activity::Idle) {
        (true, false) => hand.quiet.begin(),
        (false, true) => hand.quiet.end(),
        _ => {}
    }
    mem::replace(&mut hand.now, next)
}

impl Clock {
    /// A stopped clock, or one that counts since then what a worker does before it works.
    pub(crate) fn new(keep: Keep, quiet: &Arc<Quiet>, since: Instant) -> Clock {
        let hand = || {
            quiet.begin();
            Hand {
                now: Activity::Frame,
                since,
                spent: Default::default(),
                lane: (keep == Keep::Trace).then(Lane::default),
                quiet: Arc::clone(quiet),
            }
        };
        Clock {
            hand: (keep != Keep::Nothing).then(|| Mutex::new(hand())),
            forks: forks(),
        }
    }

    /// Until the guard goes, the worker changes to no other activity. `None` when off, and in a
    /// forked child.
    pub(crate) fn hold(&self) -> Option<MutexGuard<'_, Hand>> {
        let hand = self.hand.as_ref()?;
        (self.forks == forks()).then(|| hand.lock())
    }

    /// Puts something else into the trace, if one is kept.
    pub(crate) fn note(&self, event: impl FnOnce(Instant) -> Event) {
        if let Some(lane) = self.hold().as_mut().and_then(|hand| hand.lane.as_mut()) {
            lane.push(event(Instant::now()));
        }
    }

    /// The worker's present activity, where it is recorded.
    pub(crate) fn now(&self) -> Option<Activity> {
        self.hold().map(|hand| hand.now)
    }

    /// The trace so far, if one is kept. Takes it away: whoever asks writes it, at the end.
    pub(crate) fn lane(&self) -> Option<Lane> {
        let mut hand = self.hold()?;
        hand.advance(Instant::now());
        hand.lane.as_mut().map(mem::take)
    }

    /// From now on the worker does `next`. Returns what it did until now.
    #[inline(always)]
    pub(crate) fn enter(&self, next: Activity) -> Activity {
        match &self.hand {
            None => next,
            Some(_) => turn(self, next),
        }
    }
}
