//! A worker runs the tasks that stay with it.

use std::ptr;

use super::drive::Frames;
use super::level::Level;
use super::root::run_frames;
use crate::stats::Activity;
use crate::workers::sleep::sleep_loop::has_found;

impl Frames<'_> {
    /// Runs the oldest frame that has its place here. False if there is none.
    pub(crate) fn run_placed(self) -> bool {
        let Some(frame) = self.0.seat().tasks.placed.pop(ptr::null()) else {
            return false;
        };
        has_found(self.0);
        self.0.clock().enter(Activity::Busy);
        // SAFETY: it was in the queue, and counted.
        unsafe { run_frames(&[frame], Level::Ground) };
        self.0.clock().enter(Activity::Steal);
        true
    }
}
