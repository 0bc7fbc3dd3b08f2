//! The only door to locks and words of what loom explores here: `std`, or loom when built with
//! `--cfg loom`, so that the same code runs and is explored.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU32, AtomicU64},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64},
};

#[cfg(loom)]
pub(crate) use roving::raw::prim::explore_within;
pub(crate) use std::sync::atomic::Ordering;
