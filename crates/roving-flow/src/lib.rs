//! Programs as processes that talk through channels, on the workers of [`roving`]: pipelines, and
//! networks of any shape and size. The crate is for streams of work in which a full channel must
//! not block a thread, and for results that must be the same in each run.
//!
//! ```
//! use roving_flow::Network;
//!
//! let mut squares = Vec::new();
//! let mut network = Network::new();
//! let (out, numbers) = network.channel("numbers");
//! let (squared, results) = network.channel("squares");
//! network.source("source", out, 1..=5);
//! network.process("square", (numbers, squared), async |(mut numbers, mut squared)| {
//!     while let Some(number) = numbers.recv().await {
//!         squared.send(number * number).await.unwrap();
//!     }
//! });
//! network.collect_into("sink", results, &mut squares);
//! network.run(&roving::Pool::new(2).unwrap()).unwrap();
//! assert_eq!(squares, [1, 4, 9, 16, 25]);
//! ```
//!
//! A process is an `async` body. One that has to wait for a message, or for room, is suspended, and
//! its worker goes on with another.
//!
//! | for | use |
//! |---|---|
//! | channels and processes | [`Network`]; [`In`] and [`Out`] are the ports that a process holds |
//! | the usual ends and stages | [`Network::source`], [`Network::sink`], [`Network::collect_into`], [`Network::stage`] |
//! | the next message of any of several inputs | [`Merge`] |
//! | the same network for many jobs | [`Network::repeat`] |
//! | where processes run | [`Placement`]; [`partition`] is the crate that it partitions graphs with |
//! | what a run cost, as figures or as a picture | [`Report`] |
//! | a look at a network, while it runs or after an error, and an end to it | [`Live`], [`Canceller`] |
//!
//! # What holds
//!
//! * A channel has one producer and one consumer, so a network computes the same in each run
//!   (Kahn). What gives that up is marked: [`Merge`], [`In::try_recv`], [`Out::try_send`], those
//!   that wait for a limited time, and what has *unordered* in its name.
//! * Channels are bounded, and grow where that would be a deadlock (Parks; Geilen and Basten). A
//!   deadlock that nothing resolves is an [error](Error::Deadlock) that names each process.
//! * A panic, an error or a cancellation ends the network with an [`Error`]; that of a panic or an
//!   error names its process.
//!
//! # Limits
//!
//! Needs `std`. A process that blocks in the system blocks its worker. Messages are moved, so they
//! are `Send`.
//!
//! # More
//!
//! [Networks, in the book](https://github.com/roving-rs/roving/blob/main/docs/networks.md), and [a
//! program that uses
//! one](https://github.com/roving-rs/roving/blob/main/examples/image-pipeline.rs);
//! [questions](https://github.com/roving-rs/roving/blob/main/docs/faq.md);
//! [issues](https://github.com/roving-rs/roving/issues).

// # What may be unsafe, and why
//
// Unsafe code is denied but in these modules; each says in its comments what it relies on.
//
// | module | reason |
// |---|---|
// | `raw` | makes ports for an end whose own port is gone |
// | `channel` | the memory that producer and consumer share |
// | `meter` | polls the process that it times in place |
// | `port` | each port is the only one at its end |
// | `network` | makes ports and the network's own references to channels |
// | `launch` | lends processes the word with their place |
// | `pending_starts` | closures of any types in one memory |
// | `process_waker` | a waker in one word |
// | `process` | polls its body in place |
// | `process_poll` | lends a waker, and finds the poll that a thread is in |
// | `process_word` | a pointer to a channel, in a word that also holds other things |
// | `prim` | one processor instruction |
// | `loom_tests` | wakers and ports of its own |
#![deny(unsafe_code)]

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom`: see `cargo xtask loom`");

#[cfg(not(loom))]
mod accounting;
mod all_counts;
mod below;
mod blocking;
#[cfg(not(loom))]
mod cancel;
#[allow(unsafe_code)]
mod channel;
mod deadlock;
#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
mod explain;
#[cfg(not(loom))]
mod export;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod launch;
#[cfg(not(loom))]
mod live;
#[cfg(all(test, loom))]
#[allow(unsafe_code)]
mod loom_tests;
mod merge;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod meter;
mod names;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod network;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod pending_starts;
#[cfg(not(loom))]
mod placement;
#[allow(unsafe_code)]
mod port;
mod port_sets;
#[allow(unsafe_code)]
mod prim;
#[allow(unsafe_code)]
mod process;
#[allow(unsafe_code)]
mod process_poll;
#[allow(unsafe_code)]
mod process_waker;
#[allow(unsafe_code)]
mod process_word;
#[cfg(not(loom))]
#[allow(unsafe_code)] // for `pub mod`, whose reason is in the list above
pub mod raw;
#[cfg(not(loom))]
mod repeat;
#[cfg(not(loom))]
mod report;
#[cfg(not(loom))]
mod run;
mod shared;
#[cfg(not(loom))]
mod sources;
#[cfg(not(loom))]
mod stage;
#[cfg(not(loom))]
mod steps;
mod thread_counts;
#[cfg(not(loom))]
mod timeout;
#[cfg(not(loom))]
mod unheld_port;
mod unwind;

/// The crate that partitions the graph of a network, whose types [`Placement`] takes.
///
/// ```
/// use roving_flow::partition::MigrationCost;
///
/// assert_eq!(MigrationCost::Fixed(3).of(0), 3);
/// ```
pub use roving_partition as partition;

#[cfg(not(loom))]
pub use {
    cancel::Canceller,
    error::{Blocked, Error, Operation, Payload},
    live::{Live, Queue, Snapshot, State},
    network::Network,
    placement::{Moved, Placement},
    repeat::Repeat,
    report::{
        ChannelAccount, ChannelReport, Growth, Name, ProcessAccount, ProcessReport, Report,
        StageReport,
    },
};
pub use {
    merge::Merge,
    port::{In, Out, Receiving, SendError, Sending, TryRecvError, TrySendError},
    port_sets::Ports,
};
