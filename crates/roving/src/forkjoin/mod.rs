//! Calls that take closures: two at once, many in a scope, loops, one on each worker, and one by
//! itself with a handle.

#[cfg(not(loom))]
#[allow(unsafe_code)]
pub(crate) mod broadcast;
#[cfg(doctest)]
mod compile_fail;
#[allow(unsafe_code)]
pub(crate) mod detached;
#[cfg(not(loom))]
#[allow(unsafe_code)]
pub(crate) mod foreign;
#[cfg(not(loom))]
#[allow(unsafe_code)]
pub(crate) mod hosted;
#[cfg(not(loom))]
#[allow(unsafe_code)]
pub(crate) mod join;
#[cfg(not(loom))]
#[allow(unsafe_code)]
pub(crate) mod local;
pub(crate) mod loops;
#[cfg(not(loom))]
#[allow(unsafe_code)]
pub(crate) mod scope;
#[cfg(not(loom))]
#[allow(unsafe_code)]
pub(crate) mod trees;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod whole;
