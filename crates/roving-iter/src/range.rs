//! Ranges of integers and of characters.
//!
//! ```
//! use roving_iter::prelude::*;
//!
//! let iter: roving_iter::range::Iter<u32> = (0..3).into_par_iter();
//! assert_eq!(iter.sum::<u32>(), 3);
//! ```

pub use crate::sources::range::{CharIter, InclusiveIter, Iter, RangeInteger};
