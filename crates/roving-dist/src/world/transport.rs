//! A transport: it carries packets from rank to rank. Everything above it is the same for all
//! transports.

use crate::error::Error;

/// A packet: what travels at once.
pub(crate) enum Packet {
    /// Records, as [`super::record`] has them.
    Batch(Vec<u8>),
    /// One message that is too large to be copied into a batch, and its tag.
    Bulk(u32, Vec<u8>),
}

/// The way from one rank to the others. Packets from one rank to another arrive in the order in
/// which they were sent, whatever their kind; those of different pairs in any order. Called by one
/// thread at a time, with no other call of it under way.
pub(crate) trait Transport: Send {
    /// Begins to send a batch. Takes the bytes; what it leaves is empty, and may have capacity.
    fn send_batch(&mut self, to: usize, batch: &mut Vec<u8>) -> Result<(), Error>;

    /// Begins to send one large message.
    fn send_bulk(&mut self, to: usize, tag: u32, bytes: Vec<u8>) -> Result<(), Error>;

    /// Appends a few of the packets that have arrived, each with its sender. False when none came.
    fn receive(&mut self, arrived: &mut Vec<(usize, Packet)>) -> Result<bool, Error>;

    /// So many packets have come from that rank, also of those that wait for one before them.
    fn heard(&self, from: usize) -> u64;

    /// Takes the bytes of a batch that was received, for their memory.
    fn keep(&mut self, spent: Vec<u8>);

    /// Whether all packets have left this rank.
    fn is_sent(&mut self) -> Result<bool, Error>;

    /// Ends the processes of all ranks with this status, if ranks are processes.
    fn abort(&mut self, status: i32);

    /// For benchmarks: one message of the library beneath, blocking. Not where ranks are threads.
    fn send_bare(&mut self, _to: usize, _bytes: &[u8]) -> Result<(), Error> {
        Err(Error::anywhere(
            "there is nothing beneath ranks that are threads",
        ))
    }

    /// For benchmarks: the other end of [`Transport::send_bare`].
    fn receive_bare(&mut self, _from: usize, _bytes: &mut [u8]) -> Result<(), Error> {
        Err(Error::anywhere(
            "there is nothing beneath ranks that are threads",
        ))
    }

    /// The last call, after all ranks have agreed to finish.
    fn finish(&mut self) -> Result<(), Error>;
}
