//! The unsafe half of the crate: memory whose items belong to many workers at a time.
//!
//! | file | what it holds |
//! |---|---|
//! | `owned` | items that pieces own, inside the memory of a vector that outlives them |
//! | `slots` | memory of a vector that is written in parallel, and counted |
//! | `merge` | a stable sort: adjacent runs merged in parallel, through a second memory |
//! | `nearly` | a sort of what is nearly in order: the few items that are not are merged back |

mod merge;
mod nearly;
mod owned;
mod slots;
#[cfg(test)]
mod tests;

pub(crate) use merge::sort_runs;
pub(crate) use nearly::sort_nearly_sorted;
pub(crate) use owned::{Owned, OwnedSeq, own_all};
pub(crate) use slots::{EmptySlots, Filled, append_filled};
