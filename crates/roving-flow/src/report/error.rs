//! How a network can fail.

use std::any::Any;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use roving::raw::panics;

/// The operation in which a process is suspended.
///
/// ```
/// use roving_flow::{Error, Network, Operation};
///
/// let mut network = Network::new();
/// let (out, input) = network.channel::<u32>("to itself");
/// network.process("a", (out, input), async |(_out, mut input)| {
///     input.recv().await;
/// });
/// let error = network.run(&roving::Pool::new(1).unwrap()).unwrap_err();
/// let Error::Deadlock { cycle } = error else { panic!("{error}") };
/// assert_eq!(cycle[0].operation, Operation::Receive);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// It waits for a message from a channel that is empty.
    Receive,
    /// It waits for room in a channel that is full.
    Send,
}

/// One process of a deadlock: the channel that it waits for, and the process at the other end.
///
/// ```
/// use roving_flow::{Error, Network};
///
/// let mut network = Network::new();
/// let (out, input) = network.channel::<u32>("to itself");
/// network.process("a", (out, input), async |(_out, mut input)| {
///     input.recv().await;
/// });
/// let error = network.run(&roving::Pool::new(1).unwrap()).unwrap_err();
/// let Error::Deadlock { cycle } = error else { panic!("{error}") };
/// let names = (&cycle[0].process[..], &cycle[0].channel[..], &cycle[0].waits_for[..]);
/// assert_eq!(names, ("a", "to itself", "a"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Blocked {
    /// The process that waits.
    pub process: String,
    /// Whether it waits for a message or for room.
    pub operation: Operation,
    /// The channel where it waits.
    pub channel: String,
    /// The process at the other end of that channel, which is in the deadlock as well.
    pub waits_for: String,
    /// The channel's capacity; `None` where there is no bound.
    pub capacity: Option<usize>,
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Blocked {
            process,
            channel,
            waits_for,
            ..
        } = self;
        match self.operation {
            Operation::Receive => {
                write!(
                    f,
                    "`{process}` waits for a message from `{waits_for}` by `{channel}`"
                )
            }
            Operation::Send => {
                write!(
                    f,
                    "`{process}` waits until `{waits_for}` makes room in `{channel}`"
                )?;
                match self.capacity {
                    Some(capacity) => write!(f, ", which holds {capacity}"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// The reason why a network did not come to its end.
///
/// ```
/// use roving_flow::{Error, Network};
///
/// let mut network = Network::new();
/// let (mut to_b, mut from_a) = network.channel::<u32>("a to b");
/// let (mut to_a, mut from_b) = network.channel::<u32>("b to a");
/// network.process("a", (to_b, from_b), |(mut out, mut input)| async move {
///     let number = input.recv().await.unwrap_or(0);
///     let _ = out.send(number).await;
/// });
/// network.process("b", (to_a, from_a), |(mut out, mut input)| async move {
///     let number = input.recv().await.unwrap_or(0);
///     let _ = out.send(number).await;
/// });
/// let error = network.run(&roving::Pool::new(2).unwrap()).unwrap_err();
/// let Error::Deadlock { cycle } = &error else { panic!("{error}") };
/// assert_eq!(cycle.len(), 2);
/// assert!(error.to_string().contains("`a` waits for a message from `b` by `b to a`"));
/// ```
#[non_exhaustive]
pub enum Error {
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
        /// Its name.
        process: String,
        /// The payload of the panic.
        payload: Payload,
    },
    /// A process has returned an error: see [`Network::try_process`](crate::Network::try_process).
    Failed {
        /// Its name.
        process: String,
        /// The error.
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The run was cancelled, by [`Canceller::cancel`](crate::Canceller::cancel) or by a
    /// [`roving::Cancel`] that it belongs to. No process has failed before, and none has panicked.
    Cancelled,
    /// The network cannot be run as it was built.
    Invalid {
        /// The value, the allowed range and the remedy, on one line.
        message: String,
    },
}

/// The payload of a process's panic. Its text is the panic's message.
///
/// ```
/// use roving_flow::{Error, Network};
///
/// let mut network = Network::new();
/// network.process("fails", (), async |()| panic!("no result"));
/// let error = network.run(&roving::Pool::new(1).unwrap()).unwrap_err();
/// let Error::Panicked { payload, .. } = error else { panic!("{error}") };
/// assert_eq!(payload.to_string(), "no result");
/// ```
// In a mutex, so that the error is `Sync` although a payload need not be: `?` turns it into the
// boxed errors that most programs use.
pub struct Payload(Mutex<Box<dyn Any + Send>>);

impl Payload {
    pub(crate) fn new(payload: Box<dyn Any + Send>) -> Payload {
        Payload(Mutex::new(payload))
    }

    /// Returns the value, for [`std::panic::resume_unwind`].
    ///
    /// ```
    /// use roving_flow::{Error, Network};
    ///
    /// let mut network = Network::new();
    /// network.process("fails", (), async |()| std::panic::panic_any(7));
    /// let error = network.run(&roving::Pool::new(1).unwrap()).unwrap_err();
    /// let Error::Panicked { payload, .. } = error else { panic!("{error}") };
    /// assert_eq!(payload.into_panic().downcast_ref(), Some(&7));
    /// ```
    #[must_use]
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let payload = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f.write_str(panics::text(&**payload).unwrap_or("a value that is no text"))
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({self})")
    }
}

fn write_cycle(f: &mut fmt::Formatter<'_>, cycle: &[Blocked]) -> fmt::Result {
    cycle.iter().try_for_each(|one| write!(f, "\n  {one}"))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Deadlock { cycle } => {
                write!(f, "deadlock: {} processes wait for each other", cycle.len())?;
                write_cycle(f, cycle)
            }
            Error::Full { cycle, limit } => {
                write!(
                    f,
                    "deadlock: {} processes wait for each other, and no channel may hold more than \
                     {limit} messages: raise the limit of the network's channels",
                    cycle.len()
                )?;
                write_cycle(f, cycle)
            }
            Error::Panicked { process, payload } => {
                write!(f, "process `{process}` panicked: {payload}")
            }
            Error::Failed { process, error } => write!(f, "process `{process}` failed: {error}"),
            Error::Cancelled => f.write_str("the network was cancelled"),
            Error::Invalid { message } => f.write_str(message),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error of [`roving::Cancel::run`] for a call that it does not make any more.
///
/// ```
/// use roving::Cancel;
/// use roving_flow::{Error, Network, Report};
///
/// fn run(token: &Cancel) -> Result<Report, Error> {
///     token.run(|| Network::new().run(&roving::Pool::new(1).unwrap()))?
/// }
/// let token = Cancel::new();
/// assert!(run(&token).is_ok());
/// token.cancel();
/// assert!(matches!(run(&token), Err(Error::Cancelled)));
/// ```
impl From<roving::CancelledError> for Error {
    fn from(_: roving::CancelledError) -> Error {
        Error::Cancelled
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Failed { error, .. } => Some(&**error),
            _ => None,
        }
    }
}
