//! What a run came to.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::names::Names;
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

/// The name of a process or a channel. All names of a network stand in one string, which this shares;
/// it is used as a `str`.
///
/// ```
/// let mut network = roving_flow::Network::new();
/// network.process("only", (), async |()| {});
/// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
/// assert_eq!(report.processes[0].name, "only");
/// assert_eq!(report.processes[0].name.len(), 4);
/// ```
#[derive(Clone)]
pub struct Name {
    pub(crate) names: Arc<Names>,
    pub(crate) index: u32,
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

/// What one process did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProcessReport {
    /// Its name.
    pub name: Name,
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
    pub name: Name,
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
