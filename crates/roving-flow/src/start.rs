//! Starting the processes of a network that begins to run.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::task::Waker;

use roving::adapt::{Place, spawn_kept, spawn_placed};
use roving::task::Scope;

use crate::accounting::{Accounts, accounted};
use crate::meter::{Meter, Metered};
use crate::process::Process;
use crate::shared::{Failure, Shared};
use crate::turn::Turn;

/// The common setting in which all processes of a network start.
pub(crate) struct Setting {
    pub(crate) shared: Arc<Shared>,
    /// With a placement that moves processes, or where somebody wants to know what they take.
    pub(crate) meter: Option<Arc<Meter>>,
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
