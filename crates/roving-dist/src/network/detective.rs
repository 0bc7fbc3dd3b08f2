//! The questions that rank 0 puts to all about who waits for whom: `deadlock.rs` says what happens
//! with the answers.

use super::snapshot::Snapshot;

/// Rank 0's questions to all, by which it finds deadlocks.
#[derive(Default)]
pub(super) struct Detective {
    pub(super) number: u64,
    pub(super) asking: Option<Asking>,
    /// Somebody has become quiet since the last question was put.
    pub(super) again: bool,
}

impl Detective {
    /// The ranks whose answers are awaited, if any are.
    pub(super) fn missing(&self) -> Option<Vec<usize>> {
        let answers = self.asking.as_ref()?.answers.iter().enumerate();
        Some(
            answers
                .filter(|(_, answer)| answer.is_none())
                .map(|(rank, _)| rank)
                .collect(),
        )
    }

    /// Answers are awaited: nothing is to move until they are there.
    pub(super) fn is_asking(&self) -> bool {
        self.asking.is_some()
    }
}

pub(super) struct Asking {
    /// The first answers; `None` in the first look.
    pub(super) first: Option<Vec<Snapshot>>,
    pub(super) answers: Vec<Option<Snapshot>>,
}
