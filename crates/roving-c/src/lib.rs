//! The library behind `roving.h` and `roving.hpp`: Roving for programs in C and C++, on the same
//! workers and the same task stacks as for Rust.
//!
//! It has no Rust interface. A Rust program that also has C in it depends on this crate so that
//! the functions of the header are linked, and builds its C with `include/` of this crate.
//!
//! ```
//! // Keeps the functions of the header, though no Rust calls them.
//! extern crate roving_c as _;
//! ```
//!
//! How programs are built with it is told in [the
//! book](https://github.com/roving-rs/roving/blob/main/docs/coming-from-c.md), what each function
//! does, in the header.

// # What may be unsafe, and why
//
// Unsafe code is denied but in these modules; each says in its comments what it relies on.
//
// | module | reason |
// |---|---|
// | `call` | pointers of the caller's that go to other threads |
// | `status` | functions for C have names of their own, which is an unsafe attribute |
// | `task`, `tree` | push and pop tasks whose code is not Rust |
// | `pool`, `scope`, `loops`, `cancel`, `local`, `stats` | call functions of C, with pointers from C |
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod call;
#[allow(unsafe_code)]
mod cancel;
#[allow(unsafe_code)]
mod local;
#[allow(unsafe_code)]
mod loops;
#[allow(unsafe_code)]
mod pool;
#[allow(unsafe_code)]
mod scope;
#[allow(unsafe_code)]
mod stats;
#[allow(unsafe_code)]
mod status;
#[allow(unsafe_code)]
mod task;
#[allow(unsafe_code)]
mod tree;
