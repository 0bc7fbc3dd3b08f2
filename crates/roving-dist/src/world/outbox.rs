//! The messages that one rank has yet to send to another.

use std::collections::VecDeque;
use std::sync::PoisonError;

use super::record;
use super::transport::{Packet, Transport};
use crate::error::Error;
use crate::prim::{Mutex, MutexGuard};

/// Records that wait for each other's company, and packets that wait for the transport. Whether
/// there are any is known under the lock only: `Link::mark_dirty` relies on that.
#[derive(Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Unsent>,
}

#[derive(Default)]
struct Unsent {
    /// Older than the batch. Empty, but when the transport could not be reached.
    packets: VecDeque<Packet>,
    batch: Vec<u8>,
}

impl Unsent {
    fn close_batch(&mut self) {
        if !self.batch.is_empty() {
            let batch = std::mem::take(&mut self.batch);
            self.packets.push_back(Packet::Batch(batch));
        }
    }
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Unsent> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a small message. Whether a packet should be sent now.
    pub(crate) fn push(&self, tag: u32, bytes: &[u8]) -> bool {
        let mut waiting = self.lock();
        let is_full = !record::has_room(&waiting.batch, bytes.len());
        if is_full {
            waiting.close_batch();
        }
        record::append(&mut waiting.batch, tag, bytes);
        is_full
    }

    /// Takes a large message.
    pub(crate) fn push_bulk(&self, tag: u32, bytes: Vec<u8>) {
        let mut waiting = self.lock();
        waiting.close_batch();
        waiting.packets.push_back(Packet::Bulk(tag, bytes));
    }

    /// Sends everything.
    pub(crate) fn send_to(&self, to: usize, transport: &mut dyn Transport) -> Result<(), Error> {
        let mut waiting = self.lock();
        while let Some(packet) = waiting.packets.pop_front() {
            match packet {
                Packet::Batch(mut batch) => transport.send_batch(to, &mut batch)?,
                Packet::Bulk(tag, bytes) => transport.send_bulk(to, tag, bytes)?,
            }
        }
        if !waiting.batch.is_empty() {
            transport.send_batch(to, &mut waiting.batch)?;
        }
        Ok(())
    }

    /// Takes everything, for a rank that sends to itself.
    pub(crate) fn take(&self) -> VecDeque<Packet> {
        let mut waiting = self.lock();
        waiting.close_batch();
        std::mem::take(&mut waiting.packets)
    }
}
