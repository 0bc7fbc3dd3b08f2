//! The head of a frame: what the scheduler knows of a task, whatever its future is. A frame points
//! to its root, and a root queues frames; how frames are made, polled and freed stands in
//! [`super::frame`].

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::{Poll, Waker};

use super::awaited::Awaited;
use super::child_end::{Awaiting, End, Retracted};
use super::free_lists::{Class, Size};
use super::place::Place;
use super::root::Root;
use super::waker_word::Life;

/// A frame, whatever its future is.
pub(crate) type Frame = NonNull<Header>;

/// The header before the future in a frame. One cache line of 64 bytes.
///
/// | field | who may touch it, and when |
/// |---|---|
/// | `life`, `end` | anybody who holds the frame, a waker or the handle |
/// | `awaiter` | as `end` says |
/// | `root` | null until the child is started; written then, before the frame is first polled; then only read |
/// | `class` | anybody; it never changes |
/// | `vtable`, `link`, `stage`, `site`, the body | the worker that polls the frame; from `ENDED` on who holds the handle |
#[repr(C, align(8))]
pub(crate) struct Header {
    pub(super) life: Life,
    pub(crate) end: End,
    pub(super) vtable: Cell<&'static VTable>,
    pub(crate) root: Cell<*const Root>,
    pub(super) link: Cell<Link>,
    pub(super) awaiter: UnsafeCell<MaybeUninit<Waker>>,
    pub(super) stage: Cell<Stage>,
    /// Which list the memory belongs to. In its table of functions as well, which is further away.
    pub(super) class: Class,
    /// Where it was branched off; see `order`.
    pub(crate) site: Cell<u16>,
}

/// The parent that a frame's end resumes.
///
/// With the lowest bit set it is the frame that called this one and waits for it; two more bits say
/// how it is resumed ([`Resume`]). Otherwise it is the number of the push that put the parent on
/// the stack when this child was forked, or 0. Each push of a pool has a number of its own, so an
/// equal number on the top of the stack proves that it is the parent and that nobody has taken it
/// since. The number has 53 bits for each worker: years of pushing. Where pointers are too narrow
/// for it nothing is proved, and every end takes the slower way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Link(*const Header);

impl Link {
    pub(super) const NONE: Link = Link(ptr::null());

    /// An even number.
    #[inline(always)]
    pub(super) fn push(number: u64) -> Link {
        Link(ptr::without_provenance(number as usize))
    }

    #[inline(always)]
    pub(super) fn caller(frame: Frame, resume: Resume) -> Link {
        Link(frame.as_ptr().map_addr(|at| at | resume as usize))
    }

    #[inline(always)]
    pub(super) fn is_push(self, number: u64) -> bool {
        cfg!(target_pointer_width = "64") && self.0.addr() == number as usize
    }

    #[inline(always)]
    pub(super) fn is_caller(self) -> bool {
        self.0.addr() & CALLER != 0
    }

    /// The caller that is resumed directly.
    #[inline(always)]
    pub(super) fn get_direct_caller(self) -> Option<Frame> {
        let frame = self.0.wrapping_byte_sub(DIRECTLY);
        let is_it = frame.addr() & 0b111 == 0;
        // SAFETY: made by `caller`.
        is_it.then(|| unsafe { NonNull::new_unchecked(frame.cast_mut()) })
    }

    /// The caller, of which this is the link.
    pub(super) fn get_caller(self) -> (Frame, Resume) {
        debug_assert!(self.is_caller());
        let resume = match self.0.addr() & 0b111 {
            DIRECTLY => Resume::Directly,
            TOLD => Resume::Told,
            _ => Resume::Woken,
        };
        // SAFETY: made by `caller`.
        let frame = unsafe { NonNull::new_unchecked(self.0.byte_sub(resume as usize).cast_mut()) };
        (frame, resume)
    }
}

/// Of those below, and of no push.
const CALLER: usize = 0b001;
const DIRECTLY: usize = 0b001;
const TOLD: usize = 0b011;
const WOKEN: usize = 0b101;

/// The number of a push whose frame is no parent of a child that ends.
pub(super) const NO_CHILD: u64 = 1;
/// The number of a frame that has never been polled, and that the task which awaits it may take
/// back.
pub(super) const NEW: u64 = 3;
/// The number of a new frame with a token, which may have been cancelled when it is about to begin.
pub(super) const NEW_WITH_TOKEN: u64 = u64::MAX - 2;
/// The number of a frame with a count of its own at its root: it was suspended, and woken by this
/// worker.
pub(super) const COUNTED: u64 = u64::MAX;

/// How a caller goes on when its callee has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Resume {
    /// It is resumed, and nobody but itself can ask for the outcome.
    Directly = DIRECTLY as isize,
    /// It is resumed, but the handle may be elsewhere.
    Told = TOLD as isize,
    /// It may be resumed by others meanwhile, and be gone. The link holds a reference to it.
    Woken = WOKEN as isize,
}

/// The content of a frame's body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    Future,
    Value,
    Failure,
    Empty,
}

/// The payload of a task's panic, and the root that receives it if the task is never awaited: the
/// outermost, because a handle that outlives them all must not keep a chain of them.
pub(crate) struct TaskPanic {
    pub(crate) payload: Box<dyn Any + Send>,
    pub(super) root: Arc<Root>,
}

/// The scheduler's view of a future's type.
pub(super) struct VTable {
    pub(super) poll: unsafe fn(Frame) -> Poll<()>,
    pub(super) drop_future: unsafe fn(Frame),
    pub(super) drop_value: unsafe fn(Frame),
    pub(super) size: Size,
    /// The future is a [`Placed`](super::place::Placed).
    pub(super) is_placed: bool,
    /// The table for a future that is dropped instead of polled for the first time.
    pub(super) dropped: Option<&'static VTable>,
}

impl Header {
    /// Polls the future of `frame`, whose header this is.
    ///
    /// # Safety
    /// It holds a future, and is the caller's to poll.
    #[inline(always)]
    pub(super) unsafe fn poll(&self, frame: Frame) -> Poll<()> {
        // SAFETY: the caller's promise.
        unsafe { (self.vtable.get().poll)(frame) }
    }

    /// Whether neither a waker nor the handle has ever said anything.
    #[inline(always)]
    pub(super) fn is_alone(&self) -> bool {
        self.end.is_untouched() & !self.life.is_shared()
    }
}

impl Awaited for Header {
    #[inline]
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
        // SAFETY: the caller has the cell to itself.
        unsafe { (*self.awaiter.get()).write(waker) };
    }

    unsafe fn take_awaiter(&self) -> Waker {
        // SAFETY: the caller has the cell to itself, and a waker is in it.
        unsafe { (*self.awaiter.get()).assume_init_read() }
    }
}

/// The body of a frame, right behind its header: [`super::allocator`] sees to the alignment.
///
/// # Safety
/// `T` is what the body holds or is to hold.
#[inline(always)]
pub(super) unsafe fn body<T>(frame: Frame) -> *mut T {
    // SAFETY: within the frame's memory.
    unsafe { frame.as_ptr().add(1).cast() }
}

/// Reads the head of a [`Placed`](super::place::Placed) future, if the frame holds one.
///
/// # Safety
/// The frame holds its future, and a `T` is what that begins with.
#[inline(always)]
unsafe fn placed_body<T: Copy>(frame: Frame) -> Option<T> {
    // SAFETY: the frame is alive, and the caller promises the rest.
    unsafe {
        match frame.as_ref().vtable.get().is_placed {
            true => Some(body::<T>(frame).read()),
            false => None,
        }
    }
}

/// The worker that the task has to run on, if it has a place, and that names one.
///
/// # Safety
/// The frame is the caller's, and holds its future.
#[inline]
pub(super) unsafe fn place_of(frame: Frame) -> Option<usize> {
    // SAFETY: the caller's promise; a `Placed` begins with the reference.
    unsafe { placed_body::<&Place>(frame)?.get() }
}
