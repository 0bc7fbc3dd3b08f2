//! The outcome of a simulated run of a bag.

use super::messages::Messages;

/// A simulated run of a bag. All times in ns from the start.
///
/// ```
/// let outcome = roving_model::Ranks::new(1).run([5_u32], |left, tasks| {
///     tasks.extend(left.checked_sub(1));
///     100.0
/// })?;
/// assert_eq!((outcome.tasks, outcome.work_ns), (6, 600.0));
/// assert!(outcome.efficiency() > 0.99);
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RanksOutcome {
    /// Simulated ranks.
    pub ranks: usize,
    /// Tasks that were run.
    pub tasks: u64,
    /// The sum of their lengths.
    pub work_ns: f64,
    /// When half of the ranks had begun a task; `None` if that many never did.
    pub half_began_ns: Option<f64>,
    /// When the last task ended.
    pub worked_ns: f64,
    /// When rank 0 knew that no task was left.
    pub detected_ns: f64,
    /// When the last rank knew.
    pub time_ns: f64,
    /// Messages, by what they are.
    pub messages: Messages,
    /// Tasks that went to another rank, each as often as it went.
    pub sent: u64,
}

impl RanksOutcome {
    /// Work over what the ranks could have done in the time that the run took.
    ///
    /// ```
    /// let outcome = roving_model::Ranks::new(4).run([()], |(), _| 1e6)?;
    /// // One task keeps one rank of four busy.
    /// assert!(outcome.efficiency() > 0.24 && outcome.efficiency() <= 0.25);
    /// # Ok::<(), roving_model::ModelError>(())
    /// ```
    pub fn efficiency(&self) -> f64 {
        self.work_ns / (self.ranks as f64 * self.time_ns)
    }
}
