//! The parts that loom explores as they are, and what these are made of. No other room is compiled
//! for it.

pub(crate) mod counted_once;
pub(crate) mod in_turn;
pub(crate) mod look;
mod prim;
