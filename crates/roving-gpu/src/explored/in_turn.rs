//! A queue of operations that run one by one, in order, on whichever thread has time.

use std::collections::VecDeque;
use std::sync::PoisonError;

use super::prim::{Mutex, MutexGuard};

/// A row of things to do. Several threads put some there, and several come to do them: one does
/// them all, one after the other, and the others leave theirs to that one.
///
/// Nothing stays behind: who puts something there comes afterwards. Either nobody is at it then, or
/// somebody is; that one looks again, under the same lock, after it has said that it is done with
/// what it had.
pub(crate) struct InTurn<T>(Mutex<RowState<T>>);

/// A row, under its lock.
struct RowState<T> {
    things: VecDeque<T>,
    /// Somebody does them one by one.
    is_under_way: bool,
}

impl<T> InTurn<T> {
    pub(crate) fn new() -> InTurn<T> {
        InTurn(Mutex::new(RowState {
            things: VecDeque::new(),
            is_under_way: false,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, RowState<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts things at the end of the row. The caller does what there is afterwards.
    pub(crate) fn put(&self, things: impl IntoIterator<Item = T>) {
        self.lock().things.extend(things);
    }

    /// Does what there is with `act`, unless somebody is at it already: then that one goes on with
    /// it. `act` may come here again.
    pub(crate) fn do_all(&self, act: impl Fn(T)) {
        loop {
            let mut waiting = self.lock();
            if waiting.is_under_way {
                return;
            }
            let Some(thing) = waiting.things.pop_front() else {
                return;
            };
            waiting.is_under_way = true;
            drop(waiting);
            let turn = EndOfTurn(self);
            act(thing);
            drop(turn);
        }
    }
}

/// Ends a turn, also when what is done in it panics.
struct EndOfTurn<'a, T>(&'a InTurn<T>);

impl<T> Drop for EndOfTurn<'_, T> {
    fn drop(&mut self) {
        self.0.lock().is_under_way = false;
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use std::sync::Arc;

    use super::*;
    use crate::explored::prim::{AtomicU32, Ordering, explore_within};

    /// Behind a lock that loom knows nothing of: what it explores are the locks of the row.
    type Done = std::sync::Mutex<Vec<u32>>;

    /// Two threads put two things there each, and do what there is: each is done once, one at a
    /// time, those of a thread in their order, and none is left when both are gone.
    #[test]
    fn loom_all_is_done_in_turn_and_nothing_stays_behind() {
        explore_within(Some(3), || {
            let row = Arc::new((InTurn::new(), AtomicU32::new(0), Done::default()));
            let both = |row: &(InTurn<u32>, AtomicU32, Done), first: u32| {
                row.0.put([first, first + 1]);
                row.0.do_all(|thing| {
                    // Ordering: Relaxed, both; that one thread at a time is here is what is asked.
                    assert_eq!(row.1.swap(1, Ordering::Relaxed), 0);
                    row.2.lock().unwrap().push(thing);
                    row.1.store(0, Ordering::Relaxed);
                });
            };
            let there = Arc::clone(&row);
            let thread = loom::thread::spawn(move || both(&there, 10));
            both(&row, 20);
            thread.join().unwrap();
            let done = row.2.lock().unwrap().clone();
            let of = |tens: u32| done.iter().filter(move |one| **one / 10 == tens);
            assert!(of(1).eq(&[10, 11]) && of(2).eq(&[20, 21]), "{done:?}");
        });
    }

    /// A test with a bug that only a model checker sees.
    #[cfg(roving_canary)]
    #[test]
    fn canary_who_looks_before_the_lock_leaves_something_behind() {
        explore_within(None, || {
            let row = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
            let there = Arc::clone(&row);
            let thread = loom::thread::spawn(move || {
                // Ordering: Relaxed, all here: that is the bug.
                there.0.store(1, Ordering::Relaxed);
                there.1.load(Ordering::Relaxed)
            });
            row.1.store(1, Ordering::Relaxed);
            let seen = row.0.load(Ordering::Relaxed);
            assert!(thread.join().unwrap() + seen > 0);
        });
    }
}
