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
//! Counted as well is what the parent waits for in the middle of its code, running nothing that it
//! can do without ([`Predecessors`](super::predecessors::Predecessors)): a task in the place of the
//! call, and one of a group that depends on an older one.

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
    /// The code was left out, and perhaps with it what would have brought the event.
    Both = 3,
}

impl Awaited {
    /// The parts that have come where the code has run, or was left out.
    pub(crate) fn with_code(has_run: bool) -> Awaited {
        match has_run {
            true => Awaited::Code,
            false => Awaited::Both,
        }
    }
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
    /// Stays until the code has run. That of a final task's child stands on the stack of a thread
    /// that goes on when the child is over, and may be gone before this one has left the counts.
    heritage: *const Heritage,
    /// The heritage's, where it is counted; null outside of all.
    group: *const Group,
    /// Its team's: where it is counted, and left to those that wait.
    mail: *const Mail<Arc<LinkedTask>>,
    meeting: *const Rendezvous,
    /// How many counted children its parent has.
    family: Arc<OpenCount>,
    counted: AtomicBool,
    /// Whether it has been pushed, not posted.
    stands: AtomicBool,
}

// SAFETY: what it leads to stays as long as it is used, as who made the node has promised.
unsafe impl Send for LinkedTask {}
// SAFETY: all that changes is behind locks and atomics; what it leads to stays, as for `Send`.
unsafe impl Sync for LinkedTask {}

impl LinkedTask {
    /// One with this heritage, of a parent with that family, in a team with this mail and meeting.
    ///
    /// # Safety
    /// The heritage stays until the node is over: a final task waits for that, and what other tasks
    /// have stays until their region ends. Its group, the mail and the meeting stay until the node
    /// has left the counts, which group and region wait for.
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
                true => Awaited::Both as u8,
                false => Awaited::Code as u8,
            }),
            body: Mutex::new(None),
            heritage,
            // SAFETY: it is there now, by the caller's promise.
            group: unsafe { (*heritage).group },
            mail,
            meeting,
            family: Arc::clone(family),
            counted: AtomicBool::new(false),
            stands: AtomicBool::new(false),
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

    fn group(&self) -> Option<&Group> {
        // SAFETY: see `Send`. It is asked for before the node has left the counts.
        unsafe { self.group.as_ref() }
    }

    fn mail(&self) -> &Mail<Arc<LinkedTask>> {
        // SAFETY: see `Send`.
        unsafe { &*self.mail }
    }

    /// It is counted from now on, if it was not.
    pub(crate) fn count(&self) {
        // Ordering: Relaxed, both; the caller is the parent, before the task could run.
        if self.counted.load(Ordering::Relaxed) {
            return;
        }
        self.counted.store(true, Ordering::Relaxed);
        self.family.enter();
        self.mail().enter();
        if let Some(group) = self.group() {
            group.enter_loose();
        }
    }

    /// It is over and counted no more. Its heritage may be gone by now.
    pub(crate) fn leave_counts(&self) {
        if !self.group.is_null() {
            // SAFETY: see `Send`: the group waits for the node until then.
            unsafe { Group::leave_loose(self.group) };
        }
        self.family.leave();
        // SAFETY: see `Send`, and as above. It is the last: the team may end.
        unsafe { Mail::leave(self.mail) };
    }

    /// It depends on that one. Said by the parent of both.
    pub(crate) fn follow(self: &Arc<LinkedTask>, other: &LinkedTask) {
        let mut links = other.links();
        if !links.is_over {
            // Who ends a group need not wait for what came before it.
            if other.is_counted() || other.group != self.group {
                self.count();
            }
            // The lock orders it with the other's end.
            self.unmet.enter();
            links.successors.push(Arc::clone(self));
        }
    }

    /// Whether one of those that depend on it directly is so, if it has not ended.
    pub(super) fn precedes(&self, is_so: impl Fn(*const LinkedTask) -> bool) -> bool {
        let links = self.links();
        links.successors.iter().any(|next| is_so(Arc::as_ptr(next)))
    }

    /// Whether all that it depends on has ended; it is still being made.
    pub(crate) fn is_free(&self) -> bool {
        self.unmet.has_left(1)
    }

    /// Whether its code has run, and its event has come.
    pub(crate) fn is_over(&self) -> bool {
        self.links().is_over
    }

    /// One thing that it waited for is there. Returns whether it was the last: then it can begin,
    /// and that is for the caller to see to.
    pub(crate) fn is_met(&self) -> bool {
        self.unmet.leave()
    }

    /// As [`is_met`](LinkedTask::is_met) for one that is counted: wakes a thread that waits until
    /// the task is free.
    pub(crate) fn is_met_and_told(&self) -> bool {
        // SAFETY: see `Send`: it is counted until it has ended.
        unsafe { Mail::tell(self.mail, || self.unmet.leave()) }
    }

    /// One that depends on it stands on a stack now: wakes a thread that waits for that one.
    ///
    /// # Safety
    /// The team is there until this returns.
    pub(crate) unsafe fn tell_who_waits(&self) {
        // SAFETY: the caller's promise.
        unsafe { (*self.mail).ring() };
    }

    /// It waits for nothing, and is to stand on the calling thread's stack.
    pub(crate) fn stand(&self) {
        // Ordering: Relaxed; the lock of its body orders who begins it.
        self.stands.store(true, Ordering::Relaxed);
    }

    /// Whether it stands on a stack, and nobody has begun it.
    pub(super) fn can_begin(&self) -> bool {
        // Ordering: Relaxed, as above.
        self.stands.load(Ordering::Relaxed) && self.body().is_some()
    }

    fn body(&self) -> MutexGuard<'_, Option<TaskBody>> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives it the code that it runs. Done once, before it can run.
    pub(crate) fn give(&self, body: TaskBody) {
        *self.body() = Some(body);
    }

    /// Takes the code that it runs. `None`: somebody has begun it.
    pub(crate) fn take(&self) -> Option<TaskBody> {
        self.body().take()
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
        let mut at = self.group;
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
    /// it. `None` otherwise, or where it had ended before: then nothing but the node itself need be
    /// there.
    pub(crate) fn come(&self, part: Awaited) -> Option<Vec<Arc<LinkedTask>>> {
        let is_last = match part {
            Awaited::Code if self.missing.is_only(Awaited::Both as u8) => self.come_before_event(),
            _ => self.missing.come(part as u8),
        };
        if !is_last {
            return None;
        }
        if matches!(part, Awaited::Event) {
            self.lacks_no_event();
        }
        let mut links = self.links();
        links.is_over = true;
        Some(std::mem::take(&mut links.successors))
    }

    /// Its code has run, and its event has not come, as far as is known: those are woken that wait
    /// for it, and may run now what brings the event. Returns whether that came meanwhile.
    fn come_before_event(&self) -> bool {
        let groups = self.group().into_iter().flat_map(Group::outwards);
        groups.for_each(Group::enter_lacking);
        let come = || self.missing.come(Awaited::Code as u8);
        // SAFETY: see `Send`: one with an event is counted until both parts have come, so at least
        // until this one has.
        let is_last = unsafe { Mail::tell(self.mail, come) };
        if is_last {
            self.lacks_no_event();
        }
        is_last
    }

    /// It was one that lacked its event, and is still counted.
    fn lacks_no_event(&self) {
        let groups = self.group().into_iter().flat_map(Group::outwards);
        groups.for_each(Group::leave_lacking);
    }

    /// Leaves it to those of its team's threads that wait.
    ///
    /// # Safety
    /// The team stays until this returns: the node may have ended by then.
    pub(crate) unsafe fn post(self: Arc<LinkedTask>) {
        // SAFETY: they are there now, see `Send`, and stay meanwhile by the caller's promise.
        let (mail, meeting) = unsafe { (&*self.mail, &*self.meeting) };
        mail.post(self);
        meeting.barrier.rounds.ring();
        meeting.end.rounds.ring();
        // Those that sleep at a barrier as workers; and those that wait for a stolen task.
        meeting.wake_parked();
    }
}

#[cfg(test)]
mod tests {
    use std::{ptr, thread};

    use super::*;

    #[test]
    fn a_node_leaves_its_group_though_its_heritage_is_gone() {
        let [group, other] = [(); 2].map(|()| Group::of_region(ptr::null_mut()));
        let mut heritage = Heritage {
            group: ptr::from_ref(&*group),
            ..Heritage::initial()
        };
        let (mail, meeting) = (Mail::default(), Rendezvous::new(None));
        let family = Arc::default();
        // SAFETY: all of them stay until the end of the test.
        let node = unsafe { LinkedTask::new(&heritage, &family, (&mail, &meeting), true) };
        assert!(node.come(Awaited::Code).is_none());
        assert!(node.come(Awaited::Event).is_some());
        assert!(!group.are_loose_over());
        // As if something else stood there now.
        heritage.group = ptr::from_ref(&*other);
        node.leave_counts();
        assert!(group.are_loose_over() && other.are_loose_over());
        assert!(mail.is_over() && ptr::eq(node.heritage_at(), &heritage));
    }

    #[test]
    fn a_group_and_a_mail_may_go_as_soon_as_a_node_has_left_them() {
        let group = Box::into_raw(Group::of_region(ptr::null_mut()));
        let heritage = Heritage {
            group,
            ..Heritage::initial()
        };
        let (mail, meeting) = (Box::into_raw(Box::default()), Rendezvous::new(None));
        let family = Arc::default();
        // SAFETY: they stay until the node has left the counts.
        let node = unsafe { LinkedTask::new(&heritage, &family, (&*mail, &meeting), true) };
        thread::scope(|s| {
            s.spawn(|| node.leave_counts());
            // SAFETY: each is there until it is dropped, when the node has left it.
            unsafe {
                while !(*group).are_loose_over() {
                    thread::yield_now();
                }
                drop(Box::from_raw(group));
                while !(*mail).is_over() {
                    thread::yield_now();
                }
                (*mail).close();
                drop(Box::from_raw(mail));
            }
        });
    }

    #[test]
    fn a_node_that_was_left_out_ends_once() {
        let heritage = Heritage::initial();
        let (mail, meeting) = (Mail::default(), Rendezvous::new(None));
        for detaches in [true, false] {
            // SAFETY: all of them stay until the end of the test.
            let node =
                unsafe { LinkedTask::new(&heritage, &Arc::default(), (&mail, &meeting), detaches) };
            assert!(node.come(Awaited::with_code(false)).is_some());
            assert!(node.is_over());
            assert!(node.come(Awaited::Event).is_none());
        }
    }
}
