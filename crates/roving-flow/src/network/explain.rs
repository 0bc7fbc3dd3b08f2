//! The outcome of a run, in the words of the program that built the network.

use std::any::Any;
use std::time::Duration;

use super::build::Network;
use crate::channel::OUTSIDE;
use crate::channel::shared::{ChannelWait, NetworkFailure, Shared};
use crate::channel::words::{ChannelEnd, UNBOUNDED, Words};
use crate::machine::prim::{Ordering, lock};
use crate::placement::Moved;
use crate::report::accounting::Accounts;
use crate::report::error::{Blocked, Error, Operation, Payload};
use crate::report::{Growth, Record, Report};

impl Shared {
    pub(crate) fn set_capacity_max(&self, messages: u32) {
        // Ordering: Relaxed; written before the network runs.
        self.capacity_max.store(messages, Ordering::Relaxed);
    }

    pub(crate) fn process_name(&self, process: u32) -> String {
        match self.plan.get() {
            Some(plan) if process != OUTSIDE => plan.processes.get(process as usize).to_owned(),
            _ => "the outside".to_owned(),
        }
    }

    pub(crate) fn channel_name(&self, channel: u32) -> String {
        let plan = self.plan.get();
        plan.map_or(String::new(), |plan| {
            plan.channels.get(channel as usize).to_owned()
        })
    }

    /// The failure as an error.
    pub(crate) fn explain(&self, failure: NetworkFailure) -> Error {
        match failure {
            NetworkFailure::Panicked(process, payload) => Error::Panicked {
                process: self.process_name(process),
                payload: Payload::new(payload),
            },
            NetworkFailure::Failed(process, error, _) => Error::Failed {
                process: self.process_name(process),
                error,
            },
            NetworkFailure::Deadlock(waits) => Error::Deadlock {
                cycle: self.blocked(&waits),
            },
            NetworkFailure::Full(waits, limit) => Error::Full {
                cycle: self.blocked(&waits),
                limit: limit as usize,
            },
            NetworkFailure::Cancelled => Error::Cancelled,
        }
    }

    /// The failure of a process, if there is one so far, as an error that keeps its text only.
    pub(crate) fn failed_so_far(&self) -> Option<Error> {
        match &*lock(&self.failure) {
            Some(NetworkFailure::Panicked(process, payload)) => Some(Error::Panicked {
                process: self.process_name(*process),
                payload: Payload::new(copy_of_text(&**payload)),
            }),
            Some(NetworkFailure::Failed(process, _, text)) => Some(Error::Failed {
                process: self.process_name(*process),
                error: text.clone().into(),
            }),
            _ => None,
        }
    }

    fn blocked(&self, waits: &[ChannelWait]) -> Vec<Blocked> {
        let channels = self.channels();
        let blocked = waits.iter().map(|wait| {
            let words = &channels[wait.channel as usize];
            let (operation, other) = match wait.end {
                ChannelEnd::Reader => (Operation::Receive, ChannelEnd::Writer),
                ChannelEnd::Writer => (Operation::Send, ChannelEnd::Reader),
            };
            Blocked {
                process: self.process_name(wait.process),
                operation,
                channel: self.channel_name(wait.channel),
                waits_for: self.process_name(words.process(other)),
                capacity: to_capacity(words.capacity()),
            }
        });
        blocked.collect()
    }

    /// The report of the counts.
    pub(crate) fn report(
        &self,
        elapsed: Duration,
        moves: Vec<Moved>,
        accounts: Option<&Accounts>,
    ) -> Report {
        let channels = self.channels();
        let records = channels.iter().enumerate().map(|(index, words)| {
            let at_failure = self.at_failure.get().and_then(|counts| counts.get(index));
            let counts = at_failure.copied();
            Record::of(words, counts.unwrap_or_else(|| counts_of(words)))
        });
        let growths = lock(&self.growths);
        let growths = growths.iter().map(|growth| Growth {
            channel: growth.channel as usize,
            from: growth.from as usize,
            to: growth.to as usize,
        });
        Report {
            elapsed,
            deterministic: self.is_kahn_network(),
            growths: growths.collect(),
            moves,
            plan: self.plan.get().cloned().unwrap_or_default(),
            channels: records.collect(),
            accounts: accounts.map(Accounts::figures),
        }
    }
}

impl Network<'_> {
    /// Returns the report of the network as it has been built so far, in which nothing has been
    /// counted: its processes, its channels, and pictures of them.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// let (out, input) = network.channel::<u32>("numbers");
    /// network.source("count", out, 0..3);
    /// network.sink("sum", input, |_| {});
    /// let report = network.report();
    /// assert_eq!((report.processes().len(), report.channel(0).messages), (2, 0));
    /// assert!(report.to_dot().contains("numbers"));
    /// ```
    pub fn report(&self) -> Report {
        let records = self.channels.iter();
        let records = records.map(|words| Record::of(words, counts_of(words)));
        Report {
            elapsed: Duration::ZERO,
            deterministic: self.shared.is_kahn_network(),
            growths: Vec::new(),
            moves: Vec::new(),
            plan: self.plan.clone(),
            channels: records.collect(),
            accounts: None,
        }
    }
}

impl Record {
    fn of(words: &Words, (messages, received): (u64, u64)) -> Record {
        Record {
            messages,
            received,
            producer: words.process(ChannelEnd::Writer),
            consumer: words.process(ChannelEnd::Reader),
            capacity: words.capacity(),
            message_bytes: u32::try_from(words.message_bytes()).unwrap_or(u32::MAX),
        }
    }
}

/// How many messages the channel has sent and received by now.
fn counts_of(words: &Words) -> (u64, u64) {
    (words.sent().number(), words.taken().number())
}

/// Copies the text of a panic's payload; a payload that is no text becomes `()`.
fn copy_of_text(payload: &(dyn Any + Send)) -> Box<dyn Any + Send> {
    if let Some(text) = payload.downcast_ref::<&str>() {
        Box::new(*text)
    } else if let Some(text) = payload.downcast_ref::<String>() {
        Box::new(text.clone())
    } else {
        Box::new(())
    }
}

fn to_capacity(capacity: u32) -> Option<usize> {
    (capacity != UNBOUNDED).then_some(capacity as usize)
}
