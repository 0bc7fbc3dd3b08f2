//! The report of a run across ranks.

use std::sync::Arc;
use std::time::Duration;

use roving_flow::{ChannelAccount, ProcessAccount};
use serde::{Deserialize, Serialize};

use super::part::Part;
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
    accounts: Vec<Option<ProcessAccount>>,
    channels: Vec<Figures>,
}

/// The figures of one channel.
#[derive(Clone, Default)]
struct Figures {
    messages: u64,
    received: u64,
    bytes: u64,
    capacity: Option<usize>,
    account: Option<ChannelAccount>,
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

/// The report of one rank about its part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Share {
    elapsed: Duration,
    deterministic: bool,
    growths: Vec<Growth>,
    /// Of rank 0.
    moves: Vec<Moved>,
    /// Process, busy time, switches, migrations.
    processes: Vec<(u32, Duration, u64, u64)>,
    /// Channel, messages, bytes, capacity: of those whose producer is here.
    sent: Vec<(u32, u64, u64, Option<u64>)>,
    /// Channel, messages, and of these local and remote: of those whose consumer is here.
    received: Vec<(u32, u64, Option<Stayed>)>,
}

/// Messages that stayed on one worker, and the others.
type Stayed = (u64, u64);

impl Share {
    pub(super) fn of(part: &Part, report: &roving_flow::Report) -> Share {
        let rank = part.post.rank();
        let mut share = Share {
            elapsed: report.elapsed,
            deterministic: report.deterministic,
            growths: super::lock(&part.growths).clone(),
            moves: super::lock(&part.moves).log().to_vec(),
            processes: Vec::new(),
            sent: Vec::new(),
            received: Vec::new(),
        };
        share
            .growths
            .extend(report.growths.iter().map(|growth| Growth {
                // Every channel of this rank's network is one of the whole.
                channel: part.shape.at(growth.channel).unwrap_or(u32::MAX) as usize,
                from: growth.from,
                to: growth.to,
            }));
        for (process, &number) in report.processes().zip(&part.locals) {
            if let Some(account) = process.account {
                let (switches, migrations) = (account.switches, account.migrations);
                let figures = (number, account.busy, switches, migrations);
                share.processes.push(figures);
            }
        }
        let channels: Vec<_> = report.channels().collect();
        for (number, built) in (0..).zip(part.shape.channels()) {
            let (from, to) = part.shape.way(number).unwrap_or((rank, rank));
            let outgoing = &part.crossings.outgoing[number as usize];
            let incoming = &part.crossings.incoming[number as usize];
            let is_split = part.shape.is_split(number);
            if from == rank || is_split && outgoing.is_some() {
                let channel = &channels[built.halves.0 as usize];
                let capacity = match outgoing {
                    Some(outgoing) => outgoing.capacity(),
                    None => channel.capacity,
                };
                let capacity = capacity.map(|capacity| capacity as u64);
                let figures = (number, channel.messages, channel.bytes, capacity);
                share.sent.push(figures);
            }
            if to == rank || is_split && incoming.is_some() {
                let channel = &channels[built.halves.1 as usize];
                let left = incoming.as_ref().map_or(0, |incoming| incoming.left());
                let account = channel.account.map(|one| (one.local, one.remote));
                share
                    .received
                    .push((number, channel.received - left, account));
            }
        }
        share
    }
}

/// Puts the shares of all ranks together.
pub(super) fn sum(part: &Part, shares: Vec<Share>) -> Report {
    let shape = &part.shape;
    let places = super::lock(&part.moves).places().to_vec();
    let mut report = Report {
        elapsed: Duration::ZERO,
        deterministic: true,
        growths: Vec::new(),
        moves: Vec::new(),
        shape: Arc::new(shape.with_ranks(places)),
        accounts: vec![None; shape.processes().len()],
        channels: vec![Figures::default(); shape.channels().len()],
    };
    for share in shares {
        report.elapsed = report.elapsed.max(share.elapsed);
        report.deterministic &= share.deterministic;
        report.growths.extend(share.growths);
        report.moves.extend(share.moves);
        for (process, busy, switches, migrations) in share.processes {
            let account = report.accounts[process as usize].get_or_insert_default();
            account.busy += busy;
            account.switches += switches;
            account.migrations += migrations;
        }
        for (channel, messages, bytes, capacity) in share.sent {
            let figures = &mut report.channels[channel as usize];
            figures.messages += messages;
            figures.bytes += bytes;
            let capacity = capacity.map(|capacity| capacity as usize);
            figures.capacity = figures.capacity.max(capacity);
        }
        for (channel, received, account) in share.received {
            let figures = &mut report.channels[channel as usize];
            figures.received += received;
            if let Some((local, remote)) = account {
                let account: &mut ChannelAccount = figures.account.get_or_insert_default();
                account.local += local;
                account.remote += remote;
            }
        }
    }
    report
}
