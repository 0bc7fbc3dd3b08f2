//! The owner's hot cache line, and the trip wire that leads to it.

use std::cell::Cell;
use std::mem::offset_of;
use std::ptr;

use super::slot::Slot;

/// The owner's hot words: all that a push or pop of a private task reads and writes. None of them
/// is shared.
///
/// A push is fast below `push_limit`, that of a task which is left for later below `spawn_limit`, a
/// pop at or above `pop_limit`, that of a task which was left at or above `drain_limit`. One of
/// these comparisons fails in every rare case: the thread is no worker, the stack is full, too few
/// tasks are public, a thief wants work, the task is public, or an unjoined task lies above it.
#[repr(C, align(128))]
pub(crate) struct Line {
    /// The first free slot.
    pub(crate) top: Cell<*const Slot>,
    pub(crate) push_limit: Cell<*const Slot>,
    pub(crate) spawn_limit: Cell<*const Slot>,
    pub(crate) pop_limit: Cell<*const Slot>,
    /// A join whose slot is below must not pop yet; null while nothing was left unjoined. See
    /// [`super::owner`].
    pub(super) barrier: Cell<*const Slot>,
    /// The split line, if nothing has to be done in a pop but to pop.
    pub(super) drain_limit: Cell<*const Slot>,
    /// At or above, the stack is full, and a spawned task is run in place as any call; unless the
    /// newest slot may be freed.
    pub(super) full_limit: Cell<*const Slot>,
    /// The pool that the worker belongs to, by its address.
    pool: Cell<*const ()>,
}

/// Where the words of a join stand, for code that is not Rust.
pub(crate) const TOP_AT: usize = offset_of!(Line, top);
pub(crate) const PUSH_LIMIT_AT: usize = offset_of!(Line, push_limit);
pub(crate) const POP_LIMIT_AT: usize = offset_of!(Line, pop_limit);

// SAFETY: only the owning thread writes a `Line` or reads its cells; `ALARM` is never written.
unsafe impl Sync for Line {}

/// The line that fails all comparisons. A thread that is no worker has it for its line, and a
/// thief that wants work makes its victim's thread have it: that is the trip wire. The owner pays
/// nothing to look, because it has to load the pointer to its line in any case.
pub(crate) static ALARM: Line = Line {
    top: Cell::new(ptr::null()),
    push_limit: Cell::new(ptr::null()),
    spawn_limit: Cell::new(ptr::null()),
    pop_limit: Cell::new(NOWHERE),
    barrier: Cell::new(ptr::null()),
    drain_limit: Cell::new(NOWHERE),
    full_limit: Cell::new(NOWHERE),
    pool: Cell::new(ptr::null()),
};

/// A limit that lets nothing through whose slots have to be at or above.
pub(super) const NOWHERE: *const Slot = ptr::without_provenance(usize::MAX);

impl Line {
    pub(super) fn new(first: *const Slot) -> Line {
        Line {
            top: Cell::new(first),
            push_limit: Cell::new(ptr::null()),
            spawn_limit: Cell::new(ptr::null()),
            // Below it is no slot: a coroutine may look at the newest before anything was pushed.
            pop_limit: Cell::new(first),
            barrier: Cell::new(ptr::null()),
            drain_limit: Cell::new(NOWHERE),
            full_limit: Cell::new(NOWHERE),
            pool: Cell::new(ptr::null()),
        }
    }

    /// The owner works for that pool. None has null for its address.
    pub(crate) fn set_pool(&self, pool: *const ()) {
        self.pool.set(pool);
    }

    /// Whether the calling thread, whose line this is, is a worker of that pool. No is not certain.
    #[inline(always)]
    pub(crate) fn is_of(&self, pool: *const ()) -> bool {
        ptr::eq(self.pool.get(), pool)
    }

    /// The slot for a task that stays until the enclosing scope ends, if nothing has to be done but
    /// to push it.
    #[inline(always)]
    pub(crate) fn place_unjoined(&self) -> Option<*const Slot> {
        let slot = self.top.get();
        (slot < self.spawn_limit.get()).then_some(slot)
    }

    /// [`Self::place_unjoined`] for one that is waited for soon: so many more may be hidden, for
    /// what is published and then taken back costs more than the task.
    #[inline(always)]
    pub(crate) fn place_unjoined_hidden(&self, more: usize) -> Option<*const Slot> {
        let (slot, limit) = (self.top.get(), self.spawn_limit.get());
        let fits = !limit.is_null() && slot < limit.wrapping_add(more);
        (fits && slot < self.push_limit.get()).then_some(slot)
    }

    /// Pushes the task that was put into the slot: the barrier rises above it.
    ///
    /// # Safety
    /// The slot was returned by the call of [`Self::place_unjoined`] just before.
    #[inline(always)]
    pub(crate) unsafe fn push_unjoined(&self, slot: *const Slot) {
        // SAFETY: a slot of this stack.
        unsafe { (*slot).set_link(self.barrier.get()) };
        let above = slot.wrapping_add(1);
        self.barrier.set(above);
        self.top.set(above);
        // Neither the split line nor another barrier is above the newest slot.
        self.pop_limit.set(above);
    }

    /// Whether the stack is so full that a task which is spawned now is run in place, and nothing
    /// else is to be done.
    #[inline(always)]
    pub(crate) fn is_plainly_full(&self) -> bool {
        let top = self.top.get();
        // SAFETY: at or above the limit, which is the stack's end, a slot is below.
        top >= self.full_limit.get() && !unsafe { &*top.wrapping_sub(1) }.state().is_done()
    }

    /// Takes the newest task off the stack, if that is one which was left there, and private, with
    /// another below it, and nothing else is to be done.
    #[inline(always)]
    pub(crate) fn pop_unjoined(&self) -> Option<*const Slot> {
        let (above, limit) = (self.top.get(), self.drain_limit.get());
        let slot = above.wrapping_sub(1);
        if slot < limit || !ptr::eq(self.barrier.get(), above) {
            return None;
        }
        // SAFETY: at or above the split line and below the top, it is a slot of this stack.
        let link = unsafe { &*slot }.link();
        // Null, where it is the oldest that was left; or the slots below are public.
        if link < limit {
            return None;
        }
        self.barrier.set(link);
        self.top.set(slot);
        self.pop_limit.set(link);
        Some(slot)
    }
}

pub(crate) use thread::{LEFT_AT, LentWire, current_line, set_current_line, wire_of_this_thread};

mod thread {
    use std::cell::Cell;
    use std::mem::offset_of;
    use std::ptr;

    use super::{ALARM, Line};
    use crate::machine::prim::{AtomicPtr, Ordering, thread_wide};

    /// A thread's own words: the pointer to its line, which is the trip wire, and behind it a word
    /// for code that is not Rust. Only the thread itself touches that.
    #[repr(C)]
    struct Wire {
        line: AtomicPtr<Line>,
        left: Cell<*const ()>,
    }

    /// Where that word stands, seen from the wire.
    pub(crate) const LEFT_AT: usize = offset_of!(Wire, left);

    thread_wide! {
        // Const and without a destructor, so that reading it is one instruction.
        static WIRE: Wire = Wire {
            line: AtomicPtr::new((&raw const ALARM).cast_mut()),
            left: Cell::new(ptr::null()),
        };
    }

    /// The line of the worker that this thread is, or [`ALARM`].
    #[inline(always)]
    pub(crate) fn current_line() -> *const Line {
        // Ordering: Relaxed; what the alarm means is in the span, read with an acquire.
        WIRE.with(|wire| wire.line.load(Ordering::Relaxed))
    }

    pub(crate) fn set_current_line(line: *const Line) {
        // Ordering: Relaxed; the owner's next change of the span orders it ([publish]).
        WIRE.with(|wire| wire.line.store(line.cast_mut(), Ordering::Relaxed));
    }

    /// The wire of a thread that may end before the thieves do. Used under a lock.
    pub(crate) struct LentWire(pub(crate) *const AtomicPtr<Line>);

    // SAFETY: what it leads to is an atomic, alive until the thread takes it back.
    unsafe impl Send for LentWire {}

    /// Where a thief trips the wire of the worker that this thread is. The word behind it may be
    /// reached from there.
    pub(crate) fn wire_of_this_thread() -> *const AtomicPtr<Line> {
        WIRE.with(ptr::from_ref).cast()
    }
}
