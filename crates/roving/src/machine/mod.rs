//! The ground: what the machine and its system offer, and small tools that know nothing of workers.

#[allow(unsafe_code)]
pub(crate) mod apart;
pub(crate) mod duty;
#[cfg(all(not(loom), roving_faults))]
#[doc(hidden)]
pub mod faults;
#[cfg(all(not(loom), not(roving_faults)))]
pub(crate) mod faults;
#[allow(unsafe_code)]
pub(crate) mod latch;
#[allow(unsafe_code)]
pub(crate) mod lease;
#[cfg(all(target_os = "linux", not(loom)))]
#[allow(unsafe_code)]
pub(crate) mod linux;
#[allow(unsafe_code)]
pub(crate) mod lock;
#[cfg(not(loom))]
#[allow(unsafe_code)]
pub(crate) mod os;
#[cfg(not(loom))]
#[allow(unsafe_code)]
pub(crate) mod overflow;
#[allow(unsafe_code, reason = "listed in the root")]
pub(crate) mod prim;
pub(crate) mod service;
#[cfg_attr(
    loom,
    allow(dead_code, reason = "nobody takes turns in the model checker")
)]
pub(crate) mod turns;
pub(crate) mod unwind;
