//! Calls that take closures: two at once, many in a scope, loops, one on each worker, and one by
//! itself with a handle.

#[allow(unsafe_code)]
pub(crate) mod broadcast;
#[cfg(doctest)]
mod compile_fail;
#[allow(unsafe_code)]
pub(crate) mod detached;
#[allow(unsafe_code)]
pub(crate) mod foreign;
#[allow(unsafe_code)]
pub(crate) mod hosted;
#[allow(unsafe_code)]
pub(crate) mod join;
#[allow(unsafe_code)]
pub(crate) mod local;
pub(crate) mod loops;
#[allow(unsafe_code)]
pub(crate) mod scope;
#[allow(unsafe_code)]
pub(crate) mod trees;
#[allow(unsafe_code)]
mod whole;
