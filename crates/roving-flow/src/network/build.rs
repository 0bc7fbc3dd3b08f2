//! Building a network.

use std::fmt::{self, Display, Write as _};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, OnceLock};

use roving::task::Scope;

use super::launch::{Setting, start};
use super::pending_starts::Starts;
use super::unheld_port;
use super::unrun_channels::UnrunChannels;
use crate::channel::shared::{NetworkFailure, Shared};
use crate::channel::words::UNBOUNDED;
use crate::channel::{self, Handle};
use crate::placement::Placement;
use crate::port::Ports;
use crate::port::sealed::Visitor;
use crate::port::{self, In, Out};
use crate::process::poll::ProcessTurn;
use crate::report::Report;
use crate::state::names::{NetworkPlan, Stage};

/// Capacity of a channel for which none is given.
pub(crate) const CAPACITY: usize = 64;

/// Starts what is no process.
pub(crate) type Beside<'env> = Box<dyn FnOnce(Scope<'env>) + Send + 'env>;

/// A network of processes that talk through channels, while it is built.
///
/// Processes may borrow data that outlives `'env`, which contains the run.
///
/// ```
/// use roving_flow::Network;
///
/// let numbers = vec![1, 2, 3];
/// let mut network = Network::new();
/// let (out, input) = network.channel("numbers");
/// network.process("read", out, async |mut out| {
///     for &number in &numbers {
///         out.send(number).await.unwrap();
///     }
/// });
/// network.process("add", input, async |mut input| {
///     let mut sum = 0;
///     while let Some(number) = input.recv().await {
///         sum += number;
///     }
///     assert_eq!(sum, 6);
/// });
/// let report = network.run(&roving::Pool::new(2).unwrap()).unwrap();
/// assert_eq!(report.channel(0).messages, 3);
/// ```
///
/// # Ports and handles after the end
///
/// * A port that is held outside, or by another network, still works when its own network has
///   ended, failed, or was dropped before it ran: messages that were sent can be received, then its
///   channel is closed. Two threads that hold both ports go on with the channel.
/// * But in a network that has failed, or was cancelled, nobody waits, whoever has the other port:
///   a thread, a future or another network that would have to wait finds the channel closed
///   instead, and from then on it is. So a process ends that waits within its poll for a port that
///   nobody closes, in a `block_on` say.
/// * A port of another network cannot be given to a process: [`Self::run`] refuses the network. A
///   port that the body captures works as one held outside.
/// * A port that a thread outside drops in a panic is closed, as by any other drop, unless it was
///   given to a process which has not ended: then it is left to that one, as the port of a task
///   that panics (see the [limits](crate#limits)). A port that a *process* drops in a panic is
///   closed when the network is known to have failed: no other process takes half a stream for the
///   whole. Before, where the process waits within its poll: then it is the others that wait at the
///   end of the stream until they know.
/// * A waker of a process that has ended does nothing. A [`Canceller`](crate::Canceller) does
///   nothing when the network has ended, or was dropped before it ran; and [`Live`](crate::Live)
///   shows processes that have ended, and keeps the report.
/// * Each of these keeps the memory of the network's tasks, without their content, until it is
///   dropped.
pub struct Network<'env> {
    pub(crate) shared: Arc<Shared>,
    /// The report of the run, for the handles that outlive it.
    pub(crate) last: Arc<OnceLock<Report>>,
    pub(crate) starts: Starts<'env>,
    pub(crate) plan: NetworkPlan,
    pub(crate) channels: UnrunChannels,
    /// Work that runs alongside the processes, and is none.
    pub(crate) beside: Vec<Beside<'env>>,
    prefix: String,
    pub(crate) placement: Placement,
    pub(crate) accounting: bool,
    /// The time of its processes is estimated, whatever the placement.
    pub(crate) metered: bool,
    pub(crate) invalid: Option<String>,
    /// No port is to be held outside.
    pub(crate) closed: bool,
}

impl Default for Network<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'env> Network<'env> {
    /// Creates an empty network.
    ///
    /// ```
    /// let network = roving_flow::Network::new();
    /// assert!(network.run(&roving::Pool::new(1).unwrap()).unwrap().processes().len() == 0);
    /// ```
    pub fn new() -> Network<'env> {
        let shared = Arc::new(Shared::new());
        Network {
            channels: UnrunChannels::new(&shared),
            shared,
            last: Arc::default(),
            starts: Starts::new(),
            plan: NetworkPlan::default(),
            beside: Vec::new(),
            prefix: String::new(),
            placement: Placement::default(),
            accounting: false,
            metered: false,
            invalid: None,
            closed: false,
        }
    }

    /// Adds a channel of capacity 64; it grows where the network would deadlock otherwise.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// let (out, input) = network.channel("letters");
    /// network.source("source", out, 'a'..='z');
    /// network.sink("sink", input, |letter| assert!(letter.is_ascii_lowercase()));
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// ```
    pub fn channel<T: Send + 'env>(&mut self, name: impl Display) -> (Out<T>, In<T>) {
        self.bounded(name, CAPACITY)
    }

    /// Adds a channel of the given capacity; it grows where the network would deadlock otherwise.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// let (out, input) = network.bounded("letters", 1);
    /// network.source("source", out, 'a'..='z');
    /// network.sink("sink", input, |letter| assert!(letter.is_ascii_lowercase()));
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// ```
    pub fn bounded<T: Send + 'env>(
        &mut self,
        name: impl Display,
        capacity: usize,
    ) -> (Out<T>, In<T>) {
        let bound = match u32::try_from(capacity) {
            Ok(bound) if (1..UNBOUNDED).contains(&bound) => bound,
            _ => {
                let most = UNBOUNDED - 1;
                let text = format!(
                    "channel `{}{name}`: a capacity of {capacity} is not in 1..={most}: give one \
                     that is, or call `unbounded`",
                    self.prefix
                );
                self.invalid.get_or_insert(text);
                1
            }
        };
        self.open(name, bound)
    }

    /// Adds a channel without a bound: a process that sends there never waits.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// let (out, input) = network.unbounded("letters");
    /// network.source("source", out, 'a'..='z');
    /// network.sink("sink", input, |letter| assert!(letter.is_ascii_lowercase()));
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// ```
    pub fn unbounded<T: Send + 'env>(&mut self, name: impl Display) -> (Out<T>, In<T>) {
        self.open(name, UNBOUNDED)
    }

    fn open<T: Send + 'env>(&mut self, name: impl Display, capacity: u32) -> (Out<T>, In<T>) {
        let index = Arc::make_mut(&mut self.plan.channels).push(&self.prefix, name);
        let channel = channel::open::<T>(&self.shared, index, capacity);
        // SAFETY: it came with three references.
        unsafe {
            self.channels.push(Handle::new(channel.cast()));
            port::pair(channel)
        }
    }

    /// Adds a process. `body` gets the ports, and is an `async` closure, or a closure that returns
    /// a future.
    ///
    /// Ports are given rather than captured, so that the network knows who waits for whom: a port
    /// that a body has captured counts as held outside, and deadlocks by way of it are not found.
    /// Capture one that the process hands on to a task or a thread: what was given counts as the
    /// process's until another process waits there. What looks like a deadlock by way of it may be
    /// none, and is reported where no process can go on.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// let (out, input) = network.channel("numbers");
    /// network.source("source", out, 1..=4);
    /// network.process("sum", input, async |mut input| {
    ///     let mut sum = 0;
    ///     while let Some(number) = input.recv().await {
    ///         sum += number;
    ///     }
    ///     assert_eq!(sum, 10);
    /// });
    /// network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// ```
    pub fn process<P, F, Fut>(&mut self, name: impl Display, ports: P, body: F)
    where
        P: Ports + Send + 'env,
        F: FnOnce(P) -> Fut + Send + 'env,
        Fut: Future<Output = ()> + Send + 'env,
    {
        let index = Arc::make_mut(&mut self.plan.processes).push(&self.prefix, name);
        let shared = &self.shared;
        let mut invalid = None;
        ports.visit(&mut Visitor(&mut |words, end| {
            if Arc::ptr_eq(words.shared(), shared) {
                words.set_process(end, index);
            } else {
                invalid = Some(index);
            }
        }));
        if invalid.is_some() {
            let name = self.plan.processes.get(index as usize);
            let text = format!(
                "process `{name}` has a port of another network: give it ports of its own, and \
                 join networks by ports that are captured"
            );
            self.invalid.get_or_insert(text);
        }
        self.starts.push(move |scope, setting: &Setting, index| {
            start(scope, setting, index, move || body(ports));
        });
    }

    /// Adds a process that may fail: an error ends the network, as a panic does, and [`Self::run`]
    /// returns it with the name of the process.
    ///
    /// Ports that it drops are closed at the end of the poll in which it drops them, or before it
    /// waits within that poll, since no other process is to take half of a stream for the whole.
    /// What follows from that for waits by other means is said among the [limits](crate#limits).
    ///
    /// ```
    /// use roving_flow::{Error, Network};
    ///
    /// let mut network = Network::new();
    /// let (out, input) = network.channel("lines");
    /// network.source("source", out, ["1", "2", "three"]);
    /// network.try_process("parse", input, async |mut input| {
    ///     while let Some(line) = input.recv().await {
    ///         line.parse::<u32>()?;
    ///     }
    ///     Ok::<(), std::num::ParseIntError>(())
    /// });
    /// let error = network.run(&roving::Pool::new(1).unwrap()).unwrap_err();
    /// assert!(matches!(&error, Error::Failed { process, .. } if process == "parse"));
    /// ```
    pub fn try_process<P, F, Fut, E>(&mut self, name: impl Display, ports: P, body: F)
    where
        P: Ports + Send + 'env,
        F: FnOnce(P) -> Fut + Send + 'env,
        Fut: Future<Output = Result<(), E>> + Send + 'env,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let shared = Arc::clone(&self.shared);
        let index = self.plan.processes.len() as u32;
        self.process(name, ports, move |ports| {
            let body = body(ports);
            async move {
                // Ports that it drops are closed when it is known whether it has failed.
                let mut body = pin!(body);
                let polled =
                    poll_fn(|context| ProcessTurn::closing_late(|| body.as_mut().poll(context)));
                if let Err(error) = polled.await {
                    shared.stop(NetworkFailure::returned(index, error.into()));
                }
            }
        });
    }

    /// Adds a part of the network: the names of all that `build` adds begin with this name and a
    /// slash.
    ///
    /// ```
    /// use roving_flow::{In, Network, Out};
    ///
    /// /// Adds two to each number.
    /// fn add_two(network: &mut Network<'_>, input: In<u32>, out: Out<u32>) {
    ///     let (one_more, middle) = network.channel("middle");
    ///     for (name, from, to) in [("first", input, one_more), ("second", middle, out)] {
    ///         network.process(name, (from, to), async |(mut from, mut to): (In<u32>, Out<u32>)| {
    ///             while let Some(number) = from.recv().await {
    ///                 to.send(number + 1).await.unwrap();
    ///             }
    ///         });
    ///     }
    /// }
    ///
    /// let mut got = Vec::new();
    /// let mut network = Network::new();
    /// let (out, input) = network.channel("numbers");
    /// let (more, result) = network.channel("result");
    /// network.source("source", out, 0..10);
    /// network.group("add two", |network| add_two(network, input, more));
    /// network.collect_into("sink", result, &mut got);
    /// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert!(got.into_iter().eq(2..12));
    /// assert_eq!(report.process(1).name, "add two/first");
    /// ```
    pub fn group<R>(&mut self, name: impl Display, build: impl FnOnce(&mut Self) -> R) -> R {
        let outer = self.prefix.len();
        // Writing to a string does not fail, but what is written may say that it does: then the
        // group has that part of its name.
        let _ = write!(self.prefix, "{name}/");
        let result = build(self);
        self.prefix.truncate(outer);
        result
    }

    /// Adds a group that is one thing in pictures and counts. Its first `workers` processes share
    /// the work.
    pub(crate) fn as_stage<R>(
        &mut self,
        name: impl Display,
        workers: usize,
        build: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let (process, channel) = (self.plan.processes.len(), self.plan.channels.len());
        let result = self.group(name, build);
        let stage = Stage {
            workers,
            processes: process..self.plan.processes.len(),
            channels: channel..self.plan.channels.len(),
        };
        Arc::make_mut(&mut self.plan.stages).push(stage);
        result
    }

    /// Declares that every port belongs to a process: [`Self::run`] then refuses a network of which
    /// a port is held outside, or captured by a process instead of given to it, and names it.
    /// Without this such a network may wait for that port for ever: see
    /// [standstills](https://github.com/roving-rs/roving/blob/main/docs/networks.md#standstills).
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut network = Network::new();
    /// network.closed();
    /// let (_forgotten, input) = network.channel::<u32>("numbers");
    /// network.sink("sink", input, |_| {});
    /// let error = network.run(&roving::Pool::new(1).unwrap()).unwrap_err();
    /// assert!(error.to_string().contains("the sending port of `numbers` is held outside"));
    /// ```
    pub fn closed(&mut self) {
        self.closed = true;
    }

    /// Which port is held outside, if one is.
    pub(crate) fn held_outside(&self) -> Option<String> {
        let held = |words: &Handle| unheld_port::outside(words).next();
        let mut channels = (0..).zip(&*self.channels);
        let (channel, end) = channels.find_map(|(index, words)| Some((index, held(words)?)))?;
        Some(format!(
            "the {} port of `{}` is held outside of a closed network: give it to a process, drop \
             it, or do not call `closed`",
            unheld_port::port(end),
            self.plan.channels.get(channel)
        ))
    }

    /// The network cannot be run, for that reason; the first one counts.
    pub(crate) fn refuse(&mut self, reason: impl Display) {
        let text = match self.prefix.trim_end_matches('/') {
            "" => reason.to_string(),
            within => format!("{within}: {reason}"),
        };
        self.invalid.get_or_insert(text);
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Sets where processes run: [`Placement::Stealing`] by default.
    ///
    /// ```
    /// use roving_flow::{Network, Placement};
    ///
    /// let mut network = Network::new();
    /// network.placement(Placement::adaptive());
    /// network.process("only", (), async |()| {});
    /// network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// ```
    pub fn placement(&mut self, placement: Placement) {
        self.placement = placement;
    }

    /// Sets whether the network counts how long each process runs, how often it changes workers,
    /// and how many messages stay on one worker; off by default. The number of messages through
    /// each channel is known without it.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut network = Network::new();
    /// network.accounting(true);
    /// let (out, input) = network.channel("numbers");
    /// network.source("source", out, 0..1000);
    /// network.sink("sink", input, |_| {});
    /// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert_eq!(report.channel(0).account.unwrap().local, 1000);
    /// assert!(report.process(0).account.unwrap().busy > std::time::Duration::ZERO);
    /// ```
    pub fn accounting(&mut self, on: bool) {
        self.accounting = on;
    }

    /// Sets the largest capacity to which a channel may grow: a deadlock that would take more is an
    /// error. No limit by default.
    ///
    /// ```
    /// use roving_flow::{Error, Network};
    ///
    /// let mut network = Network::new();
    /// network.channel_limit(8);
    /// let (out, input) = network.bounded::<u32>("numbers", 2);
    /// // A process that sends to itself.
    /// network.process("alone", (out, input), async |(mut out, mut input)| {
    ///     for number in 0..10 {
    ///         out.send(number).await.unwrap();
    ///     }
    ///     while input.recv().await.is_some() {}
    /// });
    /// let error = network.run(&roving::Pool::new(1).unwrap()).unwrap_err();
    /// assert!(matches!(error, Error::Full { limit: 8, .. }));
    /// ```
    pub fn channel_limit(&mut self, messages: usize) {
        let limit = u32::try_from(messages).unwrap_or(UNBOUNDED);
        self.shared.set_capacity_max(limit);
    }
}

impl fmt::Debug for Network<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("processes", &self.plan.processes.len())
            .field("channels", &self.plan.channels.len())
            .finish_non_exhaustive()
    }
}
