//! An `Option` or a `Result` as an iterator over at most one item.
//!
//! ```
//! use roving_iter::prelude::*;
//!
//! let iter: roving_iter::option::IntoIter<i32> = Some(1).into_par_iter();
//! assert_eq!(iter.sum::<i32>(), 1);
//! ```

pub use crate::iter::few::IntoIter;
