//! A task with two sides: what it says of itself, its future, and its way from the first poll to
//! the end.

pub(crate) mod arg;
mod drive;
pub(crate) mod dual;
pub(crate) mod dual_future;
pub(crate) mod gpu;
pub mod sides;
mod uses;
