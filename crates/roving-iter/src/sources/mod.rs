//! Where items come from: what can be turned into a parallel iterator.

pub(crate) mod collections;
pub(crate) mod range;
pub(crate) mod slice;
pub(crate) mod string;
pub(crate) mod vec;
