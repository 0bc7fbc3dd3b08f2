//! Arenas: one set of threads, and many pools as shares of it.
//!
//! A share is a pool like any other but for its seats, which have no threads of their own. A seat
//! where no thread is looks to the pool like a sleeping worker, and to wake it is to ask the arena
//! for a thread. `word` says who is at a seat, `board` who asks and who rests, `present` when a
//! share has ended; `stay` is what a thread does at a seat, with the argument that no wake-up is
//! lost, and `depart` how it leaves.

mod board;
pub(crate) mod core;
mod depart;
#[cfg(test)]
mod exhaustive_tests;
mod handle;
mod lodging;
#[cfg(all(test, loom))]
mod loom_tests;
mod present;
mod share;
mod stay;
mod word;

pub(crate) use handle::Landlord;

pub use handle::Arena;
