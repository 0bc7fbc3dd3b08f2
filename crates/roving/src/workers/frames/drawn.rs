//! Async tasks in a pool whose schedule is drawn ([`crate::replay`]).
//!
//! No frame stands on a task stack there. What would, stands with its root, under the worker that
//! would have it, and the thread that waits for the root plays the workers: one that has frames
//! goes on with its newest, one that has none takes one that was woken, or another worker's oldest.
//! So each order is one that as many threads could have come to, and there are no more frames at a
//! time than with them.

use super::drive::Frames;
use super::frame;
use super::header::{Frame, Link, place_of};
use super::left::One;
use super::level::Level;
use super::root::Root;
use crate::replay::{Habit, Schedule};

use crate::workers::wait::Wait;
use crate::workers::worker::drawn::Play;

impl Frames<'_> {
    /// Asks the schedule about a spawned child: true if it is left for later, false if it is to run
    /// at once.
    ///
    /// # Safety
    /// As [`Frames::spawn_frame`].
    #[inline]
    pub(crate) unsafe fn is_left_by_schedule(self, schedule: &Schedule, child: Frame) -> bool {
        let at_once = self.0.played.draw_at_once(schedule);
        schedule.note(self.0.index(), || {
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
        self,
        schedule: &Schedule,
        parent: Frame,
        child: Frame,
    ) -> Option<Frame> {
        let is_late = schedule.follows(Habit::Late);
        schedule.note(self.0.index(), || {
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
    unsafe fn leave(self, frame: Frame, is_new: bool) {
        // SAFETY: the caller's promise.
        let root = unsafe { &*frame.as_ref().root.get() };
        root.open();
        let left = &mut root.outermost().ready().left;
        left.push(self.0.index(), One { frame, is_new });
    }
}

impl Root {
    /// Runs all that comes of the root, by worker `worker` and those that its thread plays.
    #[inline]
    pub(crate) fn run_drawn(&self, play: Play<'_>) {
        while !self.is_over() {
            if let Some((index, one)) = self.draw_frame(play) {
                // SAFETY: it was left or in the queue, and counted.
                play.play(index, |worker| unsafe {
                    if one.is_new {
                        frame::drop_if_cancelled(one.frame);
                    }
                    Frames(worker).run_frame(one.frame, Level::Ground);
                });
            } else if !play.run_job() {
                Wait(play.worker).park_until(|| self.is_over() || self.has_ready());
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
    fn draw_frame(&self, play: Play<'_>) -> Option<(usize, One)> {
        let schedule = play.schedule;
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
            false => play.draw_free(),
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
        let place = unsafe { place_of(frame) };
        let place = place.filter(|&place| play.can_play(place));
        let index = place.unwrap_or(index);
        schedule.note(index, || format!("woken {chosen} of {woken}"));
        left.last = index;
        let is_new = false;
        Some((index, One { frame, is_new }))
    }
}
