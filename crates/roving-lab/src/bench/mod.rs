//! `roving bench`: every figure that the README claims, measured and written down.

pub(crate) mod machine;
