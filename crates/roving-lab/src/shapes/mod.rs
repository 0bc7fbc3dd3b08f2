//! Programs whose leaves sleep: their shapes, and how a runtime runs one.

pub(crate) mod closures;
pub(crate) mod runner;
pub(crate) mod shape;
