//! The shared word of a task stack: which of its tasks are public.

use super::slot_state::BASE_MAX;

/// One value of the word that an owner and its thieves share.
///
/// `[oldest .. split)` are the public tasks, none when the two are equal. All accesses are to the
/// whole word, so that no two accesses of different size race (Lace writes the halves apart).
///
/// | change | by | who may make it |
/// |---|---|---|
/// | publish: `split` up, `want` cleared | compare-and-swap | owner |
/// | take back: `split` down | compare-and-swap | owner |
/// | restart: `oldest` and `split` anywhere, when the word shows no public task | publish | owner |
/// | claim: `oldest` up by the number of tasks claimed | compare-and-swap | thief |
/// | want: `want` set | fetch-or, or together with a claim | thief |
///
/// The test `every_step_of_a_small_stack_keeps_its_promises` has this table as data, and holds the
/// code to it.
///
/// That the same value can come back does no harm: a thief whose compare-and-swap succeeds has
/// claimed what the word shows at that moment, whatever it showed when the thief looked, and it
/// reads nothing of the tasks before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) u64);

/// Most slots that a stack can have: what fits the index fields of this word, and as a base the one
/// of a slot, also when a thief adds to its top what it has claimed at once.
pub(crate) const SLOTS_MAX: usize = BASE_MAX - CLAIM_MAX;

/// Most tasks that are claimed at once.
pub(crate) const CLAIM_MAX: usize = 64;

pub(crate) const WANT: u64 = 1 << 32;
const INDEX_MASK: u64 = 0xFFFF;
const _: () = assert!(SLOTS_MAX as u64 <= INDEX_MASK);

impl Span {
    pub(crate) fn oldest(self) -> usize {
        (self.0 & INDEX_MASK) as usize
    }

    pub(crate) fn split(self) -> usize {
        (self.0 >> 16 & INDEX_MASK) as usize
    }

    /// How many tasks are public.
    pub(crate) fn public(self) -> usize {
        self.split() - self.oldest()
    }

    pub(crate) fn wanted(self) -> bool {
        self.0 & WANT != 0
    }

    /// The owner's next value.
    pub(crate) fn new(oldest: usize, split: usize, wanted: bool) -> Span {
        debug_assert!(oldest <= split && split <= SLOTS_MAX);
        Span((wanted as u64) << 32 | (split as u64) << 16 | oldest as u64)
    }

    /// A thief's value: the `count` oldest tasks are no longer public.
    pub(crate) fn claimed(self, count: usize, want: bool) -> Span {
        debug_assert!(count <= self.public());
        Span((self.0 + count as u64) | (want as u64) << 32)
    }
}

impl std::fmt::Debug for Span {
    #[inline]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "[{}..{}) want={}",
            self.oldest(),
            self.split(),
            self.wanted()
        )
    }
}
