//! Watching a network while it runs.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::build::Network;
use crate::channel::shared::Shared;
use crate::channel::statement::Statement;
use crate::channel::words::{ChannelEnd, UNBOUNDED};
use crate::report::error::Operation;
use crate::report::{ChannelReport, Report};

/// Counters of a network that may be read at any time: see [`Network::live`].
///
/// ```
/// let mut network = roving_flow::Network::new();
/// let (out, input) = network.bounded("numbers", 4);
/// network.source("source", out, 0..100);
/// let live = network.live();
/// network.sink("sink", input, move |_| {
///     assert_eq!(live.process_name(1), Some("sink"));
/// });
/// network.run(&roving::Pool::new(2).unwrap()).unwrap();
/// ```
#[derive(Clone)]
pub struct Live {
    shared: Arc<Shared>,
    last: Arc<OnceLock<Report>>,
}

/// The state of a network. Its parts were read one after the other, while it ran.
///
/// ```
/// let mut network = roving_flow::Network::new();
/// let (out, input) = network.bounded("numbers", 4);
/// network.source("source", out, 0..100);
/// let live = network.live();
/// network.sink("sink", input, move |_| {
///     let now = live.snapshot();
///     assert_eq!((now.processes.len(), now.channels.len()), (2, 1));
/// });
/// network.run(&roving::Pool::new(2).unwrap()).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Snapshot {
    /// The processes, in the order in which they were added. Empty until the network runs.
    pub processes: Vec<State>,
    /// The channels, in the order in which they were added. Empty until the network runs; when it
    /// has ended, as they were then.
    pub channels: Vec<Queue>,
}

/// The state of a process.
///
/// ```
/// use roving_flow::State;
///
/// let mut network = roving_flow::Network::new();
/// let (out, input) = network.bounded("numbers", 4);
/// network.source("source", out, 0..100);
/// let live = network.live();
/// network.sink("sink", input, move |_| {
///     // It runs while it looks at itself.
///     assert_eq!(live.snapshot().processes[1], State::Ready);
/// });
/// network.run(&roving::Pool::new(2).unwrap()).unwrap();
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum State {
    /// It runs, or could.
    Ready,
    /// It waits at the channel with that index.
    Waits(Operation, usize),
    /// It waits at any of several channels.
    WaitsForAny,
    /// It may be woken from outside of the network.
    Outside,
    /// It has ended.
    Ended,
}

/// The content of a channel.
///
/// ```
/// let mut network = roving_flow::Network::new();
/// let (out, input) = network.bounded("numbers", 4);
/// network.source("source", out, 0..100);
/// let live = network.live();
/// network.sink("sink", input, move |_| {
///     let queue = live.snapshot().channels[0];
///     assert_eq!(queue.capacity, Some(4));
///     assert!(queue.received > 0);
/// });
/// network.run(&roving::Pool::new(2).unwrap()).unwrap();
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Queue {
    /// Messages that have been sent.
    pub sent: u64,
    /// Messages that have been received.
    pub received: u64,
    /// Its capacity; `None` where there is no bound.
    pub capacity: Option<usize>,
}

impl Network<'_> {
    /// Returns a handle by which any thread can see the network's state. It costs nothing while it
    /// is not used.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, input) = network.bounded("numbers", 4);
    /// let live = network.live();
    /// network.source("source", out, 0..100);
    /// network.sink("sink", input, move |number| {
    ///     let now = live.snapshot();
    ///     assert_eq!(now.channels[0].received, number + 1);
    ///     assert!(now.channels[0].sent - now.channels[0].received <= 4);
    /// });
    /// network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// ```
    pub fn live(&self) -> Live {
        Live {
            shared: self.shared(),
            last: Arc::clone(&self.last),
        }
    }
}

impl From<ChannelReport> for Queue {
    fn from(channel: ChannelReport) -> Queue {
        Queue {
            sent: channel.messages,
            received: channel.received,
            capacity: channel.capacity,
        }
    }
}

impl Live {
    /// Returns the present state of the network.
    ///
    /// ```
    /// let network = roving_flow::Network::new();
    /// let live = network.live();
    /// assert!(live.snapshot().processes.is_empty()); // it does not run yet
    /// ```
    pub fn snapshot(&self) -> Snapshot {
        if let Some(report) = self.report() {
            return Snapshot {
                processes: vec![State::Ended; report.processes().len()],
                channels: report.channels().map(Queue::from).collect(),
            };
        }
        // While this is held, the channels that processes wait at are there.
        let channels = self.shared.channels();
        let queues = channels.iter().map(|words| {
            // In this order, so that no more seem to be received than were sent.
            let received = words.taken().number();
            let capacity = words.capacity();
            Queue {
                sent: words.sent().number(),
                received,
                capacity: (capacity != UNBOUNDED).then_some(capacity as usize),
            }
        });
        let states =
            (0..)
                .zip(self.shared.controls())
                .map(|(process, control)| match control.word.get() {
                    Statement::Ended => State::Ended,
                    Statement::Outside => State::Outside,
                    Statement::Many => State::WaitsForAny,
                    Statement::One(op) if op.words().is_process_waiting(op.end, process) => {
                        let operation = match op.end {
                            ChannelEnd::Reader => Operation::Receive,
                            ChannelEnd::Writer => Operation::Send,
                        };
                        State::Waits(operation, op.words().index())
                    }
                    Statement::Runs | Statement::One(_) => State::Ready,
                });
        Snapshot {
            channels: queues.collect(),
            processes: states.collect(),
        }
    }

    /// Returns the report of the network's run when that has ended, in whatever way: also of a run
    /// that failed, stopped in a deadlock or was cancelled, whose picture shows where messages are
    /// left. `None` before, and if a task that a process has spawned panicked.
    ///
    /// ```
    /// use roving_flow::{Error, Network};
    ///
    /// let mut network = Network::new();
    /// let (mut out, input) = network.bounded("lines", 8);
    /// let live = network.live();
    /// network.process("read", (), async move |()| {
    ///     for line in 0..5 {
    ///         out.send(line).await.unwrap();
    ///     }
    /// });
    /// network.try_process("parse", input, async |mut input| {
    ///     input.recv().await;
    ///     Err("not a number")
    /// });
    /// let error = network.run(&roving::Pool::new(1).unwrap()).unwrap_err();
    /// assert!(matches!(error, Error::Failed { .. }));
    /// let report = live.report().unwrap();
    /// assert_eq!(report.channel(0).received, 1);
    /// assert!(report.to_dot().contains("lines"));
    /// ```
    pub fn report(&self) -> Option<&Report> {
        self.last.get()
    }

    /// Returns the content of the channel of that name, once the network runs: the first one, if
    /// several have it.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// let (out, input) = network.bounded("packed", 400);
    /// network.source("pack", out, 0..100);
    /// network.sink("write", input, |_| {});
    /// let live = network.live();
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert_eq!(live.queue("packed").unwrap().to_string(), "0 of 400");
    /// assert!(live.queue("unpacked").is_none());
    /// ```
    pub fn queue(&self, name: &str) -> Option<Queue> {
        let names = &self.shared.plan.get()?.channels;
        let index = (0..names.len()).find(|&index| names.get(index) == name)?;
        self.snapshot().channels.get(index).copied()
    }

    /// Returns the name of the process with that index, once the network runs.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// network.process("only", (), async |()| {});
    /// let live = network.live();
    /// assert_eq!(live.process_name(0), None);
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert_eq!(live.process_name(0), Some("only"));
    /// ```
    pub fn process_name(&self, process: usize) -> Option<&str> {
        let names = &self.shared.plan.get()?.processes;
        (process < names.len()).then(|| names.get(process))
    }

    /// Returns the name of the channel with that index, once the network runs.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// let (_out, _in) = network.channel::<u8>("bytes");
    /// let live = network.live();
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert_eq!(live.channel_name(0), Some("bytes"));
    /// ```
    pub fn channel_name(&self, channel: usize) -> Option<&str> {
        let names = &self.shared.plan.get()?.channels;
        (channel < names.len()).then(|| names.get(channel))
    }
}

/// How full it is: `87 of 400`, or `87` where there is no bound.
impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.sent.saturating_sub(self.received))?;
        match self.capacity {
            Some(capacity) => write!(f, " of {capacity}"),
            None => Ok(()),
        }
    }
}

/// A line for each channel with its name, and how full it is; those inside of stages are left out.
impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.shared.plan.get();
        let stages = plan.map_or(&[][..], |plan| &plan.stages);
        let is_inner = |index| stages.iter().any(|stage| stage.channels.contains(&index));
        let mut line_end = "";
        for (index, queue) in self.snapshot().channels.iter().enumerate() {
            if !is_inner(index) {
                let name = self.channel_name(index).unwrap_or_default();
                write!(f, "{line_end}{name}: {queue}")?;
                line_end = "\n";
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.snapshot().fmt(f)
    }
}
