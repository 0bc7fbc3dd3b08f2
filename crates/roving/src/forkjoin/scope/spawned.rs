//! A closure that was spawned into a scope, on its way to where it runs.

use std::panic::{self, AssertUnwindSafe};

use super::Scope;
use crate::stack::slot::{Further, Slot};

/// A spawned closure, with the scope that it belongs to.
pub(super) struct Task<'scope, F> {
    pub(super) scope: *const Scope<'scope>,
    pub(super) f: F,
}

impl<'scope, F> Task<'scope, F>
where
    F: FnOnce(&Scope<'scope>) + Send + 'scope,
{
    /// Runs a task that need not be dropped.
    ///
    /// # Safety
    /// The scope has not ended.
    #[inline(always)]
    pub(super) unsafe fn run(self) {
        // SAFETY: the caller says so, and the scope ends only after this task.
        let scope = unsafe { &*self.scope };
        let f = self.f;
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| f(scope))) {
            scope.panicked(payload);
        }
    }

    /// Runs a task, or drops it.
    ///
    /// # Safety
    /// The scope has not ended.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn run_or_drop(self) {
        // SAFETY: the caller says so, and the scope ends only after this task.
        let scope = unsafe { &*self.scope };
        let f = self.f;
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
            if scope.may_drop() && scope.drops_task() {
                drop(f);
            } else {
                f(scope);
            }
        }));
        if let Err(payload) = outcome {
            scope.panicked(payload);
        }
    }
}

/// Runs a spawned task, on a thief or on the owner that drains its scope.
///
/// # Safety
/// As [`crate::stack::slot::Run`]; the payload is a `Task<F>`.
pub(super) unsafe extern "C-unwind" fn run_spawned<'scope, F>(slot: &Slot) -> Further
where
    F: FnOnce(&Scope<'scope>) + Send + 'scope,
{
    // SAFETY: the payload that `spawn` put in. Its scope waits for this task.
    unsafe {
        let scope = slot.peek(|task: &Task<'scope, F>| task.scope);
        // Before the closure is taken out: who only calls it need not keep it.
        if (*scope).may_drop() {
            slot.take::<Task<'scope, F>>().run_or_drop();
        } else {
            slot.take::<Task<'scope, F>>().run();
        }
    }
    Further::Nothing
}

/// A task, or several of them, that another thread may run.
pub(super) struct SendTask<T>(pub(super) T);

// SAFETY: the closure is `Send`, and the scope it points to is `Sync`.
unsafe impl<'scope, F: Send> Send for SendTask<Task<'scope, F>> {}
// SAFETY: the closure is `Sync` where this is asked for, and the scope it points to is.
unsafe impl<'scope, F: Sync> Sync for SendTask<Task<'scope, F>> {}
