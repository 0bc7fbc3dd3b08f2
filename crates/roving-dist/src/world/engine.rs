//! The one place where a rank's transport is used: by one thread at a time, whichever polls. What
//! handlers do may take long, so that thread takes them out of the engine, with the packets that
//! they are called for, and others send meanwhile.

use std::collections::HashMap;

use super::outbox::Outbox;
use super::record;
use super::transport::{Packet, Transport};
use crate::error::Error;
use crate::tray::Tray;

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

/// The places of tags. A tag may come from another rank before it is given out here, and a
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

    /// Opens or closes a tag.
    fn change(&mut self, tag: u32, handler: Option<Handler>) {
        let Some(mut handler) = handler else {
            return self.close(tag);
        };
        let Some(slot) = self.at(tag) else {
            return;
        };
        if let TagState::Early(early) = slot {
            for (from, bytes) in early.drain(..) {
                handler(from, &bytes);
            }
        }
        *slot = TagState::Open(handler);
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

/// The handlers by tag, and what they are to be called for.
#[derive(Default)]
pub(crate) struct Handlers {
    slots: Slots,
    /// Tags that are to be opened and closed.
    changes: Vec<(u32, Option<Handler>)>,
    arrived: Vec<(usize, Packet)>,
    /// Batches that were handled; kept for their memory.
    spent: Vec<Vec<u8>>,
}

impl Handlers {
    fn is_due(&self) -> bool {
        !self.changes.is_empty() || !self.arrived.is_empty()
    }

    /// Calls the handlers for all that has arrived. If one panics, what comes after is dropped.
    pub(crate) fn call(&mut self) {
        for (tag, handler) in self.changes.drain(..) {
            self.slots.change(tag, handler);
        }
        for (from, packet) in self.arrived.drain(..) {
            match packet {
                Packet::Bulk(tag, bytes) => self.slots.dispatch(from, tag, &bytes),
                Packet::Batch(batch) => {
                    let mut rest = &batch[..];
                    while let Some((tag, bytes)) = record::split(&mut rest) {
                        self.slots.dispatch(from, tag, bytes);
                    }
                    self.spent.push(batch);
                }
            }
        }
    }
}

/// A rank's transport, and what is done with what it brings.
pub(crate) struct Engine {
    transport: Box<dyn Transport>,
    /// None while a thread calls them.
    handlers: Option<Box<Handlers>>,
    /// Packets that this rank has sent to itself, on their way to the handlers.
    own: Vec<(usize, Packet)>,
}

impl Engine {
    pub(crate) fn new(transport: Box<dyn Transport>) -> Engine {
        Engine {
            transport,
            handlers: Some(Box::default()),
            own: Vec::new(),
        }
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

    /// Takes what this rank has sent to itself.
    pub(crate) fn take_own(&mut self, rank: usize, outbox: &Outbox) {
        let packets = outbox.take().into_iter();
        self.own.extend(packets.map(|packet| (rank, packet)));
    }

    /// Opens and closes tags, when the handlers are called next. False when another thread is at
    /// that: then nothing can be received, either.
    pub(crate) fn change(&mut self, changes: &Tray<(u32, Option<Handler>)>) -> bool {
        let Some(handlers) = &mut self.handlers else {
            return false;
        };
        handlers.changes.extend(changes.take());
        true
    }

    /// Takes a few of the packets that have arrived; whether there was one.
    pub(crate) fn receive(&mut self) -> Result<bool, Error> {
        match &mut self.handlers {
            Some(handlers) => self.transport.receive(&mut handlers.arrived),
            None => Ok(false),
        }
    }

    /// How many packets have come from that rank.
    pub(crate) fn heard(&self, from: usize) -> u64 {
        self.transport.heard(from)
    }

    /// Whether there is something for the handlers.
    pub(crate) fn is_due(&self) -> bool {
        let handlers = self.handlers.as_ref();
        handlers.is_some_and(|handlers| handlers.is_due() || !self.own.is_empty())
    }

    /// Takes the handlers out, if there is something for them and no other thread calls them. The
    /// caller does so while the engine is free, and puts them back.
    #[must_use]
    pub(crate) fn take_due(&mut self) -> Option<Box<Handlers>> {
        if !self.is_due() {
            return None;
        }
        let mut handlers = self.handlers.take()?;
        handlers.arrived.append(&mut self.own);
        Some(handlers)
    }

    pub(crate) fn put_back(&mut self, mut handlers: Box<Handlers>) {
        for bytes in handlers.spent.drain(..) {
            self.transport.keep(bytes);
        }
        self.handlers = Some(handlers);
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

    /// Takes the handlers out for good, unless another thread calls them. Nothing is received any
    /// more.
    #[must_use]
    pub(crate) fn forget_handlers(&mut self) -> Option<Box<Handlers>> {
        self.handlers.take()
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
