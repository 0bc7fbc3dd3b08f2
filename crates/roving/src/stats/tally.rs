//! The counters of one worker while it runs.

use super::Counters;
use crate::machine::prim::{AtomicU64, Ordering};

macro_rules! tally {
    ($($name:ident),* $(,)?) => {
        /// One atomic a counter. Written by its worker alone, with plain loads and stores; read
        /// by anybody.
        #[derive(Default)]
        pub(crate) struct Tally {
            $(pub(crate) $name: AtomicU64,)*
        }

        impl Tally {
            pub(crate) fn read(&self) -> Counters {
                // Ordering: Relaxed; figures, not signals.
                Counters { $($name: self.$name.load(Ordering::Relaxed),)* }
            }

            #[inline]
            pub(crate) fn reset(&self) {
                // Ordering: Relaxed; figures, not signals.
                $(self.$name.store(0, Ordering::Relaxed);)*
            }
        }
    };
}

tally! {
    tasks, steals_tried, steals_empty, steals_busy, steals_won, tasks_stolen, publications,
    take_backs, leapfrogs, parks, wakes, max_depth, continuations_stolen, suspensions,
    frames_allocated, frames_freed, frames_kept, tasks_dropped,
}

/// Adds to a counter of the calling worker's own tally: no read-modify-write.
#[inline]
pub(crate) fn bump(counter: &AtomicU64, by: u64) {
    // Ordering: Relaxed; figures, not signals.
    counter.store(counter.load(Ordering::Relaxed) + by, Ordering::Relaxed);
}
