//! The errors of sending and receiving.

use std::fmt;

/// The error of [`Out::send`](super::Out::send) when the other end of the channel is gone: it gives
/// the message back.
///
/// ```
/// let (mut out, input) = roving_flow::Network::new().channel("numbers");
/// drop(input);
/// assert_eq!(out.send_blocking(3).unwrap_err().0, 3);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// The reason why [`In::try_recv`](super::In::try_recv) has no message; see there for an example.
///
/// ```
/// use roving_flow::{Network, TryRecvError};
///
/// let mut network = Network::new();
/// let (out, mut input) = network.channel::<u32>("numbers");
/// assert_eq!(input.try_recv(), Err(TryRecvError::Empty));
/// drop(out);
/// assert_eq!(input.try_recv(), Err(TryRecvError::Closed));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryRecvError {
    /// The channel is empty.
    Empty,
    /// The channel is empty, and its other end is gone.
    Closed,
    /// As `Closed`, in a process of a network that fails or has been cancelled: what has come may
    /// be half of what was to come. A wait does not return there, nor does
    /// [`In::recv_timeout`](super::In::recv_timeout).
    Stopped,
}

/// The reason why [`Out::try_send`](super::Out::try_send) gives the message back; see there for an
/// example.
///
/// ```
/// use roving_flow::{Network, TrySendError};
///
/// let mut network = Network::new();
/// let (mut out, input) = network.bounded("numbers", 1);
/// assert!(out.try_send(1).is_ok());
/// assert!(matches!(out.try_send(2), Err(TrySendError::Full(2))));
/// drop(input);
/// assert!(matches!(out.try_send(3), Err(TrySendError::Closed(3))));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The channel is full.
    Full(T),
    /// Its other end is gone.
    Closed(T),
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the other end of the channel is gone")
    }
}

impl<T> std::error::Error for SendError<T> {}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrySendError::Full(_) => f.write_str("Full(..)"),
            TrySendError::Closed(_) => f.write_str("Closed(..)"),
        }
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrySendError::Full(_) => f.write_str("the channel is full"),
            TrySendError::Closed(_) => f.write_str("the other end of the channel is gone"),
        }
    }
}

impl<T> std::error::Error for TrySendError<T> {}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryRecvError::Empty => "the channel is empty",
            TryRecvError::Closed => "the channel is empty, and its other end is gone",
            TryRecvError::Stopped => "the channel is empty, and its network has been stopped",
        })
    }
}

impl std::error::Error for TryRecvError {}
