//! Starting the processes of a network that begins to run.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use roving::raw::tasks::{Place, spawn_kept, spawn_placed};
use roving::task::Scope;

use crate::channel::shared::{NetworkFailure, Shared};
use crate::machine::prim::OnceLock;
use crate::process::metered::Metered;
use crate::process::poll::ProcessTurn;
use crate::process::{OfProcess, Process, has_no_body};
use crate::report::accounting::{Accounted, Accounts};

/// The common setting in which all processes of a network start.
pub(crate) struct Setting {
    pub(crate) shared: Arc<Shared>,
    /// There is a meter: with a placement that moves processes, or where somebody wants to know
    /// what they take.
    pub(crate) is_timed: bool,
    /// Processes have places.
    pub(crate) is_placed: bool,
    pub(crate) accounts: Option<Arc<Accounts>>,
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
    // Ports that a panic drops are closed when it is known that the process has failed.
    let outside = OnceLock::new();
    let turn = ProcessTurn::unbegun(shared, index, &outside);
    let made = turn
        .with(|_| panic::catch_unwind(AssertUnwindSafe(make)))
        .map_err(|payload| shared.stop(NetworkFailure::unwound(index, payload)));
    turn.close_all();
    let Ok(body) = made else {
        has_no_body(shared, index);
        shared.process_started();
        if !shared.process_ended() {
            shared.tell_rest();
        }
        return;
    };
    let process = Process::new(shared, index, body);
    match &setting.accounts {
        Some(accounts) => {
            let process = Accounted::new(process, accounts, index);
            spawn(scope, setting, index, process);
        }
        None => spawn(scope, setting, index, process),
    }
}

/// Where its place says, if there are places, now and whenever it is ready.
fn spawn<'env>(
    scope: Scope<'env>,
    setting: &Setting,
    index: u32,
    process: impl OfProcess + Send + 'env,
) {
    if !setting.is_timed {
        return drop(spawn_kept(scope, process));
    }
    // SAFETY: the run says so in the setting when it has a meter, which it keeps until all
    // processes have ended.
    let future = unsafe { Metered::new(process, index) };
    if !setting.is_placed {
        return drop(spawn_kept(scope, future));
    }
    let place: *const Place = &setting.shared.places()[index as usize];
    // SAFETY: the place is in what the process shares with its network, and the process keeps that.
    // A place is read while its task holds its future, which is the process.
    drop(spawn_placed(scope, unsafe { &*place }, future));
}
