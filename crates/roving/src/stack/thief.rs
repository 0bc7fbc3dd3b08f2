//! The thief's side of a task stack: look, claim, want.

use std::sync::atomic::Ordering::Relaxed;

use super::TaskStack;
use super::line::ALARM;
use super::line::LentWire;
use super::span::{Span, WANT};
use crate::machine::duty::Due;
use crate::machine::prim::{MutexGuard, Ordering, ord, prefetch};

/// The duty of who has claimed: the owner shows less than it should, and is to be reminded by
/// [`TaskStack::raise_alarm`], best when the claimed task has begun.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Remind {}

/// The result of a claim.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Claim {
    /// Nothing public, or nothing that this thief may take.
    Empty,
    /// Somebody else changed the span first.
    Busy,
    /// The `count` tasks from `index` on are claimed, `left` are still public. The thief now says
    /// of each task, in its slot, whether it begins it or offers it.
    Won {
        index: usize,
        count: usize,
        left: usize,
        remind: Due<Remind>,
    },
}

impl TaskStack {
    /// Peek: how many tasks are public. Reads only, so that idle thieves share the cache line.
    pub(crate) fn public(&self) -> usize {
        // Ordering: Relaxed; a hint, which `claim` checks.
        Span(self.span.load(Relaxed)).public()
    }

    /// Whether a claim from `base` on would get something. A hint, as above.
    pub(crate) fn has_public_from(&self, base: usize) -> bool {
        // Ordering: Relaxed, as above.
        let span = Span(self.span.load(Relaxed));
        span.public() > 0 && span.oldest() >= base
    }

    /// Whether somebody has asked for more and the owner has not answered.
    pub(crate) fn is_wanted(&self) -> bool {
        // Ordering: Relaxed; a hint that saves a write.
        Span(self.span.load(Relaxed)).wanted()
    }

    /// Claims the oldest public tasks, as many as `amount` says of those that are public, if the
    /// oldest of them is not below `base`.
    pub(crate) fn claim(&self, base: usize, amount: impl FnOnce(usize) -> usize) -> Claim {
        // Ordering: Relaxed; the compare-and-swap decides.
        let before = Span(self.span.load(Relaxed));
        let (index, public) = (before.oldest(), before.public());
        if public == 0 || index < base {
            return Claim::Empty;
        }
        let count = amount(public).min(public);
        if count == 0 {
            return Claim::Empty;
        }
        // The slot travels while the span does.
        prefetch(&self.slots[index]);
        let left = public - count;
        let short = left < self.showing.unasked;
        let after = before.claimed(count, short);
        // Ordering: Acquire. Pairs with [publish] and [publish_alone]: the slots below the split
        // line are filled, and their words are those of the tasks in them.
        let order = ord("claim", Ordering::Acquire);
        match self
            .span
            .compare_exchange(before.0, after.0, order, Relaxed)
        {
            Ok(_) => Claim::Won {
                index,
                count,
                left,
                remind: Due::when(short && !before.wanted()),
            },
            Err(_) => Claim::Busy,
        }
    }

    /// The slots from `base` on whose tasks are claimed, as far as can be told by looking.
    pub(crate) fn claimed_from(&self, base: usize) -> std::ops::Range<usize> {
        // Ordering: Relaxed; a hint, the slots' own words decide.
        base..Span(self.span.load(Relaxed)).oldest()
    }

    /// Asks the owner to make more public at its next push or pop. Returns how many tasks are
    /// public now. With what the owner does in `publish`: either the owner's change comes later
    /// and sees the flag, or it came earlier and this call sees the tasks.
    pub(crate) fn want(&self) -> usize {
        // Ordering: Edge [want]: Release, so that an owner which sees the flag also sees that this
        // thief is idle ([idle_announce]); Acquire, so that the alarm below comes after the line
        // pointer that the owner set before its last change of the span.
        let before = Span(self.span.fetch_or(WANT, ord("want", Ordering::AcqRel)));
        self.raise_alarm();
        before.public()
    }

    /// Makes the owner's next push or pop take the slow path.
    #[inline(never)]
    pub(crate) fn raise_alarm(&self) {
        // Ordering: Acquire pairs with [attach]: the thread's line pointer is set up.
        let wire = self.wire.load(Ordering::Acquire);
        // SAFETY: null before the owner has started (its first push looks by itself), and valid
        // after: a worker's thread ends only when no thread of the pool steals any more, and an
        // arena's, which may have left this seat long ago, when no share of it has one at work.
        if let Some(wire) = unsafe { wire.as_ref() } {
            // Ordering: Relaxed; the owner looks into the span for what it means.
            wire.store((&raw const ALARM).cast_mut(), Relaxed);
        } else {
            self.raise_lent_alarm();
        }
    }

    /// Trips the wire of an owner whose thread may end while this one still steals.
    fn raise_lent_alarm(&self) {
        let wire = self.lent_wire();
        if let Some(LentWire(wire)) = &*wire {
            // SAFETY: the thread takes the pointer back, under the lock, before it ends.
            let wire = unsafe { &**wire };
            // Ordering: Relaxed; the owner looks into the span for what it means.
            wire.store((&raw const ALARM).cast_mut(), Relaxed);
        }
    }

    /// The owner's thread is about to end.
    pub(crate) fn cut_wire(&self) {
        *self.lent_wire() = None;
    }

    /// The wire of a thread that may end while others still steal, locked.
    pub(super) fn lent_wire(&self) -> MutexGuard<'_, Option<LentWire>> {
        self.lent_wire.lock()
    }
}
