//! Tasks that depend on others, are depended on, or wait for an event.
//!
//! A node that depends on nothing unended is pushed as any task is. The others are *held*: whoever
//! ends the last of those that a node depends on pushes it, onto its own stack. That is above what
//! that thread runs, which the parent of both waits for; so the parent waits for the node as well,
//! and nothing is counted.
//!
//! It is not so where an event takes part: then what has ended need not be what others wait for. A
//! task with `detach`, and all that depend on it, are *counted*, where their parent, their group
//! and their team look before they go on. What an event has freed is left to those that wait
//! ([`Loose`](super::loose::Loose)), for the thread that brought the event need not wait for it.
//! A counted task ends after all that it has spawned: no stack that others wait for has that.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::body::TaskBody;
use super::group::Group;
use super::heritage::Heritage;
use crate::sync::count::{Missing, OpenCount};
use crate::sync::mail::Mail;
use crate::sync::rendezvous::Rendezvous;

/// Without these a node has not ended.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Awaited {
    Code = 1,
    Event = 2,
}

#[derive(Default)]
struct Links {
    is_over: bool,
    successors: Vec<Arc<LinkedTask>>,
}

/// A task, as others depend on it.
pub(crate) struct LinkedTask {
    links: Mutex<Links>,
    /// Those that it depends on and have not ended, and one more while it is being made.
    unmet: OpenCount,
    /// The parts of its own end that have not come.
    missing: Missing,
    body: Mutex<Option<TaskBody>>,
    heritage: *const Heritage,
    /// Its team's: where it is counted, and left to those that wait.
    mail: *const Mail<Arc<LinkedTask>>,
    meeting: *const Rendezvous,
    /// How many counted children its parent has.
    family: Arc<OpenCount>,
    counted: AtomicBool,
}

// SAFETY: heritage, mail and meeting stay until the node has ended, as who made it has promised.
unsafe impl Send for LinkedTask {}
// SAFETY: all that changes is behind locks and atomics; heritage, mail and meeting stay.
unsafe impl Sync for LinkedTask {}

impl LinkedTask {
    /// One with this heritage, of a parent with that family, in a team with this mail and meeting.
    ///
    /// # Safety
    /// Heritage, mail and meeting stay until the node has ended, as those of a task do, for whose
    /// children its group and its region wait.
    pub(crate) unsafe fn new(
        heritage: *const Heritage,
        family: &Arc<OpenCount>,
        (mail, meeting): (&Mail<Arc<LinkedTask>>, &Rendezvous),
        detaches: bool,
    ) -> Arc<LinkedTask> {
        let node = LinkedTask {
            links: Mutex::default(),
            unmet: OpenCount::of(1),
            missing: Missing::new(match detaches {
                true => Awaited::Code as u8 | Awaited::Event as u8,
                false => Awaited::Code as u8,
            }),
            body: Mutex::new(None),
            heritage,
            mail,
            meeting,
            family: Arc::clone(family),
            counted: AtomicBool::new(false),
        };
        if detaches {
            node.count();
        }
        Arc::new(node)
    }

    /// The heritage that it has, and hands on.
    pub(crate) fn heritage_at(&self) -> *const Heritage {
        self.heritage
    }

    fn links(&self) -> MutexGuard<'_, Links> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn heritage(&self) -> &Heritage {
        // SAFETY: see `Send`.
        unsafe { &*self.heritage }
    }

    fn mail(&self) -> &Mail<Arc<LinkedTask>> {
        // SAFETY: see `Send`.
        unsafe { &*self.mail }
    }

    /// It is counted from now on.
    fn count(&self) {
        // Ordering: Relaxed; the caller is the parent, before the task could run.
        self.counted.store(true, Ordering::Relaxed);
        self.family.enter();
        self.mail().enter();
        // SAFETY: a group waits for its tasks.
        if let Some(group) = unsafe { self.heritage().group.as_ref() } {
            group.enter_loose();
        }
    }

    pub(crate) fn leave_counts(&self) {
        // SAFETY: as in `count`.
        if let Some(group) = unsafe { self.heritage().group.as_ref() } {
            group.leave_loose();
        }
        let mail = self.mail();
        self.family.leave();
        // The last: the team may end.
        mail.leave();
    }

    /// It depends on that one. Said by the parent of both.
    pub(crate) fn follow(self: &Arc<LinkedTask>, other: &LinkedTask) {
        let mut links = other.links();
        if !links.is_over {
            // Ordering: Relaxed, both; the same thread wrote them.
            if other.counted.load(Ordering::Relaxed) && !self.counted.load(Ordering::Relaxed) {
                self.count();
            }
            // The lock orders it with the other's end.
            self.unmet.enter();
            links.successors.push(Arc::clone(self));
        }
    }

    /// Whether all that it depends on has ended; it is still being made.
    pub(crate) fn is_free(&self) -> bool {
        self.unmet.has_left(1)
    }

    /// Whether its code has run, and its event has come.
    pub(crate) fn is_over(&self) -> bool {
        self.links().is_over
    }

    /// One thing that it waited for is there. Returns whether it was the last.
    pub(crate) fn is_met(&self) -> bool {
        self.unmet.leave()
    }

    /// Gives it the code that it runs. Done once, before it can run.
    pub(crate) fn give(&self, body: TaskBody) {
        *self.body.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
    }

    /// Takes the code that it runs.
    pub(crate) fn take(&self) -> Option<TaskBody> {
        let mut body = self.body.lock().unwrap_or_else(PoisonError::into_inner);
        body.take()
    }

    pub(crate) fn is_counted(&self) -> bool {
        // Ordering: Relaxed; set before it could run.
        self.counted.load(Ordering::Relaxed)
    }

    /// Whether it is a child of the task that has these.
    pub(crate) fn is_of(&self, family: &Arc<OpenCount>) -> bool {
        Arc::ptr_eq(&self.family, family)
    }

    /// Whether it belongs to the group, which has not ended.
    pub(crate) fn is_in(&self, group: &Group) -> bool {
        let mut at = self.heritage().group;
        // SAFETY: a group waits for its tasks, and those around it wait for it.
        while let Some(one) = unsafe { at.as_ref() } {
            if std::ptr::eq(one, group) {
                return true;
            }
            at = one.outer_group;
        }
        false
    }

    /// Whether its code has run, and its event has not come.
    pub(super) fn lacks_event_alone(&self) -> bool {
        self.missing.is_only(Awaited::Event as u8)
    }

    /// Its code has run, or its event has come. `Some`: with that it has ended, and these depend on
    /// it.
    pub(crate) fn come(&self, part: Awaited) -> Option<Vec<Arc<LinkedTask>>> {
        if !self.missing.come(part as u8) {
            return None;
        }
        let mut links = self.links();
        links.is_over = true;
        Some(std::mem::take(&mut links.successors))
    }

    /// Leaves it to those of its team's threads that wait.
    ///
    /// # Safety
    /// The team stays until this returns: the node may have ended by then.
    pub(crate) unsafe fn post(self: Arc<LinkedTask>) {
        // SAFETY: they are there now, see `Send`, and stay meanwhile by the caller's promise.
        let (mail, meeting) = unsafe { (&*self.mail, &*self.meeting) };
        mail.post(self);
        meeting.wake_sleepers(&meeting.barrier);
        meeting.wake_sleepers(&meeting.end);
    }
}
