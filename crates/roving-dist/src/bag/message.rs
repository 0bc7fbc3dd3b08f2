//! The messages of ranks about a bag: one byte for the kind, a number, and tasks.

use crate::world::link::Link;

/// A message, as it is sent and as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message<'b> {
    /// I have nothing: give me half of what you have, or say that there is nothing.
    Ask,
    /// I have nothing: give me half of what you have, now or when you have something.
    Lifeline,
    /// The answer to `Ask`.
    Nothing,
    /// Half of what I have, for an `Ask` or else for a `Lifeline`. Sent after so many cuts.
    Tasks {
        answers_ask: bool,
        cuts: u32,
        bytes: &'b [u8],
    },
    /// One message with tasks is done with, as far as the end of the run is concerned.
    Acknowledgement,
    /// I have recorded what I have, for the cut with this number.
    Cut(u32),
    /// To rank 0: my part of this cut is on the disk.
    Saved(u32),
    /// There is no task anywhere.
    End,
}

const HEADER_BYTES: usize = 5;

impl<'b> Message<'b> {
    fn header(&self) -> [u8; HEADER_BYTES] {
        let (kind, number) = match *self {
            Message::Ask => (0, 0),
            Message::Lifeline => (1, 0),
            Message::Nothing => (2, 0),
            Message::Tasks {
                answers_ask, cuts, ..
            } => (if answers_ask { 3 } else { 4 }, cuts),
            Message::Acknowledgement => (5, 0),
            Message::Cut(cuts) => (6, cuts),
            Message::Saved(cuts) => (7, cuts),
            Message::End => (8, 0),
        };
        let [a, b, c, d] = u32::to_le_bytes(number);
        [kind, a, b, c, d]
    }

    /// Reads one; none from bytes that are no message.
    pub(super) fn read(bytes: &'b [u8]) -> Option<Message<'b>> {
        let ([kind, number @ ..], bytes) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let number = u32::from_le_bytes(*number);
        Some(match kind {
            0 => Message::Ask,
            1 => Message::Lifeline,
            2 => Message::Nothing,
            3 | 4 => Message::Tasks {
                answers_ask: *kind == 3,
                cuts: number,
                bytes,
            },
            5 => Message::Acknowledgement,
            6 => Message::Cut(number),
            7 => Message::Saved(number),
            8 => Message::End,
            _ => return None,
        })
    }

    /// Sends it, at once.
    pub(super) fn send(&self, link: &Link, tag: u32, to: usize) {
        let header = self.header();
        match self {
            Message::Tasks { bytes, .. } => {
                link.send_owned(to, tag, [&header[..], bytes].concat());
            }
            _ => {
                link.send(to, tag, &header);
            }
        }
        link.flush();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn fuzz_messages_of_any_bytes(bytes: Vec<u8>) {
            if let Some(message) = Message::read(&bytes) {
                prop_assert_eq!(message.header()[0], bytes[0]);
            }
        }
    }

    #[test]
    fn messages_are_read_as_they_are_written() {
        let tasks = |answers_ask| Message::Tasks {
            answers_ask,
            cuts: 1 << 20,
            bytes: &[],
        };
        for message in [
            Message::Ask,
            Message::Lifeline,
            Message::Nothing,
            tasks(true),
            tasks(false),
            Message::Acknowledgement,
            Message::Cut(3),
            Message::Saved(u32::MAX),
            Message::End,
        ] {
            assert_eq!(Message::read(&message.header()), Some(message));
        }
        assert_eq!(Message::read(&[9, 0, 0, 0, 0]), None);
        assert_eq!(Message::read(&[0, 0]), None);
    }
}
