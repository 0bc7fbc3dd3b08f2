//! A thread's way through a loop or through sections.

use std::ptr;
use std::sync::atomic::Ordering;

use super::reduction;
use crate::env::{Schedule, ScheduleKind};
use crate::loops::doacross::Doacross;
use crate::loops::plan::{LoopPlan, Range};
use crate::loops::share::{Joined, Setup, SharedConstruct};
use crate::team::thread::{Progress, Thread};

/// A loop that a thread comes to.
pub(crate) struct Asked<'a> {
    pub(crate) range: Range,
    /// `None`: as `schedule(runtime)` says.
    pub(crate) schedule: Option<Schedule>,
    pub(crate) ordered: bool,
    /// Iterations by level, for a loop that waits for single ones.
    pub(crate) doacross: Option<&'a [i64]>,
}

impl Asked<'_> {
    /// The plan for so many threads.
    pub(crate) fn plan(&self, thread: &Thread, threads: u32) -> LoopPlan {
        let schedule = self.schedule.unwrap_or_else(|| thread.controls().schedule);
        LoopPlan::new(self.range, schedule, threads, self.ordered)
    }
}

/// A schedule as the kind alone says it, or with a size.
pub(crate) fn schedule(kind: ScheduleKind, chunk: u64) -> Schedule {
    Schedule {
        kind,
        monotonic: false,
        chunk,
    }
}

/// Counts a construct, and returns its number and its place.
pub(crate) fn meet(thread: &Thread) -> (u64, &SharedConstruct) {
    let mut progress = thread.progress.get();
    let k = progress.constructs;
    progress.constructs += 1;
    thread.progress.set(progress);
    (k, thread.team().ring.place(k))
}

/// Comes to construct `k`, which may have that place. Returns where it is.
fn join<'t>(
    thread: &'t Thread,
    (k, place): (u64, &'t SharedConstruct),
    mut setup: impl FnMut(&mut Setup<'_>),
) -> (Joined, &'t SharedConstruct) {
    loop {
        let joined = place.join(k, &mut setup);
        if !matches!(joined, Joined::Elsewhere) {
            return (joined, place);
        }
        if let Some(share) = thread.team().ring.elsewhere(k) {
            return (share.join(k, &mut setup), share);
        }
    }
}

/// Comes to a construct of which only the first thread does something.
pub(crate) fn is_first(thread: &Thread) -> bool {
    let threads = thread.team().threads();
    if threads == 1 {
        return true;
    }
    let (k, share) = meet(thread);
    let (joined, share) = join(thread, (k, share), |_| ());
    thread.team().ring.leave(k, share, threads);
    matches!(joined, Joined::First)
}

/// Comes to a loop.
pub(crate) fn begin(thread: &Thread, asked: &Asked<'_>) {
    begin_with(thread, asked, |_| ());
}

/// Comes to a loop, of which the first thread also sets up `more`.
pub(crate) fn begin_with(thread: &Thread, asked: &Asked<'_>, more: impl FnOnce(&mut Setup<'_>)) {
    let mut more = Some(more);
    let (_, share) = join(thread, meet(thread), |setup| {
        *setup.plan = Some(asked.plan(thread, thread.team().threads()));
        *setup.doacross = asked.doacross.map(Doacross::new);
        if let Some(more) = more.take() {
            more(setup);
        }
    });
    let mut progress = thread.progress.get();
    progress.share = share;
    (progress.turn, progress.ordered) = (0, (0, 0));
    thread.progress.set(progress);
}

/// Comes to a loop whose threads share memory, and whose tasks reduce something; both may be null.
///
/// # Safety
/// `memory` leads to the number of bytes, and gets the address; the description is a compiler's.
pub(crate) unsafe fn begin_sharing(
    thread: &Thread,
    asked: &Asked<'_>,
    reductions: *mut usize,
    memory: *mut *mut (),
) {
    begin_with(thread, asked, |setup| {
        // SAFETY: the caller's promise.
        unsafe {
            if !reductions.is_null() {
                reduction::make(reductions, thread.team().threads());
                let copies = reduction::copies(reductions);
                // Ordering: Relaxed; handed on with the turn.
                setup.copies.store(copies, Ordering::Relaxed);
            }
            if !memory.is_null() {
                setup.allocate(*memory as usize);
            }
        }
    });
    let share = thread.share();
    // SAFETY: the caller's promise.
    unsafe {
        if !reductions.is_null() {
            // Ordering: Relaxed; handed on with the turn.
            let copies = share.copies.load(Ordering::Relaxed);
            reduction::join(thread, reductions, copies);
        }
        if !memory.is_null() {
            *memory = share.memory();
        }
    }
}

/// The next iterations, counted from 0.
#[inline]
pub(crate) fn next(thread: &Thread) -> Option<(u64, u64)> {
    let share = thread.share();
    match share.plan().counted {
        true => share.take_counted(),
        false => next_in_turn(thread, share),
    }
}

fn next_in_turn(thread: &Thread, share: &SharedConstruct) -> Option<(u64, u64)> {
    let mut progress = thread.progress.get();
    let is_ordered = share.plan().ordered;
    if is_ordered {
        pass_on(share, progress.ordered);
    }
    let taken = share.take(thread.num().into(), progress.turn);
    progress.turn += 1;
    if is_ordered {
        progress.ordered = taken.unwrap_or((0, 0));
    }
    thread.progress.set(progress);
    taken
}

/// The thread has done these iterations: those after them may run what is `ordered`.
fn pass_on(share: &SharedConstruct, (from, to): (u64, u64)) {
    if from < to {
        wait_for_turn(share, from);
        share.gate.set(to);
    }
}

fn wait_for_turn(share: &SharedConstruct, from: u64) {
    // Ordering: Relaxed; who cancels rings the gate's bell after it.
    let is_cancelled = || share.cancelled.load(Ordering::Relaxed);
    share.gate.wait(|number| number == from || is_cancelled());
}

/// Returns when all iterations before the thread's own have done what is `ordered`.
pub(crate) fn wait_in_order(thread: &Thread) {
    let (from, to) = thread.progress.get().ordered;
    if let Some(share) = thread.construct().filter(|_| from < to) {
        wait_for_turn(share, from);
    }
}

/// The thread is done with its loop.
pub(crate) fn leave(thread: &Thread) {
    let (progress, team) = (thread.progress.get(), thread.team());
    let (k, share) = (progress.constructs - 1, thread.share());
    // Others may use its memory from then on.
    thread.progress.set(Progress {
        share: ptr::null(),
        ..progress
    });
    team.ring.leave(k, share, team.threads());
}

/// Cancels the loop, or the sections, that the thread is in.
pub(crate) fn cancel(thread: &Thread) {
    match thread.construct() {
        Some(share) => {
            // Ordering: Relaxed; who does not see it yet does one part more.
            share.cancelled.store(true, Ordering::Relaxed);
            share.gate.ring();
        }
        None => thread.team().cancel_plain_loop(),
    }
}

/// Whether the loop, or the sections, that the thread is in have been cancelled.
pub(crate) fn is_cancelled(thread: &Thread) -> bool {
    match thread.construct() {
        // Ordering: Relaxed, as above.
        Some(share) => share.cancelled.load(Ordering::Relaxed),
        None => thread.team().is_plain_loop_cancelled(),
    }
}
