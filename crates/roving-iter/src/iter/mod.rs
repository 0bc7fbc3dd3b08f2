//! The traits of parallel iterators, and what their methods return.
//!
//! The names and their meanings are those of Rayon, so that its books and pages apply.
//!
//! ```
//! use roving_iter::prelude::*;
//!
//! let words = ["to", "be", "or", "not", "to", "be"];
//! let mut long: Vec<_> = words.par_iter().filter(|word| word.len() > 2).collect();
//! long.par_sort();
//! assert_eq!(long, [&"not"]);
//! ```

mod adaptors;
mod bridge;
mod chain;
mod chunks;
mod collect;
mod cut;
mod either;
mod extend;
pub(crate) mod few;
mod filter;
mod flat;
mod fold;
mod indexed;
mod into;
mod length;
mod map;
mod mapped;
mod multi;
mod parallel;
mod patience;
mod position;
mod results;
mod steps;
mod zip;

mod attempt;
pub(crate) mod consume;

pub use adaptors::{
    Chain, Chunks, Enumerate, Filter, FilterMap, FlatMap, FlatMapIter, Flatten, FlattenIter, Fold,
    FoldWith, MaxLen, MinLen, Rev, Skip, StepBy, Take, TryFold, WhileSome, Zip,
};
pub use attempt::Try;
pub use bridge::{IterBridge, ParallelBridge};
pub use collect::{FromParallelIterator, ParallelExtend};
pub use either::Either;
pub use few::{RepeatN, empty, once, repeat_n};
pub use indexed::IndexedParallelIterator;
pub(crate) use indexed::drive_exactly;
pub use into::{
    IntoParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelDrainFull,
    ParallelDrainRange,
};
pub use map::{Cloned, Copied, Inspect, Map, MapInit, MapWith, Mapped, Update};
pub use multi::MultiZip;
pub use parallel::ParallelIterator;
