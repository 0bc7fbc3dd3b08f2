//! `join`: two closures, perhaps at the same time.

use std::marker::PhantomData;

use roving::raw::calls::join_at;

use crate::global::Global;

/// Runs both closures, perhaps at the same time, and returns both results. The second may be stolen
/// by another worker while the first runs here; this is [`roving::join`]. On a thread of no pool
/// the call moves to the global pool.
///
/// # Panics
/// If a closure panics, so does `join`, when both have ended; with the first one's payload if both
/// do.
///
/// ```
/// let mut numbers = [3, 1, 4, 1, 5, 9, 2, 6];
/// let (low, high) = numbers.split_at_mut(4);
/// rayon_core::join(|| low.sort(), || high.sort());
/// assert_eq!(numbers, [1, 1, 3, 4, 2, 5, 6, 9]);
/// ```
#[inline]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_at::<Global, _, _, _, _>(|_| oper_a(), |_| oper_b())
}

/// As [`fn@join`], and tells each closure whether it has migrated.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// let migrated = pool.install(|| {
///     rayon_core::join_context(|a| a.migrated(), |b| b.migrated())
/// });
/// assert_eq!(migrated, (false, false));
/// ```
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_at::<Global, _, _, _, _>(
        |migrated| oper_a(FnContext::new(migrated)),
        |migrated| oper_b(FnContext::new(migrated)),
    )
}

/// The context of a closure of [`join_context`]: whether it has migrated.
///
/// ```
/// rayon_core::join_context(|a| assert!(a.migrated(), "from outside"), |_| ());
/// ```
pub struct FnContext {
    migrated: bool,
    /// Neither `Send` nor `Sync`: it is about the thread that got it.
    here: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    fn new(migrated: bool) -> FnContext {
        FnContext {
            migrated,
            here: PhantomData,
        }
    }

    /// Whether the closure runs on another thread than the one that called `join_context`.
    ///
    /// ```
    /// rayon_core::scope(|_| {
    ///     rayon_core::join_context(|a| assert!(!a.migrated()), |_| ());
    /// });
    /// ```
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

impl std::fmt::Debug for FnContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FnContext")
            .field("migrated", &self.migrated)
            .finish()
    }
}
