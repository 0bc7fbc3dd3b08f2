//! Lists of pools that do not keep them alive.

use std::ptr;
use std::sync::{Arc, Weak};

use crate::workers::registry::Registry;

/// The pools that somebody looks at from outside.
#[derive(Default)]
pub(super) struct Pools(Vec<Weak<Registry>>);

impl Pools {
    /// Adds one, and leaves out those that are gone.
    pub(super) fn enter(&mut self, pool: &Arc<Registry>) {
        self.leave(ptr::null());
        self.0.push(Arc::downgrade(pool));
    }

    /// Leaves one out, and those that are gone. Returns whether none is left.
    pub(super) fn leave(&mut self, left: *const Registry) -> bool {
        self.0
            .retain(|pool| pool.strong_count() > 0 && pool.as_ptr() != left);
        self.0.is_empty()
    }

    /// Whether one of them lives. Drops none, so that it may be asked under a lock.
    #[inline]
    pub(super) fn any_lives(&self) -> bool {
        self.0.iter().any(|pool| pool.strong_count() > 0)
    }

    /// The one at that place of the list.
    pub(super) fn get(&self, place: usize) -> Option<Weak<Registry>> {
        self.0.get(place).cloned()
    }

    /// Those that live. The last one to drop one of these may end it, so not under a lock.
    pub(super) fn all(&self) -> Vec<Arc<Registry>> {
        let mut all = Vec::new();
        for pool in &self.0 {
            if let Some(pool) = pool.upgrade() {
                all.push(pool);
            }
        }
        all
    }
}
