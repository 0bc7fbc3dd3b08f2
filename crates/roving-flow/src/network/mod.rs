//! A network: built, started, run and looked at.

#[allow(unsafe_code)]
mod build;
pub(crate) mod cancel;
mod explain;
#[allow(unsafe_code)]
mod launch;
pub(crate) mod live;
#[allow(unsafe_code)]
mod pending_starts;
pub(crate) mod repeat;
mod run;
mod unheld_port;
mod unrun_channels;

pub use build::Network;
