//! The parts of a network's state, one by one: what each thread counts; what each process says that
//! it waits for, how it is woken, and what time it takes; the names.

pub(crate) mod all_counts;
pub(crate) mod control;
pub(crate) mod doubt;
#[cfg(not(loom))]
pub(crate) mod meter;
pub(crate) mod names;
#[allow(unsafe_code)]
pub(crate) mod process_waker;
#[allow(unsafe_code)]
pub(crate) mod process_word;
pub(crate) mod thread_counts;

/// Loom explores networks in which nobody estimates times.
#[cfg(loom)]
pub(crate) mod meter {
    pub(crate) struct Meter;
}
