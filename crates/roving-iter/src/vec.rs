//! Vectors, taken apart by their items.
//!
//! ```
//! use roving_iter::prelude::*;
//!
//! let iter: roving_iter::vec::IntoIter<i32> = vec![1, 2].into_par_iter();
//! assert_eq!(iter.sum::<i32>(), 3);
//! ```

pub use crate::sources::vec::IntoIter;
