//! One simulated rank: what `bag/state.rs` and `bag/rank.rs` of `roving-dist` keep for a real one.

use std::collections::VecDeque;

use roving_dist::raw::rules::{Engagement, Victims};

use super::wire::Message;

/// See the head of this file.
pub(super) struct Rank<T> {
    /// The newest last.
    pub(super) tasks: Vec<T>,
    /// Tasks that have come, and are not its own yet.
    pub(super) come: Vec<Vec<T>>,
    /// Messages that came while it ran tasks.
    pub(super) inbox: VecDeque<(usize, Message<T>)>,
    pub(super) asking: VecDeque<usize>,
    pub(super) lifelines: VecDeque<usize>,
    /// It waits for an answer.
    pub(super) has_asked: bool,
    pub(super) standing: Vec<usize>,
    pub(super) engagement: Engagement,
    pub(super) victims: Victims,
    /// It has tasks, and looks around between them.
    pub(super) is_busy: bool,
    pub(super) has_begun: bool,
    pub(super) is_ended: bool,
    /// When it is done with what it does.
    pub(super) free: f64,
}

impl<T> Rank<T> {
    pub(super) fn new(rank: usize, ranks: usize, attempts: usize) -> Rank<T> {
        Rank {
            tasks: Vec::new(),
            come: Vec::new(),
            inbox: VecDeque::new(),
            asking: VecDeque::new(),
            lifelines: VecDeque::new(),
            has_asked: false,
            standing: Vec::new(),
            engagement: Engagement::new(rank, ranks),
            victims: Victims::new(rank, ranks, attempts),
            is_busy: false,
            has_begun: false,
            is_ended: false,
            free: 0.0,
        }
    }

    /// Whom to give half to, and whether it waits for an answer.
    pub(super) fn next_thief(&mut self) -> Option<(usize, bool)> {
        if let Some(rank) = self.asking.pop_front() {
            return Some((rank, true));
        }
        self.lifelines.pop_front().map(|rank| (rank, false))
    }

    /// Every other task, beginning with the oldest.
    pub(super) fn half(&mut self) -> Vec<T> {
        let tasks = std::mem::take(&mut self.tasks).into_iter().enumerate();
        let (taken, kept): (Vec<_>, Vec<_>) = tasks.partition(|(place, _)| place % 2 == 0);
        let without_places = |tasks: Vec<(usize, T)>| tasks.into_iter().map(|(_, task)| task);
        self.tasks = without_places(kept).collect();
        without_places(taken).collect()
    }
}
