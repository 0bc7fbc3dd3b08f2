//! How a drawn schedule is followed, for slow paths that all pools share.

use crate::replay::Schedule;
use crate::workers::frames::Frame;
use crate::workers::wait::Taken;

/// A closure of a join, which is told whether it was stolen.
pub(crate) type Half<'h> = &'h mut dyn FnMut(bool);

/// The functions to call where such a path comes upon a deterministic pool; each is about the
/// worker that the calling thread is. The builder's option alone names them: a program without a
/// deterministic pool has none of their code.
pub(crate) struct Ways {
    /// Runs both closures of a join, neither of which unwinds.
    pub(crate) join: fn(Half<'_>, Half<'_>),
    /// Takes back a task of the innermost open frame.
    pub(crate) take_kept: fn() -> Taken,
    /// Runs all detached tasks.
    pub(crate) run_jobs: fn(),
    /// Decides about a fork. Unsafe as [`Frames::fork_drawn`](super::frames::Frames::fork_drawn).
    pub(crate) fork: unsafe fn(Frame, Frame) -> Option<Frame>,
    /// The worker that a thread becomes which enters the pool at this address, of so many workers.
    pub(crate) enter: fn(*const (), usize, &Schedule) -> usize,
    /// Says how to have a panic again.
    pub(crate) say_seed: fn(&Schedule),
}

impl std::fmt::Debug for Ways {
    #[inline]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ways")
    }
}
