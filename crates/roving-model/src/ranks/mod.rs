//! Bags of `roving-dist` on simulated ranks, message by message.

mod engine;
mod messages;
mod outcome;
mod rank;
mod wire;

use roving_dist::raw::rules::{ATTEMPTS, BASE};

use crate::error::ModelError;
use engine::Rules;
pub use messages::{MessageCosts, Messages};
pub use outcome::RanksOutcome;

/// More simulated ranks do not fit into the marks of events.
const RANKS_MAX: usize = 1 << 22;

/// A bag of tasks on ranks of one worker each, whose messages take time. Whom a rank asks, what it
/// gives away, when it looks around and how the end is noticed is decided by the code of
/// `roving_dist::Bag`.
///
/// Left out are checkpoints, pauses between two looks of an idle rank, and messages that get into
/// each other's way in the network. A message that arrives at a rank waits until it looks.
///
/// ```
/// use roving_model::{MessageCosts, Ranks};
///
/// // A binary tree of 65,535 tasks of 50 µs, from rank 0.
/// let bag = |ranks| {
///     let costs = MessageCosts { latency_ns: 2_000.0, ..MessageCosts::default() };
///     Ranks::new(ranks).costs(costs).run([15_u32], |depth, tasks| {
///         tasks.extend(vec![depth.saturating_sub(1); if depth > 0 { 2 } else { 0 }]);
///         50_000.0
///     })
/// };
/// let outcome = bag(64)?;
/// assert_eq!(outcome.tasks, 65_535);
/// assert!(outcome.efficiency() > 0.8, "{outcome:?}");
/// assert_eq!(bag(1)?.messages.all(), 0);
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ranks(Rules);

impl Ranks {
    /// As many ranks as that, with the costs of [`MessageCosts::default`] and the lifelines of
    /// `roving_dist`.
    ///
    /// ```
    /// let ranks = roving_model::Ranks::new(1024);
    /// # let _ = ranks;
    /// ```
    pub fn new(ranks: usize) -> Ranks {
        Ranks(Rules {
            ranks,
            costs: MessageCosts::default(),
            attempts: ATTEMPTS,
            base: BASE,
        })
    }

    /// Sets what messages cost.
    ///
    /// ```
    /// # use roving_model::{MessageCosts, Ranks};
    /// let ranks = Ranks::new(8).costs(MessageCosts::default());
    /// # let _ = ranks;
    /// ```
    #[must_use]
    pub fn costs(mut self, costs: MessageCosts) -> Ranks {
        self.0.costs = costs;
        self
    }

    /// Sets how many ranks at random one without tasks asks before its lifelines. `roving_dist`
    /// takes 2.
    ///
    /// ```
    /// let ranks = roving_model::Ranks::new(8).attempts(0);
    /// # let _ = ranks;
    /// ```
    #[must_use]
    pub fn attempts(mut self, attempts: usize) -> Ranks {
        self.0.attempts = attempts;
        self
    }

    /// Sets how many times as far each lifeline is as the one before: with 4 those of rank r go to
    /// r + 1, r + 4, r + 16, …. `roving_dist` takes 2. As many as there are ranks makes a ring.
    ///
    /// ```
    /// let ranks = roving_model::Ranks::new(8).base(8);
    /// # let _ = ranks;
    /// ```
    #[must_use]
    pub fn base(mut self, base: usize) -> Ranks {
        self.0.base = base;
        self
    }

    /// Simulates the run of a bag that begins with these tasks at rank 0. `work` is called once for
    /// each task, adds the tasks that come of it, and says how many ns it takes. What it makes of a
    /// task must depend on the task alone, for the order changes with the number of ranks.
    ///
    /// # Errors
    ///
    /// A number of ranks, a base or a cost that cannot be.
    ///
    /// ```
    /// let outcome = roving_model::Ranks::new(2).run([10_u32], |depth, tasks| {
    ///     tasks.extend(vec![depth.saturating_sub(1); if depth > 0 { 2 } else { 0 }]);
    ///     10_000.0
    /// })?;
    /// assert_eq!(outcome.tasks, 2047);
    /// assert!(roving_model::Ranks::new(0).run([()], |(), _| 1.0).is_err());
    /// # Ok::<(), roving_model::ModelError>(())
    /// ```
    pub fn run<T>(
        &self,
        tasks: impl IntoIterator<Item = T>,
        work: impl FnMut(T, &mut Vec<T>) -> f64,
    ) -> Result<RanksOutcome, ModelError> {
        self.check()?;
        Ok(engine::run(&self.0, tasks.into_iter().collect(), work))
    }

    fn check(&self) -> Result<(), ModelError> {
        if self.0.ranks == 0 || self.0.ranks > RANKS_MAX {
            let allowed = format!("1 to {RANKS_MAX}");
            return Err(ModelError::new("ranks", self.0.ranks, allowed, "take 1024"));
        }
        if self.0.base < 2 {
            return Err(ModelError::new("base", self.0.base, "2 or more", "take 2"));
        }
        let MessageCosts {
            send_ns,
            latency_ns,
            receive_ns,
            task_ns,
        } = self.0.costs;
        let costs = [
            ("send_ns", send_ns),
            ("latency_ns", latency_ns),
            ("receive_ns", receive_ns),
            ("task_ns", task_ns),
        ];
        for (name, cost) in costs {
            if !(0.0..=1e12).contains(&cost) {
                let allowed = "0 to 1e12 ns";
                return Err(ModelError::new(name, cost, allowed, "take 1000"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::mix;

    /// A tree whose nodes have up to four children, by their numbers alone.
    fn tree(ranks: &Ranks, depth: u32) -> RanksOutcome {
        let work = |(node, depth): (u64, u32), tasks: &mut Vec<_>| {
            let children = if depth == 0 { 0 } else { mix(node) % 5 };
            tasks.extend((0..children).map(|child| (mix(node ^ (child + 1)), depth - 1)));
            1_000.0 + (mix(!node) % 20_000) as f64
        };
        ranks.run([(3, depth)], work).unwrap()
    }

    #[test]
    fn every_task_is_run_once_on_any_number_of_ranks_and_any_lifelines() {
        let alone = tree(&Ranks::new(1), 9);
        assert!(alone.tasks > 200, "{alone:?}");
        assert_eq!(alone.messages, Messages::default());
        for count in [2, 3, 7, 64, 1000] {
            for (attempts, base) in [(2, 2), (0, 2), (5, 7), (2, count), (0, count)] {
                let ranks = Ranks::new(count).attempts(attempts).base(base.max(2));
                let outcome = tree(&ranks, 9);
                assert_eq!(outcome.tasks, alone.tasks, "{ranks:?}");
                assert!((outcome.work_ns - alone.work_ns).abs() < 1.0, "{ranks:?}");
                let Messages {
                    asks,
                    refusals,
                    tasks,
                    acknowledgements,
                    ends,
                    ..
                } = outcome.messages;
                // Whoever asks is answered, and each rank hears of the end once.
                assert!(refusals <= asks, "{outcome:?}");
                assert_eq!(acknowledgements, tasks + count as u64 - 1, "{outcome:?}");
                assert_eq!(ends, count as u64 - 1);
                let times = [outcome.worked_ns, outcome.detected_ns, outcome.time_ns];
                assert!(times.is_sorted(), "{outcome:?}");
                assert!(outcome.efficiency() <= 1.0, "{outcome:?}");
            }
        }
    }

    #[test]
    fn a_run_is_the_same_each_time() {
        let [one, other] = [0, 1].map(|_| tree(&Ranks::new(50), 10));
        assert_eq!(one.messages, other.messages);
        assert_eq!(one.time_ns.to_bits(), other.time_ns.to_bits());
    }

    #[test]
    fn more_ranks_are_faster_where_there_is_work_for_them() {
        let time = |count| {
            let flat = vec![(); 4_000];
            let outcome = Ranks::new(count).run(flat, |(), _| 100_000.0).unwrap();
            outcome.time_ns
        };
        let one = time(1);
        for count in [2, 8, 32] {
            let speedup = one / time(count);
            assert!(speedup > 0.85 * count as f64, "{count}: {speedup}");
        }
    }

    #[test]
    fn what_cannot_be_is_named() {
        let error = |ranks: Ranks| ranks.run([()], |(), _| 1.0).unwrap_err().to_string();
        assert!(error(Ranks::new(0)).contains("ranks `0`"));
        assert!(error(Ranks::new(2).base(1)).contains("base `1`"));
        let costs = MessageCosts {
            send_ns: -1.0,
            ..MessageCosts::default()
        };
        assert!(error(Ranks::new(2).costs(costs)).contains("send_ns `-1`"));
    }
}
