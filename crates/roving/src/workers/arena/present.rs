//! The count of threads present in a pool without threads of its own, by which it knows its end.

use crate::machine::prim::{AtomicUsize, Ordering, ord};

/// How many seats of a pool are called or have a thread, whether the pool closes, and whether it
/// has ended, in one word.
///
/// | word | meaning |
/// |---|---|
/// | 4n | open, n seats present |
/// | 4n + 1 | closing, n seats present |
/// | 3 | ended: for good |
///
/// Work that a pool holds is that of a seat which is present: who brings work calls a seat if none
/// is awake, and who leaves one looks around before. So nothing is left when a closing pool has no
/// seat present. Who makes it so, by [`Self::exit`] or [`Self::close`], ends the pool, and it is
/// one.
pub(crate) struct Present(AtomicUsize);

const CLOSING: usize = 1;
const ENDED: usize = 3;
const ONE: usize = 4;

/// The result of a change to the count of threads present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Left {
    /// The pool goes on.
    More,
    /// By this change the pool has ended.
    Last,
}

impl Present {
    #[inline]
    pub(crate) fn new() -> Present {
        Present(AtomicUsize::new(0))
    }

    /// One more is present. False when the pool has ended.
    #[inline]
    pub(crate) fn enter(&self) -> bool {
        let one_more = |word| (word != ENDED).then_some(word + ONE);
        // Ordering: Relaxed; a count. What is done at the seat is handed on by the seat's word.
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .is_ok()
    }

    /// One is present no more.
    #[inline]
    pub(crate) fn exit(&self) -> Left {
        // Ordering: Edge [exit]: Release hands what was done at the seat to who ends the pool.
        let order = ord("exit", Ordering::Release);
        let left = self.0.fetch_sub(ONE, order) - ONE;
        self.end_if(left)
    }

    /// The pool closes.
    #[inline]
    pub(crate) fn close(&self) -> Left {
        // Ordering: Relaxed; if nobody is present, `end_if` sees what was done.
        let left = self.0.fetch_or(CLOSING, Ordering::Relaxed) | CLOSING;
        self.end_if(left)
    }

    #[inline]
    fn end_if(&self, left: usize) -> Left {
        if left != CLOSING {
            return Left::More;
        }
        // Ordering: Acquire. Pairs with [exit]: all that was done is seen, also that of who has
        // come and gone since.
        let order = ord("end_present", Ordering::Acquire);
        match self
            .0
            .compare_exchange(CLOSING, ENDED, order, Ordering::Relaxed)
        {
            Ok(_) => Left::Last,
            Err(_) => Left::More,
        }
    }
}
