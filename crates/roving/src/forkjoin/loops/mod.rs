//! Loops over ranges and slices.
//!
//! | file | what it holds |
//! |---|---|
//! | `pieces` | the loop: whatever can be cut in two, split when another worker asks |
//! | `parts` | a loop that was asked: parts that do not wait for each other |
//! | `meet` | where two adjacent parts put their outcomes together |
//! | `pace` | how much is done between two looks around |
//! | `range` | loops and reductions over ranges and slices |
//! | `search` | loops that end as soon as one item says so |
//! | `reduce` | reductions in a tree that depends on nothing but length and grain |
//! | `early` | how all of these end before their range does |

pub(crate) mod early_end;
#[allow(unsafe_code, reason = "listed at the crate's root")]
mod meet;
mod pace;
#[allow(unsafe_code, reason = "listed at the crate's root")]
mod parts;
pub(crate) mod pieces;
mod range;
mod reduce;
mod search;

pub use {
    range::{map_reduce, par_chunks_mut, par_for},
    reduce::{reduce, reduce_chunks, reduce_slice},
    search::{Attempt, par_find_any, par_find_first, try_par_for},
};
