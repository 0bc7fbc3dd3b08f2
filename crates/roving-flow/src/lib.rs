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
//! | `run` | lends processes the word with their place |
//! | `process` | polls its body in place |
//! | `turn` | lends a waker, and finds the poll that a thread is in |
//! | `word` | a pointer to a channel, in a word that also holds other things |
//! | `prim` | one processor instruction |
#![deny(unsafe_code)]

#[cfg(not(loom))]
mod accounting;
#[cfg(not(loom))]
mod blocking;
#[cfg(not(loom))]
mod cancel;
#[allow(unsafe_code)]
mod channel;
#[cfg(not(loom))]
mod deadlock;
#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
mod explain;
#[cfg(not(loom))]
mod export;
mod line;
#[cfg(not(loom))]
mod lines;
#[cfg(not(loom))]
mod live;
#[cfg(not(loom))]
mod merge;
#[cfg(not(loom))]
mod names;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod network;
#[cfg(not(loom))]
pub mod partition;
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
#[allow(unsafe_code)]
mod run;
#[cfg(not(loom))]
mod shared;
#[cfg(not(loom))]
mod sources;
#[cfg(not(loom))]
mod stage;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod turn;
#[cfg(not(loom))]
mod unwind;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod word;

#[cfg(not(loom))]
pub use {
    cancel::Canceller,
    error::{Blocked, Error, Operation},
    live::{Live, Queue, Snapshot, State},
    merge::Merge,
    network::Network,
    placement::{Moved, Placement},
    port::{Closed, In, Out, Receiving, Sending, TryRecvError, TrySendError},
    ports::Ports,
    report::{ChannelAccount, ChannelReport, Growth, ProcessAccount, ProcessReport, Report},
};
