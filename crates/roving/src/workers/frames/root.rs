//! A root, for which a blocking call waits: the shared state of the frames below it.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use super::header::Frame;
use super::level::Level;
use super::open_count::Open;
use crate::inherit::cancelled::CancelledError;
use crate::inherit::node::{self, Node};
use crate::machine::meeting_points::unpark;
use crate::machine::prim::thread::{self, Thread};
use crate::machine::prim::{AtomicU64, Mutex, MutexGuard, Ordering, process_wide};
use crate::machine::unwind::drop_quietly;

/// The id of the blocking call that a root belongs to. No two calls of a process ever have the
/// same, so a [`crate::task::Scope`] that has outlived its call differs from those of all others;
/// an address would be used again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct RootId(u64);

impl RootId {
    /// The id of a child that was made without a token: it may belong to any call.
    pub(crate) const ANY: RootId = RootId(RootId::MARK);
    /// The lowest bits of every id; see `fork::Start`.
    pub(crate) const MARK: u64 = 0b01;
    pub(crate) const MARK_MASK: u64 = 0b11;

    #[inline]
    fn new() -> RootId {
        process_wide! {
            static LAST: AtomicU64 = AtomicU64::new(RootId::ANY.0);
        }
        const STEP: u64 = RootId::MARK_MASK + 1;
        // Ordering: Relaxed; the numbers differ, and nothing is handed over by them. 2^62 of them
        // do not run out.
        RootId(LAST.fetch_add(STEP, Ordering::Relaxed) + STEP)
    }

    #[inline(always)]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// The id of which these are the bits.
    #[inline(always)]
    pub(crate) fn from_bits(bits: u64) -> RootId {
        debug_assert_eq!(bits & RootId::MARK_MASK, RootId::MARK);
        RootId(bits)
    }
}

/// A root: the shared state of all frames below one blocking call.
///
/// `open` counts what can still bring frames to life: each worker that runs frames of this root,
/// from before it took its first until its stack is empty of them; and each frame that no worker
/// has, because it waits to be woken or lies in the queue. A frame on a stack needs no count: its
/// worker has one. A frame whose callee has not ended needs none: the callee has. So when `open`
/// comes to 0, every frame has ended.
pub(crate) struct Root {
    /// That of the blocking call which waits for this root: the same as `above` has.
    pub(crate) id: RootId,
    pub(super) pool: Arc<dyn Outlet>,
    /// In which the tasks of this root run.
    context: Option<Arc<Node>>,
    /// The root of the task that has entered another context to make what is below this one. Counts
    /// there for as long as this root is open, and keeps itself.
    above: Option<Arc<Root>>,
    /// That for which a blocking call waits, if it is not this one: chains are of any length.
    outermost: Option<Arc<Root>>,
    open: Open,
    ready: Mutex<Ready>,
    /// The payload of the first task that panicked and was not awaited.
    pub(super) panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Set before the first frame runs.
    waiter: OnceLock<Waiter>,
}

/// The pool of a root, as far as a root needs it. Behind a trait, because the pool's worker slots
/// hold frames, and so are made after roots.
pub(crate) trait Outlet: Send + Sync {
    /// Has a worker look into the root's queue; nothing where whoever waits for the root does so by
    /// itself.
    fn issue_ticket(self: Arc<Self>, root: &Arc<Root>);

    /// Sends the frame to the worker with that index, which another thread is. False if there is
    /// none, or it is away.
    ///
    /// # Safety
    /// The frame is the caller's, and counted at a root of this pool.
    unsafe fn send(self: Arc<Self>, index: usize, frame: Frame) -> bool;

    /// The calling worker runs frames, the newest of which is the last.
    ///
    /// # Safety
    /// As [`run_frames`].
    unsafe fn run(&self, frames: &[Frame], level: Level);

    /// [`Root::enqueue`].
    ///
    /// # Safety
    /// The same.
    unsafe fn enqueue(&self, root: *const Root, frame: Frame) {
        // SAFETY: the caller's promise.
        unsafe { Root::enqueue(root, frame) };
    }

    /// [`Root::close`].
    ///
    /// # Safety
    /// The same.
    unsafe fn close(&self, root: *const Root, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { Root::close(root, count) };
    }
}

/// The calling worker runs frames, the newest of which is the last, as if they had been on its
/// stack. By way of their root: who makes a root makes the table of its pool, and with it the code
/// that runs frames, of which a program without async tasks has none.
///
/// # Safety
/// The frames are the caller's to run, and their roots, which are of the worker's pool, were opened
/// for this.
pub(crate) unsafe fn run_frames(frames: &[Frame], level: Level) {
    if let Some(newest) = frames.last() {
        // SAFETY: the frame is the caller's, and its root open; the worker keeps its pool.
        unsafe { pool_of(newest.as_ref().root.get()).run(frames, level) };
    }
}

/// The pool of a root that may go while it is used.
///
/// # Safety
/// The root is alive, and the caller keeps its pool for as long as it uses what this returns.
pub(super) unsafe fn pool_of<'p>(root: *const Root) -> &'p dyn Outlet {
    // SAFETY: the caller's promise.
    unsafe { &*Arc::as_ptr(&(*root).pool) }
}

/// The thread that waits for the root to be over.
struct Waiter {
    thread: Thread,
    /// It is a worker, and runs frames that have become ready.
    helps: bool,
}

/// The waiter that the end of a root wakes.
enum Listener {
    Thread(Thread),
    Root(Arc<Root>),
}

/// Frames that were woken, first in, first out.
pub(super) struct Ready {
    pub(super) frames: VecDeque<Frame>,
    /// A job is in the injector that will look here.
    pub(super) ticket: bool,
}

// SAFETY: a frame in the queue belongs to who takes it out; its future is `Send`.
unsafe impl Send for Ready {}

impl Root {
    pub(crate) fn new(pool: Arc<dyn Outlet>) -> Arc<Root> {
        Root::with(pool, None)
    }

    /// A root for what a task below `above` makes in the context that the calling thread is in. It
    /// is over before that one, and frees itself then; the caller has its first count.
    ///
    /// # Safety
    /// `above` is open for the calling worker.
    #[inline]
    pub(super) unsafe fn below(above: Arc<Root>) -> *const Root {
        above.open();
        let pool = Arc::clone(&above.pool);
        Arc::into_raw(Root::with(pool, Some(above)))
    }

    #[inline]
    fn with(pool: Arc<dyn Outlet>, above: Option<Arc<Root>>) -> Arc<Root> {
        let outermost = above.as_ref().map(|above| {
            let further = above.outermost.as_ref();
            Arc::clone(further.unwrap_or(above))
        });
        Arc::new(Root {
            id: above.as_ref().map_or_else(RootId::new, |above| above.id),
            pool,
            context: node::current(),
            above,
            outermost,
            open: Open::new(),
            ready: Mutex::new(Ready {
                frames: VecDeque::new(),
                ticket: false,
            }),
            panic: Mutex::new(None),
            waiter: OnceLock::new(),
        })
    }

    #[inline]
    pub(super) fn set_waiter(&self, helps: bool) {
        self.waiter.get_or_init(|| Waiter {
            thread: thread::current(),
            helps,
        });
    }

    /// Returns the waiter to wake when the root is over; a handle of its own, because then the root
    /// may be freed.
    fn listener(&self) -> Option<Listener> {
        match &self.above {
            Some(above) => Some(Listener::Root(Arc::clone(above))),
            None => {
                let waiter = self.waiter.get()?;
                Some(Listener::Thread(waiter.thread.clone()))
            }
        }
    }

    /// The context of what runs below: alive as long as the root.
    pub(super) fn context(&self) -> node::Place {
        node::place_of(self.context.as_ref())
    }

    /// Whether tasks below may be cancelled, by other means than their pool.
    pub(super) fn has_token(&self) -> bool {
        self.context.as_ref().is_some_and(|node| node.has_token())
    }

    /// Whether it was.
    pub(super) fn is_cancelled(&self) -> bool {
        self.context
            .as_ref()
            .is_some_and(|node| node.is_cancelled())
    }

    /// Whether a child that was made by that token may run below this root.
    #[inline(always)]
    pub(super) fn admits(&self, token: RootId) -> bool {
        token == RootId::ANY || token == self.id
    }

    /// That for which a blocking call waits.
    pub(super) fn outermost(&self) -> &Root {
        self.outermost.as_deref().unwrap_or(self)
    }

    /// A root is always in an `Arc`; this is another one of it. By pointer, because this may come
    /// to be the last, which frees the memory: what was a reference may not.
    ///
    /// # Safety
    /// The root is alive, and the pointer came from its `Arc`.
    pub(super) unsafe fn arc_of(this: *const Root) -> Arc<Root> {
        // SAFETY: the caller's promise.
        unsafe {
            Arc::increment_strong_count(this);
            Arc::from_raw(this)
        }
    }

    /// The root for which the blocking call waits.
    ///
    /// # Safety
    /// As [`Root::arc_of`].
    pub(super) unsafe fn outermost_of(this: *const Root) -> Arc<Root> {
        // SAFETY: the caller's promise.
        match unsafe { (*this).outermost.as_ref() } {
            Some(root) => Arc::clone(root),
            // SAFETY: the caller's promise is handed on.
            None => unsafe { Root::arc_of(this) },
        }
    }

    /// Counts one more thing that can bring frames to life. The caller knows that the root is not
    /// over.
    pub(crate) fn open(&self) {
        self.open.add();
    }

    /// Takes `count` off the count. The root may be freed afterwards.
    ///
    /// # Safety
    /// The caller has counted them before.
    pub(super) unsafe fn close(this: *const Root, count: usize) {
        // SAFETY: it is not over before they are taken out of the count.
        let over = unsafe { (*this).open.sub(count, || (*this).listener()) };
        match over {
            None | Some(None) => {}
            Some(Some(Listener::Thread(waiter))) => unpark(&waiter),
            // SAFETY: the caller's promise; it has a root above, so it is over.
            Some(Some(Listener::Root(above))) => unsafe { Root::free(this, above) },
        }
    }

    /// Ends a root below `above`, and `above` with it if this was its last count, and so on: in a
    /// loop, because a task that spawns the next in a context of its own makes a chain of any
    /// length.
    ///
    /// # Safety
    /// The root is over, and [`Root::below`] made it.
    #[cold]
    unsafe fn free(this: *const Root, above: Arc<Root>) {
        let (mut this, mut above) = (this, above);
        loop {
            // SAFETY: `below` has left it to whoever ends it, and has counted it above. That all
            // that its frames did comes before is what the count's own read-modify-writes see to,
            // [close] being one sequence.
            let over = unsafe {
                let is_over = (*this).is_over();
                debug_assert!(is_over);
                drop(Arc::from_raw(this));
                above.open.sub(1, || above.listener())
            };
            match over {
                None | Some(None) => return,
                Some(Some(Listener::Thread(waiter))) => return unpark(&waiter),
                Some(Some(Listener::Root(further))) => {
                    this = Arc::as_ptr(&above);
                    above = further;
                }
            }
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.open.is_over()
    }

    pub(super) fn ready(&self) -> MutexGuard<'_, Ready> {
        self.ready.lock()
    }

    /// Queues a frame to be polled by any worker.
    ///
    /// # Safety
    /// The frame is the caller's, and counted at this root.
    #[inline(never)]
    pub(super) unsafe fn enqueue(this: *const Root, frame: Frame) {
        // The frame may run as soon as it is in the queue, and the root be over and gone: hence
        // another handle of it, and no reference for an argument.
        // SAFETY: it is not over before the frame has run.
        let root = unsafe { Root::outermost_of(this) };
        let ticket = {
            let mut ready = root.ready();
            ready.frames.push_back(frame);
            !std::mem::replace(&mut ready.ticket, true)
        };
        if ticket {
            Arc::clone(&root.pool).issue_ticket(&root);
        }
        if let Some(waiter) = root.waiter.get() {
            if waiter.helps {
                unpark(&waiter.thread);
            }
        }
    }

    /// Keeps the first payload. The others are dropped, as is one that comes too late.
    #[cold]
    #[inline(never)]
    pub(super) fn panicked(&self, payload: Box<dyn Any + Send>) {
        let root = self.outermost();
        if payload.is::<CancelledError>() {
            // Nobody wants to know what became of the task.
            return;
        }
        let mut first = root.panic.lock();
        if first.is_none() && !root.is_over() {
            *first = Some(payload);
        } else {
            drop(first);
            drop_quietly(payload);
        }
    }
}
