//! A task inherits from the one that made it: the context that it runs in, and the requests to stop
//! that reach it there. [`crate::context`] is what a program sees of it.

pub(crate) mod cancelled;
#[cfg(all(test, loom))]
mod loom_tests;
#[allow(unsafe_code)]
pub(crate) mod node;
pub(crate) mod segments;
#[cfg(feature = "tracing")]
pub(crate) mod span;
pub(crate) mod timer;
pub(crate) mod token;
pub(crate) mod tokens;
