//! A pool that has no threads of its own.

use std::any::Any;
use std::ptr;
use std::sync::{Arc, OnceLock, Weak};

use super::board::Pressure;
use super::core::{Core, Lodger, Request};
use super::present::{Left, Present};
use super::word::SeatWord;
use crate::machine::prim::Mutex;
use crate::machine::waiters::Waiters;
use crate::workers::priority::Priority;
use crate::workers::seats::Desk;

/// The arena's side of a pool that is a share of it, as the pool's worker slots see it.
pub(crate) struct Share {
    pub(super) core: Arc<Core>,
    pub(super) priority: Priority,
    pool: OnceLock<Weak<dyn Lodger>>,
    present: Present,
    over: Mutex<Over>,
}

/// Whether the pool has ended, and who waits for that.
#[derive(Default)]
struct Over {
    is_over: bool,
    waiters: Waiters,
}

impl Share {
    #[inline]
    pub(super) fn new(core: &Arc<Core>, priority: Priority) -> Share {
        core.board.hold();
        Share {
            core: Arc::clone(core),
            priority,
            pool: OnceLock::new(),
            present: Present::new(),
            over: Mutex::default(),
        }
    }

    /// The pool has been made.
    #[inline]
    pub(super) fn belongs_to(&self, pool: Weak<dyn Lodger>) {
        let _ = self.pool.set(pool);
    }

    /// A seat is called or has a thread from now on. False if the pool has ended: nothing is left
    /// then to be called for.
    #[inline]
    pub(super) fn enter(&self) -> bool {
        self.present.enter()
    }

    /// A seat is neither called nor has a thread any more. The last thing that a thread does with a
    /// pool; it holds nothing of it but this.
    #[inline]
    pub(super) fn exit(&self) {
        if self.present.exit() == Left::Last {
            self.end();
        }
    }

    /// Nothing will come from outside any more: the pool ends when all that it holds has been run.
    #[inline]
    pub(super) fn close(&self) {
        if self.present.close() == Left::Last {
            self.end();
        }
    }

    #[inline]
    fn end(&self) {
        let last = self.core.board.let_go();
        last.waive("the arena's handles went before: nobody waits for its threads");
        let mut over = self.over.lock();
        over.is_over = true;
        over.waiters.tell_all();
    }

    /// Whether the pool has ended, and no thread of the arena holds anything of it. If not, the
    /// calling thread is unparked later.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        let mut over = self.over.lock();
        if !over.is_over {
            over.waiters.enter();
        }
        over.is_over
    }

    /// Puts the request of a seat, which counts as present, on the board.
    /// It is urgent if a job there is.
    #[inline]
    pub(super) fn request(&self, pool: Arc<dyn Lodger>, seat: usize) {
        let class = (!pool.has_urgent()).then_some(self.priority);
        let start = self.core.board.request(class, Request { pool, seat });
        self.core.start_if_any(start);
    }
}

/// A worker slot's connection to the arena, in the place of a thread of its own.
pub(crate) struct Station {
    pub(super) share: Arc<Share>,
    pub(super) index: usize,
    pub(super) word: SeatWord,
}

impl Station {
    #[inline]
    pub(super) fn new(share: &Arc<Share>, index: usize) -> Station {
        Station {
            share: Arc::clone(share),
            index,
            word: SeatWord::new(),
        }
    }

    #[inline]
    pub(super) fn pressure(&self) -> Pressure {
        self.share.core.board.pressure()
    }

    #[inline]
    pub(super) fn class(&self) -> Priority {
        self.share.priority
    }
}

impl Desk for Station {
    /// The thread is the one that is there, or else one that the arena is asked for.
    #[inline]
    fn call(&self) {
        let request = || {
            if !self.share.enter() {
                return;
            }
            let pool = self.share.pool.get().and_then(Weak::upgrade);
            match pool {
                Some(pool) => self.share.request(pool, self.index),
                None => self.share.exit(),
            }
        };
        self.word.call_thread(&self.share.core.board, request);
    }

    #[inline]
    fn is_left(&self) -> bool {
        self.word.is_left()
    }

    #[inline]
    fn is_pressed(&self) -> bool {
        !self.pressure().is_none()
    }

    #[inline]
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Share {
    /// A worker of another pool waits for what it has just asked the one at this address, urgently,
    /// and may hold what all threads of the arena wait for. If a seat asks for a thread, one comes
    /// for it, even if that is one more than there should be. Otherwise a thread is about to look
    /// around, and takes what is urgent first.
    #[inline]
    pub(super) fn urge(&self, pool: *const ()) {
        let is_meant = |request: &Request| ptr::eq(Arc::as_ptr(&request.pool).cast(), pool);
        let start = self.core.board.urge(self.priority, is_meant);
        self.core.start_if_any(start);
    }
}
