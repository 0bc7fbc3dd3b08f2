//! The pool as roots see it: who looks into their queues, and who takes a frame with a place.

use std::sync::{Arc, Weak};

use super::drive::Frames;
use super::header::Frame;
use super::level::Level;
use super::local::Local;
use super::root::{Outlet, Root};
use crate::workers::Worker;
use crate::workers::inject::JobKind;
use crate::workers::job::Job;
use crate::workers::registry::Registry;

impl Outlet for Registry {
    #[inline]
    fn issue_ticket(self: Arc<Registry>, root: &Arc<Root>) {
        self.kind.queued(&mut || issue_ticket(&self, root));
    }

    #[inline]
    unsafe fn send(self: Arc<Registry>, index: usize, frame: Frame) -> bool {
        if index >= self.workers() {
            return false;
        }
        let Some(announces) = self.seats[index].tasks.placed.send(frame) else {
            return false;
        };
        if announces {
            let take_over = || Local::with(|local| local.placed.take_over());
            self.post(index, JobKind::Awaited, Job::new(take_over));
        }
        true
    }

    unsafe fn run(&self, frames: &[Frame], level: Level) {
        Worker::with_current(|worker| {
            let worker = worker.expect("frames are run by workers");
            // SAFETY: the caller's promise.
            unsafe { Frames(worker).run_frames(frames, level) };
        });
    }
}

/// The ticket does not keep the root, which keeps its pool: who waits for the root may take the
/// frame, and the pool have ended, before the ticket is in its queue. Nobody would draw it there.
#[inline]
fn issue_ticket(registry: &Arc<Registry>, root: &Arc<Root>) {
    let root = Arc::downgrade(root);
    registry.inject(JobKind::Awaited, Job::new(move || serve_ticket(root)));
}

/// Serves a ticket: runs the oldest frame that is ready, if there still is one, and makes sure that
/// the next one finds a worker.
#[inline]
fn serve_ticket(root: Weak<Root>) {
    // Else it is over.
    let Some(root) = root.upgrade() else {
        return;
    };
    let (frame, more) = {
        let mut ready = root.ready();
        let frame = ready.frames.pop_front();
        ready.ticket = !ready.frames.is_empty();
        (frame, ready.ticket)
    };
    Worker::with_current(|worker| {
        let worker = worker.expect("jobs are run by workers");
        if more {
            issue_ticket(worker.registry(), &root);
        }
        if let Some(frame) = frame {
            // SAFETY: it was in the queue, and counted.
            unsafe { Frames(worker).run_frame(frame, Level::Ground) };
        }
    });
}
