//! The computations of the programs, as plain functions of slices: the CPU side of each task, and
//! the serial runs.

pub(crate) mod bodies;
pub(crate) mod dense;
pub(crate) mod filter;
pub(crate) mod plane;
pub(crate) mod real;
