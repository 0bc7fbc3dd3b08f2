//! A program watches its workers here: traces of what they did, and reports of standstills.

pub(crate) mod fixed;
mod pools;
pub mod trace;
pub mod watch;
mod words;
