//! The messages between the ranks of a network.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::Ended;
use super::parcel::Parcel;
use super::snapshot::Snapshot;

/// Most channels of a network: their numbers share a word with the kind of message.
pub(super) const CHANNELS_MAX: usize = (1 << 30) - 1;

/// The head of a message, before the bytes that follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Head {
    /// To the consumer of that channel: a token.
    Token(u32),
    /// To the consumer of that channel: there will be no more.
    End(u32),
    /// To the producer of that channel: how many tokens were taken.
    Taken(u32),
    /// To the producer of that channel: the consumer is gone.
    Gone(u32),
    /// A message about no channel: a [`Control`] follows.
    Control,
}

const HEAD_BYTES: usize = 4;
const CONTROL: u32 = u32::MAX;

impl Head {
    /// Begins a message in `into`, which is emptied.
    pub(super) fn begin(self, into: &mut Vec<u8>) {
        let word = match self {
            Head::Token(channel) => channel << 2,
            Head::End(channel) => channel << 2 | 1,
            Head::Taken(channel) => channel << 2 | 2,
            Head::Gone(channel) => channel << 2 | 3,
            Head::Control => CONTROL,
        };
        into.clear();
        into.extend_from_slice(&word.to_le_bytes());
    }

    /// The head of a message, and the rest. None where there is no head.
    pub(super) fn split(bytes: &[u8]) -> Option<(Head, &[u8])> {
        let (word, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let word = u32::from_le_bytes(*word);
        let channel = word >> 2;
        let head = match word & 3 {
            _ if word == CONTROL => Head::Control,
            0 => Head::Token(channel),
            1 => Head::End(channel),
            2 => Head::Taken(channel),
            _ => Head::Gone(channel),
        };
        Some((head, rest))
    }
}

/// A message about no channel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) enum Control {
    /// To rank 0: nothing goes on here, or something has waited for room for a while.
    Quiet,
    /// To each rank: what does everybody wait for? With the number of the question.
    Ask(u64),
    /// To rank 0: the answer.
    Answer(u64, Snapshot),
    /// To the rank of its producer: a channel is to grow.
    Grow { channel: u32, from: u64, to: u64 },
    /// To each rank: the network ends, for that reason.
    Stop(Ended),
    /// A step in moving a process: see `moves.rs`.
    Move(Move),
    /// To rank 0: what was done.
    Loads(Loads),
    /// A step in making a checkpoint: see `cut.rs`.
    Cut(CutMessage),
}

/// The work done on one rank since its last report.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Loads {
    pub(super) workers: u32,
    /// Processes, and the time that they took.
    pub(super) processes: Vec<(u32, Duration)>,
    /// Processes that have ended.
    pub(super) ended: Vec<u32>,
    /// Channels, and what was sent on them.
    pub(super) channels: Vec<(u32, u64)>,
}

/// The messages by which a process moves, in the order in which they are sent: see `moves.rs`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) enum Move {
    /// To rank 0: somebody wants it there.
    Wanted { process: u32, to: u32 },
    /// To its rank: it is to stop when its step has ended.
    Leave(u32),
    /// To rank 0: it has stopped.
    Stopped(u32),
    /// To its rank: it may go on after all.
    Stay(u32),
    /// To each rank: nothing more is to be sent to that process. With the number of the move.
    Hold { process: u32, to: u32, number: u64 },
    /// Between the ranks and that of the process: all that concerns it was sent before this.
    Mark(u64),
    /// To rank 0: what was sent from the old place to this rank has come.
    Held(u64),
    /// To the new place: the process.
    Parcel(Box<Parcel>),
    /// To rank 0: the process is there, with so many bytes of state.
    Arrived { number: u64, bytes: u64 },
    /// To each rank: the process is there from now on.
    Switch { process: u32, to: u32 },
    /// To rank 0: the process has ended.
    Done(u32),
    /// To each rank: nobody need wait for it.
    Retire(u32),
}

/// A message about a cut: see `cut.rs`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) enum CutMessage {
    Begin(u32),
    Mark {
        channel: u32,
        number: u32,
        sent: u64,
    },
    /// The consumer of that channel, which is here, has dropped its port since it was recorded and
    /// before the mark, or was sent too much there.
    Left(u32),
    /// A producer has learned, since that cut has begun, that its consumer is gone.
    Loose(u32),
    /// Somebody has asked who is faster.
    Race,
    Saved(Findings),
    Over,
}

/// The facts that decide whether a cut counts.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
pub(super) struct Findings {
    /// A consumer has taken more than its producer had sent.
    pub(super) is_ahead: bool,
    /// A producer may learn that a consumer is gone.
    pub(super) is_loose: bool,
    /// Somebody has asked who is faster.
    pub(super) is_no_kahn_network: bool,
}

impl Findings {
    pub(super) fn add(&mut self, other: Findings) {
        self.is_ahead |= other.is_ahead;
        self.is_loose |= other.is_loose;
        self.is_no_kahn_network |= other.is_no_kahn_network;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Bytes of any kind are a message, or they are not: nothing is taken for its length before
        /// it is there.
        #[test]
        fn fuzz_controls_of_any_bytes(bytes: Vec<u8>) {
            if let Some((head, rest)) = Head::split(&bytes) {
                let mut again = Vec::new();
                head.begin(&mut again);
                prop_assert_eq!(&again[..], &bytes[..again.len()]);
                prop_assert_eq!(rest.len() + again.len(), bytes.len());
            }
            if let Ok(control) = postcard::from_bytes::<Control>(&bytes) {
                let written = postcard::to_stdvec(&control);
                prop_assert_eq!(postcard::from_bytes(&written.unwrap()), Ok(control));
            }
        }
    }

    #[test]
    fn heads_come_out_as_they_went_in() {
        let last = CHANNELS_MAX as u32 - 1;
        let mut bytes = vec![9; 20];
        for head in [
            Head::Token(0),
            Head::Token(last),
            Head::End(last),
            Head::Taken(7),
            Head::Gone(last),
            Head::Control,
        ] {
            head.begin(&mut bytes);
            bytes.extend_from_slice(b"rest");
            assert_eq!(Head::split(&bytes), Some((head, &b"rest"[..])));
        }
        assert_eq!(Head::split(&bytes[..3]), None);
    }
}
