//! How the threads of a team run tasks: their code, those that depend on others, and those that
//! were left to whoever waits.

use std::cell::Cell;
use std::sync::Arc;

use roving::raw::hosted;

use super::Team;
use super::thread::Thread;
use crate::task::body::{Code, TaskBody};
use crate::task::group::Group;
use crate::task::node::{Awaited, LinkedTask};
use crate::task::{Heritage, RunningTask, events};

/// Runs a task's code, unless its group or its region has been cancelled. Returns whether it has.
///
/// # Safety
/// Code and data go together; the heritage stays as long as the task and those it spawns.
#[inline]
pub(crate) unsafe fn run(
    thread: &Thread,
    code: Code,
    heritage: *const Heritage,
    data: *mut (),
) -> bool {
    // SAFETY: the caller's promise.
    if is_cancelled(thread, unsafe { &*heritage }) {
        return false;
    }
    let frame = hosted::open();
    let task = RunningTask::explicit(frame, heritage);
    // SAFETY: the caller's promise.
    thread.within(&task, || unsafe { code(data) });
    hosted::leave(frame);
    true
}

/// Whether a task that inherits this is to be left out.
#[inline]
pub(crate) fn is_cancelled(thread: &Thread, heritage: &Heritage) -> bool {
    // SAFETY: a group stays until its tasks have ended.
    let group = unsafe { heritage.group.as_ref() };
    group.is_some_and(Group::is_cancelled) || thread.team().is_cancelled()
}

/// A node that waits for an end, or begins: what it runs is known now, and it runs when it can.
pub(crate) fn enter(node: Arc<LinkedTask>, thread: &Thread, body: TaskBody) {
    node.give(body);
    if node.is_met() {
        // A thread that is alone in its team may be a worker for an outer one, whose threads would
        // take the task for theirs.
        match thread.team().threads() {
            1 => run_node(node, thread),
            _ => push(node),
        }
    }
}

/// Puts a node on the calling thread's stack, which is one of its team's.
fn push(node: Arc<LinkedTask>) {
    node.stand();
    // SAFETY: it has all that it needs by itself, and the region waits for it.
    let pushed = unsafe { hosted::add(move || run_node(node, Thread::current())) };
    if let Err(run) = pushed {
        run();
    }
}

/// Runs a node, unless somebody has begun it: who waits for it need not take it from where it
/// stands. One whose code is left out ends without its event, too.
fn run_node(node: Arc<LinkedTask>, thread: &Thread) {
    let Some(TaskBody { code, data }) = node.take() else {
        return;
    };
    let frame = hosted::open();
    // SAFETY: code and data go together, and the heritage stays.
    let part = Awaited::with_code(unsafe { run(thread, code, node.heritage_at(), data.at()) });
    if node.is_counted() {
        hosted::drain(frame);
    }
    hosted::leave(frame);
    end_part(&node, part);
}

/// The node's code has run, or its event has come. With both it has ended, and those that depend on
/// it may run. An event that comes after the end changes nothing.
pub(crate) fn end_part(node: &LinkedTask, part: Awaited) {
    let Some(successors) = node.come(part) else {
        return;
    };
    for next in successors {
        match next.is_counted() {
            true if next.is_met_and_told() => {
                // SAFETY: the team stays meanwhile: this one is counted as well, or stands on a
                // stack.
                unsafe { next.post() };
            }
            false if next.is_met() => {
                push(next);
                // SAFETY: this one is not counted either, so the calling thread has run it in a
                // region that waits for that thread and its stack.
                unsafe { node.tell_who_waits() };
            }
            _ => {}
        }
    }
    if node.is_counted() {
        node.leave_counts();
    }
}

/// Runs one of the tasks that were left to those who wait in the team, if it is one of those
/// `wanted`.
pub(super) fn serve(team: &Team, thread: &Thread, wanted: impl Fn(&LinkedTask) -> bool) -> bool {
    let node = team.loose.mail.take(|node| wanted(node));
    let is_one = node.is_some();
    if let Some(node) = node {
        run_node(node, thread);
    }
    is_one
}

/// Whether a task was left in the team that may run on top of what the calling thread waits in.
pub(super) fn has_mail() -> bool {
    let thread = Thread::of_any();
    let may_run = |node: &Arc<LinkedTask>| thread.task().may_run(node);
    !thread.is_new() && thread.team().loose.mail.has(may_run)
}

/// Runs one such task.
pub(super) fn serve_mail() {
    let thread = Thread::of_any();
    serve(thread.team(), thread, |node| thread.task().may_run(node));
}

/// Waits, and runs meanwhile what can run of the task's own children that nobody has begun, and of
/// the tasks that were left in the team and are `wanted`: on top of a task may run only what that
/// waits for.
pub(crate) fn wait_until(
    team: &Team,
    thread: &Thread,
    wanted: impl Fn(&LinkedTask) -> bool,
    done: impl Fn() -> bool,
) {
    let run_own = || thread.task().run_newest();
    wait_with(team, thread, wanted, (run_own, || false), done);
}

/// Waits, and runs meanwhile of the task's own children these and what they depend on, but no
/// others, unless there is an event to wait for, which any child may bring.
pub(crate) fn wait_for_these(
    team: &Team,
    thread: &Thread,
    these: &[Arc<LinkedTask>],
    done: impl Fn() -> bool,
) {
    wait_for_some(team, thread, (these, None), done);
}

/// As [`wait_for_these`] for those of a group that stand on no stack, and runs those that were left
/// in the team. The calling task ends the group.
pub(crate) fn wait_for_group(team: &Team, thread: &Thread, group: &Group) {
    let these = thread.task().loose_in(group);
    let done = || group.are_loose_over();
    wait_for_some(team, thread, (&these, Some(group)), done);
}

fn wait_for_some(
    team: &Team,
    thread: &Thread,
    (these, group): (&[Arc<LinkedTask>], Option<&Group>),
    done: impl Fn() -> bool,
) {
    let task = thread.task();
    let (before, family) = (task.predecessors_of(these), task.family());
    // Those in the group that are not the task's own wait for events, which the group counts.
    let lack_an_event = || before.lack_an_event() || group.is_some_and(Group::lacks_an_event);
    // Also what an event has freed: it may bring the next one.
    let wanted = |node: &LinkedTask| {
        before.have(node)
            || group.is_some_and(|group| node.is_in(group))
            || node.is_of(&family) && lack_an_event()
    };
    let lacked = Cell::new(false);
    let run_own = || match before.next() {
        Some(node) => {
            run_node(node, thread);
            true
        }
        None => {
            lacked.set(lack_an_event());
            lacked.get() && task.run_newest()
        }
    };
    let can_run = || before.next().is_some() || !lacked.get() && lack_an_event();
    wait_with(team, thread, wanted, (run_own, can_run), done);
}

/// Waits, and runs meanwhile one task after the other by `run_own`, or one of those that were left
/// in the team and are `wanted`. `can_run` says whether there may be one for `run_own` again.
fn wait_with(
    team: &Team,
    thread: &Thread,
    wanted: impl Fn(&LinkedTask) -> bool,
    (run_own, can_run): (impl Fn() -> bool, impl Fn() -> bool),
    done: impl Fn() -> bool,
) {
    let mut watched = None;
    while !done() {
        if !serve(team, thread, &wanted) && !run_own() {
            watched = watched.or_else(events::watch);
            // The thread answers nobody while it sleeps: tasks of those further out are for others.
            hosted::show();
            let mail = &team.loose.mail;
            let has_mail = || mail.has(|node| wanted(node));
            mail.wait(|| done() || has_mail() || can_run());
        }
    }
}

/// Waits until no task of the team is left that stands on no stack. After that nobody uses the
/// team's mail for a task that has ended.
pub(super) fn wait_for_loose(team: &Team, thread: &Thread) {
    let mail = &team.loose.mail;
    if mail.has_been_used() {
        wait_until(team, thread, |_| true, || mail.is_over());
        mail.close();
    }
}
