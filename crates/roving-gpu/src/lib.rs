//! Tasks with a CPU and a GPU implementation.
#![deny(unsafe_code)]
