//! The parts of the runtime that networks use while they run. Loom explores networks without
//! workers, and without this module.

#[cfg(not(loom))]
pub(crate) use {
    crate::placement::Meter,
    roving::adapt::Place,
    roving::{Cancelled, is_cancelled},
};

#[cfg(loom)]
pub(crate) use nothing::{Cancelled, Meter, Place, is_cancelled};

#[cfg(loom)]
mod nothing {
    /// Nobody estimates times.
    pub(crate) struct Meter;

    /// Processes run anywhere.
    pub(crate) struct Place;

    impl Place {
        pub(crate) fn new(_: Option<usize>) -> Place {
            Place
        }
    }

    /// Nothing is cancelled from above.
    pub(crate) type Cancelled = std::convert::Infallible;

    pub(crate) fn is_cancelled() -> bool {
        false
    }
}
