//! The place of a task that stays with one worker; see [`super::placed`].

use std::pin::Pin;
use std::task::{Context, Poll};

use crate::machine::prim::{AtomicU32, Ordering};

/// An affinity: the worker that runs a task, or none in particular. Shared by all that may move the
/// task.
///
/// ```
/// use roving::raw::tasks::Place;
///
/// let place = Place::new(Some(1));
/// place.set(None);
/// assert_eq!(place.get(), None);
/// ```
#[derive(Debug)]
pub struct Place(AtomicU32);

const ANYWHERE: u32 = u32::MAX;

/// Worker indices are small; a larger one is no worker's.
fn pack(worker: Option<usize>) -> u32 {
    worker.map_or(ANYWHERE, |index| u32::try_from(index).unwrap_or(ANYWHERE))
}

impl Place {
    /// Creates an affinity to the worker with that index; `None` for any.
    pub fn new(worker: Option<usize>) -> Place {
        Place(AtomicU32::new(pack(worker)))
    }

    /// Changes the worker, from the next time on that the task becomes ready. An index that no
    /// worker has means any.
    #[inline]
    pub fn set(&self, worker: Option<usize>) {
        // Ordering: Relaxed; where a task runs is a matter of speed.
        self.0.store(pack(worker), Ordering::Relaxed);
    }

    /// Returns the index of the worker; `None` for any.
    pub fn get(&self) -> Option<usize> {
        // Ordering: Relaxed, as above.
        match self.0.load(Ordering::Relaxed) {
            ANYWHERE => None,
            worker => Some(worker as usize),
        }
    }
}

/// A future with its place, which [`super::header::place_of`] finds at the start of a frame's body.
#[repr(C)]
pub(crate) struct Placed<'place, F> {
    pub(crate) place: &'place Place,
    pub(crate) future: F,
}

impl<F: Future> Future for Placed<'_, F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future is pinned as part of this, and never moved out of it.
        unsafe { self.map_unchecked_mut(|placed| &mut placed.future) }.poll(context)
    }
}
