//! The baselines of benchmarks: single active messages, and the messages of the library beneath.
//! Semantic versioning covers nothing here.

use std::fmt;

use super::World;
use super::transport::Transport;
use crate::error::Error;

/// A channel of active messages with one tag. Each rank makes its own, in the same order.
pub struct Mail<'world> {
    world: &'world World,
    tag: u32,
}

impl<'world> Mail<'world> {
    /// Opens the channel with a handler, which gets the sender's rank and the bytes of each message
    /// that comes. It runs on whichever thread polls, and must not block.
    pub fn new(
        world: &'world World,
        handler: impl FnMut(usize, &[u8]) + Send + 'static,
    ) -> Mail<'world> {
        let tag = world.link().tags(1);
        world.link().open(tag, handler);
        Mail { world, tag }
    }

    /// Queues a message, to be sent soon, together with others.
    #[inline]
    pub fn send(&self, to: usize, bytes: &[u8]) {
        self.world.link().send(to, self.tag, bytes);
    }

    /// Sends all queued messages now.
    pub fn flush(&self) {
        self.world.link().flush();
    }

    /// Polls until `ready`.
    ///
    /// # Errors
    /// The run has failed on some rank.
    pub fn wait(&self, ready: impl Fn() -> bool) -> Result<(), Error> {
        let tell = || "messages".to_owned();
        self.world.link().wait(tell, || ready().then_some(()))
    }
}

impl Drop for Mail<'_> {
    fn drop(&mut self) {
        self.world.link().close(self.tag);
    }
}

impl fmt::Debug for Mail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mail").field("tag", &self.tag).finish()
    }
}

/// Blocking messages of MPI itself.
pub struct Bare<'t>(&'t mut dyn Transport);

impl Bare<'_> {
    /// Calls `f` with the library beneath this world, which no other thread uses meanwhile.
    pub fn with<R>(world: &World, f: impl FnOnce(&mut Bare<'_>) -> R) -> R {
        world
            .link()
            .with_transport(|transport| f(&mut Bare(transport)))
    }

    /// Sends by `MPI_Send`.
    ///
    /// # Errors
    /// MPI's; and where ranks are threads.
    #[inline]
    pub fn send(&mut self, to: usize, bytes: &[u8]) -> Result<(), Error> {
        self.0.send_bare(to, bytes)
    }

    /// Receives by `MPI_Recv`.
    ///
    /// # Errors
    /// MPI's; and where ranks are threads.
    #[inline]
    pub fn receive(&mut self, from: usize, bytes: &mut [u8]) -> Result<(), Error> {
        self.0.receive_bare(from, bytes)
    }
}

impl fmt::Debug for Bare<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bare")
    }
}
