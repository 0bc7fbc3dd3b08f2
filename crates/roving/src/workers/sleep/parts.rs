//! The parts of a pool in which sleepers, wakers and waiting workers meet.

use std::io;
use std::iter;
use std::sync::Arc;

use super::crew::Crew;
use super::idle::IdleSet;
use super::in_use::InUse;
use super::lookers::Lookers;
use super::roster::{Roster, look_for_orphan};
use super::spares::Spares;
use crate::machine::meeting_points::{At, meet};
use crate::machine::prim::{AtomicUsize, Ordering, mutant, pause};
use crate::stack::TaskStack;
use crate::workers::inject::{Injector, JobQueue};
use crate::workers::priority::Priority;

/// The parts of a pool that the protocols of sleeping and waiting use. The registry implements it,
/// and so do the model-checked tests, which need nothing else of a pool.
pub(crate) trait Parts: Sized {
    /// The workers that are asleep, or about to be.
    fn idle(&self) -> &IdleSet;
    /// Workers that are parked in a wait and would run a job, in pools without compensation
    /// threads.
    fn waiting(&self) -> &IdleSet;
    fn in_use(&self) -> &InUse;
    /// Workers that look around in vain.
    fn lookers(&self) -> &Lookers;
    fn crew(&self) -> &Crew;
    fn spares(&self) -> &Spares;
    fn injector(&self) -> &Injector;
    /// How many workers follow others, see [`crate::workers::wait`].
    fn following(&self) -> &AtomicUsize;
    fn roster(&self) -> &Roster;

    fn stack(&self, seat: usize) -> &TaskStack;
    fn mailbox(&self, seat: usize) -> &JobQueue;
    /// Detached tasks that this worker has spawned for itself.
    fn spawned(&self, seat: usize) -> &JobQueue;
    /// Workers that are parked, and wait for a task which this one has or has led to.
    fn followers(&self, seat: usize) -> &IdleSet;
    /// The worker whose task this one runs, as far as can be told by looking.
    fn works_for(&self, seat: usize) -> Option<usize>;
    /// Wakes the worker's thread, if it has started. A thread looks around before it first sleeps.
    fn unpark(&self, seat: usize);
    /// Whether no thread is at that seat any more, nor ever will be.
    fn is_vacant(&self, seat: usize) -> bool;
    fn set_vacant(&self, seat: usize);
    /// Sends what has its place there elsewhere. Not under a lock: it becomes a job.
    fn close_place(&self, seat: usize);

    fn workers(&self) -> usize;
    /// How many workers and compensation threads there can be.
    fn most(&self) -> usize;
    /// Whether a worker that has a thread has something in its mailbox.
    fn has_mail(&self) -> bool;
    fn unpark_all(&self);
    /// Starts the thread of a spare worker. False when the pool has ended: then none is needed.
    fn start_thread(self: &Arc<Self>, index: usize) -> io::Result<bool>;
    /// Where threads are lent by an arena: a spare worker comes into use, without a thread. False
    /// when there is no memory.
    fn make_seat(&self, index: usize) -> bool;
    /// Whether threads are lent by an arena.
    fn has_lent_threads(&self) -> bool;

    /// The pool closes, and the calling thread has found nothing to do. If all have, the pool has
    /// ended.
    fn go_quiet(&self) {
        let ended = self.crew().go_quiet(|| self.has_mail());
        ended.pay(|| self.unpark_all());
    }

    /// Whether a job waits for a worker, of those that any worker may run. Looks under the locks.
    fn has_jobs(&self) -> bool {
        self.has_jobs_from(Priority::Low)
    }

    /// Whether there are jobs for a worker, not counting jobs from outside below this class.
    fn has_jobs_from(&self, class: Priority) -> bool {
        let mut seats = 0..self.in_use().count();
        self.injector().has_not_below(class)
            || seats.any(|seat| !self.spawned(seat).is_surely_empty())
    }

    /// Wakes one sleeping worker, if there is one.
    fn wake_one(&self) -> bool {
        self.wake_one_of(self.idle())
    }

    /// The owner of that stack has published something: wakes a worker for it, unless another one
    /// looks around and finds it. Returns whether one was woken.
    fn wake_for_shown(&self, seat: usize) -> bool {
        !self.lookers().leave_to() && self.wake_for(seat)
    }

    /// Wakes a worker for what that one shows: one that sleeps, or else one that waits for what
    /// that one does.
    fn wake_for(&self, seat: usize) -> bool {
        self.wake_one() || self.upwards(seat).any(|seat| self.wake_follower(seat))
    }

    /// Wakes workers for the tasks that a claim has left in the stack of that one: as many as two,
    /// so that a burst of work reaches P sleeping workers in log P steps. Returns how many.
    fn wake_for_left(&self, seat: usize, left: usize) -> usize {
        let wakes = 0..left.min(WAKES_PER_CLAIM);
        wakes.take_while(|_| self.wake_for(seat)).count()
    }

    /// Whether some worker waits for what that one does, as far as can be told by looking.
    fn is_followed(&self, seat: usize) -> bool {
        self.upwards(seat)
            .any(|seat| !self.followers(seat).is_empty())
    }

    /// The worker, that whose task it runs, and so on; nothing if no worker follows another.
    fn upwards(&self, seat: usize) -> impl Iterator<Item = usize> {
        // Ordering: Relaxed; with [want] for those that follow this very worker; else a hint. A
        // follower that is overlooked sleeps on, and nothing hangs on it.
        let any = self.following().load(Ordering::Relaxed) > 0;
        let first = any.then_some(seat);
        let links = iter::successors(first, |&seat| self.works_for(seat));
        links.take(UPWARDS_MAX)
    }

    fn wake_follower(&self, seat: usize) -> bool {
        self.wake_one_of(self.followers(seat))
    }

    /// Wakes one worker of that set, if there is one.
    fn wake_one_of(&self, set: &IdleSet) -> bool {
        let taken = set.take_one();
        let is_one = taken.is_some();
        if let Some(asleep) = taken {
            pause();
            meet(At::Wake);
            asleep.wake(|index| self.unpark(index));
        }
        is_one
    }

    /// A worker was called, and does not follow the call: another one does. For a job, that may be
    /// one that stands in for those that wait.
    fn pass_on(self: &Arc<Self>) {
        if !self.wake_one() && self.has_jobs() && !mutant("pass_on_to_who_waits") {
            self.spares().job_waits(self);
        }
    }

    /// A job was added to a queue: sees to it that a worker runs it. False if there was none to
    /// call.
    fn job_was_added(self: &Arc<Self>) -> bool {
        let is_called = mutant("wake_for_job") || self.wake_one() || self.spares().job_waits(self);
        if !is_called {
            look_for_orphan(self);
        }
        is_called
    }
}

/// Most workers that a thief wakes for what its claim has left.
pub const WAKES_PER_CLAIM: usize = 2;
/// Most links from a thief to its victim, to that one's victim, and so on, along which a follower
/// is looked for.
const UPWARDS_MAX: usize = 6;
