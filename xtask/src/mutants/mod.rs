//! Tests that must fail: the model checker with its canaries, and changes that it or another test
//! must notice.

pub(crate) mod code;
pub(crate) mod loom;
pub(crate) mod orderings;
