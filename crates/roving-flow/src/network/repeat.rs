//! A network that runs again, for one job after the other.

use std::fmt;

use roving::Pool;

use super::build::Network;
use crate::channel::words::UNBOUNDED;
use crate::report::Report;
use crate::report::error::Error;

/// A network that runs again and again, each time for another job: see [`Network::repeat`].
///
/// ```
/// use roving_flow::{Network, Repeat};
///
/// let mut doubled: Repeat<_> = Network::repeat(|network, (from, to): &mut (Vec<u32>, Vec<u32>)| {
///     let (out, numbers) = network.channel("numbers");
///     let (double, doubles) = network.channel("doubles");
///     network.source("read", out, &*from);
///     network.stage("double", 2, numbers, double, |number| number * 2);
///     network.collect_into("write", doubles, to);
/// });
/// let pool = roving::Pool::new(2).unwrap();
/// for start in [0, 10] {
///     let mut job = (vec![start, start + 1], Vec::new());
///     doubled.run(&pool, &mut job).unwrap();
///     assert_eq!(job.1, [2 * start, 2 * start + 2]);
/// }
/// ```
pub struct Repeat<F> {
    build: F,
    /// The channels that have grown.
    grown: Vec<Grown>,
    runs: u64,
}

/// A channel that has grown, and its capacity since.
struct Grown {
    index: usize,
    name: String,
    capacity: u32,
}

impl Network<'_> {
    /// Returns a network that can run many times: for each job `build` adds its processes and
    /// channels anew, which may borrow from the job.
    ///
    /// What a run has found out is kept for the next: a channel that was too small for a run, and
    /// grew, has that capacity from the start. So only the first run meets artificial deadlocks.
    ///
    /// ```
    /// use roving_flow::{In, Network, Out};
    ///
    /// // The receiver wants to be told when to begin, before it takes anything.
    /// let mut batches = Network::repeat(|network, sum: &mut u32| {
    ///     let (batch, input) = network.bounded("batch", 1);
    ///     let (go, may_go) = network.bounded("go", 1);
    ///     network.process("send", (batch, go), async |(mut batch, mut go): (Out<u32>, Out<()>)| {
    ///         for number in 0..30 {
    ///             batch.send(number).await.unwrap();
    ///         }
    ///         go.send(()).await.unwrap();
    ///     });
    ///     network.process("add", (input, may_go), move |(mut input, mut may_go): (In<u32>, In<()>)| {
    ///         async move {
    ///             may_go.recv().await;
    ///             while let Some(number) = input.recv().await {
    ///                 *sum += number;
    ///             }
    ///         }
    ///     });
    /// });
    /// let pool = roving::Pool::new(2).unwrap();
    /// let (mut first, mut second) = (0, 0);
    /// assert!(!batches.run(&pool, &mut first).unwrap().growths.is_empty());
    /// assert!(batches.run(&pool, &mut second).unwrap().growths.is_empty());
    /// assert_eq!((first, second), (435, 435));
    /// ```
    pub fn repeat<J, F>(build: F) -> Repeat<F>
    where
        J: ?Sized,
        F: for<'job> FnMut(&mut Network<'job>, &'job mut J),
    {
        Repeat {
            build,
            grown: Vec::new(),
            runs: 0,
        }
    }
}

impl<F> Repeat<F> {
    /// Builds the network for a job and runs it: [`Network::run`].
    ///
    /// See [`Network::repeat`] for an example.
    ///
    /// # Errors
    /// As [`Network::run`]. The network can run again afterwards.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut parse = Network::repeat(|network, line: &mut &str| {
    ///     network.try_process("parse", (), async |()| line.parse::<u32>().map(drop));
    /// });
    /// let pool = roving::Pool::new(1).unwrap();
    /// assert!(parse.run(&pool, &mut "four").is_err());
    /// assert!(parse.run(&pool, &mut "4").is_ok());
    /// assert_eq!(parse.runs(), 2);
    /// ```
    pub fn run<J>(&mut self, pool: &Pool, job: &mut J) -> Result<Report, Error>
    where
        J: ?Sized,
        F: for<'job> FnMut(&mut Network<'job>, &'job mut J),
    {
        let mut network = Network::new();
        (self.build)(&mut network, job);
        self.grown.iter().for_each(|grown| grown.apply(&network));
        self.runs += 1;
        let live = network.live();
        let result = network.run(pool);
        if let Some(report) = live.report() {
            for growth in &report.growths {
                self.grown.retain(|grown| grown.index != growth.channel);
                self.grown.push(Grown {
                    index: growth.channel,
                    name: report.channel(growth.channel).name.to_string(),
                    capacity: u32::try_from(growth.to).unwrap_or(UNBOUNDED),
                });
            }
        }
        result
    }

    /// Returns how many times it was run.
    ///
    /// See [`Self::run`] for an example.
    pub fn runs(&self) -> u64 {
        self.runs
    }
}

impl Grown {
    /// A job may have been given another network: then it keeps its own capacities.
    fn apply(&self, network: &Network<'_>) {
        let Some(words) = network.channels.get(self.index) else {
            return;
        };
        let is_it = network.plan.channels.get(self.index) == self.name;
        if is_it && words.capacity() < self.capacity {
            words.set_capacity(self.capacity);
        }
    }
}

impl<F> fmt::Debug for Repeat<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repeat")
            .field("runs", &self.runs)
            .field("grown", &self.grown.len())
            .finish_non_exhaustive()
    }
}
