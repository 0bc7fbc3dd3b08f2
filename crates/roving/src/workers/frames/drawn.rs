//! Async tasks in a pool whose schedule is drawn ([`crate::replay`]).
//!
//! No frame stands on a task stack there. What would, stands with its root, under the worker that
//! would have it, and the thread that waits for the root plays the workers: one that has frames
//! goes on with its newest, one that has none takes one that was woken, or another worker's oldest.
//! So each order is one that as many threads could have come to, and there are no more frames at a
//! time than with them.

use std::collections::VecDeque;

use super::drive::Level;
use super::frame::{self, Frame, Link};
use super::placed;
use super::root::Root;
use crate::replay::{Habit, Schedule};
use crate::workers::Worker;

/// The frames that each of a root's workers has, oldest first; and who ran one last.
#[derive(Default)]
pub(super) struct Left {
    of: Vec<VecDeque<One>>,
    last: usize,
}

/// A frame that a worker has.
struct One {
    frame: Frame,
    /// It has never been polled.
    is_new: bool,
}

impl Left {
    #[inline]
    fn push(&mut self, worker: usize, one: One) {
        if self.of.len() <= worker {
            self.of.resize_with(worker + 1, VecDeque::new);
        }
        self.of[worker].push_back(one);
    }

    fn has(&self, worker: usize) -> bool {
        self.of.get(worker).is_some_and(|frames| !frames.is_empty())
    }

    /// The workers that have frames.
    #[inline]
    fn owners(&self) -> Vec<usize> {
        let workers = 0..self.of.len();
        workers.filter(|&worker| self.has(worker)).collect()
    }
}

impl Worker {
    /// Asks the schedule of a deterministic pool about a spawned child: true if it is left for
    /// later, false if it is to run at once or the pool has no schedule.
    ///
    /// # Safety
    /// As [`Worker::spawn_frame`].
    #[inline]
    pub(super) unsafe fn is_left_by_schedule(&self, child: Frame) -> bool {
        let Some(schedule) = self.schedule() else {
            return false;
        };
        let at_once = self.draw_at_once(schedule);
        schedule.note(self.index(), || {
            format!("spawn: {}", if at_once { "at once" } else { "kept" })
        });
        if !at_once {
            // SAFETY: the caller's promise.
            unsafe { self.leave(child, true) };
        }
        !at_once
    }

    /// A fork: the parent is for others to take; and so is the child, if others are quicker.
    ///
    /// # Safety
    /// Both are the worker's, and the parent counts as scheduled if it is shared.
    #[inline]
    pub(crate) unsafe fn fork_drawn(
        &self,
        schedule: &Schedule,
        parent: Frame,
        child: Frame,
    ) -> Option<Frame> {
        let is_late = schedule.follows(Habit::Late);
        schedule.note(self.index(), || {
            format!("fork: {}", if is_late { "later" } else { "at once" })
        });
        // SAFETY: both are the worker's, which keeps their root open.
        unsafe {
            child.as_ref().link.set(Link::NONE);
            self.leave(parent, false);
            if is_late {
                self.leave(child, true);
                return None;
            }
        }
        Some(child)
    }

    /// # Safety
    /// The frame is this worker's, which keeps its root open.
    #[inline]
    unsafe fn leave(&self, frame: Frame, is_new: bool) {
        // SAFETY: the caller's promise.
        let root = unsafe { &*frame.as_ref().root.get() };
        root.open();
        let left = &mut root.outermost().ready().left;
        left.push(self.index(), One { frame, is_new });
    }
}

impl Root {
    /// Runs all that comes of the root, by worker `worker` and those that its thread plays.
    #[inline]
    pub(super) fn run_drawn(&self, worker: &Worker, schedule: &Schedule) {
        while !self.is_over() {
            if let Some((index, one)) = self.draw_frame(worker, schedule) {
                // SAFETY: it was left or in the queue, and counted.
                worker.play(index, |worker| unsafe {
                    if one.is_new {
                        frame::drop_if_cancelled(one.frame);
                    }
                    worker.run_frame(one.frame, Level::Ground);
                });
            } else if !worker.run_job_drawn(schedule) {
                worker.park_until(|| self.is_over() || self.has_ready());
            }
        }
    }

    #[inline]
    fn has_ready(&self) -> bool {
        let ready = self.ready();
        !ready.frames.is_empty() || !ready.left.owners().is_empty()
    }

    /// The next frame, and who runs it.
    #[inline]
    fn draw_frame(&self, worker: &Worker, schedule: &Schedule) -> Option<(usize, One)> {
        let mut ready = self.ready();
        let ready = &mut *ready;
        let left = &mut ready.left;
        let (woken, owners) = (ready.frames.len(), left.owners());
        if woken == 0 && owners.is_empty() {
            return None;
        }
        let goes_on = left.has(left.last) && !schedule.follows(Habit::Theft);
        let index = match goes_on {
            true => left.last,
            false => worker.draw_free(schedule),
        };
        if left.has(index) {
            schedule.note(index, || "newest frame".to_owned());
            left.last = index;
            return Some((index, left.of[index].pop_back()?));
        }
        if !owners.is_empty() && (woken == 0 || schedule.pick(2) == 0) {
            let victim = owners[schedule.pick(owners.len())];
            schedule.note(index, || format!("oldest frame of {victim}"));
            left.last = index;
            return Some((index, left.of[victim].pop_front()?));
        }
        let chosen = schedule.pick(woken);
        let frame = ready.frames.swap_remove_back(chosen)?;
        // SAFETY: what is in the queue is alive and holds its future.
        let place = unsafe { placed::place_of(frame) };
        let place = place.filter(|&place| worker.can_play(place));
        let index = place.unwrap_or(index);
        schedule.note(index, || format!("woken {chosen} of {woken}"));
        left.last = index;
        let is_new = false;
        Some((index, One { frame, is_new }))
    }
}
