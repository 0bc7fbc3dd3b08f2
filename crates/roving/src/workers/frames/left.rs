//! The frames of a root that would stand on task stacks, in a deterministic pool.

use std::collections::VecDeque;

use super::header::Frame;

/// The frames that each of a root's workers has, oldest first; and who ran one last.
#[derive(Default)]
pub(super) struct Left {
    pub(super) of: Vec<VecDeque<One>>,
    pub(super) last: usize,
}

/// A frame that a worker has.
pub(super) struct One {
    pub(super) frame: Frame,
    /// It has never been polled.
    pub(super) is_new: bool,
}

impl Left {
    #[inline]
    pub(super) fn push(&mut self, worker: usize, one: One) {
        if self.of.len() <= worker {
            self.of.resize_with(worker + 1, VecDeque::new);
        }
        self.of[worker].push_back(one);
    }

    #[inline]
    pub(super) fn has(&self, worker: usize) -> bool {
        self.of.get(worker).is_some_and(|frames| !frames.is_empty())
    }

    /// The workers that have frames.
    #[inline]
    pub(super) fn owners(&self) -> Vec<usize> {
        let workers = 0..self.of.len();
        workers.filter(|&worker| self.has(worker)).collect()
    }
}
