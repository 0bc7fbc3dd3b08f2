//! The ground: what the machine and its system offer, and small tools that know nothing of workers.

#[allow(unsafe_code)]
pub(crate) mod apart;
pub(crate) mod duty;
#[cfg(roving_faults)]
#[doc(hidden)]
pub mod faults;
#[cfg(not(roving_faults))]
pub(crate) mod faults;
#[cfg(all(test, target_os = "linux", not(any(loom, miri))))]
#[path = "../../tests/common/forks.rs"]
pub(crate) mod forks;
#[allow(unsafe_code)]
pub(crate) mod latch;
#[allow(unsafe_code)]
pub(crate) mod lease;
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
#[cfg_attr(
    any(miri, roving_asan),
    allow(dead_code, reason = "no task stack is mapped")
)]
pub(crate) mod linux;
#[cfg_attr(loom, allow(dead_code, reason = "`prim` has loom's instead"))]
#[allow(unsafe_code)]
pub(crate) mod lock;
pub(crate) mod meeting_points;
#[allow(unsafe_code)]
pub(crate) mod os;
pub(crate) mod per_process;
#[allow(unsafe_code, reason = "listed in the root")]
pub(crate) mod prim;
pub(crate) mod service;
#[allow(unsafe_code)]
pub(crate) mod stack_overflow;
pub(crate) mod unwind;
pub(crate) mod waiters;
