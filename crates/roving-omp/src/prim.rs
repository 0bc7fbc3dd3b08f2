//! The only door to atomics of what loom explores here: `std`, or loom when built with
//! `--cfg loom`, so that the same code runs and is explored.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize},
};

pub(crate) use std::sync::atomic::Ordering;

pub(crate) use roving::raw::prim::ord;
#[cfg(loom)]
pub(crate) use roving::raw::prim::{DataCell, explore_within};
