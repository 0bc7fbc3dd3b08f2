//! Rayon's own demonstration programs, written afresh from what their descriptions say.

pub(crate) mod factorial;
pub(crate) mod find;
pub(crate) mod joins;
pub(crate) mod life;
pub(crate) mod maps;
pub(crate) mod matmul;
pub(crate) mod nbody;
pub(crate) mod pythagoras;
pub(crate) mod sieve;
pub(crate) mod sorts;
pub(crate) mod split;
#[cfg(feature = "whole")]
pub(crate) mod tree;
pub(crate) mod tsp;
pub(crate) mod vectors;
