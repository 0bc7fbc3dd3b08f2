//! Tasks of a team that stand on no stack: those that wait for an event, and those that an event
//! has freed. They are few, so a lock will do.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::Heritage;
use super::node::Node;
use crate::sync::gate::Gate;
use crate::team::Team;
use crate::team::thread::Thread;

#[derive(Default)]
pub(crate) struct Loose {
    /// Tasks whose event, or that of one they depend on, has not come.
    count: AtomicUsize,
    /// Tasks that can run, and whether there are some.
    mail: Mutex<Vec<Arc<Node>>>,
    has_mail: AtomicBool,
    gate: Gate,
    /// Heritages that tasks have changed for themselves.
    #[expect(clippy::vec_box, reason = "others point to what is in the boxes")]
    kept: Mutex<Vec<Box<Heritage>>>,
    has_kept: AtomicBool,
}

// SAFETY: heritages are read only, and groups in them stay longer than those.
unsafe impl Sync for Loose {}
// SAFETY: heritages are read only, by whichever thread runs the task.
unsafe impl Send for Loose {}

impl Loose {
    pub(crate) fn is_empty(&self) -> bool {
        // Ordering: Edge [loose]: Acquire, of what the task has done.
        self.count.load(Ordering::Acquire) == 0
    }

    /// One more task is not on a stack.
    pub(crate) fn enter(&self) {
        // Ordering: Relaxed; who enters it is counted itself, or has not come to the barrier.
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// One of them has ended.
    pub(crate) fn leave(&self) {
        // Ordering: Release: [loose].
        self.count.fetch_sub(1, Ordering::Release);
        self.gate.ring();
    }

    #[inline]
    pub(crate) fn has_mail(&self) -> bool {
        // Ordering: Relaxed; the lock orders what is in there.
        self.has_mail.load(Ordering::Relaxed)
    }

    /// Leaves a task to who waits here.
    pub(crate) fn post(&self, team: &Team, node: Arc<Node>) {
        let mut mail = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        mail.push(node);
        // Ordering: Relaxed; as in `has_mail`.
        self.has_mail.store(true, Ordering::Relaxed);
        drop(mail);
        self.gate.ring();
        team.wake_sleepers(&team.barrier);
        team.wake_sleepers(&team.end);
    }

    /// Runs one of the tasks that were left here.
    pub(crate) fn serve(&self, thread: &Thread) -> bool {
        let mut mail = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        let node = mail.pop();
        // Ordering: Relaxed; as in `has_mail`.
        self.has_mail.store(!mail.is_empty(), Ordering::Relaxed);
        drop(mail);
        let is_one = node.is_some();
        if let Some(node) = node {
            node.run(thread);
            thread.task().drain();
        }
        is_one
    }

    /// Waits, and runs meanwhile what can run of the tasks here.
    pub(crate) fn wait_until(&self, thread: &Thread, done: impl Fn() -> bool) {
        while !done() {
            if !self.serve(thread) {
                self.gate.wait(|_| done() || self.has_mail());
            }
        }
    }

    /// Keeps what tasks inherit until the region has ended.
    pub(crate) fn keep(&self, heritage: Heritage) -> *const Heritage {
        let kept = Box::new(heritage);
        let at = std::ptr::from_ref(&*kept);
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(kept);
        // Ordering: Relaxed; the region's end orders it.
        self.has_kept.store(true, Ordering::Relaxed);
        at
    }

    /// The region has ended.
    pub(crate) fn forget(&self) {
        // Ordering: Relaxed, both; the region's end orders it.
        if !self.has_kept.load(Ordering::Relaxed) {
            return;
        }
        self.has_kept.store(false, Ordering::Relaxed);
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.clear();
    }
}
