//! A worker and the tasks on its own stack, below what it runs.

use crate::stack::owner::Popped;
use crate::stack::slot::{Further, Slot};
use crate::stack::slot_state::Phase;
use crate::workers::Worker;
use crate::workers::frames::Level;
use crate::workers::wait::{Taken, Wait};

impl Worker {
    /// Runs or waits for everything above `base` on this worker's stack. What is there was left
    /// unjoined by code that has returned.
    #[inline(always)]
    pub(crate) fn drain(&self, base: *const Slot) {
        if self.owner().line().top.get() > base {
            self.drain_left(base);
        }
    }

    /// Apart, because most code leaves nothing.
    #[inline(never)]
    fn drain_left(&self, base: *const Slot) {
        if self.owner().line().top.get() > base.wrapping_add(1) {
            let wake = self.owner().show_spawned();
            self.wake_if(wake);
        }
        self.drain_shown(base);
    }

    /// [`Self::drain`], where as much has been shown as is to be.
    #[inline(always)]
    pub(crate) fn drain_shown(&self, base: *const Slot) {
        let line = self.owner().line();
        while line.top.get() > base {
            let slot = match self.owner().pop_unjoined() {
                Some(slot) => slot,
                None => match Own(self).take_newest() {
                    Some(slot) => slot,
                    None => continue,
                },
            };
            // SAFETY: a slot of this worker's stack, whose task was taken off it, and is run once.
            let further = unsafe { (*slot).run() };
            if !matches!(further, Further::Nothing) {
                self.run_left(further);
            }
        }
    }

    /// Apart, because most tasks leave nothing: what this has to keep would be saved by all.
    #[cold]
    #[inline(never)]
    fn run_left(&self, further: Further) {
        self.run_further(further, Level::Above);
    }

    /// Takes the task at the top, which is `index`, off the stack; waits for it if a thief has it.
    pub(crate) fn take(&self, index: usize) -> Taken {
        let (popped, wake) = self.owner().pop(index);
        self.wake_if(wake);
        match popped {
            Popped::Here => Taken::Here,
            Popped::Away => Wait(self).wait_for_thief(index),
        }
    }
}

/// The stack of a worker, for what is done there more seldom.
#[derive(Clone, Copy)]
pub(crate) struct Own<'w>(pub(crate) &'w Worker);

impl Own<'_> {
    /// Takes the newest task above `base` off the stack. `None` if there is none: those that
    /// thieves had have ended. ([`Worker::drain_shown`] has a loop of its own: with this one, each
    /// task that it runs costs four instructions more.)
    #[inline]
    pub(crate) fn take_above(self, base: *const Slot) -> Option<*const Slot> {
        while self.0.owner().line().top.get() > base {
            let popped = self.0.owner().pop_unjoined();
            let taken = popped.or_else(|| self.take_newest());
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// Takes the newest task off the stack, or waits until it has ended where a thief has it.
    #[cold]
    #[inline(never)]
    fn take_newest(self) -> Option<*const Slot> {
        self.0.owner().answer_alarm();
        let index = self.0.owner().top() - 1;
        let is_here = self.0.take(index) == Taken::Here;
        is_here.then(|| self.0.owner().stack().at(index))
    }

    /// Runs the newest task above `base` on this worker's stack. False if there is none that nobody
    /// has begun: thieves take the oldest first, so those below one that is away are away as well.
    pub(crate) fn run_newest(self, base: *const Slot) -> bool {
        let Some(slot) = self.take_at_once(base) else {
            return false;
        };
        // SAFETY: a slot of this worker's stack, whose task was taken off it, and is run once.
        let further = unsafe { (*slot).run() };
        if !matches!(further, Further::Nothing) {
            self.0.run_left(further);
        }
        true
    }

    /// Takes the newest task above `base` off the stack that nobody has begun, without a wait.
    fn take_at_once(self, base: *const Slot) -> Option<*const Slot> {
        let owner = self.0.owner();
        while owner.line().top.get() > base {
            owner.answer_alarm();
            let index = owner.top() - 1;
            let slot = owner.stack().at(index);
            let (popped, wake) = owner.pop(index);
            self.0.wake_if(wake);
            if popped == Popped::Here {
                return Some(slot);
            }
            let word = owner.stack().slot(index);
            match word.state().phase() {
                Phase::Done => owner.retire(index),
                Phase::Offered if word.take_back() => {
                    owner.release(index);
                    return Some(slot);
                }
                _ => return None,
            }
        }
        None
    }

    /// Takes the task in `slot`, the newest that was not left unjoined, off the stack.
    pub(crate) fn take_joined(self, slot: *const Slot) -> Taken {
        self.0.owner().answer_alarm();
        let index = self.0.owner().stack().index(slot);
        self.0.drain(slot.wrapping_add(1));
        self.0.take(index)
    }
}
