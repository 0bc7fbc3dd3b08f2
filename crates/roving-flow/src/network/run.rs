//! Running a network.

use std::sync::Arc;
use std::time::Instant;

use roving::Pool;
use roving::raw::tasks::{AroundPolls, OnCancel, around_polls};

use super::build::Network;
use super::launch::Setting;
use super::unheld_port;
use crate::channel::shared::{NetworkFailure, Shared};
use crate::placement::{Grouped, PlacedNetwork, Placer};
use crate::process::poll::ProcessTurn;
use crate::report::Report;
use crate::report::accounting::Accounts;
use crate::report::error::Error;
use crate::state::meter::Meter;

/// A worker that polls a process may wait meanwhile, or do something else.
static AROUND_TURNS: AroundPolls = AroundPolls {
    awaited: ProcessTurn::halted,
    others: ProcessTurn::apart,
};

/// Has turns told of that.
fn hear_of_turns() {
    let is_named = around_polls(&AROUND_TURNS);
    assert!(is_named, "another library has named calls around polls");
}

/// The network gives up its channels when its run is over: after the report has read them, and also
/// when a task that a process has spawned panics out of the run. Else they and what is shared would
/// keep each other.
struct GiveUp(Arc<Shared>);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Network<'_> {
    /// Runs the network on this pool, and returns when all processes have ended.
    ///
    /// A thread that is no worker sleeps meanwhile. On a worker, the worker takes part. A library
    /// runs its networks on [`Pool::current`]: then it starts no threads, and computes where its
    /// caller does.
    ///
    /// The processes inherit the [context](roving::context) in which this is called. When a
    /// [`Cancel`](roving::Cancel) of it is cancelled, or its time is up, or the pool is shut down
    /// at once, the network ends as by [`Canceller::cancel`](crate::Canceller::cancel).
    ///
    /// See [`Network`] for an example.
    ///
    /// # Errors
    /// See [`Error`]. All processes have ended then, too; the figures and pictures of the network
    /// are in [`Live::report`](crate::Live::report).
    ///
    /// # Panics
    /// With the panic of an async task that a process has started ([`roving::task`]) and whose
    /// handle nobody awaits. It goes on from here when all processes have ended, in the place of
    /// the outcome, and there is no report.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// network.process("only", (), async |()| {});
    /// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert_eq!(report.processes().len(), 1);
    /// ```
    pub fn run(self, pool: &Pool) -> Result<Report, Error> {
        self.check()?;
        hear_of_turns();
        let Network {
            shared,
            last,
            starts,
            plan,
            channels,
            placement,
            accounting,
            metered,
            beside,
            ..
        } = self;
        shared.begin(plan, channels.run(), starts.len());
        let _at_the_end = GiveUp(Arc::clone(&shared));
        let workers = pool.workers();
        let grouped = Grouped::new(&placement, &shared, workers);
        let placed = grouped
            .as_ref()
            .map(|grouped| grouped as &dyn PlacedNetwork);
        let placed = placed.unwrap_or(&*shared);
        let placer = Placer::new(&placement, placed, starts.len(), workers);
        let meter = match &placer {
            Some(placer) => Some(Arc::clone(placer.meter())),
            None => metered.then(|| Arc::new(Meter::new(starts.len(), workers))),
        };
        if let (true, Some(meter)) = (metered, &meter) {
            let _first = shared.meter.set(Arc::clone(meter));
        }
        shared.time_by(meter.as_ref());
        let setting = Setting {
            shared: Arc::clone(&shared),
            is_timed: meter.is_some(),
            is_placed: placer.is_some(),
            accounts: accounting.then(|| Arc::new(Accounts::new(&shared))),
        };
        let accounts = setting.accounts.clone();
        let stopped = Arc::clone(&shared);
        let cancels = OnCancel::new(pool, move || stopped.stop(NetworkFailure::Cancelled));
        let hint = unheld_port::start(&shared);
        let began = Instant::now();
        let run = || {
            let body = move |scope| async move {
                for start in beside {
                    start(scope);
                }
                starts.start_all(scope, &setting);
            };
            ProcessTurn::on_top(|| pool.run(body));
        };
        let moves = match placer {
            Some(placer) => placer.run(placed, run).1,
            None => {
                run();
                Vec::new()
            }
        };
        let elapsed = began.elapsed();
        // What is known of a million processes takes room, and all have ended.
        drop((cancels, hint, meter, grouped));
        let report = shared.report(elapsed, moves, accounts.as_deref());
        if Arc::strong_count(&last) > 1 {
            let _first = last.set(report.clone());
        }
        match shared.take_failure() {
            Some(failure) => Err(shared.explain(failure)),
            None => Ok(report),
        }
    }

    /// Refuses a network that was not built as it should be.
    fn check(&self) -> Result<(), Error> {
        let held = || self.closed.then(|| self.held_outside()).flatten();
        let invalid = self.invalid.clone();
        match invalid
            .or_else(|| self.placement.check().err())
            .or_else(held)
        {
            Some(message) => Err(Error::Invalid { message }),
            None => Ok(()),
        }
    }
}
