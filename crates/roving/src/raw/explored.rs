//! As much of the seam as is built for the model checker.

pub mod prim;
