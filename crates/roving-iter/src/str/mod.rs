//! Iterators over texts.
//!
//! ```
//! use roving_iter::prelude::*;
//!
//! let longest = "to be or not".par_split_whitespace().max_by_key(|word| word.len());
//! assert_eq!(longest, Some("not"));
//! ```

pub use crate::sources::string::{
    Bytes, CharIndices, Chars, Lines, ParallelString, Split, SplitWhitespace, TextPattern,
};
