//! A program watches its workers here: traces of what they did, and reports of standstills.

pub(crate) mod fixed;
pub mod trace;
pub mod watch;
