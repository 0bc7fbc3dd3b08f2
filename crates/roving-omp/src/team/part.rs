//! One thread's part of a region.

use roving::raw::hosted;

use super::Team;
use super::thread::{Position, Progress, Thread};
use crate::task::RunningTask;

/// Runs one thread's part of the team's region.
pub(crate) fn run(team: &Team, num: u32) {
    let thread = Thread::of_any();
    let region = team.region();
    let frame = hosted::open();
    let task = RunningTask::implicit(frame, &region.heritage);
    let mut progress = Progress::START;
    if region.begins_in_loop {
        (progress.constructs, progress.share) = (1, team.ring.place(0));
    }
    let before = thread.go(Position {
        team,
        num,
        task: &task,
        progress,
    });
    thread.league.set(region.league);
    let site = thread.site.get();
    if let Some(from) = region.site {
        thread.move_to(from.of(region.bind, num as usize, region.threads as usize));
    }
    // SAFETY: who began the region gave code and data that go together, and waits for its end.
    unsafe { (region.code)(region.data) };
    team.wait_for_all(thread, &team.meeting.end, false);
    if num == 0 {
        // At the place where it was; the others stay where they are for their next region.
        thread.site.set(site);
    }
    thread.go(before);
    hosted::leave(frame);
}
