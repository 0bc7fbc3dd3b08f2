//! Loops over ranges and slices.
//!
//! | file | what it holds |
//! |---|---|
//! | `range` | loops and reductions that split themselves when another worker asks |
//! | `search` | loops that end as soon as one item says so |
//! | `reduce` | reductions in a tree that depends on nothing but length and grain |
//! | `pieces` | the same splitting for whatever can be cut in two |
//! | `early` | how all of these end before their range does |

mod early;
pub(crate) mod pieces;
mod range;
mod reduce;
mod search;

pub use {
    range::{map_reduce, par_chunks_mut, par_for},
    reduce::{reduce, reduce_chunks, reduce_slice},
    search::{Attempt, par_find_any, par_find_first, try_par_for},
};
