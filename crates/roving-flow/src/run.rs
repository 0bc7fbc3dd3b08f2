//! Running a network.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use roving::Pool;
use roving::adapt::{OnCancel, Place, spawn_kept, spawn_placed};
use roving::task::Scope;

use crate::accounting::{Accounts, accounted};
use crate::error::Error;
use crate::hint::Hint;
use crate::network::Network;
use crate::placement::{Meter, Metered, Placer};
use crate::process::Process;
use crate::report::Report;
use crate::shared::{Failure, Shared};
use crate::turn::Turn;

/// The common setting in which all processes of a network start.
pub(crate) struct Setting {
    shared: Arc<Shared>,
    /// With a placement that moves processes, or where somebody wants to know what they take.
    meter: Option<Arc<Meter>>,
    /// Processes have places.
    is_placed: bool,
    accounts: Option<Arc<Accounts>>,
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
    /// Runs the network on the pool that the calling thread works for, or on the global one:
    /// [`Self::run`] on [`Pool::current`]. So a library that uses a network starts no threads, and
    /// computes where its caller does.
    ///
    /// # Errors
    /// As [`Self::run`].
    ///
    /// ```
    /// fn copy(numbers: Vec<u32>) -> Vec<u32> {
    ///     let mut copied = Vec::new();
    ///     let mut network = roving_flow::Network::new();
    ///     let (out, input) = network.channel("numbers");
    ///     network.source("from", out, numbers);
    ///     network.collect_into("to", input, &mut copied);
    ///     network.run_here().unwrap();
    ///     copied
    /// }
    /// let pool = roving::Pool::new(2).unwrap();
    /// assert_eq!(pool.install(|| copy(vec![1, 2, 3])), [1, 2, 3]);
    /// ```
    pub fn run_here(self) -> Result<Report, Error> {
        self.run(&Pool::current())
    }

    /// Runs the network on this pool, and returns when all processes have ended.
    ///
    /// A thread that is no worker sleeps meanwhile. On a worker, the worker takes part.
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
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// network.process("only", (), async |()| {});
    /// let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert_eq!(report.processes().len(), 1);
    /// ```
    pub fn run(self, pool: &Pool) -> Result<Report, Error> {
        self.check()?;
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
        shared.begin(plan, channels, starts.len());
        let _at_the_end = GiveUp(Arc::clone(&shared));
        let placer = Placer::new(&placement, &*shared, pool.workers());
        let meter = match &placer {
            Some(placer) => Some(Arc::clone(placer.meter())),
            None => metered.then(|| Arc::new(Meter::new(starts.len(), pool.workers()))),
        };
        if let (true, Some(meter)) = (metered, &meter) {
            let _first = shared.meter.set(Arc::clone(meter));
        }
        let setting = Setting {
            shared: Arc::clone(&shared),
            meter,
            is_placed: placer.is_some(),
            accounts: accounting.then(|| Arc::new(Accounts::new(&shared))),
        };
        let accounts = setting.accounts.clone();
        let stopped = Arc::clone(&shared);
        let cancels = OnCancel::new(pool, move || stopped.stop(Failure::Cancelled));
        let hint = Hint::start(&shared);
        let began = Instant::now();
        let run = || {
            pool.run(move |scope| async move {
                for start in beside {
                    start(scope);
                }
                for (index, start) in (0..).zip(starts) {
                    start(scope, &setting, index);
                }
            });
        };
        let moves = match placer {
            Some(placer) => placer.run(&*shared, run).1,
            None => {
                run();
                Vec::new()
            }
        };
        let elapsed = began.elapsed();
        drop((cancels, hint));
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

/// Makes the future and gives it to the workers.
pub(crate) fn start<'env, Fut>(
    scope: Scope<'env>,
    setting: &Setting,
    index: u32,
    make: impl FnOnce() -> Fut,
) where
    Fut: Future<Output = ()> + Send + 'env,
{
    let shared = &setting.shared;
    // Ports that a panic drops are closed when it is known that the process has failed. Nothing
    // here is woken.
    let turn = Turn::new(shared, index, Waker::noop(), None);
    let made = turn
        .with(|_| panic::catch_unwind(AssertUnwindSafe(make)))
        .map_err(|payload| shared.stop(Failure::unwound(index, payload)));
    turn.close_all();
    turn.pay_at_the_end();
    let Ok(body) = made else {
        shared.process_started();
        if !shared.process_ended() {
            shared.tell_rest();
        }
        return;
    };
    let process = Process::new(shared, index, body);
    match &setting.accounts {
        Some(accounts) => {
            let process = accounted(process, accounts, index);
            spawn(scope, setting, index, process);
        }
        None => spawn(scope, setting, index, process),
    }
}

/// Where its place says, if there are places, now and whenever it is ready.
fn spawn<'env, Fut>(scope: Scope<'env>, setting: &Setting, index: u32, process: Fut)
where
    Fut: Future<Output = ()> + Send + 'env,
{
    match &setting.meter {
        None => drop(spawn_kept(scope, process)),
        Some(meter) if !setting.is_placed => {
            drop(spawn_kept(scope, Metered::new(process, meter, index)));
        }
        Some(meter) => {
            let place: *const Place = &setting.shared.control(index).place;
            // SAFETY: the place is in what the process shares with its network, and the process
            // keeps that. A place is read while its task holds its future, which is the process.
            let place = unsafe { &*place };
            let future = Metered::new(process, meter, index);
            drop(spawn_placed(scope, place, future));
        }
    }
}
