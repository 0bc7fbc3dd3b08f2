//! Tasks of a team that stand on no stack: those that wait for an event, and those that an event
//! has freed. They are few, so a lock will do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::Heritage;
use super::events;
use super::node::Node;
use crate::sync::mail::Mail;
use crate::team::Team;
use crate::team::thread::Thread;

#[derive(Default)]
pub(crate) struct Loose {
    /// Counts tasks whose event, or that of one they depend on, has not come; holds those that can
    /// run.
    mail: Mail<Arc<Node>>,
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
    /// One more task is not on a stack.
    pub(crate) fn enter(&self) {
        self.mail.enter();
    }

    /// One of them has ended. After that the team may end.
    pub(crate) fn leave(&self) {
        self.mail.leave();
    }

    #[inline]
    pub(crate) fn has_mail(&self) -> bool {
        self.mail.has_some()
    }

    /// Leaves a task to who waits here.
    pub(crate) fn post(&self, team: &Team, node: Arc<Node>) {
        self.mail.post(node);
        team.wake_sleepers(&team.barrier);
        team.wake_sleepers(&team.end);
    }

    /// Runs one of the tasks that were left here, if it is one of those `wanted`.
    pub(crate) fn serve(&self, thread: &Thread, wanted: impl Fn(&Node) -> bool) -> bool {
        let node = self.mail.take(|node| wanted(node));
        let is_one = node.is_some();
        if let Some(node) = node {
            node.run(thread);
        }
        is_one
    }

    /// Waits, and runs meanwhile what can run of the tasks here and is `wanted`: on top of a task
    /// may run only what that waits for.
    pub(crate) fn wait_until(
        &self,
        thread: &Thread,
        wanted: impl Fn(&Node) -> bool,
        done: impl Fn() -> bool,
    ) {
        let mut watched = None;
        while !done() {
            if !self.serve(thread, &wanted) {
                watched = watched.or_else(events::watch);
                let has_mail = || self.mail.has(|node| wanted(node));
                self.mail.wait(|| done() || has_mail());
            }
        }
    }

    /// Waits until no task is left. After that nobody uses this for a task that has ended.
    pub(crate) fn wait_for_all(&self, thread: &Thread) {
        if self.mail.has_been_used() {
            self.wait_until(thread, |_| true, || self.mail.is_over());
            self.mail.close();
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

    /// Keeps it in the place of that one, if that is the last which is kept. False: it is not, or
    /// a task that waits for an event may have inherited it.
    pub(crate) fn keep_instead(&self, last: *const Heritage, heritage: Heritage) -> bool {
        // The team has one thread, which has said so.
        if self.mail.has_been_used() {
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
