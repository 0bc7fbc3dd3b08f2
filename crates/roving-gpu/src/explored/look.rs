//! A look that many ask for and one does.

use super::prim::{AtomicBool, Ordering};

/// Whether somebody is going to look at what lies under a lock.
///
/// Nothing is overlooked: who puts something there asks afterwards, and who looks says so before it
/// takes the lock. If it takes the lock first, all of that comes before who asks, which finds that
/// nobody will look any more; if it takes the lock second, it finds what was put there.
pub(crate) struct Look {
    is_due: AtomicBool,
}

impl Look {
    pub(crate) fn new() -> Look {
        Look {
            is_due: AtomicBool::new(false),
        }
    }

    /// Asks for a look. True if the caller has to see to it that there is one.
    #[must_use]
    pub(crate) fn ask(&self) -> bool {
        // Ordering: Relaxed; the lock orders it: see above.
        !self.is_due.swap(true, Ordering::Relaxed)
    }

    /// The look begins: before the lock.
    pub(crate) fn begin(&self) {
        // Ordering: Relaxed; the lock orders it: see above.
        self.is_due.store(false, Ordering::Relaxed);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use std::mem;
    use std::sync::Arc;

    use super::*;
    use crate::explored::prim::{Mutex, explore_within};

    /// Two threads queue something and ask for a look. Whoever has to look does so at some moment;
    /// when all have, the queue is empty.
    #[test]
    fn loom_nothing_is_left_that_a_look_was_asked_for() {
        explore_within(None, || {
            let shared = Arc::new((Look::new(), Mutex::new(Vec::new()), Mutex::new(Vec::new())));
            let queue = |shared: &(Look, Mutex<Vec<u32>>, Mutex<Vec<u32>>), task| {
                shared.1.lock().unwrap().push(task);
                if shared.0.ask() {
                    shared.0.begin();
                    let found = mem::take(&mut *shared.1.lock().unwrap());
                    shared.2.lock().unwrap().extend(found);
                }
            };
            let there = Arc::clone(&shared);
            let thread = loom::thread::spawn(move || queue(&there, 1));
            queue(&shared, 2);
            thread.join().unwrap();
            let mut found = mem::take(&mut *shared.2.lock().unwrap());
            found.sort_unstable();
            assert_eq!(found, [1, 2]);
        });
    }
}
