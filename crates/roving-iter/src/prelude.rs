//! The traits of parallel iterators, for programs to import, so that their methods are there.
//!
//! ```
//! use roving_iter::prelude::*;
//!
//! let mut numbers = vec![3, 1, 2];
//! numbers.par_sort();
//! assert_eq!(numbers.par_iter().map(|n| n * n).collect::<Vec<_>>(), [1, 4, 9]);
//! ```

pub use crate::iter::{
    FromParallelIterator, IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator,
    IntoParallelRefMutIterator, ParallelBridge, ParallelDrainFull, ParallelDrainRange,
    ParallelExtend, ParallelIterator,
};
pub use crate::slice::{ParallelSlice, ParallelSliceMut};
pub use crate::str::ParallelString;
