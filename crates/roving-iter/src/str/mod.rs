//! Iterators over texts.

pub use crate::sources::string::{
    Bytes, CharIndices, Chars, Lines, ParallelString, Split, SplitWhitespace, TextPattern,
};
