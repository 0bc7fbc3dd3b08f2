//! A discrete-event simulator of the runtime's own policies.
//!
//! These are simulated, rule for rule: the task stack with its public part, how much is published
//! eagerly and on demand, the amount that a thief takes and the offers of the rest, the choice of
//! victims, steal back-off, asking and sleeping and who wakes whom, waiting by leapfrogging and
//! then by parking, and compensation threads. The README lists what is simplified.

mod bits;
mod engine;
mod loops;
mod machine;
mod outcome;
mod owner;
mod rules;
mod seat;
mod thief;
mod waiting;

#[cfg(test)]
mod tests;

pub use machine::{ByDistance, Costs, Topology};
pub use outcome::{Outcome, Sample};

use crate::{ModelError, Tree};
use engine::RuntimeEngine;
use roving::policy::Amount;
use roving::raw::rules::{AMOUNT_MAX, SPARES_MAX, Shown, WORKERS_LIMIT, least_of};
use rules::Rules;

/// Most simulated workers.
const WORKERS_MAX: usize = 1 << 22;

/// A simulated pool, to run task trees on.
///
/// ```
/// use roving::policy::Amount;
/// use roving_model::{Costs, Flat, Runtime, Topology};
///
/// let flat = Flat { tasks: 2000, task_ns: 10_000.0, spawn_ns: 20.0 };
/// let pool = Runtime::new(64)
///     .amount(Amount::Half)
///     .topology(Topology { pair: 2, socket: 32 })
///     .costs(Costs { wake: 5000.0, ..Costs::default() })
///     .seed(7);
/// let outcome = pool.run(&flat)?;
/// assert!(outcome.speedup() > 20.0);
/// assert_eq!(outcome, pool.run(&flat)?, "the same seed gives the same run");
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Runtime {
    workers: usize,
    sleeping: bool,
    cores: Option<usize>,
    amount: Amount,
    topology: Topology,
    near_first: bool,
    costs: Costs,
    seed: u64,
}

impl Runtime {
    /// So many workers, each with a core of its own.
    pub fn new(workers: usize) -> Runtime {
        Runtime {
            workers,
            sleeping: false,
            cores: None,
            amount: Amount::One,
            topology: Topology::default(),
            near_first: false,
            costs: Costs::default(),
            seed: 1,
        }
    }

    /// Whether tasks sleep instead of computing, and leave their core to others meanwhile. Then
    /// each thread has a core, those included that stand in for others, unless [`Self::cores`]
    /// says how many there are.
    ///
    /// ```
    /// use roving_model::{Fib, Runtime};
    /// let fib = Fib { n: 12, call_ns: 1e6 };
    /// let outcome = Runtime::new(8).sleeping(true).run(&fib)?;
    /// assert!(outcome.speedup() > 6.0);
    /// # Ok::<(), roving_model::ModelError>(())
    /// ```
    #[must_use]
    pub fn sleeping(self, sleeping: bool) -> Runtime {
        Runtime { sleeping, ..self }
    }

    /// So many threads run at a time, where tasks [sleep](Self::sleeping): those that steal, wake
    /// and look around take turns at the cores.
    ///
    /// ```
    /// use roving_model::{Fib, Runtime};
    /// let fib = Fib { n: 12, call_ns: 1e6 };
    /// let pool = Runtime::new(64).sleeping(true);
    /// assert!(pool.cores(2).run(&fib)?.time_ns > pool.run(&fib)?.time_ns);
    /// # Ok::<(), roving_model::ModelError>(())
    /// ```
    #[must_use]
    pub fn cores(self, cores: usize) -> Runtime {
        Runtime {
            cores: Some(cores),
            ..self
        }
    }

    /// How much a thief takes: one task unless said otherwise.
    #[must_use]
    pub fn amount(self, amount: Amount) -> Runtime {
        Runtime { amount, ..self }
    }

    /// Which cores are near each other.
    #[must_use]
    pub fn topology(self, topology: Topology) -> Runtime {
        Runtime { topology, ..self }
    }

    /// Whether thieves look at the workers of their own socket first, half of the times, as they do
    /// in a pool that is pinned. Not unless said otherwise.
    ///
    /// ```
    /// use roving_model::{Binomial, Runtime, Topology};
    /// let tree = Binomial { seed: 1, roots: 2000, children: 4, probability: 0.2, node_ns: 1000.0 };
    /// let pool = Runtime::new(64).topology(Topology { pair: 2, socket: 16 }).near_first(true);
    /// assert!(pool.run(&tree)?.speedup() > 10.0);
    /// # Ok::<(), roving_model::ModelError>(())
    /// ```
    #[must_use]
    pub fn near_first(self, near_first: bool) -> Runtime {
        Runtime { near_first, ..self }
    }

    /// Sets the costs of the runtime's steps.
    #[must_use]
    pub fn costs(self, costs: Costs) -> Runtime {
        Runtime { costs, ..self }
    }

    /// Sets the seed, 1 by default: the same seed gives the same run.
    #[must_use]
    pub fn seed(self, seed: u64) -> Runtime {
        Runtime { seed, ..self }
    }

    /// Runs a tree to its end.
    pub fn run<T: Tree>(&self, tree: &T) -> Result<Outcome, ModelError> {
        self.run_with(tree, &mut |_| ())
    }

    /// Runs the tree like [`Self::run`], and calls `progress` now and then with the number of tasks
    /// that have begun.
    ///
    /// ```
    /// use roving_model::{Fib, Runtime};
    ///
    /// let mut told = 0;
    /// let outcome = Runtime::new(4).run_with(&Fib { n: 20, call_ns: 2.0 }, &mut |begun| told = begun)?;
    /// assert!(told <= outcome.tasks);
    /// # Ok::<(), roving_model::ModelError>(())
    /// ```
    pub fn run_with<T: Tree>(
        &self,
        tree: &T,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Outcome, ModelError> {
        let rules = self.rules()?;
        RuntimeEngine::new(tree, rules, &self.costs, self.seed).run(progress)
    }

    fn rules(&self) -> Result<Rules, ModelError> {
        let workers = self.workers;
        if !(1..=WORKERS_MAX).contains(&workers) {
            let allowed = format!("1 to {WORKERS_MAX}");
            return Err(ModelError::new("workers", workers, allowed, "take 1000"));
        }
        let Topology { pair, socket } = self.topology;
        if pair == 0 || socket == 0 || socket % pair != 0 {
            return Err(ModelError::new(
                "topology",
                format!("{pair} cores to a pair and {socket} to a socket"),
                "1 at least, and whole pairs in a socket",
                "take 2 and 64",
            ));
        }
        self.costs.check()?;
        let amount = self.amount;
        let least = least_of(amount);
        if !(1..=AMOUNT_MAX).contains(&least) {
            let allowed = format!("1 to {AMOUNT_MAX}");
            return Err(ModelError::new(
                "steal amount",
                least,
                allowed,
                "take fixed:4",
            ));
        }
        let shown = Shown::of(workers, least);
        // Half of them run jobs only. For more workers than a pool can have, there are more.
        let spares = SPARES_MAX
            .max(workers * SPARES_MAX / WORKERS_LIMIT)
            .div_ceil(2);
        Ok(Rules {
            workers,
            cores: match (self.sleeping, self.cores) {
                (false, _) => workers,
                (true, None) => workers + spares,
                (true, Some(cores)) => cores.clamp(1, workers + spares),
            },
            naps: self.sleeping,
            spares,
            target: workers,
            amount,
            topology: self.topology,
            near_first: self.near_first,
            unasked: shown.unasked as u32,
            thieves: shown.thieves as u32,
            wide: shown.wide as u32,
            least: least as u32,
        })
    }
}
