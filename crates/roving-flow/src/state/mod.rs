//! The parts of a network's state, one by one: what each thread counts; what each process says that
//! it waits for, how it is woken, and what time it takes; which ports are closed late; the names.

pub(crate) mod all_counts;
pub(crate) mod control;
pub(crate) mod doubt;
pub(crate) mod late_ports;
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
