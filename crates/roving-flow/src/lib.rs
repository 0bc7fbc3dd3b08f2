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
//! * Needs `std`. Messages are moved, so they are `Send`.
//! * A process that blocks in the system blocks its worker, but in `roving::blocking`.
//! * No process takes half of a stream for the whole. So a port that is dropped by a panic ends its
//!   stream when the current poll of its process has ended, and a port that is dropped in
//!   [`Network::try_process`] does so then, or before the process waits within the poll by a
//!   function of Roving. Code that waits by other means, within that poll or that call of
//!   `roving::blocking`, for what another process does at that end waits for ever.
//! * A port that a panic drops on another thread, in a half of a `join` or in a task, is left to
//!   the process that was given it, or has waited there last. It ends its stream when that process
//!   has heard of the panic: after a poll in which it waits for channels alone, by its own waker,
//!   or after sixteen in which it goes on. If it waits before that, within one poll or for another
//!   event, for what comes of the end, it waits for ever. And where nobody can tell whose port it
//!   is, another process can take half of the stream for the whole before the network fails: where
//!   the process has the port by what its closure captures, or by a message, and has not waited
//!   there itself. So a process is given its ports, and sends them to no other whose tasks panic.
//! * A port that such a task drops *without* a panic is closed at once, also in
//!   [`Network::try_process`]: an error that the task returns does not hold its stream open, so the
//!   port belongs into what is returned.
//! * A process that waits for a port by an executor that is not Roving's, outside of
//!   `roving::blocking`, does not hear there that its network has stopped.
//! * While a process waits within its poll, by `block_on` say, it counts as one that goes on: a
//!   deadlock beside it is told when it has ended that wait.
//! * A process that waits at a channel whose other port lies in a message that nobody receives is
//!   in no deadlock that is told, if the process which has sent that message has ended.
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
// | `machine::prim` | one processor instruction |
// | `state::process_waker` | a waker in one word |
// | `state::process_word` | a pointer to a channel, in a word that also holds other things |
// | `channel` | the memory that producer and consumer share; operations that wait, in one pointer |
// | `process` | polls its body in place, and times that; lends a waker, and finds the poll that a thread is in |
// | `port::ports` | each port is the only one at its end |
// | `port::loom_net` | wakers and ports of its own, for the tests |
// | `port::loom_tests` | wakers and ports of its own |
// | `network::build` | makes ports and the network's own references to channels |
// | `network::launch` | lends processes the word with their place |
// | `network::pending_starts` | closures of any types in one memory |
// | `raw` | makes ports for an end whose own port is gone |
#![deny(unsafe_code)]

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom`: see `cargo xtask loom`");

#[allow(unsafe_code)]
mod channel;
mod deadlock;
#[cfg(not(loom))]
mod export;
mod machine;
#[cfg(not(loom))]
mod network;
#[cfg(not(loom))]
mod placement;
mod port;
#[allow(unsafe_code)]
mod process;
#[cfg(not(loom))]
#[allow(unsafe_code)] // for `pub mod`, whose reason is in the list above
pub mod raw;
#[cfg(not(loom))]
mod report;
#[cfg(not(loom))]
mod stages;
mod state;

/// The crate that partitions the graph of a network, whose types [`Placement`] takes.
///
/// ```
/// use roving_flow::partition::MigrationCost;
///
/// assert_eq!(MigrationCost::Fixed(3).of(0), 3);
/// ```
pub use roving_partition as partition;

pub use port::{In, Merge, Out, Ports, Receiving, SendError, Sending, TryRecvError, TrySendError};
#[cfg(not(loom))]
pub use {
    network::Network,
    network::cancel::Canceller,
    network::live::{Live, Queue, Snapshot, State},
    network::repeat::Repeat,
    placement::{Moved, Placement},
    report::error::{Blocked, Error, Operation, Payload},
    report::{
        ChannelAccount, ChannelReport, Growth, Name, ProcessAccount, ProcessReport, Report,
        StageReport,
    },
};
