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
    /// Whether there ever was one.
    has_been_used: AtomicBool,
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
    fn is_empty(&self) -> bool {
        // Ordering: Edge [loose]: Acquire, of what the task has done.
        self.count.load(Ordering::Acquire) == 0
    }

    /// One more task is not on a stack.
    pub(crate) fn enter(&self) {
        // Ordering: Relaxed, both; who enters it has not come to the barrier.
        self.has_been_used.store(true, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// One of them has ended. The lock keeps the team there until the bell has rung: who ends it
    /// takes the lock once more ([`Loose::wait_for_all`]).
    pub(crate) fn leave(&self) {
        let _mail = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Runs one of the tasks that were left here, if it is one of those `wanted`.
    pub(crate) fn serve(&self, thread: &Thread, wanted: impl Fn(&Node) -> bool) -> bool {
        let mut mail = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        let at = mail.iter().rposition(|node| wanted(node));
        let node = at.map(|at| mail.remove(at));
        // Ordering: Relaxed; as in `has_mail`.
        self.has_mail.store(!mail.is_empty(), Ordering::Relaxed);
        drop(mail);
        let is_one = node.is_some();
        if let Some(node) = node {
            node.run(thread);
        }
        is_one
    }

    fn has_mail_of(&self, wanted: impl Fn(&Node) -> bool) -> bool {
        let mail = || self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_mail() && mail().iter().any(|node| wanted(node))
    }

    /// Waits, and runs meanwhile what can run of the tasks here and is `wanted`: on top of a task
    /// may run only what that waits for.
    pub(crate) fn wait_until(
        &self,
        thread: &Thread,
        wanted: impl Fn(&Node) -> bool,
        done: impl Fn() -> bool,
    ) {
        while !done() {
            if !self.serve(thread, &wanted) {
                self.gate.wait(|_| done() || self.has_mail_of(&wanted));
            }
        }
    }

    /// Waits until no task is left. After that nobody uses this for a task that has ended.
    pub(crate) fn wait_for_all(&self, thread: &Thread) {
        // Ordering: Relaxed; who has come to the barrier before has said so.
        if !self.has_been_used.load(Ordering::Relaxed) {
            return;
        }
        self.wait_until(thread, |_| true, || self.is_empty());
        drop(self.mail.lock().unwrap_or_else(PoisonError::into_inner));
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

    /// Keeps it in the place of that one, if that is the last which is kept. False: it is not, or
    /// a task that waits for an event may have inherited it.
    pub(crate) fn keep_instead(&self, last: *const Heritage, heritage: Heritage) -> bool {
        // Ordering: Relaxed; the team has one thread, which has said so.
        if self.has_been_used.load(Ordering::Relaxed) {
            return false;
        }
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.last_mut().filter(|kept| std::ptr::eq(&***kept, last));
        found.map(|kept| **kept = heritage).is_some()
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
