//! The handle of an arena, by which its threads live.

use std::sync::Arc;

use super::core::Core;
use super::lodging::Lodging;
use super::share::Share;
use crate::workers::blocking::blocking;
use crate::workers::pool_kind::PoolKind;
use crate::workers::priority::Priority;

/// A set of threads that any number of pools share.
///
/// A program with several pools, one for each of its libraries, say, has more threads than cores,
/// and they get in each other's way. Pools that are shares of one arena have no threads: those of
/// the arena come when a pool has work, and go on to the next pool when it has none. With an arena
/// of n threads at most n threads take up work, over all pools. A pool has its own number of
/// workers (how many of the threads can work for it at a time), its own class of
/// [priority](crate::Priority), and is isolated from the others: nothing of another pool runs on
/// top of one that waits.
///
/// This is a handle; a clone is another one of the same arena. The threads end when the last handle
/// and the last pool are gone.
///
/// ```
/// use roving::{Arena, Priority, join};
///
/// let arena = Arena::new(2)?;
/// let pool = arena.pool().build()?;
/// let background = arena.pool().workers(1).priority(Priority::Low).build()?;
/// background.spawn(|| println!("some time"));
/// assert_eq!(pool.install(|| join(|| 6, || 7)), (6, 7));
/// # Ok::<(), roving::BuildError>(())
/// ```
pub struct Arena {
    pub(crate) core: Arc<Core>,
}

/// The lender of a pool's threads, as the pool and its builder hold it. What makes pools shares of
/// an arena is reached through it alone, so a program without an arena has none of that.
pub(crate) trait Landlord: Send + Sync {
    /// How many threads there are.
    fn threads(&self) -> usize;
    /// Its name, if it was built before this process was forked.
    fn left_behind(&self) -> Option<&str>;
    /// The kind of a pool that is a share of it, of that class.
    fn share(&self, class: Priority) -> Box<dyn PoolKind>;
}

impl Landlord for Arena {
    #[inline]
    fn threads(&self) -> usize {
        self.core.threads
    }

    #[inline]
    fn left_behind(&self) -> Option<&str> {
        self.core.is_left_behind().then(|| self.core.name())
    }

    #[inline]
    fn share(&self, class: Priority) -> Box<dyn PoolKind> {
        Box::new(Lodging::new(Share::new(&self.core, class)))
    }
}

impl Clone for Arena {
    #[inline]
    fn clone(&self) -> Arena {
        // Its locks are not to be trusted in a forked child, where its drop counts nothing either.
        if !self.core.is_left_behind() {
            self.core.board.hold();
        }
        Arena {
            core: Arc::clone(&self.core),
        }
    }
}

impl Drop for Arena {
    #[inline]
    fn drop(&mut self) {
        if self.core.is_left_behind() {
            // Its threads cannot be joined, and its locks not be trusted.
            return std::mem::forget(Arc::clone(&self.core));
        }
        let last = self.core.board.let_go();
        last.pay(|| blocking(|| self.core.join()));
    }
}
