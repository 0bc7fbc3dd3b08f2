//! The queue of events: a calendar, in which the next event is found in constant time.
//!
//! Time is cut into days of equal length; a year has a fixed number of days, and each day of this
//! year has a bucket. Only the events of the current day are sorted. What lies beyond the year
//! waits in a heap. The day gets shorter or longer when it holds too many events or too few (R.
//! Brown, *Calendar queues*, CACM 1988).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens to `who` at `time`. Compared by time, then by what it is, so that
/// the order is the same in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueuedEvent {
    pub(crate) time: u64,
    pub(crate) who: u32,
    /// A mark whose meaning only the user of the queue knows.
    pub(crate) mark: u32,
}

/// Events between two looks at whether the day has a good length.
const WATCHED: u32 = 1 << 14;
/// A day with more events than this on average is too long.
const CROWDED: u64 = 16;
/// The fewest and the most buckets.
const BUCKETS: [usize; 2] = [1 << 8, 1 << 20];

/// Events by time.
#[derive(Debug)]
pub(crate) struct CalendarQueue {
    /// The current day's events, the next one last.
    today: Vec<QueuedEvent>,
    /// The day that `today` is.
    day: u64,
    /// The days after it, up to a year.
    buckets: Vec<Vec<QueuedEvent>>,
    /// A day is two to the power of this many ticks.
    shift: u32,
    /// Events in `buckets`.
    near: usize,
    /// The events that are more than a year ahead.
    far: BinaryHeap<Reverse<QueuedEvent>>,
    /// Since the last look: events taken out, and days begun.
    taken: u32,
    days: u64,
}

impl CalendarQueue {
    /// For about so many events at a time.
    pub(crate) fn new(events: usize) -> CalendarQueue {
        let buckets = events.next_power_of_two().clamp(BUCKETS[0], BUCKETS[1]);
        CalendarQueue {
            today: Vec::new(),
            day: 0,
            buckets: vec![Vec::new(); buckets],
            shift: 10,
            near: 0,
            far: BinaryHeap::new(),
            taken: 0,
            days: 0,
        }
    }

    pub(crate) fn push(&mut self, event: QueuedEvent) {
        let day = event.time >> self.shift;
        if day <= self.day {
            let place = self.today.partition_point(|other| *other > event);
            self.today.insert(place, event);
        } else if day - self.day < self.buckets.len() as u64 {
            let bucket = day as usize & (self.buckets.len() - 1);
            self.buckets[bucket].push(event);
            self.near += 1;
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// The time of the next event.
    pub(crate) fn next_time(&mut self) -> Option<u64> {
        self.turn();
        self.today.last().map(|event| event.time)
    }

    /// The next event.
    pub(crate) fn pop(&mut self) -> Option<QueuedEvent> {
        self.turn();
        let event = self.today.pop()?;
        self.taken += 1;
        if self.taken == WATCHED {
            self.adapt();
        }
        Some(event)
    }

    /// Goes on to the next day that has an event.
    fn turn(&mut self) {
        while self.today.is_empty() {
            if self.near == 0 {
                let Some(Reverse(first)) = self.far.peek() else {
                    return;
                };
                self.day = first.time >> self.shift;
            } else {
                self.day += 1;
            }
            self.days += 1;
            let bucket = self.day as usize & (self.buckets.len() - 1);
            std::mem::swap(&mut self.today, &mut self.buckets[bucket]);
            self.near -= self.today.len();
            self.draw_near();
            self.today.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// Moves the events that have come within a year into the buckets.
    fn draw_near(&mut self) {
        let year = self.day + self.buckets.len() as u64;
        while let Some(Reverse(first)) = self.far.peek() {
            let day = first.time >> self.shift;
            if day >= year {
                break;
            }
            let Some(Reverse(event)) = self.far.pop() else {
                break;
            };
            if day <= self.day {
                self.today.push(event);
            } else {
                let bucket = day as usize & (self.buckets.len() - 1);
                self.buckets[bucket].push(event);
                self.near += 1;
            }
        }
    }

    /// Makes the day twice as long or short, if most days are empty or crowded.
    fn adapt(&mut self) {
        let (taken, days) = (u64::from(self.taken), self.days.max(1));
        (self.taken, self.days) = (0, 0);
        let shift = if days > 4 * taken && self.shift < 40 {
            self.shift + 1
        } else if taken > CROWDED * days && self.shift > 0 {
            self.shift - 1
        } else {
            return;
        };
        let mut all = std::mem::take(&mut self.today);
        let now = all.last().map(|event| event.time);
        all.extend(self.buckets.iter_mut().flat_map(std::mem::take));
        all.extend(self.far.drain().map(|Reverse(event)| event));
        self.near = 0;
        // The next event's day, or that of the last one taken: nothing may be earlier.
        let first = now.or_else(|| all.iter().map(|event| event.time).min());
        let start = first
            .unwrap_or(self.day << self.shift)
            .min(((self.day + 1) << self.shift) - 1);
        self.shift = shift;
        self.day = start >> shift;
        for event in all {
            self.push(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::Xoshiro256;

    #[test]
    fn events_come_in_order_whatever_their_distances() {
        let mut random = Xoshiro256::new(7);
        for spread in [0, 3, 10, 20, 33] {
            let mut queue = CalendarQueue::new(300);
            let mut heap = BinaryHeap::new();
            let mut now = 0;
            for step in 0..200_000u32 {
                // The spread changes on the way, so the day has to follow it.
                let spread = if step > 100_000 { 36 - spread } else { spread };
                for _ in 0..usize::from(heap.len() < 300) * (1 + random.below(2)) {
                    let event = QueuedEvent {
                        time: now + (random.next() >> (63 - spread)),
                        who: step,
                        mark: 0,
                    };
                    queue.push(event);
                    heap.push(Reverse(event));
                }
                let next = queue.next_time();
                let event = queue.pop();
                assert_eq!(event, heap.pop().map(|Reverse(event)| event));
                assert_eq!(next, event.map(|event| event.time));
                now = event.map_or(now, |event| event.time);
            }
        }
    }

    proptest! {
        #[test]
        fn all_that_goes_in_comes_out_sorted(times in prop::collection::vec(0u64..1 << 45, 0..400)) {
            let mut queue = CalendarQueue::new(10);
            for (who, &time) in times.iter().enumerate() {
                queue.push(QueuedEvent { time, who: who as u32, mark: 0 });
            }
            let mut sorted = times.clone();
            sorted.sort_unstable();
            let out: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|event| event.time).collect();
            prop_assert_eq!(out, sorted);
        }
    }
}
