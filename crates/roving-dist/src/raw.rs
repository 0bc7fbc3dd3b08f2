//! For benchmarks and for `roving-model`. Semantic versioning covers nothing here.

#[cfg(not(loom))]
pub use crate::bag::rules;
pub use crate::world::raw::{Bare, Mail};
