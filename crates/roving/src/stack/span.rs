//! The shared word of a task stack: which of its tasks are public.

/// One value of the word that an owner and its thieves share.
///
/// `[oldest .. split)` are the public tasks, none when the two are equal. All accesses are to the
/// whole word, so that no two accesses of different size race (Lace writes the halves apart).
///
/// | change | by | who may make it |
/// |---|---|---|
/// | publish: `split` up, `want` cleared, `epoch` + 1 | compare-and-swap | owner |
/// | take back: `split` down, `epoch` + 1 | compare-and-swap | owner |
/// | restart: `oldest` and `split` anywhere, when the word shows no public task | publish | owner |
/// | claim: `oldest` up by the number of tasks claimed | compare-and-swap | thief |
/// | want: `want` set | fetch-or, or together with a claim | thief |
///
/// `epoch` makes a thief's compare-and-swap fail when the owner changed anything since the thief
/// looked, even if the same indices came back. It wraps after 2^31 changes; a claim that slips
/// through then carries an old generation of its slots, and cannot start them (see
/// [`super::state`]).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) u64);

/// Most slots that a stack can have: what fits the index fields of both words.
pub(crate) const SLOTS_MAX: usize = (1 << 14) - 1;

pub(crate) const WANT: u64 = 1 << 32;
const EPOCH_ONE: u64 = 1 << 33;
const INDEX_MASK: u64 = 0xFFFF;

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

    /// The owner's next value: new indices, the next epoch.
    pub(crate) fn moved(self, oldest: usize, split: usize, wanted: bool) -> Span {
        debug_assert!(oldest <= split && split <= SLOTS_MAX);
        let epoch = (self.0 & !(EPOCH_ONE - 1)).wrapping_add(EPOCH_ONE);
        Span(epoch | (wanted as u64) << 32 | (split as u64) << 16 | oldest as u64)
    }

    /// A thief's value: the `count` oldest tasks are no longer public.
    pub(crate) fn claimed(self, count: usize, want: bool) -> Span {
        debug_assert!(count <= self.public());
        Span((self.0 + count as u64) | (want as u64) << 32)
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (oldest, split, epoch) = (self.oldest(), self.split(), self.0 >> 33);
        write!(
            f,
            "[{oldest}..{split}) want={} epoch={epoch}",
            self.wanted()
        )
    }
}
