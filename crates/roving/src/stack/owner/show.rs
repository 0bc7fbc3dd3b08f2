//! How much an owner shows, and when: publication, unasked and on demand.
//!
//! Of a few large tasks each should be public, because their owner may next turn to a leaf in which
//! it looks at nothing. Of many small ones a few must do, because each publication costs as much as
//! several private tasks. Which it is shows in the rate: a publication uses up one of the owner's
//! *credit*, which grows by one every [`CREDIT_TIME`](policy::CREDIT_TIME). With credit left, the
//! `wide` oldest tasks of [`Showing`](crate::stack::Showing) are shown, otherwise `unasked`. So
//! what is published needlessly costs at most that rate.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use super::{Owner, Wake};
use crate::machine::duty::Due;
use crate::machine::meeting_points::{At, meet};
use crate::machine::prim::{Ordering, ord};
use crate::stack::policy::{self, About};
use crate::stack::span::Span;
use crate::stats::bump;

/// How many ends of scopes do not look at the clock after one that found no credit.
const LOOKS_LEFT_OUT: u32 = 7;

impl Owner<'_> {
    /// How many tasks are to be public before anybody asks.
    pub(super) fn unasked(&self) -> usize {
        let (showing, own) = (&self.stack.showing, &self.stack.own);
        if own.credit.get() > 0 {
            showing.wide
        } else if self.line().barrier.get().is_null() {
            showing.unasked
        } else {
            showing.thieves
        }
    }

    /// Something has to be published in any case, and no credit is left: looks at the clock.
    pub(super) fn top_up(&self) {
        let own = &self.stack.own;
        if own.credit.get() > 0 || self.stack.showing.wide <= self.stack.showing.unasked {
            return;
        }
        let now = Instant::now();
        let since = own.credited.get().map(|then| now.duration_since(then));
        let credit = policy::credit(since);
        if credit > 0 {
            own.credit.set(credit);
            own.credited.set(Some(now));
        }
    }

    /// Answers a demand, if there is one and anything private to show.
    pub(super) fn show_if_asked(&self) -> Due<Wake> {
        let has_private = self.stack.own.split.get() < self.top();
        let answers = has_private && self.can_answer();
        if answers {
            self.top_up();
        }
        let wake = match answers {
            true => self.publish(),
            false => Due::none(),
        };
        self.settle();
        wake
    }

    /// Whether there is a demand, and enough here to be taken by who asks.
    pub(super) fn can_answer(&self) -> bool {
        let own = &self.stack.own;
        if !own.owes_answer.get() {
            return false;
        }
        self.look_at_oldest();
        self.top() - own.oldest_seen.get() >= self.stack.showing.least
    }

    /// Makes everything public: the owner will not look for a while.
    pub(crate) fn show_all(&self) -> Due<Wake> {
        self.answer_alarm();
        let wake = match self.stack.own.split.get() < self.top() {
            true => self.publish_up_to(self.top()),
            false => Due::none(),
        };
        self.settle();
        wake
    }

    /// The owner is about to run spawned tasks, one after the other, and each may take long.
    #[inline]
    pub(crate) fn show_spawned(&self) -> Due<Wake> {
        let split = self.stack.at(self.stack.own.split.get());
        let is_hiding = self.line().top.get() > split.wrapping_add(1);
        match is_hiding && self.stack.showing.unasked > 0 {
            true => self.show_at_leisure(),
            false => Due::none(),
        }
    }

    /// Shows them if there is credit. Scopes of a few small tasks come faster than that grows, and
    /// a look at the clock takes as long as several tasks: not all of them look.
    #[inline(never)]
    fn show_at_leisure(&self) -> Due<Wake> {
        let own = &self.stack.own;
        let looks_left_out = own.looks_left_out.get();
        if own.credit.get() == 0 && looks_left_out > 0 {
            own.looks_left_out.set(looks_left_out - 1);
            return Due::none();
        }
        self.look_at_oldest();
        if self.public_seen() >= self.stack.showing.wide {
            // Enough, whatever the rate. Not settled: that takes longer than the look, and nothing
            // has been shown.
            return Due::none();
        }
        self.top_up();
        let has_credit = own.credit.get() > 0;
        own.looks_left_out
            .set(if has_credit { 0 } else { LOOKS_LEFT_OUT });
        let wake = match has_credit {
            true => self.publish(),
            false => Due::none(),
        };
        self.settle();
        wake
    }

    /// Moves the split line up, as far as is shown unasked, and further when somebody wants work.
    /// Something is private, so there is something to show to who does. Costs one compare-and-swap.
    pub(super) fn publish(&self) -> Due<Wake> {
        self.publish_up_to(self.stack.own.split.get())
    }

    /// Publishes tasks as far as the policy asks, and at least up to `least`.
    pub(super) fn publish_up_to(&self, least: usize) -> Due<Wake> {
        let stack = self.stack;
        if stack.showing.watched {
            meet(At::Publish);
        }
        let own = &stack.own;
        let (top, split) = (self.top(), own.split.get());
        // Ordering: Relaxed; the compare-and-swap decides.
        let mut before = Span(stack.span.load(Relaxed));
        loop {
            // With nothing public in the span, all below the owner's split line is claimed.
            let oldest = match before.public() {
                0 => split,
                _ => before.oldest(),
            };
            let about = About {
                oldest,
                split,
                top,
                least,
                unasked: self.unasked(),
                wanted: before.wanted(),
                everything: stack.showing.everything || own.credit.get() > 0,
            };
            let new_split = about.split_after();
            let enough = new_split - oldest >= stack.showing.least;
            let after = Span::new(oldest, new_split, before.wanted() && !enough);
            // Ordering: Edge [publish]: Release, for the thieves that claim what stands in the
            // slots; Acquire, to see who was idle when it raised the flag ([want]).
            let order = ord("publish", Ordering::AcqRel);
            let span = &stack.span;
            match span.compare_exchange(before.0, after.0, order, Relaxed) {
                Ok(_) => {
                    own.split.set(new_split);
                    own.oldest_seen.set(oldest);
                    own.has_shrunk.set(false);
                    // What is not enough for who asked stays owed.
                    own.owes_answer.set(after.wanted());
                    own.credit.set(own.credit.get().saturating_sub(1));
                    bump(&stack.tally().publications, 1);
                    let answers = before.wanted() && enough;
                    let (wakes, owed) = policy::wakes(answers, own.wakes_owed.get());
                    own.wakes_owed.set(owed);
                    return Due::when(wakes);
                }
                Err(now) => before = Span(now),
            }
        }
    }
}
