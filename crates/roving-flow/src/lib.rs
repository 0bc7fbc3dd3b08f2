//! Process networks on the workers of Roving.
//!
//! A [`Network`] is built of processes, which are `async` bodies, and of channels between them. A
//! process that has to wait for a message, or for room, is suspended: no worker is ever blocked.
//! Channels have one producer and one consumer, so a network computes the same in each run (Kahn).
//! They are bounded, and grow where that would be a deadlock (Parks; Geilen and Basten); a deadlock
//! that nothing resolves is an error that names each process.
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
//! * [`Network`] builds and runs; [`In`] and [`Out`] are the ports that its processes hold.
//! * [`Network::source`], [`Network::sink`] and [`Network::stage`] are processes that are often wanted.
//! * [`Merge`] takes from whichever input has something, and is not deterministic.
//! * [`Placement`] says where processes run; [`partition`] is what it partitions with.
//! * [`Report`] says what a run cost, and draws it; [`Live`] shows a network while it runs.
//!
//! # What may be unsafe, and why
//!
//! Unsafe code is denied but in these modules; each says in its comments what it relies on.
//!
//! | module | reason |
//! |---|---|
//! | `bridge` | makes ports for an end whose own port is gone |
//! | `channel` | the memory that producer and consumer share |
//! | `placement` | polls the process that it times in place |
//! | `port` | each port is the only one at its end |
//! | `network` | makes ports and the network's own references to channels |
//! | `run` | lends processes the word with their place |
//! | `process` | polls its body in place |
//! | `turn` | lends a waker, and finds the poll that a thread is in |
//! | `word` | a pointer to a channel, in a word that also holds other things |
//! | `prim` | one processor instruction |
//! | `loom_tests` | wakers and ports of its own |
#![deny(unsafe_code)]

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom`: see `cargo xtask loom`");

#[cfg(not(loom))]
mod accounting;
mod below;
mod blocking;
#[cfg(not(loom))]
#[doc(hidden)]
#[allow(unsafe_code)] // for `pub mod`, whose reason is in the list above
pub mod bridge;
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
mod line;
mod lines;
#[cfg(not(loom))]
mod live;
#[cfg(all(test, loom))]
#[allow(unsafe_code)]
mod loom_tests;
mod merge;
mod names;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod network;
#[cfg(not(loom))]
pub mod partition;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod placement;
#[allow(unsafe_code)]
mod port;
mod ports;
#[allow(unsafe_code)]
mod prim;
#[allow(unsafe_code)]
mod process;
#[cfg(not(loom))]
mod report;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod run;
mod shared;
#[cfg(not(loom))]
mod sources;
#[cfg(not(loom))]
mod stage;
#[allow(unsafe_code)]
mod turn;
mod unwind;
#[allow(unsafe_code)]
mod word;

#[cfg(not(loom))]
pub use {
    cancel::Canceller,
    error::{Blocked, Error, Operation},
    live::{Live, Queue, Snapshot, State},
    network::Network,
    placement::{Moved, Placement},
    report::{ChannelAccount, ChannelReport, Growth, Name, ProcessAccount, ProcessReport, Report},
};
pub use {
    merge::Merge,
    port::{Closed, In, Out, Receiving, Sending, TryRecvError, TrySendError},
    ports::Ports,
};
