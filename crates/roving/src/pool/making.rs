//! Whose turn it is to make the pool that becomes the global one.
//!
//! Others that want it wait meanwhile, rather than to start one of their own. But what is called
//! while the pool is made, and what is dropped when that fails, may be the program's own and use
//! the global pool as well. So no lock is held, the thread whose turn it is does not wait for
//! itself, and a turn ends before a pool that could not be started is dropped, or the settings of
//! one: that joins threads, whose thread-local values may use the global pool when they end, and
//! what the program's functions own may wait for threads that do.

use crate::machine::os;
use crate::machine::per_process::PerProcess;
use crate::machine::prim::process_wide;
use crate::machine::prim::thread::{self, ThreadId};

process_wide! {
    /// Whose turn it is. A forked child does not wait for a thread of its parent.
    static MAKER: PerProcess<Option<ThreadId>> = PerProcess::new();
}

/// The calling thread's turn, until it is dropped or given up.
pub(super) struct Making {
    /// Not inside of a turn of the same thread.
    is_outermost: bool,
}

impl Making {
    /// Returns when it is the calling thread's turn: at once, if it is so already.
    pub(super) fn begin() -> Making {
        // Before there is a pool: who forks meanwhile may leave the lock closed in the child.
        os::count_forks();
        let me = thread::current().id();
        let mut maker = MAKER.lock();
        while maker.is_some_and(|other| other != me) {
            maker = MAKER.wait(maker);
        }
        Making {
            is_outermost: maker.replace(me) != Some(me),
        }
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if self.is_outermost {
            give_up();
        }
    }
}

/// Ends the calling thread's turn, if it has one: its pool cannot be started.
pub(super) fn give_up() {
    let mut maker = MAKER.lock();
    if *maker == Some(thread::current().id()) {
        *maker = None;
        drop(maker);
        MAKER.notify_all();
    }
}
