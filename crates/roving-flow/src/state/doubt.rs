//! Ends of streams of which it is not known whether they are whole.

use std::collections::BTreeMap;
use std::task::Waker;
use std::{mem, ptr};

use roving::raw::panics::drop_quietly;

use crate::machine::prim::{Mutex, lock};
use crate::machine::unwind::DueWaker;

/// Processes that have closed ports which a panic had dropped, and of which it is not known yet
/// whether they fail with it: each waits within its turn, or has not heard of a panic beside it.
/// No other process is to take what is closed for the end of a stream meanwhile.
pub(crate) struct Doubt(Mutex<Doubts>);

struct Doubts {
    processes: u32,
    /// Who has come to such an end, perhaps in many polls: by the addresses of the waker's parts.
    waiting: BTreeMap<(usize, usize), Waker>,
}

impl Doubt {
    pub(crate) fn new() -> Doubt {
        Doubt(Mutex::new(Doubts {
            processes: 0,
            waiting: BTreeMap::new(),
        }))
    }

    /// Such a port of one more process is about to be closed: whoever sees it closed sees this.
    pub(crate) fn begin(&self) {
        lock(&self.0).processes += 1;
    }

    /// It is known of one of them. If it has failed, the network has been told.
    pub(crate) fn end(&self) {
        let mut doubts = lock(&self.0);
        doubts.processes -= 1;
        let woken = mem::take(&mut doubts.waiting);
        drop(doubts);
        for waker in woken.into_values() {
            DueWaker::new(Some(waker)).wake();
        }
    }

    /// Whether there is one. If not, the failure that one may have ended with is seen.
    pub(crate) fn is_open(&self) -> bool {
        lock(&self.0).processes != 0
    }

    /// How many wakers with that address for their data wait here.
    pub(crate) fn count_of(&self, data: *const ()) -> usize {
        let at = data.addr();
        lock(&self.0)
            .waiting
            .range((at, 0)..=(at, usize::MAX))
            .count()
    }

    /// Has that waker woken when one of them is over. False if there is none: the failure that one
    /// may have ended with is seen then.
    #[must_use]
    pub(crate) fn wait(&self, waker: &Waker) -> bool {
        if lock(&self.0).processes == 0 {
            return false;
        }
        // Without the lock: it may run anything to clone a waker, or to drop one.
        let waker = waker.clone();
        let parts = (waker.data().addr(), ptr::from_ref(waker.vtable()).addr());
        let mut doubts = lock(&self.0);
        let is_open = doubts.processes != 0;
        let left = match is_open {
            true => doubts.waiting.insert(parts, waker),
            false => Some(waker),
        };
        drop(doubts);
        drop_quietly(left);
        is_open
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::task::{Wake, Waker};

    use super::Doubt;

    #[derive(Default)]
    struct Counts(AtomicUsize);

    impl Wake for Counts {
        fn wake(self: Arc<Counts>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    /// As a process that comes to the end in doubt in each of its polls.
    #[test]
    fn who_asks_again_and_again_is_kept_once() {
        let doubt = Doubt::new();
        let counts = Arc::new(Counts::default());
        doubt.begin();
        for _ in 0..1000 {
            assert!(doubt.wait(&Waker::from(Arc::clone(&counts))));
        }
        doubt.end();
        assert_eq!(counts.0.load(SeqCst), 1);
        assert!(!doubt.wait(&Waker::from(counts)));
    }
}
