//! How the iterations of a loop are given to threads. A loop is counted here from 0, whatever its
//! variable and step are.

use super::next::NextIteration;
use crate::env::{Schedule, ScheduleKind};

/// A loop in the units of its program. A variable of any type is taken for its bits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Range {
    start: u64,
    end: u64,
    step: u64,
    pub(crate) count: u64,
}

impl Range {
    /// A loop over signed numbers.
    pub(crate) fn signed(start: i64, end: i64, step: i64) -> Range {
        let runs = if step > 0 { start < end } else { start > end };
        let (span, by) = match step > 0 {
            true => (end.wrapping_sub(start), step),
            false => (start.wrapping_sub(end), step.wrapping_neg()),
        };
        Range::of(
            start as u64,
            end as u64,
            step as u64,
            runs,
            span as u64,
            by as u64,
        )
    }

    /// A loop over unsigned numbers, upwards or downwards.
    pub(crate) fn unsigned(up: bool, start: u64, end: u64, step: u64) -> Range {
        let runs = if up { start < end } else { start > end };
        let (span, by) = match up {
            true => (end.wrapping_sub(start), step),
            false => (start.wrapping_sub(end), step.wrapping_neg()),
        };
        Range::of(start, end, step, runs, span, by)
    }

    /// The numbers below `count`.
    pub(crate) fn upto(count: u64) -> Range {
        Range::unsigned(true, 0, count, 1)
    }

    fn of(start: u64, end: u64, step: u64, runs: bool, span: u64, by: u64) -> Range {
        let count = match runs {
            true => (span - 1) / by.max(1) + 1,
            false => 0,
        };
        Range {
            start,
            end,
            step,
            count,
        }
    }

    /// Where the program's variable begins and ends for these iterations.
    #[inline]
    pub(crate) fn bounds(&self, (from, to): (u64, u64)) -> (u64, u64) {
        let at = |index: u64| self.start.wrapping_add(index.wrapping_mul(self.step));
        let end = if to == self.count { self.end } else { at(to) };
        (at(from), end)
    }
}

/// A loop as its threads run it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopPlan {
    pub(crate) range: Range,
    pub(crate) kind: ScheduleKind,
    /// Iterations at a time; 0 for a static schedule: an equal part each.
    chunk: u64,
    threads: u64,
    pub(crate) ordered: bool,
    /// A dynamic schedule of so few iterations that the count of those given away cannot overflow,
    /// whose threads need not know which of them they have: a part is one addition.
    pub(crate) counted: bool,
}

/// The most iterations for which [`LoopPlan::counted`] holds, with any number of threads that there
/// can be.
const ADDS_MAX: u64 = 1 << 40;

impl LoopPlan {
    pub(crate) fn new(range: Range, schedule: Schedule, threads: u32, ordered: bool) -> LoopPlan {
        let (kind, chunk) = match schedule.kind {
            ScheduleKind::Auto => (ScheduleKind::Static, 0),
            ScheduleKind::Static => (ScheduleKind::Static, schedule.chunk),
            kind => (kind, schedule.chunk.max(1)),
        };
        LoopPlan {
            range,
            kind,
            chunk: chunk.min(range.count.max(1)),
            threads: threads.into(),
            ordered,
            counted: kind == ScheduleKind::Dynamic && !ordered && range.count <= ADDS_MAX,
        }
    }

    /// The next iterations of one of `threads` threads, whose `turn` it is; `next` counts what was
    /// given to all. Where they are [counted](LoopPlan::counted), `take_counted` stands for this.
    pub(crate) fn take(&self, thread: u64, turn: u64, next: &NextIteration) -> Option<(u64, u64)> {
        let count = self.range.count;
        match self.kind {
            ScheduleKind::Static | ScheduleKind::Auto => self.take_static(thread, turn),
            ScheduleKind::Dynamic => next.take(count, |_| self.chunk),
            ScheduleKind::Guided => {
                next.take(count, |rest| rest.div_ceil(self.threads).max(self.chunk))
            }
        }
    }

    /// The next iterations of whichever thread, where they are [counted](LoopPlan::counted).
    #[inline]
    pub(crate) fn take_counted(&self, next: &NextIteration) -> Option<(u64, u64)> {
        next.add(self.chunk, self.range.count)
    }

    fn take_static(&self, thread: u64, turn: u64) -> Option<(u64, u64)> {
        let count = self.range.count;
        if self.chunk == 0 {
            let (least, more) = (count / self.threads, count % self.threads);
            let from = thread * least + thread.min(more);
            let to = from + least + u64::from(thread < more);
            return (turn == 0 && from < to).then_some((from, to));
        }
        let from = turn
            .checked_mul(self.threads)?
            .checked_add(thread)?
            .checked_mul(self.chunk)?;
        (from < count).then(|| (from, count - (count - from).saturating_sub(self.chunk)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(kind: ScheduleKind, chunk: u64) -> Schedule {
        Schedule {
            kind,
            monotonic: false,
            chunk,
        }
    }

    #[test]
    fn ranges_are_counted_up_and_down_to_the_ends_of_their_types() {
        assert_eq!(Range::signed(0, 10, 3).count, 4);
        assert_eq!(Range::signed(10, 0, -3).count, 4);
        assert_eq!(Range::signed(5, 5, 1).count, 0);
        assert_eq!(Range::signed(i64::MIN, i64::MAX, 1).count, u64::MAX);
        assert_eq!(Range::unsigned(true, 0, u64::MAX, 2).count, 1 << 63);
        assert_eq!(Range::unsigned(false, 9, 2, 2_u64.wrapping_neg()).count, 4);
        let down = Range::signed(10, 0, -3);
        assert_eq!(down.bounds((1, 2)), (7, 4));
        assert_eq!(
            down.bounds((3, 4)),
            (1, 0),
            "it ends where the program says"
        );
    }

    /// Each iteration once, and in order where there is one thread.
    #[test]
    fn every_schedule_gives_each_iteration_once() {
        for count in [0, 1, 7, 100] {
            for kind in [
                ScheduleKind::Static,
                ScheduleKind::Dynamic,
                ScheduleKind::Guided,
                ScheduleKind::Auto,
            ] {
                for (chunk, ordered) in [(0, false), (1, false), (3, true), (1000, false)] {
                    for threads in [1, 2, 5] {
                        let range = Range::upto(count);
                        let plan = LoopPlan::new(range, schedule(kind, chunk), threads, ordered);
                        let next = NextIteration::default();
                        let mut seen = vec![0; count as usize];
                        let take = |thread, turn| match plan.counted {
                            true => plan.take_counted(&next),
                            false => plan.take(thread, turn, &next),
                        };
                        for thread in 0..u64::from(threads) {
                            let mut turn = 0;
                            while let Some((from, to)) = take(thread, turn) {
                                assert!(from < to);
                                seen[from as usize..to as usize]
                                    .iter_mut()
                                    .for_each(|times| *times += 1);
                                turn += 1;
                            }
                        }
                        assert!(
                            seen.iter().all(|&times| times == 1),
                            "{count} {kind:?} {chunk} {threads}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_loop_over_all_numbers_does_not_overflow() {
        let plan = LoopPlan::new(
            Range::upto(u64::MAX),
            schedule(ScheduleKind::Dynamic, 1 << 62),
            2,
            false,
        );
        assert!(!plan.counted);
        let next = NextIteration::default();
        let mut last = 0;
        while let Some((from, to)) = plan.take(0, 0, &next) {
            assert_eq!(from, last);
            last = to;
        }
        assert_eq!(last, u64::MAX);
    }
}
