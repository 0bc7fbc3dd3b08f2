//! Collections of what went well, or the first that did not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{FromParallelIterator, IntoParallelIterator, ParallelIterator};

impl<T, C> FromParallelIterator<Option<T>> for Option<C>
where
    T: Send,
    C: FromParallelIterator<T>,
{
    fn from_par_iter<I: IntoParallelIterator<Item = Option<T>>>(iter: I) -> Self {
        let is_none = AtomicBool::new(false);
        let items = iter.into_par_iter().inspect(|item| {
            if item.is_none() {
                // Ordering: Relaxed; the end of the iterator comes before the load.
                is_none.store(true, Ordering::Relaxed);
            }
        });
        let collection = C::from_par_iter(items.while_some());
        // Ordering: Relaxed; all that stores has been joined.
        (!is_none.load(Ordering::Relaxed)).then_some(collection)
    }
}

impl<T, E, C> FromParallelIterator<Result<T, E>> for Result<C, E>
where
    T: Send,
    E: Send,
    C: FromParallelIterator<T>,
{
    fn from_par_iter<I: IntoParallelIterator<Item = Result<T, E>>>(iter: I) -> Self {
        let failure = Mutex::new(None);
        let items = iter.into_par_iter().map(|item| match item {
            Ok(item) => Some(item),
            Err(error) => {
                let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                let other = match &*failure {
                    Some(_) => Some(error),
                    None => failure.replace(error),
                };
                // Its destructor is the user's, and may do anything: not under the lock.
                drop(failure);
                drop(other);
                None
            }
        });
        let collection = C::from_par_iter(items.while_some());
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => {
                // While the error is a variable still: it is not leaked where this panics.
                drop(collection);
                Err(error)
            }
            None => Ok(collection),
        }
    }
}
