//! How a network across ranks can fail.

use std::fmt;

use roving_flow::Operation;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::unwind::{contain, drop_quietly};

/// The reason why a network across ranks did not come to its end. Every rank gets the same.
///
/// ```
/// use roving_dist::{Network, NetworkError, World};
///
/// let errors = World::threads(2, |world| {
///     let mut network = Network::new(&world);
///     let (out, input) = network.channel::<u32>("numbers");
///     network.source("source", out, 0..10);
///     network.sink("sink", input, |number| assert!(number < 5, "{number} is too much"));
///     network.pin("sink", 1);
///     network.run(&roving::Pool::new(1).unwrap()).unwrap_err()
/// });
/// for error in errors {
///     assert!(matches!(&error, NetworkError::Panicked { rank: 1, process, .. } if process == "sink"));
///     assert_eq!(error.to_string(), "rank 1: process `sink` panicked: 5 is too much");
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkError {
    /// Each of these processes waits for the next, the last one for the first, and no channel among
    /// those where they wait is full, so that no larger one would help.
    Deadlock {
        /// The processes, in the order of their waiting.
        cycle: Vec<Blocked>,
    },
    /// Processes wait for each other in a circle that larger channels would resolve, and none may
    /// grow: see [`Network::channel_limit`](crate::Network::channel_limit).
    Full {
        /// The processes, in the order of their waiting.
        cycle: Vec<Blocked>,
        /// The limit.
        limit: usize,
    },
    /// A process has panicked.
    Panicked {
        /// Where it ran.
        rank: usize,
        /// Its name.
        process: String,
        /// The text of the panic, as far as it is text.
        message: String,
    },
    /// A process has returned an error: see [`Network::try_process`](crate::Network::try_process).
    Failed {
        /// Where it ran.
        rank: usize,
        /// Its name.
        process: String,
        /// The text of the error.
        message: String,
    },
    /// A token could not be written as bytes, or read back.
    Token {
        /// Where that was.
        rank: usize,
        /// The channel that it was on.
        channel: String,
        /// The reason.
        message: String,
    },
    /// The run was cancelled by the [`Canceller`](roving_flow::Canceller) of that rank.
    Cancelled {
        /// That rank.
        rank: usize,
    },
    /// The network cannot be run as it was built.
    Invalid {
        /// The value, the allowed range and the remedy, on one line.
        message: String,
    },
    /// The ranks cannot reach each other any more, or one has ended the run.
    World(Error),
}

/// One process of a deadlock: the channel that it waits for, and the process at the other end.
///
/// ```
/// use roving_dist::{Network, NetworkError, World};
///
/// World::threads(2, |world| {
///     let mut network = Network::new(&world);
///     let (to_b, from_a) = network.channel::<u32>("a to b");
///     let (to_a, from_b) = network.channel::<u32>("b to a");
///     for (name, ports) in [("a", (to_b, from_b)), ("b", (to_a, from_a))] {
///         network.process(name, ports, async |(_out, mut input)| {
///             input.recv().await;
///         });
///     }
///     network.pin("b", 1);
///     let error = network.run(&roving::Pool::new(1).unwrap()).unwrap_err();
///     let NetworkError::Deadlock { cycle } = error else { panic!("{error}") };
///     let b = cycle.iter().find(|blocked| blocked.process == "b").unwrap();
///     assert_eq!((b.rank, &b.channel[..], &b.waits_for[..]), (1, "a to b", "a"));
/// });
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Blocked {
    /// The process that waits.
    pub process: String,
    /// The rank where it runs.
    pub rank: usize,
    /// Whether it waits for a token or for room.
    #[serde(with = "operation")]
    pub operation: Operation,
    /// The channel where it waits.
    pub channel: String,
    /// The process at the other end of that channel, which is in the deadlock as well.
    pub waits_for: String,
    /// The channel's capacity; `None` where there is no bound.
    pub capacity: Option<usize>,
}

/// [`Operation`] has no bytes of its own.
mod operation {
    use roving_flow::Operation;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(one: &Operation, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bool(*one == Operation::Send)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Operation, D::Error> {
        Ok(match bool::deserialize(from)? {
            true => Operation::Send,
            false => Operation::Receive,
        })
    }
}

/// The end of a network as ranks tell it each other; without errors of the ranks themselves.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Ended {
    Deadlock(Vec<Blocked>),
    Full(Vec<Blocked>, usize),
    Panicked(usize, String, String),
    Failed(usize, String, String),
    Token(usize, String, String),
    Cancelled(usize),
    Invalid(String),
}

impl From<Ended> for NetworkError {
    fn from(ended: Ended) -> NetworkError {
        match ended {
            Ended::Deadlock(cycle) => NetworkError::Deadlock { cycle },
            Ended::Full(cycle, limit) => NetworkError::Full { cycle, limit },
            Ended::Panicked(rank, process, message) => NetworkError::Panicked {
                rank,
                process,
                message,
            },
            Ended::Failed(rank, process, message) => NetworkError::Failed {
                rank,
                process,
                message,
            },
            Ended::Token(rank, channel, message) => NetworkError::Token {
                rank,
                channel,
                message,
            },
            Ended::Cancelled(rank) => NetworkError::Cancelled { rank },
            Ended::Invalid(message) => NetworkError::Invalid { message },
        }
    }
}

impl From<Error> for NetworkError {
    fn from(error: Error) -> NetworkError {
        NetworkError::World(error)
    }
}

impl Ended {
    /// Converts the error of this rank's part of the network.
    pub(super) fn of(rank: usize, error: roving_flow::Error) -> Ended {
        use roving_flow::Error as Flow;
        let text = |process: String, message: &dyn fmt::Display| {
            let text = contain(|| message.to_string());
            (
                process,
                text.unwrap_or_else(|text| format!("its text panicked: {text}")),
            )
        };
        match error {
            Flow::Deadlock { cycle } => Ended::Deadlock(Blocked::all(rank, cycle)),
            Flow::Full { cycle, limit } => Ended::Full(Blocked::all(rank, cycle), limit),
            Flow::Panicked { process, payload } => {
                let (process, message) = text(process, &payload);
                drop_quietly(payload);
                Ended::Panicked(rank, process, message)
            }
            Flow::Failed { process, error } => {
                let (process, message) = text(process, &error);
                drop_quietly(error);
                Ended::Failed(rank, process, message)
            }
            Flow::Cancelled => Ended::Cancelled(rank),
            other => Ended::Invalid(other.to_string()),
        }
    }
}

impl Blocked {
    fn all(rank: usize, cycle: Vec<roving_flow::Blocked>) -> Vec<Blocked> {
        let blocked = cycle.into_iter().map(|one| Blocked {
            process: one.process,
            rank,
            operation: one.operation,
            channel: one.channel,
            waits_for: one.waits_for,
            capacity: one.capacity,
        });
        blocked.collect()
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Blocked {
            process,
            rank,
            channel,
            waits_for,
            ..
        } = self;
        write!(f, "`{process}` on rank {rank} waits ")?;
        match (self.operation, self.capacity) {
            (Operation::Receive, _) => {
                write!(f, "for a message from `{waits_for}` by `{channel}`")
            }
            (Operation::Send, None) => {
                write!(f, "until `{waits_for}` makes room in `{channel}`")
            }
            (Operation::Send, Some(capacity)) => write!(
                f,
                "until `{waits_for}` makes room in `{channel}`, which holds {capacity}"
            ),
        }
    }
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write_cycle = |f: &mut fmt::Formatter<'_>, cycle: &[Blocked]| {
            cycle.iter().try_for_each(|one| write!(f, "\n  {one}"))
        };
        match self {
            NetworkError::Deadlock { cycle } => {
                write!(f, "deadlock: {} processes wait for each other", cycle.len())?;
                write_cycle(f, cycle)
            }
            NetworkError::Full { cycle, limit } => {
                write!(
                    f,
                    "deadlock: {} processes wait for each other, and no channel may hold more than \
                     {limit} messages: raise the limit of the network's channels",
                    cycle.len()
                )?;
                write_cycle(f, cycle)
            }
            NetworkError::Panicked {
                rank,
                process,
                message,
            } => write!(f, "rank {rank}: process `{process}` panicked: {message}"),
            NetworkError::Failed {
                rank,
                process,
                message,
            } => write!(f, "rank {rank}: process `{process}` failed: {message}"),
            NetworkError::Token {
                rank,
                channel,
                message,
            } => write!(f, "rank {rank}: a token of channel `{channel}`: {message}"),
            NetworkError::Cancelled { rank } => {
                write!(f, "the network was cancelled on rank {rank}")
            }
            NetworkError::Invalid { message } => f.write_str(message),
            NetworkError::World(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for NetworkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            NetworkError::World(error) => Some(error),
            _ => None,
        }
    }
}
