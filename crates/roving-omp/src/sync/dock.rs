//! Where a thread waits for a region, and who begins regions for the thread.
//!
//! | dock | meaning | from it, by whom |
//! |---|---|---|
//! | `FREE` | its thread looks around | to `ASLEEP`: that thread; to `CALLED`: who begins a region |
//! | `ASLEEP` | its thread sleeps, or is about to | to `CALLED`: who begins a region, and wakes it |
//! | `CALLED` | a region has begun | to `AWAY`: that thread, when it sees it |
//! | `AWAY` | its thread is in a region, or still leaves the last barrier of one | to `FREE`: that thread; to `CALLED`, `MISSED`: who begins a region with it, or without it |
//! | `MISSED` | as `AWAY`, and somebody sleeps until it is back | to `FREE`: that thread, which wakes who sleeps |

use super::futex;
use super::patience::WaitPatience;
use crate::prim::{AtomicU32, Ordering, ord};

const FREE: u32 = 0;
const ASLEEP: u32 = 1;
const CALLED: u32 = 2;
const AWAY: u32 = 3;
const MISSED: u32 = 4;

#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Dock(AtomicU32);

impl Dock {
    /// Has the thread there begin. It may still be on its way back from the last region.
    pub(crate) fn call(&self) {
        // Ordering: Edge [dock]: Release, of the region that has begun.
        if self.0.swap(CALLED, ord("dock", Ordering::Release)) == ASLEEP {
            futex::wake(&self.0, 1);
        }
    }

    /// Returns when the thread has been called.
    pub(crate) fn wait(&self) {
        // Ordering: Acquire. Pairs with [dock].
        let is_called = || self.0.load(ord("see_dock", Ordering::Acquire)) == CALLED;
        let mut patience = WaitPatience::default();
        while !is_called() && patience.pause() {}
        if !is_called() {
            // Ordering: Relaxed, both; a look with Acquire follows. It fails where it is called
            // meanwhile.
            let _ = self
                .0
                .compare_exchange(FREE, ASLEEP, Ordering::Relaxed, Ordering::Relaxed);
            while !is_called() {
                futex::wait(&self.0, ASLEEP);
            }
        }
        // Ordering: Relaxed; whoever else writes it next comes after a barrier with this thread.
        self.0.store(AWAY, Ordering::Relaxed);
    }

    /// The thread is back from the region that it was called for, and uses nothing of it any more.
    pub(crate) fn come_back(&self) {
        // Ordering: Edge [back]: Release, of all that it did there; Relaxed, for it may have been
        // called again, which it sees when it waits.
        let order = ord("back", Ordering::Release);
        let seen = self
            .0
            .compare_exchange(AWAY, FREE, order, Ordering::Relaxed);
        if seen == Err(MISSED) {
            self.0.store(FREE, order);
            futex::wake(&self.0, 1);
        }
    }

    /// Returns when the thread is back from its last region, which has ended. It is not called
    /// meanwhile.
    pub(crate) fn miss(&self) {
        // Ordering: Acquire. Pairs with [back].
        let seen = || self.0.load(ord("see_back", Ordering::Acquire));
        let is_back = || seen() <= ASLEEP;
        let mut patience = WaitPatience::default();
        while !is_back() && patience.pause() {}
        while !is_back() {
            // Ordering: Relaxed, both; a look with Acquire follows. It fails where the thread has
            // come back meanwhile.
            let _ = self
                .0
                .compare_exchange(AWAY, MISSED, Ordering::Relaxed, Ordering::Relaxed);
            futex::wait(&self.0, MISSED);
        }
    }
}
