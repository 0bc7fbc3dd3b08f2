//! Where the threads of a team wait for each other, and how those that sleep there are woken, also
//! to look for tasks.
//!
//! Who sleeps at a barrier before the region has spawned a task sleeps at its gate. From the first
//! task on it is parked as a worker of the crew's pool is, and counts as a sleeper of the gate as
//! well.

use roving::raw::hosted::Hosted;

use super::barrier::Barrier;
use crate::prim::{AtomicBool, Ordering};

pub(crate) struct Rendezvous {
    /// The seats of the threads; none where it is one thread that is not of a crew.
    hosted: Option<Hosted>,
    pub(crate) barrier: Barrier,
    /// The barrier at the region's end.
    pub(crate) end: Barrier,
    /// Whether tasks have been spawned, so that it is worth looking for some.
    tasked: AtomicBool,
}

impl Rendezvous {
    pub(crate) fn new(hosted: Option<Hosted>) -> Rendezvous {
        Rendezvous {
            hosted,
            barrier: Barrier::default(),
            end: Barrier::default(),
            tasked: AtomicBool::new(false),
        }
    }

    pub(crate) fn hosted(&self) -> Option<&Hosted> {
        self.hosted.as_ref()
    }

    /// For another region. No thread is in one.
    pub(crate) fn reset(&self) {
        self.barrier.reset();
        // Ordering: Relaxed; the others hear of the region after this ([dock]).
        self.tasked.store(false, Ordering::Relaxed);
    }

    /// Has those look that sleep at a barrier. Those of the next region do so in vain.
    pub(crate) fn wake_sleepers(&self, barrier: &Barrier) {
        barrier.rounds.ring_and(|| self.wake_parked());
    }

    /// Wakes those that sleep as workers.
    pub(crate) fn wake_parked(&self) {
        // Who has been parked saw that there are tasks before it counted itself as a sleeper.
        if let Some(hosted) = self.hosted().filter(|_| self.has_tasks()) {
            (0..hosted.seats()).for_each(|seat| hosted.wake(seat));
        }
    }

    /// Whether tasks have been spawned, so that it is worth looking for some.
    #[inline]
    pub(crate) fn has_tasks(&self) -> bool {
        // Ordering: Relaxed; a hint, or ordered by the gate's sleepers.
        self.tasked.load(Ordering::Relaxed)
    }

    /// From now on those that wait look for tasks.
    #[inline]
    pub(crate) fn begin_tasks(&self) {
        if !self.has_tasks() {
            self.begin_first_task();
        }
    }

    #[cold]
    fn begin_first_task(&self) {
        // Ordering: Relaxed; who sleeps looks after it has counted itself.
        self.tasked.store(true, Ordering::Relaxed);
        self.barrier.rounds.ring();
        self.end.rounds.ring();
    }
}
