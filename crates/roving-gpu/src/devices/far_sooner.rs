//! Kinds of tasks, by size, for which nothing is left to decide: the CPU is sooner by far.
//!
//! To decide where a task runs takes a lock and a look at each device, a microsecond or two. For a
//! short task that is most of its time, and the answer is the same each time. So the answer is kept
//! here, for as many of the next tasks as were measured before, at most [`AT_MOST`]; these run
//! their CPU sides, and one shared counter is all that they touch. The task after them is decided
//! and measured again, and counts for all of them.
//!
//! A slot is given once, to the first task of a kind and size for which the CPU is sooner by far.
//! What the tasks share from then on is its [`Answer`].

use std::ptr;
use std::sync::OnceLock;

use crate::explored::counted_once::Answer;
use crate::history::kind::Kind;

/// The answer holds for so many tasks at most.
const AT_MOST: u64 = 255;
/// So many kinds and sizes are kept; others are decided each time.
const SLOTS: usize = 64;
/// A kind and size is looked for in so many slots.
const PROBES: usize = 4;

#[derive(Debug)]
pub(crate) struct Settled([Slot; SLOTS]);

#[derive(Debug, Default)]
struct Slot {
    of: OnceLock<Of>,
    answer: Answer,
}

/// A kind, and the exponent of the work.
#[derive(Clone, Copy, Debug)]
struct Of {
    kind: &'static Kind,
    class: u64,
}

impl Of {
    #[inline]
    fn is(&self, kind: &'static Kind, class: u64) -> bool {
        ptr::eq(self.kind, kind) && self.class == class
    }
}

/// Tasks that went by an answer and were not counted yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Untold {
    pub(crate) kind: &'static Kind,
    /// About the work of each.
    pub(crate) work: f64,
    pub(crate) tasks: u64,
}

impl Settled {
    pub(crate) fn new() -> Self {
        Settled(std::array::from_fn(|_| Slot::default()))
    }

    /// Whether a task goes to the CPU without being decided. If so, it has been noted.
    #[inline]
    pub(crate) fn goes(&self, kind: &'static Kind, work: f64) -> bool {
        let slot = self.find(kind, class(work));
        slot.is_some_and(|slot| slot.answer.goes())
    }

    /// A task was decided, and the CPU was sooner by far: so it is for the next ones, as many as
    /// were measured.
    pub(crate) fn settle(&self, kind: &'static Kind, work: f64, measured: u32) {
        let class = class(work);
        let mut slots = self.probes(kind, class);
        let ours = slots.find(|slot| slot.of.get_or_init(|| Of { kind, class }).is(kind, class));
        if let Some(slot) = ours {
            slot.answer.holds_for(u64::from(measured).min(AT_MOST));
        }
    }

    /// Takes the tasks of that kind and size that were not counted yet: the caller counts them.
    pub(crate) fn untold(&self, kind: &'static Kind, work: f64) -> u64 {
        self.find(kind, class(work))
            .map_or(0, |slot| slot.answer.untold())
    }

    /// Takes all that were not counted yet.
    pub(crate) fn all_untold(&self) -> impl Iterator<Item = Untold> {
        self.0.iter().filter_map(|slot| {
            let Of { kind, class } = *slot.of.get()?;
            let (work, tasks) = (f64::from_bits(class << MANTISSA), slot.answer.untold());
            (tasks > 0).then_some(Untold { kind, work, tasks })
        })
    }

    #[inline]
    fn find(&self, kind: &'static Kind, class: u64) -> Option<&Slot> {
        self.probes(kind, class).find(|slot| {
            let of = slot.of.get();
            of.is_some_and(|of| of.is(kind, class))
        })
    }

    /// The slots where a kind and size may be.
    #[inline]
    fn probes(&self, kind: &'static Kind, class: u64) -> impl Iterator<Item = &Slot> {
        // A kind takes 16 bytes; sizes that follow one another are neighbours.
        let start = (ptr::from_ref(kind) as usize >> 4).wrapping_add(class as usize);
        (0..PROBES).map(move |at| &self.0[start.wrapping_add(at) % SLOTS])
    }
}

/// Bits of a number below its exponent.
const MANTISSA: u32 = 52;

/// The exponent of a positive number.
#[inline]
fn class(work: f64) -> u64 {
    work.to_bits() >> MANTISSA
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    static ONE: Kind = Kind::new("one");
    static TWO: Kind = Kind::new("two");

    fn goes(settled: &Settled, kind: &'static Kind, work: f64) -> u64 {
        (0..1000).filter(|_| settled.goes(kind, work)).count() as u64
    }

    #[test]
    fn an_answer_holds_for_as_many_as_were_measured() {
        let settled = Settled::new();
        assert_eq!(goes(&settled, &ONE, 5.0), 0);
        for (measured, holds) in [(1, 1), (2, 2), (255, 255), (500, 255)] {
            settled.settle(&ONE, 5.0, measured);
            // Of another kind or size nothing is said.
            assert_eq!(goes(&settled, &TWO, 5.0) + goes(&settled, &ONE, 8.0), 0);
            assert_eq!(goes(&settled, &ONE, 7.9), holds);
            assert_eq!(settled.untold(&ONE, 4.0), holds);
        }
        assert_eq!(settled.untold(&ONE, 4.0) + settled.untold(&TWO, 4.0), 0);
    }

    #[test]
    fn what_finds_no_slot_is_decided_each_time() {
        let settled = Settled::new();
        let sizes = (0..1000).map(|power| f64::from(power - 500).exp2());
        let kept = sizes.filter(|size| {
            settled.settle(&ONE, *size, 9);
            settled.goes(&ONE, *size)
        });
        assert_eq!(kept.count(), SLOTS);
        let told: Vec<_> = settled.all_untold().collect();
        assert_eq!(told.len(), SLOTS);
        assert!(told.iter().all(|one| one.tasks == 1 && one.kind == &ONE));
        assert_eq!(settled.all_untold().count(), 0);
    }

    #[test]
    fn each_task_is_counted_once_by_threads_that_count_at_a_time() {
        let settled = Settled::new();
        let (gone, told) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        if settled.goes(&ONE, 1.0) {
                            gone.fetch_add(1, Ordering::Relaxed);
                        } else {
                            settled.settle(&ONE, 1.0, 5);
                            told.fetch_add(settled.untold(&ONE, 1.0), Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let rest: u64 = settled.all_untold().map(|one| one.tasks).sum();
        assert_eq!(told.into_inner() + rest, gone.into_inner());
    }
}
