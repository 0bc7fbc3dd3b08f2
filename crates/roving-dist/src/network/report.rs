//! The report of a run across ranks.

use std::sync::Arc;
use std::time::Duration;

use roving_flow::{ChannelAccount, ProcessAccount};
use serde::{Deserialize, Serialize};

use super::shape::Shape;

/// The figures of a network across ranks, returned by [`Network::run`](crate::Network::run); the
/// same on every rank.
///
/// ```
/// use roving_dist::{Network, World};
///
/// let reports = World::threads(2, |world| {
///     let mut network = Network::new(&world);
///     let (out, input) = network.bounded("numbers", 8);
///     network.source("source", out, 0..10_u32);
///     network.sink("sink", input, |_| {});
///     network.pin("source", 0);
///     network.pin("sink", 1);
///     network.run(&roving::Pool::new(1).unwrap()).unwrap()
/// });
/// assert!(reports[0].deterministic && reports[1].deterministic);
/// assert!(reports[0].moves.is_empty());
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Report {
    /// The time from the start of the first process to the end of the last, on the rank that took
    /// longest.
    pub elapsed: Duration,
    /// Whether the network was a Kahn network on all ranks: see
    /// [`roving_flow::Report::deterministic`].
    pub deterministic: bool,
    /// The channels that were made larger to resolve a deadlock, by rank, in the order in which it
    /// happened.
    pub growths: Vec<Growth>,
    /// The processes that were moved to another rank, in the order in which it happened.
    pub moves: Vec<Moved>,
    pub(super) shape: Arc<Shape>,
    pub(super) accounts: Vec<Option<ProcessAccount>>,
    pub(super) channels: Vec<Figures>,
}

/// The figures of one channel.
#[derive(Clone, Default)]
pub(super) struct Figures {
    pub(super) messages: u64,
    pub(super) received: u64,
    pub(super) bytes: u64,
    pub(super) capacity: Option<usize>,
    pub(super) account: Option<ChannelAccount>,
}

/// A channel that was made larger to resolve a deadlock.
///
/// ```
/// use roving_dist::{Network, World};
///
/// let reports = World::threads(2, |world| {
///     let mut network = Network::new(&world);
///     let (batch, input) = network.bounded("batch", 2);
///     let (go, may_go) = network.bounded("go", 1);
///     network.process("sender", (batch, go), async |(mut batch, mut go)| {
///         for number in 0..10_u32 {
///             batch.send(number).await.unwrap();
///         }
///         go.send(()).await.unwrap();
///     });
///     network.process("receiver", (input, may_go), async |(mut input, mut may_go)| {
///         may_go.recv().await;
///         while input.recv().await.is_some() {}
///     });
///     network.pin("sender", 0);
///     network.pin("receiver", 1);
///     network.run(&roving::Pool::new(1).unwrap()).unwrap()
/// });
/// assert!(reports[0].growths.iter().any(|growth| growth.channel == 0 && growth.to > 2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Growth {
    /// Index of the channel, in [`Report::channels()`].
    pub channel: usize,
    /// Its capacity before.
    pub from: usize,
    /// Its capacity from then on.
    pub to: usize,
}

/// A process that was moved to another rank.
///
/// ```
/// use roving_dist::{Network, World};
///
/// let reports = World::threads(2, |world| {
///     let mut network = Network::new(&world);
///     let (out, numbers) = network.channel("numbers");
///     network.source("source", out, 1..=100_u32);
///     let mover = network.mover();
///     network.movable("sum", numbers, 0_u32, move |sum, mut numbers| {
///         mover.move_to("sum", 1); // after this step
///         async move { Some((sum + numbers.recv().await?, numbers)) }
///     });
///     network.pin("sum", 0);
///     network.run(&roving::Pool::new(1).unwrap()).unwrap()
/// });
/// for moved in &reports[0].moves {
///     assert_eq!((moved.process, moved.from, moved.to), (1, 0, 1));
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Moved {
    /// Index of the process, in [`Report::processes()`].
    pub process: usize,
    /// The rank where it was.
    pub from: usize,
    /// The rank where it went.
    pub to: usize,
    /// The time at which it went on there, since the network began to run.
    pub at: Duration,
    /// The bytes of its state as `serde` has written it, without the tokens that lay before it.
    pub bytes: u64,
}

/// The figures of one process.
///
/// ```
/// use roving_dist::{Network, World};
///
/// let reports = World::threads(2, |world| {
///     let mut network = Network::new(&world);
///     let (out, input) = network.bounded("numbers", 8);
///     network.source("source", out, 0..10_u32);
///     network.sink("sink", input, |_| {});
///     network.pin("source", 0);
///     network.pin("sink", 1);
///     network.run(&roving::Pool::new(1).unwrap()).unwrap()
/// });
/// let ranks: Vec<_> = reports[0].processes().map(|process| (process.name, process.rank)).collect();
/// assert_eq!(ranks, [("source", 0), ("sink", 1)]);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProcessReport<'r> {
    /// Its name.
    pub name: &'r str,
    /// The rank where it ran, or where it ended if it has moved.
    pub rank: usize,
    /// How often it has moved to another rank.
    pub moves: u64,
    /// The accounting; `None` without [`Network::accounting`](crate::Network::accounting).
    pub account: Option<ProcessAccount>,
}

/// The figures of one channel.
///
/// ```
/// use roving_dist::{Network, World};
///
/// let reports = World::threads(2, |world| {
///     let mut network = Network::new(&world);
///     let (out, input) = network.bounded("numbers", 8);
///     network.source("source", out, 0..10_u32);
///     network.sink("sink", input, |_| {});
///     network.pin("source", 0);
///     network.pin("sink", 1);
///     network.run(&roving::Pool::new(1).unwrap()).unwrap()
/// });
/// let channel = reports[1].channels().next().unwrap();
/// assert!(channel.crosses);
/// assert_eq!((channel.messages, channel.received, channel.bytes), (10, 10, 40));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChannelReport<'r> {
    /// Its name.
    pub name: &'r str,
    /// Index of the process that sent, in [`Report::processes()`]; `None` when the port was dropped
    /// while the network was built.
    pub producer: Option<usize>,
    /// Index of the process that received.
    pub consumer: Option<usize>,
    /// Whether producer and consumer were on different ranks, at the end.
    pub crosses: bool,
    /// Its capacity at the end; `None` where there is no bound.
    pub capacity: Option<usize>,
    /// Messages that were sent.
    pub messages: u64,
    /// Messages that were received.
    pub received: u64,
    /// Bytes that were sent: the size of the messages themselves, without data that they point to.
    pub bytes: u64,
    /// The accounting, by the consumer; `None` without
    /// [`Network::accounting`](crate::Network::accounting).
    pub account: Option<ChannelAccount>,
}

impl Report {
    /// Returns the processes of all ranks, in the order in which they were added.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// let reports = World::threads(2, |world| {
    ///     let mut network = Network::new(&world);
    ///     network.process("only", (), async |()| {});
    ///     network.pin("only", 1);
    ///     network.run(&roving::Pool::new(1).unwrap()).unwrap()
    /// });
    /// let only = reports[0].processes().next().unwrap();
    /// assert_eq!((only.name, only.rank), ("only", 1));
    /// ```
    pub fn processes(&self) -> impl ExactSizeIterator<Item = ProcessReport<'_>> + '_ {
        let mut moves = vec![0; self.accounts.len()];
        self.moves.iter().for_each(|one| moves[one.process] += 1);
        let processes = self.shape.processes().iter().enumerate();
        processes.map(move |(at, process)| ProcessReport {
            name: &process.name,
            rank: self.shape.rank_of(at as u32),
            moves: moves[at],
            account: self.accounts[at],
        })
    }

    /// Returns the channels, in the order in which they were added.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// let reports = World::threads(2, |world| {
    ///     let mut network = Network::new(&world);
    ///     let (out, input) = network.channel("numbers");
    ///     network.source("source", out, 0..10_u32);
    ///     network.sink("sink", input, |_| {});
    ///     network.run(&roving::Pool::new(1).unwrap()).unwrap()
    /// });
    /// for report in &reports {
    ///     let channel = report.channels().next().unwrap();
    ///     assert_eq!((channel.messages, channel.received), (10, 10));
    /// }
    /// ```
    pub fn channels(&self) -> impl ExactSizeIterator<Item = ChannelReport<'_>> + '_ {
        let channels = self.shape.channels().iter().zip(&self.channels).enumerate();
        channels.map(|(at, (channel, figures))| ChannelReport {
            name: &channel.name,
            producer: channel.producer.map(|one| one as usize),
            consumer: channel.consumer.map(|one| one as usize),
            crosses: self
                .shape
                .way(at as u32)
                .is_some_and(|(from, to)| from != to),
            capacity: figures.capacity,
            messages: figures.messages,
            received: figures.received,
            bytes: figures.bytes,
            account: figures.account,
        })
    }
}

impl std::fmt::Debug for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Report")
            .field("elapsed", &self.elapsed)
            .field("deterministic", &self.deterministic)
            .field("processes", &self.accounts.len())
            .field("channels", &self.channels.len())
            .field("growths", &self.growths)
            .field("moves", &self.moves)
            .finish_non_exhaustive()
    }
}
