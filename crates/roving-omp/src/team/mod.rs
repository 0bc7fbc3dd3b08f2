//! Teams: the threads of a region, the tasks that they begin with, and how they run tasks and wait
//! for each other.

mod at_end;
pub(crate) mod barrier;
mod copies;
mod crew;
mod part;
pub(crate) mod region;
mod root;
pub(crate) mod site;
pub(crate) mod tasks;
pub(crate) mod thread;

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use roving::raw::hosted::Hosted;

use self::copies::LeftCopies;
use self::site::Site;
use crate::env::Bind;
use crate::loops::ring::ConstructRing;
use crate::sync::rendezvous::Rendezvous;
use crate::task::loose::Loose;
use crate::task::{Code, Heritage};

/// How many teams there are in the league that a thread runs in, and which of them is its own.
#[derive(Clone, Copy)]
pub(crate) struct League {
    pub(crate) teams: u32,
    pub(crate) num: u32,
}

impl League {
    /// Outside of `teams`.
    pub(crate) const ONE: League = League { teams: 1, num: 0 };
}

/// All that is fixed when a region begins.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    pub(crate) code: Code,
    pub(crate) data: *mut (),
    pub(crate) threads: u32,
    /// Regions around it, and itself.
    pub(crate) level: u32,
    /// Those of them that have more than one thread.
    pub(crate) active: u32,
    /// The team and thread that met the region; null for the outermost.
    pub(crate) outer: *const Team,
    pub(crate) outer_num: u32,
    /// The heritage that its implicit tasks begin with.
    pub(crate) heritage: Heritage,
    pub(crate) league: League,
    /// How its threads are bound, and the site of the one that met it.
    pub(crate) bind: Bind,
    pub(crate) site: Option<Site>,
    /// Its threads are in their first construct from the beginning.
    pub(crate) begins_in_loop: bool,
}

impl Region {
    /// Outside of all regions.
    fn outermost(heritage: Heritage) -> Region {
        unsafe extern "C" fn nothing(_: *mut ()) {}
        Region {
            code: nothing,
            data: ptr::null_mut(),
            threads: 1,
            level: 0,
            active: 0,
            outer: ptr::null(),
            outer_num: 0,
            heritage,
            league: League::ONE,
            bind: Bind::False,
            site: None,
            begins_in_loop: false,
        }
    }
}

/// The threads of a region, from its beginning to its end. That of a crew is used again.
pub(crate) struct Team {
    /// Written by the thread that begins a region, before the others hear of it.
    region: UnsafeCell<Region>,
    /// Its barriers, and who waits there.
    pub(crate) meeting: Rendezvous,
    pub(crate) ring: ConstructRing,
    pub(crate) cancelled: AtomicBool,
    /// A cancelled loop to which threads come by no call: one more than the round of the barrier
    /// that ends it, or 0. Such a loop has no place in the ring. It ends in a barrier, since it can
    /// be cancelled: threads that are in this round are in it, or have yet to come to it.
    plain_loop_cancelled: AtomicU64,
    /// The data that a `single` with `copyprivate` hands to the others.
    pub(crate) copied: AtomicPtr<()>,
    pub(crate) loose: Loose,
    /// Of loops that were left because the region was cancelled.
    pub(crate) copies: LeftCopies,
}

// SAFETY: `region` is written while no other thread is in the region, all of which hear of it after
// that ([dock]); what its pointers lead to stays until the region has ended.
unsafe impl Sync for Team {}
// SAFETY: no part belongs to a thread, and what the region leads to stays until its end.
unsafe impl Send for Team {}

impl Team {
    /// A team of one thread.
    pub(crate) fn new(region: Region) -> Team {
        Team::with(region, None)
    }

    /// The team of a crew.
    pub(crate) fn of_crew(region: Region, hosted: Hosted) -> Team {
        Team::with(region, Some(hosted))
    }

    fn with(region: Region, hosted: Option<Hosted>) -> Team {
        Team {
            region: UnsafeCell::new(region),
            meeting: Rendezvous::new(hosted),
            ring: ConstructRing::new(),
            cancelled: AtomicBool::new(false),
            plain_loop_cancelled: AtomicU64::new(0),
            copied: AtomicPtr::new(ptr::null_mut()),
            loose: Loose::default(),
            copies: LeftCopies::default(),
        }
    }

    pub(crate) fn hosted(&self) -> Option<&Hosted> {
        self.meeting.hosted()
    }

    #[inline]
    pub(crate) fn region(&self) -> &Region {
        // SAFETY: who asks is in the region, during which it is not written.
        unsafe { &*self.region.get() }
    }

    #[inline]
    pub(crate) fn threads(&self) -> u32 {
        self.region().threads
    }

    /// Makes the team one for another region.
    ///
    /// # Safety
    /// No thread is in its region.
    pub(crate) unsafe fn begin(&self, region: Region) {
        // SAFETY: the caller's promise.
        unsafe { *self.region.get() = region };
        self.meeting.reset();
        self.loose.forget();
        // SAFETY: no thread is in a region.
        unsafe { self.copies.free() };
        self.ring.reset();
        // Ordering: Relaxed; the others hear of the region after this ([dock]).
        self.cancelled.store(false, Ordering::Relaxed);
        // Ordering: Relaxed, as above. The last region may have ended in the round that this begins
        // with.
        self.plain_loop_cancelled.store(0, Ordering::Relaxed);
    }

    /// Whether the region has been cancelled.
    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        // Ordering: Relaxed; who does not see it yet goes on a little.
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The round of the calling thread's next barrier, which is the same until it comes there.
    fn round(&self) -> u64 {
        self.meeting.barrier.rounds.number()
    }

    /// Cancels the loop that the calling thread is in, and to which threads come by no call.
    pub(crate) fn cancel_plain_loop(&self) {
        // One thread leaves it by itself, and counts no rounds.
        if self.threads() > 1 {
            // Ordering: Relaxed; who does not see it yet goes on a little.
            self.plain_loop_cancelled
                .store(self.round() + 1, Ordering::Relaxed);
        }
    }

    /// Whether that has been cancelled.
    pub(crate) fn is_plain_loop_cancelled(&self) -> bool {
        // Ordering: Relaxed, as above.
        let cancelled = self.plain_loop_cancelled.load(Ordering::Relaxed);
        cancelled == self.round() + 1
    }
}
