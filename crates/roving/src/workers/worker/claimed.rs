//! How a worker runs tasks that it has claimed: closures, and frames of async tasks.

use std::ops::Range;
use std::time::Instant;

use crate::machine::duty::Due;
use crate::machine::meeting_points::{At, meet, now};
use crate::stack::line::wire_of_this_thread;
use crate::stack::slot::{Further, Offer, Slot};
use crate::stack::task_word::TaskWord;
use crate::stack::thief::Remind;
use crate::stats::{Activity, bump};
use crate::workers::Worker;
use crate::workers::frames::{self, Frame, Level};
use crate::workers::sleep::Parts;
use crate::workers::steal::amount::AMOUNT_MAX;

/// Tasks of other workers that this one has claimed, or that were offered to it.
#[derive(Clone, Copy)]
pub(crate) struct Claimed<'w>(pub(crate) &'w Worker);

impl Claimed<'_> {
    /// Begins and runs the first of `count` tasks that this worker has claimed, and offers the
    /// others on. Its subtasks have ended too when this returns. Async tasks' frames all move to
    /// this worker's stack instead. Returns when it began.
    pub(crate) fn run_claimed(
        self,
        victim: usize,
        claimed: Range<usize>,
        remind: Due<Remind>,
        level: Level,
    ) -> Instant {
        meet(At::Claim);
        let owner = &self.0.registry().seats[victim];
        let slot = owner.stack.slot(claimed.start);
        // At once, because the owner may be waiting to hear of it. Offers are not its subtasks.
        slot.begin(self.0.index(), self.0.owner().top() + claimed.len() - 1);
        remind.pay(|| owner.stack.raise_alarm());
        if frames::holds_frame(slot) {
            return self.run_claimed_frames(victim, claimed, level);
        }
        for index in claimed.skip(1) {
            self.offer_claimed(victim, index);
        }
        let began = now();
        self.run_begun(victim, slot, level);
        began
    }

    /// A task that this worker has claimed is left to who comes first.
    fn offer_claimed(self, victim: usize, index: usize) {
        let offered = self.0.registry().seats[victim].stack.slot(index).offer();
        self.offer_on(Offer::new(victim, index, offered));
    }

    /// Takes the frames out of the claimed slots, the first of which has been begun, and runs them.
    /// Other tasks among them are offered on. Returns when it began.
    fn run_claimed_frames(self, victim: usize, claimed: Range<usize>, level: Level) -> Instant {
        let stack = &self.0.registry().seats[victim].stack;
        let mut frames = [Frame::dangling(); AMOUNT_MAX];
        let mut count = 0;
        for index in claimed.clone() {
            let slot = stack.slot(index);
            if index > claimed.start {
                if !frames::holds_frame(slot) {
                    self.offer_claimed(victim, index);
                    continue;
                }
                slot.begin(self.0.index(), self.0.owner().top());
            }
            // SAFETY: this thread has begun the task.
            if let Further::Frame(frame) = unsafe { slot.run() } {
                frames[count] = frame.cast();
                count += 1;
            }
            self.finish(victim, slot);
        }
        bump(&self.0.tally().continuations_stolen, count as u64);
        let began = now();
        // SAFETY: out of their slots, they are this worker's, and their roots were opened for it.
        unsafe { frames::run_frames(&frames[..count], level) };
        began
    }

    /// Runs an offered task, unless somebody else was faster.
    pub(crate) fn run_offered(self, offer: Offer) {
        let victim = offer.victim();
        let slot = self.0.registry().seats[victim].stack.slot(offer.index());
        if slot.begin_offered(offer.offered(), self.0.index(), self.0.owner().top()) {
            self.run_begun(victim, slot, Level::Above);
        }
    }

    pub(crate) fn run_begun(self, victim: usize, slot: &Slot, level: Level) {
        let index = self.0.registry().seats[victim].stack.index(slot);
        let context = self.0.registry().seats[victim].segments.covering(index);
        // SAFETY: this thread has begun the task. Its owner waits for its end before it leaves the
        // context in which it was made, and so does whoever let the owner in.
        let run = || unsafe { self.0.framed_in(context.cast(), || slot.run()) };
        let further = self.working_for(victim, run);
        self.finish(victim, slot);
        self.0.run_further(further, level);
    }

    /// A task of that worker, which this one has begun, has ended. Its word may be gone afterwards.
    pub(crate) fn finish(self, owner: usize, word: &TaskWord) {
        meet(At::End);
        word.finish().pay(|| {
            let doing = self.0.clock().enter(Activity::Switch);
            self.0.registry().unpark(owner);
            self.0.clock().enter(doing);
        });
    }

    /// Calls `f`, in which this worker does something for that one.
    pub(crate) fn working_for<R>(self, other: usize, f: impl FnOnce() -> R) -> R {
        let before = self.0.seat().set_works_for(Some(other));
        if self.0.registry().is_followed(other) {
            // Who waits for that waits for this, and can have part of it.
            let _ = self.0.owner().stack().want();
        }
        let result = f();
        self.0.seat().set_works_for(before);
        result
    }

    /// Puts an offer on this worker's own stack, for other thieves to take, or to be run when the
    /// stack is drained. The task itself stays where it is; who gets there first runs it.
    pub(crate) fn offer_on(self, offer: Offer) {
        // With no room it is left to its owner, which takes back what nobody has begun.
        let (Ok(wake) | Err((_, wake))) = self.0.owner().push_unjoined(run_offer, offer);
        self.0.wake_if(wake);
    }
}

impl Worker {
    /// Runs the work that a slot held: an offer of a task in another slot, a frame, a part of a
    /// loop, or a coroutine.
    pub(crate) fn run_further(&self, further: Further, level: Level) {
        match further {
            Further::Nothing => {}
            Further::Offer(offer) => Claimed(self).run_offered(offer),
            // SAFETY: out of its slot, it is this worker's, and its root was opened for it.
            Further::Frame(frame) => unsafe { frames::run_frames(&[frame.cast()], level) },
            // SAFETY: out of its slot, it is this worker's to run.
            Further::Part(part) => unsafe { (part.as_ref().run)(part) },
            Further::Foreign(head) => {
                // SAFETY: out of its slot, it is this worker's to run.
                unsafe { (head.as_ref().run)(wire_of_this_thread().cast(), head.as_ptr()) };
            }
        }
    }
}

/// Reads the offer that [`Claimed::offer_on`] put into a slot. That slot's owner waits for nothing
/// but this read, so it is free again before the offered task runs.
///
/// # Safety
/// As [`crate::stack::slot::Run`]; the payload is an [`Offer`].
unsafe extern "C-unwind" fn run_offer(slot: &Slot) -> Further {
    // SAFETY: the payload that `offer_on` wrote.
    Further::Offer(unsafe { slot.take::<Offer>() })
}
