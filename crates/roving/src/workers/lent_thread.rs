//! Threads that work for a pool, and are somebody else's to give.

use std::cell::Cell;

/// Calls the closure, in which the thread parks or blocks, while another has its core.
type Give = fn(&mut dyn FnMut());

thread_local! {
    static GIVE: Cell<Option<Give>> = const { Cell::new(None) };
}

/// The calling thread is lent to pools, and its core is given away in this way while it waits.
pub(super) fn set(give: Give) {
    GIVE.set(Some(give));
}

/// Calls `f`, in which the calling thread parks or blocks. If it is lent, whose it is has the core
/// meanwhile.
pub(super) fn with_core_given(f: &mut dyn FnMut()) {
    match GIVE.get() {
        Some(give) => give(f),
        None => f(),
    }
}
