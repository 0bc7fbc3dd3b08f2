//! The task that comes and goes alone: a loop that forks small children publishes its continuation
//! for each of them, and takes it back, while a thief looks on.
//!
//! Where the stack holds no task that anybody could take, and nobody has asked for one, what a push
//! and the pop after it have to do is known beforehand. `Own::alone` says so: it is the slot where
//! the next task comes alone, or where it stands. Then a push is one compare-and-swap with a few
//! stores, and so is its pop. They ask nothing that the general ways ask ([`Owner::push`],
//! [`Owner::pop`]), which take over as soon as something else has happened:
//!
//! * the owner itself has pushed, popped or published by a general way: that ends with
//!   [`Owner::settle`], which sets `alone` anew;
//! * a thief has raised the alarm: the alarm's top is no slot, and who mends the wire clears
//!   `alone`;
//! * a thief has claimed the task or set the flag, and its alarm is not here yet: the
//!   compare-and-swap fails.

use std::ptr;
use std::sync::atomic::Ordering::Relaxed;

use super::Owner;
use crate::machine::prim::{Ordering, mutant, ord};
use crate::stack::slot::{Run, Slot};
use crate::stack::span::Span;
use crate::stats::bump;

impl Owner<'_> {
    /// Whether the next task comes alone, where the owner shows fewer than it should: it has none,
    /// and no answer, wake-up or credit is due, with which a publication would do more.
    pub(super) fn comes_alone(&self) -> bool {
        let (own, showing) = (&self.stack.own, &self.stack.showing);
        let (split, line) = (own.split.get(), self.line());
        let is_empty =
            own.oldest_seen.get() == split && ptr::eq(self.stack.at(split), line.top.get());
        let is_asked = own.owes_answer.get() || own.wakes_owed.get() > 0;
        // A full stack of which all is claimed has the flag up, too; but this is about memory.
        is_empty
            && !is_asked
            && own.credit.get() == 0
            && line.barrier.get().is_null()
            && !self.is_full()
            && !showing.watched
    }

    /// Pushes and publishes a task, if it comes alone. False if not, or if somebody has asked
    /// meanwhile: then nothing has happened.
    #[inline(always)]
    pub(crate) fn push_alone<T: Copy>(&self, run: Run, payload: T) -> bool {
        let (stack, own, line) = (self.stack, &self.stack.own, self.line());
        // The alarm's top is never that slot.
        let slot = self.tripped_line().top.get();
        if !ptr::eq(slot, own.alone.get()) {
            return false;
        }
        let index = own.split.get();
        // Ordering: Relaxed; the compare-and-swap decides.
        let before = Span(stack.span.load(Relaxed));
        debug_assert_eq!((stack.index(slot), before.public()), (index, 0));
        if before.wanted() && !mutant("alone_sees_who_asks") {
            return false;
        }
        // SAFETY: the slot at the top is the owner's, and free.
        unsafe { (*slot).fill(run, payload) };
        let after = Span::new(index, index + 1, false);
        // Ordering: Edge [publish_alone]: Release, for the thief that claims what stands in the
        // slot. It sees no flag, so it need not see who raised one.
        let order = ord("publish_alone", Ordering::Release);
        let swapped = stack
            .span
            .compare_exchange(before.0, after.0, order, Relaxed);
        if swapped.is_err() {
            return false;
        }
        let above = slot.wrapping_add(1);
        own.split.set(index + 1);
        line.top.set(above);
        line.pop_limit.set(above);
        // What is pushed above it is private, if one is enough. The other limits stay down: a spawn
        // and the end of a scope have more to ask.
        if stack.showing.unasked <= 1 {
            line.push_limit.set(stack.at(stack.slots.len()));
        }
        bump(&stack.tally().publications, 1);
        true
    }

    /// Takes the newest task back if it has come alone, stands alone and nobody has claimed it.
    #[inline(always)]
    pub(crate) fn pop_alone(&self) -> Option<*const Slot> {
        let (stack, own, line) = (self.stack, &self.stack.own, self.line());
        // Beneath the alarm's top is never that slot.
        let slot = self.tripped_line().top.get().wrapping_sub(1);
        if !ptr::eq(slot, own.alone.get()) {
            return None;
        }
        let index = own.split.get() - 1;
        debug_assert_eq!(stack.index(slot), index);
        let before = Span::new(index, index + 1, false);
        let after = Span::new(index, index, false);
        // Ordering: Relaxed; takes back what was never anybody else's.
        let swapped = stack
            .span
            .compare_exchange(before.0, after.0, Relaxed, Relaxed);
        if swapped.is_err() {
            return None;
        }
        own.split.set(index);
        line.top.set(slot);
        line.pop_limit.set(slot);
        line.push_limit.set(ptr::null());
        bump(&stack.tally().take_backs, 1);
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Owner, Popped};
    use crate::stack::Showing;
    use crate::stack::line::set_current_line;
    use crate::stack::owner_tests::{owning, run_nothing};
    use crate::stack::thief::Claim;

    /// Whether the next task comes alone after those steps. Before them, one was pushed and popped.
    fn comes_alone(showing: Showing, steps: impl FnOnce(&Owner<'_>)) -> bool {
        owning(showing, |owner| {
            push(owner);
            assert_eq!(owner.pop_awake(0), Popped::Here);
            steps(owner);
            owner.push_alone(run_nothing, 2_u64)
        })
    }

    fn push(owner: &Owner<'_>) {
        let pushed = owner.push(run_nothing, 1_u64);
        pushed.expect("there is room").1.waive("nobody sleeps");
    }

    /// A thief takes the only task. Its alarm may be late.
    fn claim(owner: &Owner<'_>, is_late: bool) {
        match owner.stack().claim(0, |public| public) {
            Claim::Won { remind, .. } if is_late => remind.waive("it is not here yet"),
            Claim::Won { remind, .. } => remind.pay(|| owner.stack().raise_alarm()),
            Claim::Empty | Claim::Busy => panic!("a task is public"),
        }
    }

    /// Who has claimed the last public task has asked for more: the owner answers, and then wakes
    /// nobody any more.
    fn answer(owner: &Owner<'_>) {
        for _ in 0..4 {
            push(owner);
            assert_eq!(owner.pop_awake(owner.top() - 1), Popped::Here);
        }
    }

    #[test]
    fn a_task_comes_and_goes_alone_and_is_counted() {
        let alone = comes_alone(Showing::SMALL, |owner| {
            for _ in 0..10 {
                assert!(owner.push_alone(run_nothing, 2_u64));
                assert_eq!((owner.top(), owner.stack().public()), (1, 1));
                assert!(!owner.push_alone(run_nothing, 3_u64), "one is there");
                assert_eq!(owner.pop_alone(), Some(owner.stack().at(0)));
                assert_eq!((owner.top(), owner.stack().public()), (0, 0));
                assert_eq!(owner.pop_alone(), None);
            }
            let counted = owner.stack().tally().read();
            assert_eq!((counted.publications, counted.take_backs), (11, 11));
        });
        assert!(alone);
    }

    #[test]
    fn what_is_pushed_above_it_is_private_where_one_is_enough() {
        for (unasked, enough) in [(1, true), (2, false)] {
            let (thieves, wide) = (unasked, unasked);
            let showing = Showing {
                unasked,
                thieves,
                wide,
                ..Showing::SMALL
            };
            let alone = comes_alone(showing, |owner| {
                assert!(owner.push_alone(run_nothing, 2_u64));
                let limit = owner.line().push_limit.get();
                assert_eq!(limit == owner.stack().at(2), enough);
                assert_eq!(limit.is_null(), !enough);
                push(owner);
                assert_eq!(owner.stack().public(), unasked);
                assert_eq!(owner.pop_awake(1), Popped::Here);
                assert_eq!(owner.pop_awake(0), Popped::Here);
            });
            assert!(alone);
        }
    }

    #[test]
    fn none_comes_alone_where_a_push_has_more_to_do() {
        let nothing = |_: &Owner<'_>| ();
        assert!(comes_alone(Showing::SMALL, nothing));
        let credit = Showing {
            wide: 2,
            ..Showing::SMALL
        };
        assert!(!comes_alone(credit, nothing), "credit is used up");
        let watched = Showing {
            watched: true,
            ..Showing::SMALL
        };
        assert!(!comes_alone(watched, nothing), "it is counted");
        let hidden = Showing {
            unasked: 0,
            thieves: 0,
            wide: 0,
            ..Showing::SMALL
        };
        assert!(!comes_alone(hidden, nothing), "it stays private");
        let asked = |owner: &Owner<'_>| {
            let _ = owner.stack().want();
        };
        assert!(!comes_alone(Showing::SMALL, asked), "an alarm is raised");
        let owed = |owner: &Owner<'_>| {
            asked(owner);
            owner.answer_alarm();
        };
        assert!(!comes_alone(Showing::SMALL, owed), "an answer is owed");
        let woken = |owner: &Owner<'_>| {
            asked(owner);
            push(owner);
            assert_eq!(owner.pop_awake(0), Popped::Here);
        };
        assert!(
            !comes_alone(Showing::SMALL, woken),
            "more sleepers are to be woken"
        );
        let late = |owner: &Owner<'_>| {
            let _ = owner.stack().want();
            set_current_line(owner.line());
        };
        assert!(
            !comes_alone(Showing::SMALL, late),
            "the flag comes before the alarm"
        );
    }

    #[test]
    fn none_comes_alone_beside_another() {
        assert!(!comes_alone(Showing::SMALL, push), "one is public");
        let full = |owner: &Owner<'_>| {
            push(owner);
            push(owner);
            claim(owner, false);
            assert!(owner.pop_stranded().is_none());
        };
        assert!(!comes_alone(Showing::SMALL, full), "one is private");
        let above = |owner: &Owner<'_>| {
            push(owner);
            claim(owner, false);
            answer(owner);
        };
        assert!(comes_alone(Showing::SMALL, above), "the other is stolen");
        let spawned = |owner: &Owner<'_>| {
            let pushed = owner.push_unjoined(run_nothing, 1_u64);
            pushed.expect("there is room").waive("nobody sleeps");
            claim(owner, false);
            answer(owner);
        };
        assert!(
            !comes_alone(Showing::SMALL, spawned),
            "a spawned one is below"
        );
        let stolen = |owner: &Owner<'_>| {
            assert!(owner.push_alone(run_nothing, 2_u64));
            claim(owner, true);
            assert_eq!(owner.pop_alone(), None);
            assert_eq!(owner.pop_awake(0), Popped::Away);
        };
        assert!(
            !comes_alone(Showing::SMALL, stolen),
            "its owner waits for it"
        );
    }
}
