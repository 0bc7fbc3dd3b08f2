//! Tasks that begin even where they were cancelled before.

use super::handle::Forked;
use super::scope::Scope;
use crate::workers::frames::bind::{bind_new, put_on_stack};
use crate::workers::frames::frame;

/// Spawns a child like [`Scope::spawn`], except that a cancellation does not drop it before it
/// begins: the child handles that itself.
///
/// # Panics
/// Outside of that token's root.
///
/// ```
/// use roving::raw::tasks::spawn_kept;
/// use roving::{Cancel, task};
///
/// let mut began = false;
/// let request = Cancel::new();
/// let ended = request.run_partial(|| {
///     let (request, began) = (&request, &mut began);
///     task::scope(|scope| async move {
///         request.cancel();
///         drop(spawn_kept(scope, async move { *began = true }));
///     });
/// });
/// drop(ended);
/// assert!(began, "though it was cancelled before");
/// ```
pub fn spawn_kept<'scope, F>(scope: Scope<'scope>, future: F) -> Forked<F::Output>
where
    F: Future + Send + 'scope,
    F::Output: Send + 'scope,
{
    let frame = frame::new_kept(future);
    bind_new(frame, scope.root);
    // SAFETY: a new frame, bound just now, whose handle this is, and whose output is that of the
    // future.
    unsafe {
        put_on_stack(frame);
        Forked::open(frame)
    }
}
