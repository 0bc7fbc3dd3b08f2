//! Running some pending task, because the caller says so.

use roving::raw;

/// The result of [`yield_now`] and [`yield_local`].
///
/// ```
/// rayon_core::scope(|_| {
///     assert_eq!(rayon_core::yield_local(), Some(rayon_core::Yield::Idle));
/// });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A task was run.
    Executed,
    /// There was none.
    Idle,
}

impl Yield {
    fn of(ran: bool) -> Yield {
        match ran {
            true => Yield::Executed,
            false => Yield::Idle,
        }
    }
}

/// Runs one pending task of the current pool on top of the calling frame, whatever it is; the
/// caller's own first. `None` on a thread of no pool.
///
/// ```
/// assert_eq!(rayon_core::yield_now(), None);
/// ```
pub fn yield_now() -> Option<Yield> {
    raw::waits::run_one(false).map(Yield::of)
}

/// As [`yield_now`], but only a task of the calling thread's own.
///
/// ```
/// assert_eq!(rayon_core::yield_local(), None);
/// ```
pub fn yield_local() -> Option<Yield> {
    raw::waits::run_one(true).map(Yield::of)
}
