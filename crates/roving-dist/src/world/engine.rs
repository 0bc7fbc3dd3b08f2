//! The one place where a rank's transport is used: by one thread at a time, whichever polls.

use std::collections::HashMap;

use super::outbox::Outbox;
use super::record;
use super::transport::{Arrived, Transport};
use crate::error::Error;

/// A handler of messages: gets the sender's rank and the bytes.
pub(crate) type Handler = Box<dyn FnMut(usize, &[u8]) + Send>;

/// The state of a tag on this rank.
enum TagState {
    /// Nothing yet: other ranks were faster. Kept until it is opened.
    Early(Vec<(usize, Vec<u8>)>),
    Open(Handler),
    /// Nothing any more.
    Closed,
}

/// Tags below this have their places in a row: they are small numbers, given out one after the
/// other.
const ROW_MAX: usize = 1 << 12;

/// The handlers, by tag. A tag may come from another rank before it is given out here, and a
/// message that is torn may have any: what is kept grows by one for each that comes, however large
/// it is.
#[derive(Default)]
struct Slots {
    row: Vec<TagState>,
    beyond: HashMap<u32, TagState>,
    /// So many tags after the row have been closed, and are kept no longer.
    ended: u32,
}

impl Slots {
    /// The place of a tag; none when it has ended.
    fn at(&mut self, tag: u32) -> Option<&mut TagState> {
        let early = || TagState::Early(Vec::new());
        let at = tag as usize;
        if at >= ROW_MAX {
            let is_kept = at >= ROW_MAX + self.ended as usize;
            return is_kept.then(|| self.beyond.entry(tag).or_insert_with(early));
        }
        if at >= self.row.len() {
            self.row.resize_with(at + 1, early);
        }
        self.row.get_mut(at)
    }

    fn dispatch(&mut self, from: usize, tag: u32, bytes: &[u8]) {
        match self.at(tag) {
            Some(TagState::Open(handler)) => handler(from, bytes),
            Some(TagState::Early(early)) => early.push((from, bytes.to_vec())),
            Some(TagState::Closed) | None => {}
        }
    }

    fn close(&mut self, tag: u32) {
        if let Some(slot) = self.at(tag) {
            *slot = TagState::Closed;
        }
        let mut first = ROW_MAX as u32 + self.ended;
        while let Some(TagState::Closed) = self.beyond.get(&first) {
            self.beyond.remove(&first);
            self.ended += 1;
            first += 1;
        }
    }
}

/// A rank's transport, and what is done with what it brings.
pub(crate) struct Engine {
    transport: Box<dyn Transport>,
    slots: Slots,
}

impl Engine {
    pub(crate) fn new(transport: Box<dyn Transport>) -> Engine {
        Engine {
            transport,
            slots: Slots::default(),
        }
    }

    /// Opens or closes a tag.
    pub(crate) fn change(&mut self, tag: u32, handler: Option<Handler>) {
        let Some(mut handler) = handler else {
            return self.slots.close(tag);
        };
        let Some(slot) = self.slots.at(tag) else {
            return;
        };
        if let TagState::Early(early) = slot {
            for (from, bytes) in early.drain(..) {
                handler(from, &bytes);
            }
        }
        *slot = TagState::Open(handler);
    }

    /// Sends what the outboxes hold for other ranks; `rank` is this one.
    pub(crate) fn send_all(&mut self, rank: usize, outboxes: &[Outbox]) -> Result<(), Error> {
        for (to, outbox) in outboxes.iter().enumerate() {
            if to != rank {
                outbox.send_to(to, &mut *self.transport)?;
            }
        }
        Ok(())
    }

    /// Calls the handlers for what this rank has sent to itself.
    pub(crate) fn take_own(&mut self, rank: usize, outbox: &Outbox) {
        outbox.empty(|tag, bytes| self.slots.dispatch(rank, tag, bytes));
    }

    /// Calls the handlers for a few of the packets that have arrived; whether there was one.
    pub(crate) fn receive(&mut self) -> Result<bool, Error> {
        let slots = &mut self.slots;
        self.transport.receive(&mut |from, arrived| match arrived {
            Arrived::Bulk(tag, bytes) => slots.dispatch(from, tag, bytes),
            Arrived::Batch(mut rest) => {
                while let Some((tag, bytes)) = record::split(&mut rest) {
                    slots.dispatch(from, tag, bytes);
                }
            }
        })
    }

    /// Whether all that was sent has left.
    pub(crate) fn is_sent(&mut self) -> Result<bool, Error> {
        self.transport.is_sent()
    }

    /// Ends all processes with this status.
    pub(crate) fn abort(&mut self, status: i32) {
        self.transport.abort(status);
    }

    /// The transport itself, for benchmarks.
    pub(super) fn transport(&mut self) -> &mut dyn Transport {
        &mut *self.transport
    }

    /// After all ranks have agreed to finish.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.transport.finish()
    }

    /// Drops all handlers.
    pub(crate) fn forget_handlers(&mut self) {
        self.slots = Slots::default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Tags are given out one after the other, and closed in about that order.
    #[test]
    fn tags_that_have_ended_take_no_memory() {
        let mut slots = Slots::default();
        for tag in (0..3 * ROW_MAX as u32).filter(|tag| tag % 2 == 0) {
            slots.close(tag + 1);
            slots.dispatch(0, tag, &[1]);
            slots.close(tag);
            // They come too late.
            slots.dispatch(0, tag, &[2]);
        }
        assert_eq!((slots.beyond.len(), slots.row.len()), (0, ROW_MAX));
        // One that is open is kept, as are those after it.
        let late = 3 * ROW_MAX as u32;
        slots.dispatch(0, late, &[3]);
        slots.close(late + 1);
        assert!(matches!(slots.at(late), Some(TagState::Early(early)) if early.len() == 1));
        assert_eq!(slots.beyond.len(), 2);
    }

    proptest! {
        /// A batch of any bytes: its records go to their tags, or are kept, and no tag takes memory
        /// for those below it.
        #[test]
        fn fuzz_batches_of_any_bytes(bytes: Vec<u8>, tag: u32) {
            let mut slots = Slots::default();
            slots.dispatch(0, tag, &bytes);
            let mut rest = &bytes[..];
            while let Some((tag, bytes)) = record::split(&mut rest) {
                slots.dispatch(1, tag, bytes);
            }
            prop_assert!(slots.row.len() <= ROW_MAX);
            prop_assert!(slots.beyond.len() <= 1 + bytes.len() / 6);
        }
    }
}
