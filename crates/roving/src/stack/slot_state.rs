//! A slot's own word: where the owner of a task and its thief meet.

/// One value of a slot's word.
///
/// | phase | meaning | next, and by whom |
/// |---|---|---|
/// | `Ready` | free; or holds a task that nobody has claimed, or whose thief is about to begin | `Started` or `Offered` by the thief that claimed it |
/// | `Offered` | claimed beyond its thief's first task, and anybody's who is shown where it is | `Started` by who begins it, or `Ready` of the next generation by the owner that takes it back: compare-and-swap, because they race |
/// | `Started` | `holder` runs it, its own subtasks stand at `base` or above in its stack | `Started` + waiter by the owner; `Done` by the holder |
/// | `Done` | the result is in the payload | `Ready` of the next generation by the owner |
///
/// The test `every_step_of_a_small_stack_keeps_its_promises` has this table as data, and holds the
/// code to it.
///
/// While a task is private, or public and unclaimed, nobody but the owner may change the word, and
/// the owner has no need to: pushing and popping leave it alone. Once it is claimed, its thief
/// alone may, until it has said which it is: a plain store will do.
///
/// The generation is what makes a late thief harmless: an offer names the generation, and to begin
/// an offered task is a compare-and-swap from exactly that one. The owner leaves an offered slot
/// only through a new generation, so who comes too late can neither start the slot's next task nor
/// end it. A generation has 37 bits: an offer would have to sleep through 1.4e11 stolen tasks of
/// one slot to be fooled.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct SlotState(pub(crate) u64);

const PHASE_MASK: u64 = 0b11;
const READY: u64 = 0;
const STARTED: u64 = 1;
const DONE: u64 = 2;
const OFFERED: u64 = 3;
/// The owner is parked, or about to: who ends the task must wake it.
const WAITER: u64 = 0b100;
const HOLDER_SHIFT: u32 = 3;
const HOLDER_BITS: u32 = 10;
const BASE_SHIFT: u32 = HOLDER_SHIFT + HOLDER_BITS;
const BASE_BITS: u32 = 14;
const GENERATION_SHIFT: u32 = BASE_SHIFT + BASE_BITS;

/// Most workers, compensation threads included, that one pool can have.
pub(crate) const WORKERS_MAX: usize = 1 << HOLDER_BITS;
/// The highest base that a slot's word can name.
pub(super) const BASE_MAX: usize = (1 << BASE_BITS) - 1;

/// The phase that a slot's word encodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Ready,
    Offered,
    Started { holder: usize, base: usize },
    Done,
}

impl SlotState {
    pub(crate) fn phase(self) -> Phase {
        match self.0 & PHASE_MASK {
            READY => Phase::Ready,
            OFFERED => Phase::Offered,
            STARTED => {
                let (holder, base) = self.place();
                Phase::Started { holder, base }
            }
            _ => Phase::Done,
        }
    }

    pub(crate) fn is_done(self) -> bool {
        self.0 & PHASE_MASK == DONE
    }

    pub(crate) fn has_waiter(self) -> bool {
        self.0 & WAITER != 0
    }

    fn generation(self) -> u64 {
        self.0 >> GENERATION_SHIFT
    }

    fn of_generation(self, phase: u64) -> SlotState {
        SlotState(self.generation() << GENERATION_SHIFT | phase)
    }

    /// The word of this task once it is offered for others to begin.
    pub(crate) fn offered(self) -> SlotState {
        debug_assert!(self.phase() == Phase::Ready);
        self.of_generation(OFFERED)
    }

    /// The word of this offered task, with the place of its slot in the bits that say, once it has
    /// begun, who holds it. No slot ever has such a word.
    pub(super) fn offered_at(self, victim: usize, index: usize) -> SlotState {
        debug_assert!(self.phase() == Phase::Offered && self.place() == (0, 0));
        debug_assert!(victim < WORKERS_MAX && index <= BASE_MAX);
        SlotState(self.0 | (victim as u64) << HOLDER_SHIFT | (index as u64) << BASE_SHIFT)
    }

    /// The word that the slot had, without the place that [`Self::offered_at`] added.
    pub(super) fn offered_nowhere(self) -> SlotState {
        self.of_generation(OFFERED)
    }

    /// A worker and one of its slots: the holder and the base of a run, or where an offered task
    /// stands.
    pub(super) fn place(self) -> (usize, usize) {
        let worker = (self.0 >> HOLDER_SHIFT) as usize & (WORKERS_MAX - 1);
        let slot = (self.0 >> BASE_SHIFT) as usize & BASE_MAX;
        (worker, slot)
    }

    /// The word of this task once `holder` has begun it.
    pub(crate) fn started(self, holder: usize, base: usize) -> SlotState {
        debug_assert!(matches!(self.phase(), Phase::Ready | Phase::Offered));
        // Of the base, `SLOTS_MAX` sees to that.
        debug_assert!(holder < WORKERS_MAX && base <= BASE_MAX);
        let SlotState(word) = self.of_generation(STARTED);
        SlotState(word | (holder as u64) << HOLDER_SHIFT | (base as u64) << BASE_SHIFT)
    }

    /// The word of this run once its owner is parked.
    pub(crate) fn with_waiter(self) -> SlotState {
        SlotState(self.0 | WAITER)
    }

    /// The word of this task once it has ended.
    pub(crate) fn done(self) -> SlotState {
        self.of_generation(DONE)
    }

    /// The slot, free for its next task.
    pub(crate) fn next_generation(self) -> SlotState {
        SlotState(self.generation().wrapping_add(1) << GENERATION_SHIFT | READY)
    }

    /// For tests: whether it is of the generation after the other's, and not of the same one.
    #[cfg(test)]
    pub(super) fn is_next_generation_of(self, other: SlotState) -> bool {
        let next = other.generation().wrapping_add(1);
        assert!([other.generation(), next].contains(&self.generation()));
        self.generation() == next
    }

    /// The word that a wrong owner would leave if it took an offer back without a new generation.
    pub(super) fn same_generation(self) -> SlotState {
        self.of_generation(READY)
    }

    /// Whether both speak of the same run of the same task, with or without a waiter.
    pub(crate) fn same_run(self, other: SlotState) -> bool {
        self.0 | WAITER == other.0 | WAITER
    }
}

impl std::fmt::Debug for SlotState {
    #[inline]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:?} waiter={} generation={}",
            self.phase(),
            self.has_waiter(),
            self.generation()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::Showing;
    use super::super::slot::Offer;
    use super::super::span::{CLAIM_MAX, SLOTS_MAX};
    use super::*;

    /// A thief whose own stack is full, and that has claimed as many tasks as it may.
    #[test]
    fn the_highest_base_stays_in_its_field() {
        let base = SLOTS_MAX + CLAIM_MAX - 1;
        let holder = WORKERS_MAX - 1;
        let ready = SlotState(u64::MAX)
            .next_generation()
            .done()
            .next_generation();
        let started = ready.started(holder, base);
        assert_eq!(started.phase(), Phase::Started { holder, base });
        assert!(!started.has_waiter());
        assert_eq!(started.generation(), ready.generation());
    }

    #[test]
    fn an_offer_says_where_and_which_word() {
        let offered = SlotState(u64::MAX).next_generation().next_generation();
        let offered = SlotState(offered.0 | 5 << GENERATION_SHIFT).offered();
        for (victim, index) in [(0, 0), (WORKERS_MAX - 1, SLOTS_MAX), (3, 7)] {
            let offer = Offer::new(victim, index, offered);
            assert_eq!((offer.victim(), offer.index()), (victim, index));
            assert_eq!(offer.offered(), offered);
        }
    }

    #[test]
    #[should_panic(expected = "slots")]
    fn a_stack_whose_bases_could_leave_their_field_is_refused() {
        let showing = Showing {
            slots: SLOTS_MAX + 1,
            ..Showing::SMALL
        };
        let _ = super::super::TaskStack::try_new(showing);
    }
}
