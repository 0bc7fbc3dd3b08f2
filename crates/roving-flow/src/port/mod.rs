//! The ends of channels, as processes and other threads hold them.

mod blocking;
mod error;
mod merge;
#[allow(unsafe_code)]
mod ports;
mod sets;
#[cfg(not(loom))]
mod timeout;

#[cfg(all(test, loom))]
mod ends_loom_tests;
#[cfg(all(test, loom))]
mod left_loom_tests;
#[cfg(all(test, loom))]
#[allow(unsafe_code)]
mod loom_net;
#[cfg(all(test, loom))]
#[allow(unsafe_code)]
mod loom_tests;
#[cfg(all(test, loom))]
mod outside_loom_tests;
#[cfg(all(test, loom))]
mod unread_loom_tests;

pub(crate) use merge::ready;
pub(crate) use ports::pair;
pub(crate) use sets::sealed;
pub use {
    error::{SendError, TryRecvError, TrySendError},
    merge::Merge,
    ports::{In, Out, Receiving, Sending},
    sets::Ports,
};
