//! The code that polls a handle, explored by loom beside the end of what it waits for.

use std::sync::Arc;
use std::task::{Context, Waker};

use loom::thread;

use super::awaited::{Awaited, ask};
use super::child_end::{Awaiting, End, Ending, Retracted};
use crate::machine::prim::{DataCell, Woken, explore};

/// A handle as the code that polls it sees it, with the waker that stands there.
struct Handle {
    end: End,
    awaiter: DataCell<Option<Waker>>,
}

impl Awaited for Handle {
    fn is_ended(&self) -> bool {
        self.end.is_ended()
    }

    fn retract_awaiter(&self) -> Retracted {
        self.end.retract_awaiter()
    }

    fn leave_awaiter(&self) -> Awaiting {
        self.end.leave_awaiter()
    }

    unsafe fn put_awaiter(&self, waker: Waker) {
        // SAFETY: the caller's promise, which loom checks.
        self.awaiter.with_mut(|at| unsafe { *at = Some(waker) });
    }

    unsafe fn take_awaiter(&self) -> Waker {
        // SAFETY: the caller's promise, which loom checks.
        let waker = self.awaiter.with_mut(|at| unsafe { (*at).take() });
        waker.expect("a waker is there")
    }
}

// SAFETY: the cell is touched as the word says, which loom checks.
unsafe impl Sync for Handle {}

/// Two polls, by somebody with another waker the second time: that one hears of the end, unless its
/// poll has seen it.
#[test]
fn loom_a_handle_that_was_polled_twice_wakes_the_last_one() {
    explore(|| {
        let handle = Arc::new(Handle {
            end: End::new(),
            awaiter: DataCell::new(None),
        });
        let worker = {
            let handle = Arc::clone(&handle);
            thread::spawn(move || {
                let mut awaiter = None;
                while let Ending::TakeAwaiter = handle.end.end() {
                    // SAFETY: the word says so, which loom checks.
                    awaiter = Some(unsafe { handle.take_awaiter() });
                }
                awaiter.into_iter().for_each(Waker::wake);
            })
        };
        let wakers = [(); 2].map(|()| Arc::new(Woken::default()));
        let polls = [0, 1].map(|which| {
            let waker = Waker::from(Arc::clone(&wakers[which]));
            // SAFETY: this thread has the handle.
            unsafe { ask(&*handle, &Context::from_waker(&waker)) }
        });
        worker.join().unwrap();
        // Ordering: Relaxed; all threads have been joined.
        let woken = [0, 1].map(|which| wakers[which].times());
        assert!(polls[1].is_ready() || woken[1] == 1, "{polls:?} {woken:?}");
        assert!(
            polls[1].is_pending() || woken[1] == 0,
            "{polls:?} {woken:?}"
        );
    });
}
