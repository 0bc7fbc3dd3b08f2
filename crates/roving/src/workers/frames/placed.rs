//! Tasks that stay with one worker.
//!
//! Such a task has a *place*, a word that is read each time the task becomes ready: it then goes to
//! the worker named there, oldest first, and is not stolen. Another name stored there moves the
//! task lazily, the next time it becomes ready. This is what partitioned process networks are
//! scheduled by (Nornir: a process is queued again on its new processor when it is next taken).
//!
//! A worker that is blocked, or runs something on top of what is, has no tasks of its own: what has
//! its place there goes to any worker. Else two that wait for each other's tasks would wait for
//! ever. Nor has one without a thread that looks for them: an adopted thread, or one that never
//! came or has ended.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem;
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use super::drive::Level;
use super::frame::{self, Frame};
use super::local::Local;
use super::root::Root;
use crate::machine::prim::{AtomicUsize, Ordering};
use crate::stats::Activity;
use crate::workers::Worker;
use crate::workers::inject::Kind;
use crate::workers::job::Job;

/// An affinity: the worker that runs a task, or none in particular. Shared by all that may move the
/// task.
///
/// ```
/// use roving::adapt::Place;
///
/// let place = Place::new(Some(1));
/// place.set(None);
/// assert_eq!(place.get(), None);
/// ```
#[derive(Debug)]
pub struct Place(AtomicUsize);

const ANYWHERE: usize = usize::MAX;

impl Place {
    /// Creates an affinity to the worker with that index; `None` for any.
    pub fn new(worker: Option<usize>) -> Place {
        Place(AtomicUsize::new(worker.unwrap_or(ANYWHERE)))
    }

    /// Changes the worker, from the next time on that the task becomes ready. An index that no
    /// worker has means any.
    #[inline]
    pub fn set(&self, worker: Option<usize>) {
        // Ordering: Relaxed; where a task runs is a matter of speed.
        self.0.store(worker.unwrap_or(ANYWHERE), Ordering::Relaxed);
    }

    /// Returns the index of the worker; `None` for any.
    pub fn get(&self) -> Option<usize> {
        // Ordering: Relaxed, as above.
        match self.0.load(Ordering::Relaxed) {
            ANYWHERE => None,
            worker => Some(worker),
        }
    }
}

/// A future with its place, which [`place_of`] finds at the start of a frame's body.
#[repr(C)]
pub(crate) struct Placed<'place, F> {
    pub(crate) place: &'place Place,
    pub(crate) future: F,
}

impl<F: Future> Future for Placed<'_, F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future is pinned as part of this, and never moved out of it.
        unsafe { self.map_unchecked_mut(|placed| &mut placed.future) }.poll(context)
    }
}

/// The worker that the task has to run on, if it has a place, and that names one.
///
/// # Safety
/// The frame is the caller's, and holds its future.
#[inline]
pub(super) unsafe fn place_of(frame: Frame) -> Option<usize> {
    // SAFETY: the caller's promise; a `Placed` begins with the reference.
    unsafe { frame::placed_body::<&Place>(frame)?.get() }
}

/// Ready frames that are to be run by one worker.
pub(super) struct Queue {
    /// The worker's alone, oldest first. Empty while it is away.
    own: RefCell<VecDeque<Frame>>,
    /// How many times over the worker is blocked, or has no loop to look here.
    away: Cell<usize>,
    arrivals: Mutex<Arrivals>,
}

/// Frames that other threads have sent and the worker has not yet taken over.
struct Arrivals {
    frames: VecDeque<Frame>,
    /// There is a job in the worker's mailbox that takes them over.
    announced: bool,
    /// The worker is away: nothing is here, nor is anything sent.
    closed: bool,
}

// SAFETY: a frame in the queue belongs to who takes it out; its future is `Send`.
unsafe impl Send for Arrivals {}

impl Queue {
    pub(super) const fn new() -> Queue {
        Queue {
            own: RefCell::new(VecDeque::new()),
            away: Cell::new(0),
            arrivals: Mutex::new(Arrivals {
                frames: VecDeque::new(),
                announced: false,
                closed: false,
            }),
        }
    }

    fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The owner takes over what others have sent: nothing, if it is away.
    fn take_over(&self) {
        let frames = {
            let mut arrivals = self.arrivals();
            arrivals.announced = false;
            mem::take(&mut arrivals.frames)
        };
        self.own.borrow_mut().extend(frames);
    }

    /// The owner is away, until it has come back as often as it left.
    pub(super) fn leave(&self) {
        let times = self.away.replace(self.away.get() + 1);
        if times == 0 {
            send_away(self.own.take());
            self.close();
        }
    }

    fn come_back(&self) {
        let times = self.away.get() - 1;
        self.away.set(times);
        if times == 0 {
            self.arrivals().closed = false;
        }
    }

    /// Nothing is to be sent here from now on. By the owner, or where there is none.
    pub(super) fn close(&self) {
        let frames = {
            let mut arrivals = self.arrivals();
            arrivals.closed = true;
            mem::take(&mut arrivals.frames)
        };
        send_away(frames);
    }

    /// The owner takes the oldest, if it is of that root; of any root, if that is null.
    pub(super) fn pop(&self, root: *const Root) -> Option<Frame> {
        let mut own = self.own.borrow_mut();
        // SAFETY: what is in the queue is alive, and nobody else's.
        let of = unsafe { own.front()?.as_ref() }.root.get();
        match root.is_null() || ptr::eq(root, of) {
            true => own.pop_front(),
            false => None,
        }
    }
}

/// Frames out of a queue: they may run anywhere.
fn send_away(frames: VecDeque<Frame>) {
    for frame in frames {
        // SAFETY: what was in the queue is alive, nobody else's, and counted.
        unsafe { Root::enqueue(frame.as_ref().root.get(), frame) };
    }
}

/// Gives a ready frame to the worker with that index of the root's pool. False if there is none, or
/// it is away.
///
/// # Safety
/// The frame is the caller's, and counted at that root.
pub(super) unsafe fn deliver(root: *const Root, index: usize, frame: Frame) -> bool {
    // The frame may run as soon as it has been sent, its root be over, and the pool be gone: hence
    // no reference for an argument, and another handle of the pool before that.
    // SAFETY: the root is not over before the frame has run.
    let registry = unsafe { &(*root).registry };
    if index >= registry.workers() {
        return false;
    }
    let is_here = Worker::with_current(|worker| {
        worker.is_some_and(|worker| {
            worker.index() == index && Arc::ptr_eq(worker.registry(), registry)
        })
    });
    if is_here {
        let queue = &registry.seats[index].tasks.placed;
        let is_back = queue.away.get() == 0;
        if is_back {
            queue.own.borrow_mut().push_back(frame);
        }
        return is_back;
    }
    let registry = Arc::clone(registry);
    let queue = &registry.seats[index].tasks.placed;
    let announces = {
        let mut arrivals = queue.arrivals();
        if arrivals.closed {
            return false;
        }
        arrivals.frames.push_back(frame);
        !mem::replace(&mut arrivals.announced, true)
    };
    if announces {
        registry.post(
            index,
            Kind::Awaited,
            Job::new(|| Local::with(|local| local.placed.take_over())),
        );
    }
    true
}

impl Worker {
    /// Calls `f`, which does not unwind, and in which this worker blocks.
    pub(crate) fn away<R>(&self, f: impl FnOnce() -> R) -> R {
        let placed = &self.seat().tasks.placed;
        placed.leave();
        let result = f();
        placed.come_back();
        result
    }

    /// Whether a frame that has its place here waits for this worker.
    pub(crate) fn has_placed(&self) -> bool {
        !self.seat().tasks.placed.own.borrow().is_empty()
    }

    /// This worker's loop is over, or it never has one.
    pub(crate) fn stay_away(&self) {
        self.seat().tasks.stay_away();
    }

    /// Runs the oldest frame that has its place here. False if there is none.
    pub(crate) fn run_placed(&self) -> bool {
        let Some(frame) = self.seat().tasks.placed.pop(ptr::null()) else {
            return false;
        };
        self.clock().enter(Activity::Busy);
        // SAFETY: it was in the queue, and counted.
        unsafe { self.run_frame(frame, Level::Ground) };
        self.clock().enter(Activity::Steal);
        true
    }
}
