//! The result of a run: one process writes it, the caller reads it when the network has ended.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::workloads::RunAnswer;

/// The answer and, where a process measured it, the time.
#[derive(Debug, Default)]
pub(super) struct FoundAnswer(Mutex<(RunAnswer, Option<Duration>)>);

impl FoundAnswer {
    /// A run begins: what the last one left is gone.
    pub(super) fn clear(&self) {
        self.set(RunAnswer::default(), None);
    }

    /// The run found this.
    pub(super) fn set(&self, answer: RunAnswer, span: Option<Duration>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (answer, span);
    }

    /// Adds to the figures, each modulo 2^64: for parts that end in any order.
    pub(super) fn add(&self, figures: [u64; 3]) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (sum, figure) in held.0.0.iter_mut().zip(figures) {
            *sum = sum.wrapping_add(figure);
        }
    }

    /// The answer.
    pub(super) fn answer(&self) -> RunAnswer {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// How long that took.
    pub(super) fn span(&self) -> Option<Duration> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}
