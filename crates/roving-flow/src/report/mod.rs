//! The report of a run.

pub(crate) mod accounting;
pub(crate) mod error;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::channel::OUTSIDE;
use crate::channel::words::UNBOUNDED;
use crate::placement::Moved;
use crate::state::names::{Names, NetworkPlan};

/// The figures of a network's run, returned by [`Network::run`](crate::Network::run).
///
/// It holds plain figures; an entry for a process or a channel is put together when it is asked
/// for, so that the report of a million processes is small.
///
/// ```
/// let mut network = roving_flow::Network::new();
/// let (out, input) = network.bounded("numbers", 8);
/// network.source("source", out, 0..10_u32);
/// network.sink("sink", input, |_| {});
/// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
/// assert!(report.deterministic);
/// assert!(report.growths.is_empty() && report.moves.is_empty());
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Report {
    /// The time from the start of the first process to the end of the last.
    pub elapsed: Duration,
    /// Whether the network was a Kahn network, whose outcome does not depend on timing: it used no
    /// [`Merge`](crate::Merge), no [`In::try_recv`](crate::In::try_recv), no
    /// [`Out::try_send`](crate::Out::try_send), and did not wait for a limited time.
    pub deterministic: bool,
    /// The channels that were made larger to resolve a deadlock, in the order in which it happened.
    pub growths: Vec<Growth>,
    /// The occasions on which processes were placed anew, in their order.
    pub moves: Vec<Moved>,
    pub(crate) plan: NetworkPlan,
    pub(crate) channels: Vec<Record>,
    /// Of all processes and all channels, with accounting only.
    pub(crate) accounts: Option<(Vec<ProcessAccount>, Vec<ChannelAccount>)>,
}

/// The figures of one channel.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) messages: u64,
    pub(crate) received: u64,
    pub(crate) producer: u32,
    pub(crate) consumer: u32,
    pub(crate) capacity: u32,
    pub(crate) message_bytes: u32,
}

impl Report {
    /// The processes, in the order in which they were added.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// network.process("only", (), async |()| {});
    /// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert!(report.processes().map(|process| process.name).eq(["only"]));
    /// ```
    pub fn processes(&self) -> impl ExactSizeIterator<Item = ProcessReport> + '_ {
        (0..self.plan.processes.len()).map(|index| self.process(index))
    }

    /// The channels, in the order in which they were added.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// let (out, input) = network.channel("numbers");
    /// network.source("source", out, 0..10);
    /// network.sink("sink", input, |_| {});
    /// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert_eq!(report.channels().map(|channel| channel.messages).sum::<u64>(), 10);
    /// ```
    pub fn channels(&self) -> impl ExactSizeIterator<Item = ChannelReport> + '_ {
        (0..self.channels.len()).map(|index| self.channel(index))
    }

    /// The stages, in the order in which they were added: what [`Network::stage`] and the like have
    /// made of several processes, each as one.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// let (out, lines) = network.channel("lines");
    /// let (parsed, numbers) = network.channel("numbers");
    /// network.source("read", out, ["1", "2", "3"]);
    /// network.stage("parse", 2, lines, parsed, |line: &str| line.parse::<u32>().unwrap());
    /// network.sink("write", numbers, |_| {});
    /// let report = network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// let stages: Vec<String> = report.stages().map(|stage| stage.to_string()).collect();
    /// assert_eq!(stages, ["parse ×2"]);
    /// ```
    ///
    /// [`Network::stage`]: crate::Network::stage
    pub fn stages(&self) -> impl ExactSizeIterator<Item = StageReport> + '_ {
        let stages = self.plan.stages.iter();
        stages.map(|stage| {
            let first = self.plan.processes.get(stage.processes.start);
            let name = first.rsplit_once('/').map_or(first, |(name, _)| name);
            let accounts = self.accounts.as_ref();
            StageReport {
                name: name.to_owned(),
                workers: stage.workers,
                processes: stage.processes.clone(),
                channels: stage.channels.clone(),
                account: accounts.map(|accounts| sum(&accounts.0[stage.processes.clone()])),
            }
        })
    }

    /// Returns the report with each process and each channel for itself: pictures of it show what
    /// stages are made of.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// let (out, lines) = network.channel("lines");
    /// let (parsed, numbers) = network.channel("numbers");
    /// network.source("read", out, ["1", "2", "3"]);
    /// network.stage("parse", 2, lines, parsed, |line: &str| line.parse::<u32>().unwrap());
    /// network.sink("write", numbers, |_| {});
    /// let report = network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// assert!(report.to_dot().contains("parse ×2"));
    /// assert!(!report.to_dot().contains("parse/gather"));
    /// assert!(report.detailed().to_dot().contains("parse/gather"));
    /// ```
    #[must_use]
    pub fn detailed(&self) -> Report {
        let mut report = self.clone();
        report.plan.stages = Arc::default();
        report
    }

    /// Returns the figures of the process with that index.
    ///
    /// See [`Self::processes`] for an example.
    ///
    /// # Panics
    /// If there is none.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// network.process("only", (), async |()| {});
    /// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert_eq!(report.process(0).name, "only");
    /// ```
    pub fn process(&self, index: usize) -> ProcessReport {
        assert!(
            index < self.plan.processes.len(),
            "there is no process {index}: there are {}",
            self.plan.processes.len()
        );
        ProcessReport {
            name: Name::of(&self.plan.processes, index),
            account: self.accounts.as_ref().map(|accounts| accounts.0[index]),
        }
    }

    /// Returns the figures of the channel with that index.
    ///
    /// See [`Self::channels`] for an example.
    ///
    /// # Panics
    /// If there is none.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// let (out, input) = network.bounded("numbers", 8);
    /// network.source("source", out, 0..10_u32);
    /// network.sink("sink", input, |_| {});
    /// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert_eq!(report.channel(0).messages, 10);
    /// ```
    pub fn channel(&self, index: usize) -> ChannelReport {
        assert!(
            index < self.channels.len(),
            "there is no channel {index}: there are {}",
            self.channels.len()
        );
        let record = &self.channels[index];
        let process = |process: u32| (process != OUTSIDE).then_some(process as usize);
        let capacity = record.capacity;
        ChannelReport {
            name: Name::of(&self.plan.channels, index),
            producer: process(record.producer),
            consumer: process(record.consumer),
            capacity: (capacity != UNBOUNDED).then_some(capacity as usize),
            messages: record.messages,
            received: record.received,
            bytes: record.messages * u64::from(record.message_bytes),
            account: self.accounts.as_ref().map(|accounts| accounts.1[index]),
        }
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report")
            .field("elapsed", &self.elapsed)
            .field("deterministic", &self.deterministic)
            .field("processes", &self.plan.processes.len())
            .field("channels", &self.channels.len())
            .field("growths", &self.growths)
            .field("moves", &self.moves)
            .finish_non_exhaustive()
    }
}

/// The name of a process or a channel. All names of a network stand in one string, which this
/// shares; it is used as a `str`.
///
/// ```
/// let mut network = roving_flow::Network::new();
/// network.process("only", (), async |()| {});
/// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
/// assert_eq!(report.process(0).name, "only");
/// assert_eq!(report.process(0).name.len(), 4);
/// ```
#[derive(Clone)]
pub struct Name {
    names: Arc<Names>,
    index: u32,
}

impl Name {
    fn of(names: &Arc<Names>, index: usize) -> Name {
        Name {
            names: Arc::clone(names),
            index: index as u32,
        }
    }
}

impl std::ops::Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.names.get(self.index as usize)
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// The figures of one process.
///
/// ```
/// let mut network = roving_flow::Network::new();
/// let (out, input) = network.bounded("numbers", 8);
/// network.source("source", out, 0..10_u32);
/// network.sink("sink", input, |_| {});
/// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
/// let names: Vec<_> = report.processes().map(|process| process.name.to_string()).collect();
/// assert_eq!(names, ["source", "sink"]);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProcessReport {
    /// Its name.
    pub name: Name,
    /// The accounting; `None` without [`Network::accounting`](crate::Network::accounting).
    pub account: Option<ProcessAccount>,
}

/// The accounting of one process.
///
/// ```
/// let mut network = roving_flow::Network::new();
/// let (out, input) = network.bounded("numbers", 8);
/// network.source("source", out, 0..10_u32);
/// network.sink("sink", input, |_| {});
/// network.accounting(true);
/// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
/// let account = report.process(0).account.unwrap();
/// assert!(account.switches > 0);
/// assert_eq!(account.migrations, 0); // there is one worker
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ProcessAccount {
    /// The time that it ran.
    pub busy: Duration,
    /// How often it was given a worker and gave it back.
    pub switches: u64,
    /// How often the worker was another than the time before.
    pub migrations: u64,
}

/// The figures of several processes that are one stage: see [`Report::stages()`]. Its text is its
/// name and how many share the work: `parse ×2`.
///
/// ```
/// let mut network = roving_flow::Network::new();
/// network.accounting(true);
/// let (out, numbers) = network.channel("numbers");
/// network.sources("count", out, [0..10, 10..20]);
/// network.sink("sink", numbers, |_| {});
/// let report = network.run(&roving::Pool::new(2).unwrap()).unwrap();
/// let stage = report.stages().next().unwrap();
/// assert_eq!((stage.name.as_str(), stage.workers), ("count", 2));
/// let taken: u64 = stage.channels.map(|inner| report.channel(inner).messages).sum();
/// assert_eq!(taken, 20);
/// assert!(stage.account.unwrap().switches > 0);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StageReport {
    /// Its name.
    pub name: String,
    /// How many of its processes share the work.
    pub workers: usize,
    /// Its processes, in [`Report::processes()`]: those that share the work come first.
    pub processes: Range<usize>,
    /// The channels between its own processes, in [`Report::channels()`].
    pub channels: Range<usize>,
    /// The sum over its processes; `None` without
    /// [`Network::accounting`](crate::Network::accounting).
    pub account: Option<ProcessAccount>,
}

impl fmt::Display for StageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ×{}", self.name, self.workers)
    }
}

fn sum(accounts: &[ProcessAccount]) -> ProcessAccount {
    let mut all = ProcessAccount::default();
    for account in accounts {
        all.busy += account.busy;
        all.switches += account.switches;
        all.migrations += account.migrations;
    }
    all
}

/// The figures of one channel.
///
/// ```
/// let mut network = roving_flow::Network::new();
/// let (out, input) = network.bounded("numbers", 8);
/// network.source("source", out, 0..10_u32);
/// network.sink("sink", input, |_| {});
/// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
/// let channel = report.channel(0);
/// assert_eq!((channel.producer, channel.consumer), (Some(0), Some(1)));
/// assert_eq!((channel.messages, channel.bytes), (10, 40));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChannelReport {
    /// Its name.
    pub name: Name,
    /// Index of the process that sent, in [`Report::processes()`]; `None` when the port was held
    /// outside of the network.
    pub producer: Option<usize>,
    /// Index of the process that received.
    pub consumer: Option<usize>,
    /// Its capacity at the end; `None` where there is no bound.
    pub capacity: Option<usize>,
    /// Messages that were sent; by the time of the failure, if the network failed.
    pub messages: u64,
    /// Messages that were received, or dropped by a receiver that ended before; by the time of the
    /// failure, if the network failed.
    pub received: u64,
    /// Bytes that were sent: the size of the messages themselves, without data that they point to.
    pub bytes: u64,
    /// The accounting; `None` without [`Network::accounting`](crate::Network::accounting).
    pub account: Option<ChannelAccount>,
}

/// The accounting of one channel.
///
/// ```
/// let mut network = roving_flow::Network::new();
/// let (out, input) = network.bounded("numbers", 8);
/// network.source("source", out, 0..10_u32);
/// network.sink("sink", input, |_| {});
/// network.accounting(true);
/// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
/// let account = report.channel(0).account.unwrap();
/// assert_eq!((account.local, account.remote), (10, 0)); // there is one worker
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ChannelAccount {
    /// Messages whose receiver ran on the worker on which the sender had run last.
    pub local: u64,
    /// All other messages.
    pub remote: u64,
}

/// A channel that was made larger to resolve a deadlock.
///
/// ```
/// let mut network = roving_flow::Network::new();
/// let (batch, input) = network.bounded("batch", 2);
/// let (go, may_go) = network.bounded("go", 1);
/// network.process("sender", (batch, go), async |(mut batch, mut go)| {
///     for number in 0..10 {
///         batch.send(number).await.unwrap();
///     }
///     go.send(()).await.unwrap();
/// });
/// network.process("receiver", (input, may_go), async |(mut input, mut may_go)| {
///     may_go.recv().await;
///     while input.recv().await.is_some() {}
/// });
/// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
/// let growth = &report.growths[0];
/// assert_eq!((growth.channel, growth.from), (0, 2));
/// assert!(growth.to > 2);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Growth {
    /// Index of the channel, in [`Report::channels()`].
    pub channel: usize,
    /// Its capacity before.
    pub from: usize,
    /// Its capacity from then on.
    pub to: usize,
}
