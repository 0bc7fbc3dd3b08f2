//! The only door to atomics, locks and fences of what loom explores here: `std`, or loom when built
//! with `--cfg loom`, so that the same algorithm runs and is explored.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64},
};

pub(crate) use std::sync::atomic::Ordering;

pub(crate) use roving::raw::prim::ord;
#[cfg(loom)]
pub(crate) use roving::raw::prim::{Woken, explore_within};
#[cfg(not(loom))]
pub(crate) use roving_flow::raw::fence;

/// One half of a point in the manner of Dekker. `SeqCst`, but for mutants.
#[cfg(loom)]
pub(crate) fn fence(ordering: Ordering) {
    if ordering != Ordering::Relaxed {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

#[cfg(not(loom))]
pub(crate) use roving::raw::reports::{tell_standstill, watch_patience};

/// Nobody asks, where loom explores: clocks are none of its own.
#[cfg(loom)]
pub(crate) fn watch_patience() -> Option<std::time::Duration> {
    None
}

#[cfg(loom)]
pub(crate) fn tell_standstill(_: &str) {}
