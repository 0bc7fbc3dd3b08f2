//! `taskgroup`: where a task begins a group, and where it ends it.

use std::ptr;

use roving::raw::hosted;

use crate::task::TaskKind;
use crate::task::group::Group;
use crate::team::tasks;
use crate::team::thread::Thread;

/// The calling task's innermost group begins.
pub(crate) fn start(thread: &Thread) {
    let task = thread.task();
    let outer = (task.heritage_at(), task.kind.get() == TaskKind::Changed);
    // SAFETY: the heritage is the task's. The group is just made, and stays until it ends.
    let group = unsafe { &*Group::inside(outer, task.frame(), hosted::open()) };
    task.set_frame(group.frame());
    task.inherit(group.heritage_at());
    task.groups.set(task.groups.get() + 1);
}

/// The group ends.
pub(crate) fn end(thread: &Thread) {
    let task = thread.task();
    let at = task.heritage().group;
    assert!(!at.is_null(), "no taskgroup has begun");
    // SAFETY: a group of this task, which ends here.
    let group = unsafe { &*at };
    hosted::drain(group.frame());
    if !group.are_loose_over() {
        tasks::wait_for_group(thread.team(), thread, group);
    }
    hosted::leave(group.frame());
    task.set_frame(group.outer_frame());
    task.groups.set(task.groups.get() - 1);
    let changed = task.heritage_at();
    let controls = task.heritage().controls;
    task.inherit(group.outer);
    if !ptr::eq(changed, group.heritage_at()) {
        if !task.is_implicit() && !group.outer_is_own {
            // What was changed in the group goes with that; this is the parent's, and others' too.
            task.kind.set(TaskKind::Explicit);
        }
        thread.change(|own| *own = controls);
        // The tasks that have inherited it were of the group.
        thread.team().loose.drop_kept(changed);
    }
    // SAFETY: all of its tasks have ended, and it came from a box.
    drop(unsafe { Box::from_raw(at.cast_mut()) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_task_sets_in_a_group_is_its_own_after_it() {
        let thread = Thread::current();
        let set = |threads| thread.change(|own| own.threads = threads);
        set(3);
        start(thread);
        set(4);
        set(5);
        end(thread);
        assert_eq!(thread.controls().threads, 5);
        set(6);
        assert_eq!(thread.controls().threads, 6);
    }
}
