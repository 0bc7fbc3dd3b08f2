//! Waiting for a task that a thief has: the loop, and the worker's side of it.

pub(crate) mod followed;
pub(crate) mod host_calls;
#[cfg(all(test, loom))]
mod loom_tests;
mod wait_loop;
#[allow(unsafe_code, reason = "listed in the root")]
mod worker_side;

pub(crate) use wait_loop::Taken;
pub use wait_loop::{CHAIN_MAX, THEFT_COST};
pub(crate) use worker_side::{Wait, at_work_beneath, wait_here};
