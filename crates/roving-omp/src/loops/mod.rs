//! Work that the threads of a team share: loops, sections, and who does a `single`.

pub(crate) mod doacross;
#[cfg(all(test, loom))]
mod loom_tests;
pub(crate) mod next;
#[cfg(not(loom))]
pub(crate) mod plan;
#[cfg(not(loom))]
pub(crate) mod share;
#[cfg(not(loom))]
pub(crate) mod work;
