//! GCC's OpenMP interface on Roving's workers: the functions that `gcc -fopenmp` and `gfortran`
//! emit calls to, and those that programs call by name.
//!
//! It has no Rust interface: programs get it by `LD_PRELOAD`, or are linked with it. How its parts
//! work together is told in [the
//! book](https://github.com/roving-rs/roving/blob/main/docs/openmp.md).
//!
//! ```
//! // Keeps the functions, though no Rust calls them.
//! extern crate roving_omp as _;
//! ```

// # What may be unsafe, and why
//
// Unsafe code is denied but in these modules; each says in its comments what it relies on.
//
// | module | reason |
// |---|---|
// | `abi` | functions for C have names of their own, which is an unsafe attribute, and get pointers |
// | `constructs` | gets descriptions of tasks and loops from a compiler, and runs code of C |
// | `env` | asks the system for limits, and runs when the library is loaded |
// | `loops` | parts of a loop meet in memory that the first of them sets up |
// | `sync` | system calls, and locks that stand in memory of C's |
// | `task` | has memory of C's, and leads to heritages and groups that stand elsewhere |
// | `team` | runs code of C; threads lead to teams and tasks that stand on other threads' stacks |
#![deny(unsafe_code)]
#![cfg(target_os = "linux")]

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom`: see `cargo xtask loom`");

#[cfg(not(loom))]
#[allow(unsafe_code)]
mod abi;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod constructs;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod env;
#[allow(unsafe_code)]
mod loops;
mod prim;
#[allow(unsafe_code)]
mod sync;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod task;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod team;
