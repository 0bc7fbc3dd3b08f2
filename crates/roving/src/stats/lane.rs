//! One worker's timeline in a trace: its activities, and when each began.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::Instant;

use super::activity::Activity;

/// Something that happened on a lane.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// The worker did one thing.
    State {
        activity: Activity,
        from: Instant,
        to: Instant,
    },
    /// It took tasks from the stack of another.
    Theft {
        victim: usize,
        tasks: usize,
        at: Instant,
    },
    /// The worker was woken: by another worker of its pool, or by some other thread.
    Woken { by: Option<usize>, at: Instant },
    /// A span of the program's own has ended here.
    Span {
        name: Cow<'static, str>,
        from: Instant,
        to: Instant,
        /// It began on another lane.
        moved: bool,
    },
}

/// Events in the order of their ends: the last ones, and how many came before them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lane {
    pub(crate) events: VecDeque<Event>,
    pub(crate) left_out: u64,
}

/// Most events of a lane, some 70 MB.
pub(crate) const EVENTS_MAX: usize = if cfg!(miri) { 1 << 6 } else { 1 << 20 };

impl Lane {
    /// Adds an event. A full lane gives up its oldest one: what a program did last is what people
    /// look for.
    pub(crate) fn push(&mut self, event: Event) {
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
            self.left_out += 1;
        }
        self.events.push_back(event);
    }

    /// The end of its last span, if that was its last event.
    pub(crate) fn ended(&self) -> Option<Instant> {
        match self.events.back() {
            Some(Event::Span { to, .. }) => Some(*to),
            _ => None,
        }
    }

    /// The worker has done `activity`. Reading the clock does not divide it into two.
    pub(crate) fn state(&mut self, activity: Activity, from: Instant, to: Instant) {
        match self.events.back_mut() {
            Some(Event::State {
                activity: last,
                to: end,
                ..
            }) if *last == activity && *end == from => *end = to,
            _ => self.push(Event::State { activity, from, to }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_state_that_goes_on_is_one_event() {
        let mut lane = Lane::default();
        let start = Instant::now();
        let at = |ns| start + Duration::from_nanos(ns);
        lane.state(Activity::Busy, at(0), at(5));
        lane.state(Activity::Busy, at(5), at(9));
        lane.state(Activity::Idle, at(9), at(10));
        assert_eq!(lane.events.len(), 2);
        assert!(matches!(lane.events[0], Event::State { to, .. } if to == at(9)));
    }

    #[test]
    fn a_full_lane_keeps_its_last_events() {
        let mut lane = Lane::default();
        let at = Instant::now();
        for tasks in 0..EVENTS_MAX + 3 {
            lane.push(Event::Theft {
                victim: 0,
                tasks,
                at,
            });
        }
        assert_eq!((lane.events.len(), lane.left_out), (EVENTS_MAX, 3));
        let tasks = |event: Option<&Event>| match event {
            Some(Event::Theft { tasks, .. }) => *tasks,
            other => panic!("{other:?}"),
        };
        assert_eq!(tasks(lane.events.front()), 3);
        assert_eq!(tasks(lane.events.back()), EVENTS_MAX + 2);
    }
}
