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

use roving::raw::hosted;

use super::Heritage;
use super::group::Group;
use super::spawn::{Block, run};
use crate::sync::count::{Count, Missing};
use crate::team::thread::Thread;
use crate::team::{Code, Team};

/// The code that a node runs, and its data.
pub(crate) struct Body {
    pub(crate) code: Code,
    pub(crate) data: Block,
}

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
    successors: Vec<Arc<Node>>,
}

/// A task, as others depend on it.
pub(crate) struct Node {
    links: Mutex<Links>,
    /// Those that it depends on and have not ended, and one more while it is being made.
    unmet: Count,
    /// The parts of its own end that have not come.
    missing: Missing,
    body: Mutex<Option<Body>>,
    heritage: *const Heritage,
    team: *const Team,
    /// How many counted children its parent has.
    family: Arc<Count>,
    counted: AtomicBool,
}

// SAFETY: team and heritage stay until the region has ended, which waits for the node.
unsafe impl Send for Node {}
// SAFETY: all that changes is behind locks and atomics; team and heritage stay.
unsafe impl Sync for Node {}

impl Node {
    pub(crate) fn new(thread: &Thread, family: &Arc<Count>, detaches: bool) -> Arc<Node> {
        let node = Node {
            links: Mutex::default(),
            unmet: Count::of(1),
            missing: Missing::new(match detaches {
                true => Awaited::Code as u8 | Awaited::Event as u8,
                false => Awaited::Code as u8,
            }),
            body: Mutex::new(None),
            heritage: thread.task().heritage_at(),
            team: thread.team(),
            family: Arc::clone(family),
            counted: AtomicBool::new(false),
        };
        if detaches {
            node.count();
        }
        Arc::new(node)
    }

    fn links(&self) -> MutexGuard<'_, Links> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn heritage(&self) -> &Heritage {
        // SAFETY: see `Send`.
        unsafe { &*self.heritage }
    }

    fn team(&self) -> &Team {
        // SAFETY: see `Send`.
        unsafe { &*self.team }
    }

    /// It is counted from now on.
    fn count(&self) {
        // Ordering: Relaxed; the caller is the parent, before the task could run.
        self.counted.store(true, Ordering::Relaxed);
        self.family.enter();
        self.team().loose.enter();
        // SAFETY: a group waits for its tasks.
        if let Some(group) = unsafe { self.heritage().group.as_ref() } {
            group.enter_loose();
        }
    }

    fn leave_counts(&self) {
        // SAFETY: as in `count`.
        if let Some(group) = unsafe { self.heritage().group.as_ref() } {
            group.leave_loose();
        }
        let team = self.team();
        self.family.leave();
        // The last: the team may end.
        team.loose.leave();
    }

    /// It depends on that one. Said by the parent of both.
    pub(crate) fn follow(self: &Arc<Node>, other: &Node) {
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

    /// It has been made, and runs when it can.
    pub(crate) fn enter(self: Arc<Node>, thread: &Thread, body: Body) {
        *self.body.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        if self.is_met() {
            // A thread that is alone in its team may be a worker for an outer one, whose threads
            // would take the task for theirs.
            match thread.team().threads() {
                1 => self.run(thread),
                _ => self.push(),
            }
        }
    }

    /// Whether its code has run, and its event has come.
    pub(crate) fn is_over(&self) -> bool {
        self.links().is_over
    }

    /// One thing that it waited for is there. Returns whether it was the last.
    fn is_met(&self) -> bool {
        self.unmet.leave()
    }

    /// Puts it on the calling thread's stack, which is one of the team's.
    fn push(self: Arc<Node>) {
        // SAFETY: it has all that it needs by itself, and the region waits for it.
        let pushed = unsafe { hosted::add(move || self.run(Thread::current())) };
        if let Err(run) = pushed {
            run();
        }
    }

    /// Runs it.
    pub(crate) fn run(self: Arc<Node>, thread: &Thread) {
        let body = self
            .body
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(Body { code, data }) = body {
            let frame = hosted::open();
            // SAFETY: code and data go together, and the heritage stays.
            unsafe { run(thread, code, self.heritage, data.at()) };
            if self.is_counted() {
                hosted::drain(frame);
            }
            hosted::leave(frame);
        }
        self.end_part(Awaited::Code);
    }

    fn is_counted(&self) -> bool {
        // Ordering: Relaxed; set before it could run.
        self.counted.load(Ordering::Relaxed)
    }

    /// Whether it is a child of the task that has these.
    pub(crate) fn is_of(&self, family: &Arc<Count>) -> bool {
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

    /// Its code has run, or its event has come. With both it has ended.
    pub(crate) fn end_part(self: Arc<Node>, part: Awaited) {
        if !self.missing.come(part as u8) {
            return;
        }
        let successors = {
            let mut links = self.links();
            links.is_over = true;
            std::mem::take(&mut links.successors)
        };
        for node in successors {
            if node.is_met() {
                match node.is_counted() {
                    // The team stays meanwhile: this one is counted as well, or stands on a stack.
                    true => node.team().loose.post(node.team(), Arc::clone(&node)),
                    false => node.push(),
                }
            }
        }
        if self.is_counted() {
            self.leave_counts();
        }
    }
}
