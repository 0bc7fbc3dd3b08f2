//! Our drop-in for `rayon-core`, and stock Rayon: programs of their own that are built and asked.

pub(crate) mod build;
pub(crate) mod server;
mod shapes;

pub(super) use self::shapes::shapes;

/// The program that is built twice, and its name.
pub(crate) const BENCH: &str = "crates/rayon-core/bench";
pub(crate) const PROGRAM: &str = "rayon-bench";
