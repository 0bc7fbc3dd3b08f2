//! Whose global pool serves a thread that is no worker.

use super::{Pool, global};

/// Where the calls of threads that are no workers go. A runtime that is built on this one, such as
/// the drop-in for Rayon, has a global pool that it configures itself.
pub trait Home {
    /// The pool, started if need be.
    fn global() -> &'static Pool;
}

/// The global pool of this crate.
#[derive(Debug)]
pub(crate) struct Roving;

impl Home for Roving {
    fn global() -> &'static Pool {
        global::get()
    }
}
