//! The parts of the runtime that networks use while they run. Loom explores networks without
//! workers, and without this module.

#[cfg(not(loom))]
pub(crate) use roving::{CancelledError, is_cancelled, raw::tasks::Place};

#[cfg(loom)]
pub(crate) use nothing::{Anywhere as Place, CancelledError, is_cancelled};

/// Lets a process be polled that has been woken: by whoever can, also where the caller is on top of
/// the only worker.
#[cold]
pub(crate) fn let_others_run() {
    #[cfg(not(loom))]
    roving::blocking(|| std::thread::sleep(std::time::Duration::from_micros(50)));
    #[cfg(loom)]
    loom::thread::yield_now();
}

#[cfg(loom)]
mod nothing {
    /// Processes run anywhere.
    pub(crate) struct Anywhere;

    impl Anywhere {
        pub(crate) fn new(_: Option<usize>) -> Anywhere {
            Anywhere
        }
    }

    /// Nothing is cancelled from above.
    pub(crate) type CancelledError = std::convert::Infallible;

    pub(crate) fn is_cancelled() -> bool {
        false
    }
}
