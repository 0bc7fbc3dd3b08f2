//! Where a thread waits for a region.
//!
//! | dock | meaning | from it, by whom |
//! |---|---|---|
//! | `FREE` | its thread is in a region, or looks around | to `ASLEEP`: that thread; to `CALLED`: who begins a region |
//! | `ASLEEP` | its thread sleeps, or is about to | to `CALLED`: who begins a region, and wakes it |
//! | `CALLED` | a region has begun | to `FREE`: that thread, when it sees it |

use super::futex;
use super::patience::WaitPatience;
use crate::prim::{AtomicU32, Ordering, ord};

const FREE: u32 = 0;
const ASLEEP: u32 = 1;
const CALLED: u32 = 2;

#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Dock(AtomicU32);

impl Dock {
    /// Has the thread there begin.
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
        // Ordering: Relaxed; whoever calls next comes after a barrier with this thread.
        self.0.store(FREE, Ordering::Relaxed);
    }
}
