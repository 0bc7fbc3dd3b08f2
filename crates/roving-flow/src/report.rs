//! What a run came to.

use std::time::Duration;

use crate::placement::Moved;

/// What a network did: returned by [`Network::run`](crate::Network::run).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// From the start of the first process to the end of the last.
    pub elapsed: Duration,
    /// Whether this was a network of Kahn's, whose outcome does not depend on who is faster: no
    /// [`Merge`](crate::Merge), no [`In::try_recv`](crate::In::try_recv), no
    /// [`Out::try_send`](crate::Out::try_send) was used.
    pub deterministic: bool,
    /// The processes, in the order in which they were added.
    pub processes: Vec<ProcessReport>,
    /// The channels, in the order in which they were added.
    pub channels: Vec<ChannelReport>,
    /// The channels that were made larger to resolve a deadlock, in the order in which it happened.
    pub growths: Vec<Growth>,
    /// The times that processes were placed anew, in their order.
    pub moves: Vec<Moved>,
}

/// What one process did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProcessReport {
    /// Its name.
    pub name: String,
    /// What was counted of it; `None` without [`Network::accounting`](crate::Network::accounting).
    pub account: Option<ProcessAccount>,
}

/// What accounting says of a process.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ProcessAccount {
    /// The time that it ran.
    pub busy: Duration,
    /// How often it was given a worker, and gave it back.
    pub switches: u64,
    /// How often that was another worker than the time before.
    pub migrations: u64,
}

/// What went through one channel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChannelReport {
    /// Its name.
    pub name: String,
    /// Index of the process that sent, in [`Report::processes`]; `None` when the port was held
    /// outside of the network.
    pub producer: Option<usize>,
    /// Index of the process that received.
    pub consumer: Option<usize>,
    /// How many messages may lie in it, at the end; `None` where there is no bound.
    pub capacity: Option<usize>,
    /// Messages that were sent.
    pub messages: u64,
    /// Messages that were received.
    pub received: u64,
    /// Bytes that were sent: of the messages themselves, without what they point to.
    pub bytes: u64,
    /// What was counted of it; `None` without [`Network::accounting`](crate::Network::accounting).
    pub account: Option<ChannelAccount>,
}

/// What accounting says of a channel.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ChannelAccount {
    /// Messages whose receiver ran on the worker on which the sender had run last.
    pub local: u64,
    /// The others.
    pub remote: u64,
}

/// A channel that was made larger to resolve a deadlock.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Growth {
    /// Index of the channel, in [`Report::channels`].
    pub channel: usize,
    /// Its capacity before.
    pub from: usize,
    /// Its capacity from then on.
    pub to: usize,
}
