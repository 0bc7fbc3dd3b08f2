//! Constructs that have no place in the ring: a thread came to them when an older one, in which
//! another thread still is, had their place.
//!
//! A construct is in the ring or here, for all threads of its team: the first thread that comes to
//! it decides. It marks the place that it does not get under the lock, and whoever hands that place
//! on finds the mark and looks, under the lock as well, which construct is the first that is not
//! here. A place that has been handed on is not behind, so nobody puts a construct here that may
//! find its place free.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use super::turn::PlaceTurn;
use crate::prim::{Mutex, MutexGuard};

pub(crate) struct Elsewhere<T>(Mutex<BTreeMap<u64, Box<T>>>);

impl<T> Default for Elsewhere<T> {
    fn default() -> Elsewhere<T> {
        Elsewhere(Mutex::new(BTreeMap::new()))
    }
}

impl<T> Elsewhere<T> {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Box<T>>> {
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
            all.insert(k, Box::new(make()));
        }
        all.get(&k).map(|one| std::ptr::from_ref(&**one))
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

    /// Drops those up to construct `k`, which no thread uses any more.
    pub(crate) fn forget(&self, k: u64) {
        self.all().retain(|&one, _| one > k);
    }

    /// Drops all. No thread is in a region.
    pub(crate) fn clear(&self) {
        self.all().clear();
    }
}
