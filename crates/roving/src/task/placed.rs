//! Tasks that stay with one worker, as crates built on this one spawn them.

use super::handle::Forked;
use super::scope::Scope;
use crate::workers::frames::bind::bind_new;
use crate::workers::frames::frame;
use crate::workers::frames::place::{Place, Placed};
use crate::workers::frames::root::Root;

/// Spawns a task that runs, whenever it becomes ready, on the worker that `place` names. While that
/// worker is blocked, or waits inside of a call, the task runs on any.
///
/// # Panics
/// Outside of that token's root.
///
/// ```
/// use roving::raw::tasks::{Place, spawn_placed};
///
/// let pool = roving::Pool::new(2)?;
/// let place = Place::new(Some(1));
/// let ran_on = pool.run(|scope| {
///     let place = &place;
///     async move { spawn_placed(scope, place, async { roving::current_worker() }).await }
/// });
/// assert_eq!(ran_on, Some(1));
/// # Ok::<(), roving::BuildError>(())
/// ```
pub fn spawn_placed<'scope, F>(
    scope: Scope<'scope>,
    place: &'scope Place,
    future: F,
) -> Forked<F::Output>
where
    F: Future + Send + 'scope,
    F::Output: Send + 'scope,
{
    let frame = frame::new_placed(Placed { place, future });
    bind_new(frame, scope.root);
    // SAFETY: a new frame, whose root is open while one of its tasks is polled; it is counted now.
    unsafe {
        let root = frame.as_ref().root.get();
        (*root).open();
        Root::make_ready(root, frame);
        Forked::open(frame)
    }
}
