//! Tasks that a rank has, and that may be left over.

use std::mem::needs_drop;
use std::ops::{Deref, DerefMut};

use crate::unwind::drop_quietly;

/// Tasks that are dropped one by one, where they are left over: nobody is to hear of one that
/// panics then, and of two that do the second would end the process.
pub(super) struct Tasks<T>(Vec<T>);

impl<T> From<Vec<T>> for Tasks<T> {
    fn from(tasks: Vec<T>) -> Tasks<T> {
        Tasks(tasks)
    }
}

impl<T> Default for Tasks<T> {
    fn default() -> Tasks<T> {
        Tasks(Vec::new())
    }
}

impl<T> Deref for Tasks<T> {
    type Target = Vec<T>;

    #[inline]
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Tasks<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T> Drop for Tasks<T> {
    fn drop(&mut self) {
        if needs_drop::<T>() {
            self.0.drain(..).for_each(drop_quietly);
        }
    }
}
