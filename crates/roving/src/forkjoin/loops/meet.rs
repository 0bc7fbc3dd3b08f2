//! The place where two adjacent parts of a loop meet: whoever comes last goes on with both.

use crate::machine::prim::{AtomicBool, DataCell, Ordering, ord};

/// Which of two adjacent parts.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Lower,
    Upper,
}

/// The outcomes of two adjacent parts, as far as these have ended.
pub(super) struct Meeting<T> {
    /// One of the two has come.
    has_one: AtomicBool,
    outcomes: [DataCell<Option<T>>; 2],
}

// SAFETY: each cell is written by the one part whose side it is, and read by the one that comes
// last; `T` moves between their threads.
unsafe impl<T: Send> Sync for Meeting<T> {}

impl<T> Meeting<T> {
    pub(super) fn new() -> Meeting<T> {
        Meeting {
            has_one: AtomicBool::new(false),
            outcomes: [DataCell::new(None), DataCell::new(None)],
        }
    }

    /// Leaves what the part of that side came to. `None` for who comes first: the meeting belongs
    /// to the other part from then on, which frees it. Who comes last gets both, in their order.
    ///
    /// # Safety
    /// The meeting is alive, and this is the only call for that side.
    pub(super) unsafe fn come(this: *const Meeting<T>, side: Side, outcome: T) -> Option<(T, T)> {
        // SAFETY: alive, because this part has not come yet; the cell is this side's.
        unsafe { (*this).outcomes[side as usize].with_mut(|at| *at = Some(outcome)) };
        // Ordering: Edge [meet]: Release hands over what the first part came to, and all that it
        // did; Acquire takes it over.
        let order = ord("meet", Ordering::AcqRel);
        // SAFETY: alive until both have come; it may be gone after this, if this part is the first.
        let is_last = unsafe { (*this).has_one.swap(true, order) };
        if !is_last {
            return None;
        }
        // SAFETY: both have come, so it is this thread's. By [meet] it sees what was left.
        let [lower, upper] = unsafe { &(*this).outcomes }.each_ref().map(|outcome| {
            // SAFETY: this thread has the meeting for itself.
            outcome.with_mut(|at| unsafe { (*at).take() })
        });
        lower.zip(upper)
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use std::sync::Arc;

    use loom::thread;

    use super::*;
    use crate::machine::prim::explore;

    /// One of the two gets both outcomes, in their order, and sees them made.
    #[test]
    fn loom_the_last_of_two_parts_gets_both_outcomes() {
        explore(|| {
            let meeting = Arc::new(Meeting::new());
            let upper = {
                let meeting = Arc::clone(&meeting);
                // SAFETY: the only call for that side.
                thread::spawn(move || unsafe { Meeting::come(&*meeting, Side::Upper, 2) })
            };
            // SAFETY: the only call for that side.
            let lower = unsafe { Meeting::come(&*meeting, Side::Lower, 1) };
            let upper = upper.join().unwrap();
            assert!(lower.is_none() != upper.is_none(), "one is the last");
            assert_eq!(lower.or(upper), Some((1, 2)));
        });
    }
}
