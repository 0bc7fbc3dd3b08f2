//! Values whose end is compiled once.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// A value that is dropped by one function.
///
/// The code that drops a value of many parts stands in every function that may drop it, if only
/// because of a panic: for the seats and the settings of a pool that was eleven kilobytes.
pub(crate) struct Apart<T>(ManuallyDrop<T>);

impl<T> Apart<T> {
    pub(crate) const fn new(value: T) -> Apart<T> {
        Apart(ManuallyDrop::new(value))
    }
}

impl<T> Deref for Apart<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Apart<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for Apart<T> {
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: the value is used no more.
        unsafe { ManuallyDrop::drop(&mut self.0) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_value_is_dropped_once() {
        let value = Arc::new(());
        let mut apart = Apart::new(vec![Arc::clone(&value)]);
        apart.push(Arc::clone(&value));
        assert_eq!((apart.len(), Arc::strong_count(&value)), (2, 3));
        drop(apart);
        assert_eq!(Arc::strong_count(&value), 1);
    }
}
