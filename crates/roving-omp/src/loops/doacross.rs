//! Iterations that wait for others: `ordered depend(sink: …)` and `depend(source)`.
//!
//! The iterations of the outermost loop are given to threads, each with all of its inner ones,
//! which run in their order. So how far an outer iteration has come is one number.

use crate::prim::{AtomicU64, Ordering, ord};
use crate::sync::gate::Gate;

/// How far each outer iteration has come.
pub(crate) struct Doacross {
    /// Iterations of the inner loops, by level.
    inner: Box<[u64]>,
    /// One more than the number of the last inner iteration that is done.
    done: Box<[AtomicU64]>,
}

impl Doacross {
    pub(crate) fn new(counts: &[i64]) -> Doacross {
        let inner = counts[1..].iter().map(|&count| count as u64).collect();
        let outer = usize::try_from(counts[0]).unwrap_or(0);
        Doacross {
            inner,
            done: (0..outer).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// How many numbers an iteration has.
    pub(crate) fn levels(&self) -> usize {
        self.inner.len() + 1
    }

    fn number(&self, inner: &[i64]) -> u64 {
        let pairs = self.inner.iter().zip(inner);
        pairs.fold(0, |number, (count, &index)| number * count + index as u64)
    }

    /// This iteration is done as far as others wait for it, at that gate.
    pub(crate) fn post(&self, gate: &Gate, iteration: &[i64]) {
        if let Some(done) = self.done.get(iteration[0] as usize) {
            // Ordering: Edge [post]: Release, to those that wait for the iteration.
            let number = self.number(&iteration[1..]) + 1;
            done.store(number, ord("post", Ordering::Release));
            gate.ring();
        }
    }

    /// Waits until that iteration has been posted.
    pub(crate) fn wait(&self, gate: &Gate, iteration: &[i64]) {
        let number = self.number(&iteration[1..]);
        if let Some(done) = self.done.get(iteration[0] as usize) {
            // Ordering: Acquire. Pairs with [post].
            let order = ord("see_post", Ordering::Acquire);
            gate.wait(|_| done.load(order) > number);
        }
    }
}
