//! A view of a network while it runs: its waits, its messages, its end.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use roving::raw::tasks::spawn_kept;

use super::Waiting;
use crate::channel::shared::{GrownChannel, Shared};
use crate::deadlock;
use crate::machine::prim::Ordering;
use crate::machine::unwind::DueWaker;
use crate::network::Network;
use crate::network::cancel::Canceller;
use crate::report::error::Error;

/// Adds a task that runs alongside the processes, on the same workers, and is no process: the run
/// also waits for its end. It begins even where the network is cancelled before.
pub fn beside<'env>(network: &mut Network<'env>, task: impl Future<Output = ()> + Send + 'env) {
    network
        .beside
        .push(Box::new(move |scope| drop(spawn_kept(scope, task))));
}

/// Sets a function that is called whenever only an event from outside can let the network go on,
/// and when all processes have ended. A worker calls it, in the place of the process that was the
/// last one to wait. Only the first such function counts. From now on the network does not search
/// for deadlocks on that occasion: see [`Inside::look`].
pub fn at_rest(network: &mut Network<'_>, tell: impl Fn() + Send + Sync + 'static) {
    let _a_second_one = network.shared.rest.set(Box::new(tell));
}

/// Has the time of the network's processes estimated while it runs, from some of their polls: see
/// [`Inside::spent`].
pub fn metered(network: &mut Network<'_>) {
    network.metered = true;
}

/// Returns a view of the network while it runs.
pub fn inside(network: &Network<'_>) -> Inside {
    Inside {
        shared: network.shared(),
    }
}

/// Ends a network as its canceller does, by who may hold a lock: wakers of other executors, which
/// may run anything, are left to the caller.
pub fn cancel(canceller: &Canceller) -> Vec<DueWaker> {
    canceller.cancel_and_owe()
}

/// A view of a network while it runs: see [`inside`].
#[derive(Clone)]
pub struct Inside {
    shared: Arc<Shared>,
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside").finish_non_exhaustive()
    }
}

impl Inside {
    /// Returns the channels that the suspended processes wait for, ordered by process. A process
    /// that can go on, or waits for something else than channels, is not among them.
    pub fn waits(&self) -> Vec<Waiting> {
        deadlock::waits(&self.shared)
            .into_iter()
            .map(Waiting::from)
            .collect()
    }

    /// Checks whether the network has come to rest; called by a thread that has given messages,
    /// room or the end of a stream to processes here. That thread may have been the last activity,
    /// where a process has ended before the thread was done with waking it. The caller must hold no
    /// lock that the function called at rest takes.
    pub fn has_given(&self) {
        deadlock::after_waking(&self.shared, self.shared.lines.mine());
    }

    /// Resolves the deadlocks that are within this network.
    pub fn look(&self) {
        if !self.shared.controls().is_empty() {
            deadlock::look(&self.shared);
        }
    }

    /// Returns whether a process has waited for room since the last look that found none.
    pub fn has_writers(&self) -> bool {
        // Ordering: Relaxed; a hint.
        self.shared.writers.load(Ordering::Relaxed)
    }

    /// Makes a channel larger that has both ends here, if its capacity is `from`.
    pub fn grow(&self, channel: usize, from: usize, to: usize) {
        let growth = GrownChannel {
            channel: channel as u32,
            from: from as u32,
            to: to as u32,
        };
        deadlock::grow(&self.shared, growth);
    }

    /// Returns the time that each process has taken so far, and whether it has ended; empty before
    /// the network runs, or if it is not [`metered`].
    pub fn spent(&self) -> Vec<(Duration, bool)> {
        let Some(meter) = self.shared.meter.get() else {
            return Vec::new();
        };
        let spent = (0..self.shared.controls().len()).map(|process| meter.spent(process));
        spent
            .map(|one| (Duration::from_nanos(one.time_ns), one.has_ended))
            .collect()
    }

    /// Returns the messages that have been sent on each channel so far; empty before the network
    /// runs.
    pub fn messages(&self) -> Vec<u64> {
        let channels = self.shared.channels();
        channels
            .iter()
            .map(|channel| channel.sent().number())
            .collect()
    }

    /// Returns whether all processes have ended.
    pub fn is_over(&self) -> bool {
        self.shared.is_over()
    }

    /// Returns whether no process has asked so far which of two was faster.
    pub fn is_kahn_network(&self) -> bool {
        self.shared.is_kahn_network()
    }

    /// Returns whether the network is about to drop its processes.
    pub fn is_stopped(&self) -> bool {
        self.shared.is_stopped()
    }

    /// Returns the error that the run is going to return, if a process has panicked or returned an
    /// error, as far as that is text.
    pub fn failed_so_far(&self) -> Option<Error> {
        self.shared.failed_so_far()
    }
}
