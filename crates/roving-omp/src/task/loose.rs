//! Tasks of a team that stand on no stack: those that wait for an event, and those that an event
//! has freed. They are few, so a lock will do.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::heritage::Heritage;
use super::node::LinkedTask;
use crate::sync::mail::Mail;

#[derive(Default)]
pub(crate) struct Loose {
    /// Counts tasks whose event, or that of one they depend on, has not come; holds those that can
    /// run.
    pub(crate) mail: Mail<Arc<LinkedTask>>,
    /// Heritages that tasks have changed for themselves, each from a box. Tasks have the same
    /// pointers, which a box that is moved or written to would end.
    kept: Mutex<Vec<NonNull<Heritage>>>,
    has_kept: AtomicBool,
}

// SAFETY: a heritage that several tasks have is read only, and groups in it stay longer.
unsafe impl Sync for Loose {}
// SAFETY: a heritage that several tasks have is read only, by whichever threads run them.
unsafe impl Send for Loose {}

impl Loose {
    /// Keeps what tasks inherit until the region has ended.
    pub(crate) fn keep(&self, heritage: Heritage) -> *const Heritage {
        let at = NonNull::from(Box::leak(Box::new(heritage)));
        self.kept().push(at);
        // Ordering: Relaxed; the region's end orders it.
        self.has_kept.store(true, Ordering::Relaxed);
        at.as_ptr()
    }

    /// Keeps it in the place of that one, which no other task has. False if that one is not kept.
    pub(crate) fn keep_instead(&self, last: *const Heritage, heritage: Heritage) -> bool {
        let all = self.kept();
        let Some(at) = place_of(&all, last) else {
            return false;
        };
        // SAFETY: it is kept, and no other task reads it, as the caller says.
        unsafe { all[at].write(heritage) };
        true
    }

    /// Keeps that one no longer, which no task has.
    pub(crate) fn drop_kept(&self, last: *const Heritage) {
        let mut all = self.kept();
        if let Some(at) = place_of(&all, last) {
            // SAFETY: it was kept until now, and no task has it, as the caller says.
            unsafe { drop_one(all.swap_remove(at)) };
        }
    }

    /// The region has ended.
    pub(crate) fn forget(&self) {
        // Ordering: Relaxed, both; the region's end orders it.
        if !self.has_kept.load(Ordering::Relaxed) {
            return;
        }
        self.has_kept.store(false, Ordering::Relaxed);
        for kept in self.kept().drain(..) {
            // SAFETY: it was kept until now, and the region's tasks have ended.
            unsafe { drop_one(kept) };
        }
    }

    fn kept(&self) -> MutexGuard<'_, Vec<NonNull<Heritage>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Loose {
    fn drop(&mut self) {
        self.forget();
    }
}

/// Where that one is among all that are kept.
fn place_of(all: &[NonNull<Heritage>], one: *const Heritage) -> Option<usize> {
    all.iter().rposition(|kept| kept.as_ptr() == one.cast_mut())
}

/// # Safety
/// It was kept, is so no longer, and no task has it.
unsafe fn drop_one(kept: NonNull<Heritage>) {
    // SAFETY: it comes from a box, and nobody else knows it, as the caller says.
    drop(unsafe { Box::from_raw(kept.as_ptr()) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_read_what_is_kept_while_more_comes_and_it_is_written_anew() {
        let loose = Loose::default();
        let of = |is_final| Heritage {
            is_final,
            ..Heritage::initial()
        };
        // SAFETY: each is kept when it is read.
        let read = |at: *const Heritage| unsafe { (*at).is_final };
        let first = loose.keep(of(false));
        let others: Vec<_> = (0..9).map(|_| loose.keep(of(true))).collect();
        assert!(!read(first));
        assert!(loose.keep_instead(first, of(true)));
        assert!(read(first) && others.iter().all(|&at| read(at)));
        loose.drop_kept(others[0]);
        assert!(!loose.keep_instead(others[0], of(false)));
        assert!(read(first) && read(others[8]));
        loose.forget();
        assert!(!loose.keep_instead(first, of(false)));
        loose.keep(of(false));
    }
}
