//! A lock in one word, which may stand in memory of C's: those of `critical` and of `omp_lock_t`.
//!
//! | word | meaning | from it, by whom |
//! |---|---|---|
//! | 0 | free | to 1 or 2: who takes it |
//! | 1 | taken | to 0: its owner; to 2: who is about to sleep |
//! | 2 | taken, and somebody may sleep | to 0: its owner, who wakes one |

use std::hint;

use super::futex;
use super::patience::WaitPatience;
use crate::prim::{AtomicU32, Ordering, ord};

/// Hints to the processor between two looks.
const PAUSES_PER_LOOK: usize = 16;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const AWAITED: u32 = 2;

/// Takes the lock, unless somebody has it.
#[inline]
pub(crate) fn try_lock(word: &AtomicU32) -> bool {
    // Ordering: Acquire. Pairs with [unlock]: what the last owner wrote.
    word.compare_exchange(
        FREE,
        TAKEN,
        ord("lock", Ordering::Acquire),
        Ordering::Relaxed,
    )
    .is_ok()
}

/// Takes the lock.
#[inline]
pub(crate) fn lock(word: &AtomicU32) {
    if !try_lock(word) {
        lock_slowly(word);
    }
}

#[cold]
fn lock_slowly(word: &AtomicU32) {
    let mut patience = WaitPatience::default();
    while patience.pause() {
        // Looks that come one after the other take the word away from its owner.
        (0..PAUSES_PER_LOOK).for_each(|_| hint::spin_loop());
        // Ordering: Relaxed; a look.
        if word.load(Ordering::Relaxed) == FREE && try_lock(word) {
            return;
        }
    }
    // Ordering: Acquire. Pairs with [unlock].
    while word.swap(AWAITED, ord("lock_awaited", Ordering::Acquire)) != FREE {
        futex::wait(word, AWAITED);
    }
}

/// Gives the lock back.
#[inline]
pub(crate) fn unlock(word: &AtomicU32) {
    let at = std::ptr::from_ref(word);
    // Ordering: Edge [unlock]: Release, to who has the lock next.
    if word.swap(FREE, ord("unlock", Ordering::Release)) == AWAITED {
        futex::wake(at, 1);
    }
}
