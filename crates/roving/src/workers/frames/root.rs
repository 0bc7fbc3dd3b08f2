//! A root, for which a blocking call waits: the shared state of the frames below it.

use std::any::Any;
use std::collections::VecDeque;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};

use super::drawn::Left;
use super::drive::Level;
use super::frame::{self, Failure, Frame};
use super::local::Local;
use super::open::Open;
use super::placed;
use crate::inherit::cancelled::CancelledError;
use crate::inherit::node::{self, Node};
use crate::machine::faults;
use crate::machine::prim::{AtomicU64, Ordering};
use crate::machine::unwind::{drop_quietly, with_frame_lent};
use crate::workers::Worker;
use crate::workers::inject::Kind;
use crate::workers::job::Job;
use crate::workers::parked::Why;
use crate::workers::registry::Registry;

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
        static LAST: AtomicU64 = AtomicU64::new(RootId::ANY.0);
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
    pub(super) registry: Arc<Registry>,
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
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Set before the first frame runs.
    waiter: OnceLock<Waiter>,
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
    ticket: bool,
    /// Frames that would stand in the stacks of workers, where the pool's schedule is drawn.
    pub(super) left: Left,
}

// SAFETY: a frame in the queue belongs to who takes it out; its future is `Send`.
unsafe impl Send for Ready {}

impl Root {
    #[inline]
    pub(crate) fn new(registry: &Arc<Registry>) -> Arc<Root> {
        Root::with(registry, None)
    }

    /// A root for what a task below `above` makes in the context that the calling thread is in. It
    /// is over before that one, and frees itself then; the caller has its first count.
    ///
    /// # Safety
    /// `above` is open for the calling worker.
    #[inline]
    pub(super) unsafe fn below(above: Arc<Root>) -> *const Root {
        above.open();
        let registry = Arc::clone(&above.registry);
        Arc::into_raw(Root::with(&registry, Some(above)))
    }

    #[inline]
    fn with(registry: &Arc<Registry>, above: Option<Arc<Root>>) -> Arc<Root> {
        let outermost = above.as_ref().map(|above| {
            let further = above.outermost.as_ref();
            Arc::clone(further.unwrap_or(above))
        });
        Arc::new(Root {
            id: above.as_ref().map_or_else(RootId::new, |above| above.id),
            registry: Arc::clone(registry),
            context: node::current(),
            above,
            outermost,
            open: Open::new(),
            ready: Mutex::new(Ready {
                frames: VecDeque::new(),
                ticket: false,
                left: Left::default(),
            }),
            panic: Mutex::new(None),
            waiter: OnceLock::new(),
        })
    }

    #[inline]
    fn set_waiter(&self, helps: bool) {
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
            Some(Some(Listener::Thread(waiter))) => waiter.unpark(),
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
                Some(Some(Listener::Thread(waiter))) => return waiter.unpark(),
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
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a woken frame on to be polled: by the worker that this thread is, if it runs frames
    /// of the same root, otherwise by any worker. The former is a push onto the worker's stack,
    /// where thieves find it; the latter goes through a queue with a lock.
    ///
    /// # Safety
    /// The frame is the caller's, and counted at this root.
    #[inline]
    pub(super) unsafe fn pass_on(this: *const Root, frame: Frame) {
        let push = |local: &Local| {
            Worker::with_current(|worker| {
                // SAFETY: the caller's promise.
                worker.is_some_and(|worker| unsafe { worker.push_woken(local, frame) })
            })
        };
        // A look before the worker is asked for: `push_woken` looks again.
        let push_here = |local: &Local| ptr::eq(local.resumes.get(), this) && push(local);
        // SAFETY: the caller's promise; it is to be polled, so it holds its future.
        let has_place = unsafe { placed::place_of(frame) }.is_some();
        if has_place || !Local::with(push_here) {
            // SAFETY: the caller's promise.
            unsafe { Root::make_ready(this, frame) };
        }
    }

    /// Passes a frame on to be polled by any worker, or by the one that its place names.
    ///
    /// # Safety
    /// The frame is the caller's, and counted at this root.
    pub(crate) unsafe fn make_ready(this: *const Root, frame: Frame) {
        // SAFETY: the caller's promise, and it is to be polled, so it holds its future.
        unsafe {
            let place = placed::place_of(frame);
            if !place.is_some_and(|index| placed::deliver(this, index, frame)) {
                Root::enqueue(this, frame);
            }
        }
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
        if ticket && root.registry.settings.schedule.is_none() {
            root.issue_ticket();
        }
        if let Some(waiter) = root.waiter.get() {
            if waiter.helps {
                waiter.thread.unpark();
            }
        }
    }

    fn issue_ticket(self: &Arc<Root>) {
        let root = Arc::clone(self);
        self.registry
            .inject(Kind::Awaited, Job::new(move || root.serve_ticket()));
    }

    /// Serves a ticket: runs the oldest frame that is ready, if there still is one, and makes sure
    /// that the next one finds a worker.
    fn serve_ticket(self: Arc<Root>) {
        let (frame, more) = {
            let mut ready = self.ready();
            let frame = ready.frames.pop_front();
            ready.ticket = !ready.frames.is_empty();
            (frame, ready.ticket)
        };
        if more {
            self.issue_ticket();
        }
        if let Some(frame) = frame {
            Worker::with_current(|worker| match worker {
                // SAFETY: it was in the queue, and counted.
                Some(worker) => unsafe { worker.run_frame(frame, Level::Ground) },
                None => unreachable!("jobs are run by workers"),
            });
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
        let mut first = root.panic.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() && !root.is_over() {
            *first = Some(payload);
        } else {
            drop(first);
            drop_quietly(payload);
        }
    }

    /// Returns the outcome of the root's own frame, or the first panic that was not awaited, when
    /// all frames have ended.
    ///
    /// # Safety
    /// `frame` is the root's own, of output `T`, and the caller has its handle.
    pub(crate) unsafe fn outcome<T>(&self, frame: Frame) -> Result<T, Box<dyn Any + Send>> {
        // SAFETY: it has ended, and the caller says the rest.
        let outcome = unsafe { frame::take_outcome::<T>(frame) };
        let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        match (outcome, first.take()) {
            (Ok(value), None) => Ok(value),
            (Ok(value), Some(payload)) => {
                drop_quietly(value);
                Err(payload)
            }
            (Err(Failure { payload, .. }), other) => {
                drop_quietly(other);
                Err(payload)
            }
        }
    }
}

impl Root {
    /// Runs the root's own frame and all tasks below it, on the calling thread, which is that
    /// worker, and on others.
    ///
    /// # Safety
    /// The frame is new and of this root.
    #[inline]
    pub(crate) unsafe fn run_here(&self, worker: &Worker, frame: Frame) {
        self.set_waiter(true);
        let run = || {
            // SAFETY: a new frame, whose root counts this worker.
            unsafe { worker.run_frame(frame, Level::Ground) };
            if let Some(schedule) = worker.schedule() {
                worker.waiting(|| self.run_drawn(worker, schedule));
            }
            while !self.is_over() {
                let ready = self.ready().frames.pop_front();
                match ready {
                    // SAFETY: it was in the queue, and counted.
                    Some(frame) => unsafe { worker.run_frame(frame, Level::Ground) },
                    None => {
                        let is_woken = || self.is_over() || !self.ready().frames.is_empty();
                        worker.park_for(Why::Event, is_woken);
                    }
                }
            }
        };
        with_frame_lent(|| worker.away(run));
    }

    /// Runs the frame for a thread that is no worker: the thread only waits, and blocks no worker.
    ///
    /// # Safety
    /// The frame is new and of this root.
    #[inline]
    pub(crate) unsafe fn run_there(self: &Arc<Root>, frame: Frame) {
        self.set_waiter(false);
        with_frame_lent(|| {
            // SAFETY: new, and counted since the root was made.
            unsafe { Root::make_ready(Arc::as_ptr(self), frame) };
            while !self.is_over() {
                faults::park();
            }
        });
    }
}
