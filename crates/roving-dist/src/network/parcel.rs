//! The parcel in which a process moves.

use serde::{Deserialize, Serialize};

/// A process that has stopped between two steps, with all that lies before it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Parcel {
    pub(super) process: u32,
    /// Of the move.
    pub(super) number: u64,
    pub(super) state: Vec<u8>,
    /// How its ports stand: see [`Shelf`](super::carried::Shelf).
    pub(super) layout: Vec<u64>,
    pub(super) outputs: Vec<(u32, Option<Output>)>,
    pub(super) inputs: Vec<(u32, Input)>,
}

/// The producer's end of a channel. There is none when one of the two ends is gone.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Output {
    /// Tokens that were sent, all of which have left the old place.
    pub(super) sent: u64,
    /// The number of these messages that the producer knows to have been taken.
    pub(super) taken: u64,
    pub(super) capacity: Option<u64>,
    /// The consumer has so many of the next tokens already: they are dropped when they are sent.
    pub(super) ahead: u64,
    /// The consumer is gone, and the producer learns of it behind those.
    pub(super) is_gone: bool,
}

/// The consumer's end of a channel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Input {
    /// Tokens that were taken.
    pub(super) taken: u64,
    /// The number of these messages that the producer has been told of.
    pub(super) told: u64,
    /// Nothing will come behind the unread tokens.
    pub(super) is_ended: bool,
    pub(super) unread: Vec<Vec<u8>>,
}
