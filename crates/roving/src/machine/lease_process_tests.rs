//! Shells in a forked child.

use super::{Entry, Shells, USER};
use crate::machine::prim::Ordering;
use crate::machine::{forks, os};

/// Another thread has found a shell, and comes when that is closed and empty again. At the fork it
/// has counted itself in, and not yet out.
#[test]
fn a_shell_of_a_child_is_left_by_its_last_user_whoever_came_late_in_the_parent() {
    static SHELLS: Shells<i32> = Shells::new();
    os::count_forks();
    let put_and_take = |value| {
        let shell = SHELLS.lock().put(value);
        assert!(matches!(shell.enter(), Entry::Here(&there) if there == value));
        SHELLS.lock().close(shell);
        shell.leave() == Some(value)
    };
    assert!(put_and_take(1));
    // Ordering: Relaxed; this thread alone has the shell.
    SHELLS.first.word.fetch_add(USER, Ordering::Relaxed);
    assert!(forks::in_child(|| put_and_take(2) && put_and_take(3)));
}
