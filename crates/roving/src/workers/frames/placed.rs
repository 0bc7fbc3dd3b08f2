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
use std::ptr;

use super::header::Frame;
use super::root::{Root, pool_of};
use crate::machine::prim::unexplored::{Mutex, MutexGuard};

/// Ready frames that are to be run by one worker.
pub(crate) struct Queue {
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
        self.arrivals.lock()
    }

    /// The owner adds a ready frame, unless it is away: then false.
    pub(super) fn keep(&self, frame: Frame) -> bool {
        let is_back = self.away.get() == 0;
        if is_back {
            self.own.borrow_mut().push_back(frame);
        }
        is_back
    }

    /// Another thread sends a frame. None if the owner is away; else whether it is to be told by a
    /// job in its mailbox.
    pub(super) fn send(&self, frame: Frame) -> Option<bool> {
        let mut arrivals = self.arrivals();
        if arrivals.closed {
            return None;
        }
        arrivals.frames.push_back(frame);
        Some(!mem::replace(&mut arrivals.announced, true))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.own.borrow().is_empty()
    }

    /// The owner takes over what others have sent: nothing, if it is away.
    pub(super) fn take_over(&self) {
        let mut frames = {
            let mut arrivals = self.arrivals();
            arrivals.announced = false;
            mem::take(&mut arrivals.frames)
        };
        self.own.borrow_mut().append(&mut frames);
    }

    /// The owner is away, until it has come back as often as it left.
    pub(super) fn leave(&self) {
        let times = self.away.replace(self.away.get() + 1);
        if times == 0 {
            send_away(self.own.take());
            self.close();
        }
    }

    pub(super) fn come_back(&self) {
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
        // SAFETY: what was in the queue is alive, nobody else's, and counted. The queue is one of
        // its pool's seats.
        unsafe {
            let root = frame.as_ref().root.get();
            pool_of(root).enqueue(root, frame);
        }
    }
}
