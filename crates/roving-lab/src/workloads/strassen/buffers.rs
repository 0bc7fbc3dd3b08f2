//! Memory for sums and products of quadrants, kept from one use to the next: else much of the
//! time would go into asking the system for pages.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// The greatest buffer has fewer than two to this power.
const POWERS: usize = 32;

/// Buffers that nobody uses now, by the binary logarithm of their length.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    free: Box<[Mutex<Vec<Vec<f64>>>; POWERS]>,
}

/// A buffer in use. Dropped, it goes back.
#[derive(Debug)]
pub(super) struct Buffer<'b> {
    buffers: &'b Buffers,
    numbers: Vec<f64>,
}

impl Buffers {
    /// So many numbers, whatever they are; a power of two.
    pub(super) fn take(&self, count: usize) -> Buffer<'_> {
        // What is in a list is whole, even after a panic.
        let mut free = self
            .list(count)
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = free.pop();
        drop(free);
        Buffer {
            buffers: self,
            numbers: known.unwrap_or_else(|| vec![0.0; count]),
        }
    }

    /// Numbers that came from [`Buffer::into_numbers`]; none where none were taken.
    pub(super) fn give(&self, numbers: Vec<f64>) {
        if !numbers.is_empty() {
            let list = self.list(numbers.len());
            let mut free = list.lock().unwrap_or_else(PoisonError::into_inner);
            free.push(numbers);
        }
    }

    fn list(&self, count: usize) -> &Mutex<Vec<Vec<f64>>> {
        &self.free[count.ilog2() as usize]
    }
}

impl Buffer<'_> {
    /// The numbers, to be kept.
    pub(super) fn into_numbers(mut self) -> Vec<f64> {
        std::mem::take(&mut self.numbers)
    }
}

impl Deref for Buffer<'_> {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.numbers
    }
}

impl DerefMut for Buffer<'_> {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.numbers
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        self.buffers.give(std::mem::take(&mut self.numbers));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_and_one_that_is_kept_is_not() {
        let buffers = Buffers::default();
        let (one, other) = (buffers.take(8), buffers.take(16));
        assert_eq!((one.len(), other.len()), (8, 16));
        let place = one.as_ptr();
        drop(one);
        let again = buffers.take(8);
        assert_eq!(again.as_ptr(), place);
        let kept = again.into_numbers();
        assert_ne!(buffers.take(8).as_ptr(), place);
        buffers.give(kept);
        assert_eq!(buffers.take(8).as_ptr(), place);
    }
}
