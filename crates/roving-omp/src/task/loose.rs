//! Tasks of a team that stand on no stack: those that wait for an event, and those that an event
//! has freed. They are few, so a lock will do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::heritage::Heritage;
use super::node::LinkedTask;
use crate::sync::mail::Mail;

#[derive(Default)]
pub(crate) struct Loose {
    /// Counts tasks whose event, or that of one they depend on, has not come; holds those that can
    /// run.
    pub(crate) mail: Mail<Arc<LinkedTask>>,
    /// Heritages that tasks have changed for themselves.
    #[expect(clippy::vec_box, reason = "others point to what is in the boxes")]
    kept: Mutex<Vec<Box<Heritage>>>,
    has_kept: AtomicBool,
}

// SAFETY: a heritage that several tasks have is read only, and groups in it stay longer.
unsafe impl Sync for Loose {}
// SAFETY: a heritage that several tasks have is read only, by whichever threads run them.
unsafe impl Send for Loose {}

impl Loose {
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

    /// Keeps it in the place of that one, which no other task has. False if that one is not kept.
    pub(crate) fn keep_instead(&self, last: *const Heritage, heritage: Heritage) -> bool {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_last = |kept: &&mut Box<Heritage>| std::ptr::eq(&raw const ***kept, last);
        let found = all.iter_mut().rev().find(is_last);
        found.map(|kept| **kept = heritage).is_some()
    }

    /// Keeps that one no longer, which no task has.
    pub(crate) fn drop_kept(&self, last: *const Heritage) {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = all
            .iter()
            .rposition(|kept| std::ptr::eq(&raw const **kept, last))
        {
            all.swap_remove(at);
        }
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
