//! The one place where a rank's transport is used: by one thread at a time, whichever polls.

use super::outbox::Outbox;
use super::record;
use super::transport::{Arrived, Transport};
use crate::error::Error;

/// What is done with a message: told the sender's rank and the bytes.
pub(crate) type Handler = Box<dyn FnMut(usize, &[u8]) + Send>;

/// What a tag stands for here.
enum Slot {
    /// Nothing yet: other ranks were faster. Kept until it is opened.
    Early(Vec<(usize, Vec<u8>)>),
    Open(Handler),
    /// Nothing any more.
    Closed,
}

/// The handlers, by tag. Tags are small numbers, given out in a row.
#[derive(Default)]
struct Slots(Vec<Slot>);

impl Slots {
    fn at(&mut self, tag: u32) -> &mut Slot {
        let tag = tag as usize;
        if tag >= self.0.len() {
            self.0.resize_with(tag + 1, || Slot::Early(Vec::new()));
        }
        &mut self.0[tag]
    }

    fn dispatch(&mut self, from: usize, tag: u32, bytes: &[u8]) {
        match self.at(tag) {
            Slot::Open(handler) => handler(from, bytes),
            Slot::Early(early) => early.push((from, bytes.to_vec())),
            Slot::Closed => {}
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
        let slot = self.slots.at(tag);
        let Some(mut handler) = handler else {
            *slot = Slot::Closed;
            return;
        };
        if let Slot::Early(early) = slot {
            for (from, bytes) in early.drain(..) {
                handler(from, &bytes);
            }
        }
        *slot = Slot::Open(handler);
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

    /// Ends all processes.
    pub(crate) fn abort(&mut self) {
        self.transport.abort();
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
        self.slots.0.clear();
    }
}
