//! The state that the threads of a team share at a loop, at sections and at a `single`: how the
//! iterations are given out, and the ring of constructs. It knows no threads and no teams.

pub(crate) mod doacross;
#[cfg(all(test, loom))]
mod loom_tests;
pub(crate) mod next;
#[cfg(not(loom))]
pub(crate) mod plan;
#[cfg(not(loom))]
pub(crate) mod ring;
#[cfg(not(loom))]
pub(crate) mod share;
