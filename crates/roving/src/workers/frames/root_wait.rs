//! A blocking call waits for its root, and gets the outcome.

use std::any::Any;
use std::sync::Arc;

use super::drive::Frames;
use super::frame;
use super::header::{Frame, TaskPanic};
use super::level::Level;
use super::root::Root;
use crate::inherit::cancelled::first_of;
use crate::machine::meeting_points::park;
use crate::machine::unwind::{drop_quietly, with_frame_lent};
use crate::workers::Worker;
use crate::workers::wait::Wait;
use crate::workers::watched_parks::ParkReason;

impl Root {
    /// Returns the outcome of the root's own frame, or the first panic that was not awaited, when
    /// all frames have ended. Of two panics, [`first_of`] says which.
    ///
    /// # Safety
    /// `frame` is the root's own, of output `T`, and the caller has its handle.
    pub(crate) unsafe fn outcome<T>(&self, frame: Frame) -> Result<T, Box<dyn Any + Send>> {
        // SAFETY: it has ended, and the caller says the rest.
        let outcome = unsafe { frame::take_outcome::<T>(frame) };
        // Without the lock: what is dropped may be a handle of this root's, whose panic comes here.
        let first = self.panic.lock().take();
        match (outcome, first) {
            (Ok(value), None) => Ok(value),
            (Ok(value), Some(payload)) => {
                drop_quietly(value);
                Err(payload)
            }
            (Err(TaskPanic { payload, .. }), other) => Err(first_of(payload, other)),
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
            unsafe { Frames(worker).run_frame(frame, Level::Ground) };
            while !self.is_over() {
                let ready = self.ready().frames.pop_front();
                match ready {
                    // SAFETY: it was in the queue, and counted.
                    Some(frame) => unsafe { Frames(worker).run_frame(frame, Level::Ground) },
                    None => {
                        let is_woken = || self.is_over() || !self.ready().frames.is_empty();
                        Wait(worker).park_for(ParkReason::Event, is_woken);
                    }
                }
            }
        };
        with_frame_lent(|| worker.seat().tasks.away(run));
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
                park();
            }
        });
    }
}
