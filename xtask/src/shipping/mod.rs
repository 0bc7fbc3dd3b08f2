//! All that leaves this repository: packages, their interface, the library for C, and the systems
//! on which it compiles.

pub(crate) mod install;
pub(crate) mod publish;
pub(crate) mod semver;
pub(crate) mod targets;
