//! Ending a network from outside.

use std::fmt;
use std::sync::Arc;

use super::build::Network;
use crate::channel::shared::{NetworkFailure, Shared};
use crate::machine::unwind::DueWaker;

/// A handle that ends a network from any thread: see [`Network::canceller`].
///
/// ```
/// use roving_flow::{Error, Network};
///
/// let mut network = Network::new();
/// network.process("waits for ever", (), async |()| std::future::pending().await);
/// let canceller = network.canceller();
/// let stop = std::thread::spawn(move || canceller.cancel());
/// assert!(matches!(network.run(&roving::Pool::new(1).unwrap()), Err(Error::Cancelled)));
/// stop.join().unwrap();
/// ```
#[derive(Clone)]
pub struct Canceller {
    shared: Arc<Shared>,
}

impl Network<'_> {
    /// Returns a handle that ends the network from any thread, at any time.
    ///
    /// ```
    /// use roving_flow::{Error, Network};
    ///
    /// let mut network = Network::new();
    /// let (out, input) = network.channel("numbers");
    /// network.source("for ever", out, 0_u64..);
    /// let canceller = network.canceller();
    /// network.sink("sink", input, move |number| {
    ///     if number == 1000 {
    ///         canceller.cancel();
    ///     }
    /// });
    /// let pool = roving::Pool::new(2).unwrap();
    /// assert!(matches!(network.run(&pool), Err(Error::Cancelled)));
    /// ```
    pub fn canceller(&self) -> Canceller {
        Canceller {
            shared: self.shared(),
        }
    }
}

impl Canceller {
    /// Ends the network: each process is dropped where it is suspended, and [`Network::run`]
    /// returns [`Error::Cancelled`](crate::Error::Cancelled), unless the network has ended, or
    /// failed, before, or a process panics. A process that computes is not interrupted: it is
    /// dropped when it next has to wait. Where it waits within its poll for a port of this network,
    /// in a `block_on` say, that finds the channel closed; and so does whoever waits for one
    /// outside: see [Ports and handles after the end](Network#ports-and-handles-after-the-end).
    ///
    /// ```
    /// use roving_flow::{Error, Network};
    ///
    /// let mut network = Network::new();
    /// network.process("waits for ever", (), async |()| std::future::pending().await);
    /// network.canceller().cancel(); // before it runs counts as well
    /// assert!(matches!(network.run(&roving::Pool::new(1).unwrap()), Err(Error::Cancelled)));
    /// ```
    pub fn cancel(&self) {
        self.shared.stop(NetworkFailure::Cancelled);
    }

    pub(crate) fn cancel_and_owe(&self) -> Vec<DueWaker> {
        self.shared.stop_and_owe(NetworkFailure::Cancelled)
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller").finish_non_exhaustive()
    }
}
