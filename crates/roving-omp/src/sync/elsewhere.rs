//! Constructs that have no place in the ring: a thread came to them when an older one, in which
//! another thread still is, had their place.
//!
//! A construct is in the ring or here, for all threads of its team: the first thread that comes to
//! it decides. It marks the place that it does not get under the lock, and whoever hands that place
//! on finds the mark and looks, under the lock as well, which construct is the first that is not
//! here. A place that has been handed on is not behind, so nobody puts a construct here that may
//! find its place free.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use super::turn::PlaceTurn;
use crate::prim::{Mutex, MutexGuard};

/// Threads point to what is in it, while the map moves: what is in an `Arc` may be pointed to by
/// others meanwhile, and what is in a `Box` may not.
pub(crate) struct Elsewhere<T>(Mutex<BTreeMap<u64, Arc<T>>>);

impl<T> Default for Elsewhere<T> {
    fn default() -> Elsewhere<T> {
        Elsewhere(Mutex::new(BTreeMap::new()))
    }
}

impl<T> Elsewhere<T> {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Construct `k`, whose place has that turn, if it is here. The first thread that comes puts it
    /// here, where the place is behind. It stays until [`Elsewhere::forget`].
    pub(crate) fn find(
        &self,
        k: u64,
        place: &PlaceTurn,
        make: impl FnOnce() -> T,
    ) -> Option<*const T> {
        let mut all = self.all();
        if !all.contains_key(&k) && place.pass_by(k) {
            all.insert(k, Arc::new(make()));
        }
        all.get(&k).map(Arc::as_ptr)
    }

    /// The last thread has left construct `k`, and the place with that turn is cleared: it is for
    /// the next construct of its own that is not here, as many further on each.
    pub(crate) fn hand_on(&self, place: &PlaceTurn, k: u64, ring: u64) {
        if !place.hand_on(k, k + ring) {
            let all = self.all();
            let mut next = k + ring;
            while all.contains_key(&next) {
                next += ring;
            }
            place.hand_on_to(next);
        }
    }

    /// Drops those up to construct `k`, which no thread uses any more. All threads leave constructs
    /// in order, so they are the first ones, and mostly one: what is kept for those that are behind
    /// is not looked at.
    pub(crate) fn forget(&self, k: u64) {
        let mut over = Vec::new();
        let mut all = self.all();
        while let Some(first) = all.first_entry().filter(|first| *first.key() <= k) {
            over.push(first.remove());
        }
        // They are dropped when others can go on.
        drop(all);
    }

    /// Drops all. No thread is in a region.
    pub(crate) fn clear(&self) {
        self.all().clear();
    }
}
