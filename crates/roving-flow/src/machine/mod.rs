//! The ground: the door to what is shared between threads, what networks use of the runtime while
//! they run, and what is done with panics.

#[allow(unsafe_code)]
pub(crate) mod prim;
pub(crate) mod runtime;
#[cfg_attr(loom, allow(unreachable_pub, reason = "the door to ranks is left out"))]
pub(crate) mod unwind;
