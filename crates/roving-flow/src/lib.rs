//! Process networks on the workers of Roving.
//!
//! # What may be unsafe, and why
//!
//! Unsafe code is denied but in these modules; each says in its comments what it relies on.
//!
//! | module | reason |
//! |---|---|
//! | `channel` | the memory that producer and consumer share |
//! | `port` | each port is the only one at its end |
//! | `network` | makes ports and the network's own references to channels |
//! | `process` | polls its body in place |
//! | `turn` | lends a waker, and finds the poll that a thread is in |
//! | `prim` | one processor instruction |
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod channel;
#[cfg(not(loom))]
mod deadlock;
#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
mod explain;
#[cfg(not(loom))]
mod line;
#[cfg(not(loom))]
mod names;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod network;
#[cfg(not(loom))]
mod placement;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod port;
#[cfg(not(loom))]
mod ports;
#[allow(unsafe_code)]
mod prim;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod process;
#[cfg(not(loom))]
mod report;
#[cfg(not(loom))]
mod shared;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod turn;
#[cfg(not(loom))]
mod unwind;

#[cfg(not(loom))]
pub use {
    error::{Blocked, Error, Operation},
    network::Network,
    placement::Placement,
    port::{Closed, In, Out, Receiving, Sending, TryRecvError, TrySendError},
    ports::Ports,
    report::{ChannelAccount, ChannelReport, Growth, ProcessAccount, ProcessReport, Report},
};
