//! Work that the threads of a team share: loops, sections, and who does a `single`.

pub(crate) mod doacross;
pub(crate) mod plan;
pub(crate) mod share;
pub(crate) mod work;
