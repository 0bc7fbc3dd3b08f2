//! The heritage of tasks: all that one hands on to those that it spawns.

use std::ptr;

use super::group::Group;
use crate::env::{Controls, Environment};

/// All that a task hands on to those that it spawns. It stays until the region ends, but that of a
/// final task until those are over.
#[derive(Clone, Copy)]
pub(crate) struct Heritage {
    pub(crate) controls: Controls,
    /// The innermost group; null outside of all.
    pub(crate) group: *const Group,
    pub(crate) is_final: bool,
}

impl Heritage {
    /// Of an initial thread.
    pub(crate) fn initial() -> Heritage {
        Heritage {
            controls: Environment::get().controls,
            group: ptr::null(),
            is_final: false,
        }
    }
}
