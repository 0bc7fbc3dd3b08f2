//! Where the threads of a team wait for all of them.
//!
//! A thread that comes has drained its task stack first: all that it has spawned has ended, also
//! what others took of it, and all that this has spawned. So when all have come, no task is left,
//! but for those that wait for an event ([`Loose`](crate::task::loose::Loose)), for which the last
//! one waits. A thread that has come looks for tasks in the stacks of those that have not.
//!
//! **Sleep.** A thread that sleeps here is an idle worker in the sense of Roving's protocol, so a
//! task that is published wakes it. For the end of the wait it counts itself as a sleeper and looks
//! at the round once more; the last one changes the round and then looks for sleepers. Both are
//! read-modify-writes of `sleepers`, so one comes first: the sleeper sees the round, or is woken.

use std::sync::atomic::{AtomicU32, Ordering};

use roving::adapt::hosted;

use super::Team;
use super::thread::Thread;
use crate::sync::patience::Patience;

#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Barrier {
    /// How often all have come.
    round: AtomicU32,
    arrived: AtomicU32,
    sleepers: AtomicU32,
}

impl Barrier {
    /// Forgets who has come to a barrier that was cancelled.
    pub(crate) fn reset(&self) {
        // Ordering: Relaxed; nobody is in a region of this team.
        self.arrived.store(0, Ordering::Relaxed);
    }

    fn round(&self) -> u32 {
        // Ordering: Edge [barrier]: Acquire, of what all have done before they came.
        self.round.load(Ordering::Acquire)
    }
}

impl Team {
    /// Waits for all threads, and all tasks. True if the region was cancelled, which only barriers
    /// that can be asks.
    pub(crate) fn wait_for_all(&self, thread: &Thread, barrier: &Barrier, cancels: bool) -> bool {
        let threads = self.threads();
        thread.task().drain();
        if threads == 1 {
            self.loose.wait_for_all(thread);
            return cancels && self.is_cancelled();
        }
        let round = barrier.round();
        // Ordering: AcqRel: the last one comes after all that the others have done.
        if barrier.arrived.fetch_add(1, Ordering::AcqRel) + 1 < threads {
            self.wait_for_round(thread, barrier, round, cancels);
        } else {
            self.loose.wait_for_all(thread);
            // Ordering: Relaxed; handed on with the round.
            barrier.arrived.store(0, Ordering::Relaxed);
            // Ordering: Release: [barrier].
            barrier
                .round
                .store(round.wrapping_add(1), Ordering::Release);
            self.wake_sleepers(barrier);
        }
        cancels && self.is_cancelled()
    }

    /// Has those look that sleep at a barrier. Those of the next region do so in vain.
    pub(crate) fn wake_sleepers(&self, barrier: &Barrier) {
        // Ordering: AcqRel: see the module.
        if barrier.sleepers.fetch_add(0, Ordering::AcqRel) > 0 {
            super::crew::wake_all();
        }
    }

    fn wait_for_round(&self, thread: &Thread, barrier: &Barrier, round: u32, cancels: bool) {
        let is_over =
            || barrier.round() != round || cancels && self.is_cancelled() || self.loose.has_mail();
        let (mut patience, mut looks) = (Patience::default(), 0);
        loop {
            if is_over() {
                if !self.loose.has_mail() {
                    return;
                }
                self.loose.serve(thread, |_| true);
                continue;
            }
            // Ordering: Relaxed; a hint, and who sleeps asks all stacks.
            if self.tasked.load(Ordering::Relaxed) && hosted::steal(looks) {
                (patience, looks) = (Patience::default(), 0);
                continue;
            }
            looks += 1;
            if !patience.pause() {
                // Ordering: AcqRel: see the module.
                barrier.sleepers.fetch_add(1, Ordering::AcqRel);
                hosted::sleep_until(is_over);
                // Ordering: Relaxed; one sleeper less is only less to wake.
                barrier.sleepers.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}
