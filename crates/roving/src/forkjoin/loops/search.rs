//! Loops that end as soon as one item says so.

use std::ops::{ControlFlow, Range};

use super::early_end::Early;
use super::pieces::{Sink, run_loop};
use super::range::Each;
use crate::machine::prim::{AtomicUsize, Mutex, Ordering};
use crate::machine::unwind::Quiet;

/// Calls `f` for each index of the range like [`par_for`](crate::par_for), until one call says that
/// this is enough: [`ControlFlow::Break`], an `Err`, or `None`. Returns that, or else that all went
/// on. If several calls do, it is one of their answers; which one depends on the run.
///
/// Other workers look every few microseconds, after at most the item that they are at.
///
/// # Panics
/// With what `f` panics with. Unwinds with [`CancelledError`](crate::CancelledError) if a
/// [`Cancel`](crate::Cancel) ended the loop before an answer came.
///
/// ```
/// let words = ["3", "14", "x", "159"];
/// let checked = roving::try_par_for(0..words.len(), |i| words[i].parse::<u32>().map(drop));
/// assert_eq!(checked.unwrap_err().to_string(), "invalid digit found in string");
/// ```
pub fn try_par_for<F, A>(range: Range<usize>, f: F) -> A
where
    F: Fn(usize) -> A + Sync,
    A: Attempt,
{
    // Nobody gets it if another index panics.
    let answer = Mutex::new(Quiet(None));
    let early = Early::new();
    let each = Each(|block: Range<usize>| {
        for index in block {
            if let ControlFlow::Break(found) = f(index).branch() {
                early.end();
                let beaten = answer.lock().0.replace(found);
                return drop(beaten);
            }
        }
    });
    run_loop(range, &each, &early);
    match answer.into_inner().0.take() {
        Some(found) => A::from_break(found),
        None => early.result_of(A::from_continue()),
    }
}

/// Returns an answer that some index of the range gives, or `None` if none gives one. Which one it
/// is depends on the run: the other indices are left out as soon as one answer is there.
///
/// # Panics
/// As [`try_par_for`].
///
/// ```
/// let divisor = roving::par_find_any(2..1000, |n| (7_919 * 31 % n == 0).then_some(n));
/// assert_eq!(divisor, Some(31));
/// ```
pub fn par_find_any<F, T>(range: Range<usize>, f: F) -> Option<T>
where
    F: Fn(usize) -> Option<T> + Sync,
    T: Send,
{
    let search = |index| match f(index) {
        Some(found) => ControlFlow::Break(found),
        None => ControlFlow::Continue(()),
    };
    try_par_for(range, search).break_value()
}

/// Returns the answer of the lowest index that gives one, or `None` if none does: the same in each
/// run. Indices above one that gave an answer are left out as far as they have not begun.
///
/// # Panics
/// As [`try_par_for`].
///
/// ```
/// let text = "to be or not to be";
/// let at = roving::par_find_first(0..text.len(), |i| text[i..].starts_with("be").then_some(i));
/// assert_eq!(at, Some(3));
/// ```
pub fn par_find_first<F, T>(range: Range<usize>, f: F) -> Option<T>
where
    F: Fn(usize) -> Option<T> + Sync,
    T: Send,
{
    let first = First {
        below: AtomicUsize::new(usize::MAX),
        answer: Mutex::new(Quiet(None)),
    };
    let early = Early::new();
    run_loop(range, &Lowest { f, first: &first }, &early);
    early.result_of(first.into_answer())
}

/// Looks for the answer of the lowest index.
struct Lowest<'s, F, T> {
    f: F,
    first: &'s First<T>,
}

impl<F, T> Sink<Range<usize>> for Lowest<'_, F, T>
where
    F: Fn(usize) -> Option<T> + Sync,
    T: Send,
{
    type State = ();
    type Outcome = ();

    #[inline]
    fn begin(&self) {}
    #[inline]
    fn feed(&self, (): (), block: Range<usize>) {
        for index in block {
            if self.first.is_behind(index) {
                return;
            }
            if let Some(found) = (self.f)(index) {
                return self.first.offer(index, found);
            }
        }
    }
    #[inline]
    fn end(&self, (): ()) {}
    #[inline]
    fn resume(&self, (): ()) {}
    #[inline]
    fn join(&self, (): (), (): ()) {}
    /// Were it passed over block by block, blocks would grow without bound, and with them those of
    /// parts that begin later.
    #[inline]
    fn is_done(&self, (): &(), piece: &Range<usize>) -> bool {
        self.first.is_behind(piece.start)
    }
}

/// The answer of the lowest index so far.
struct First<T> {
    /// That index; a hint, so that higher ones are left out without the lock.
    below: AtomicUsize,
    answer: Mutex<Quiet<(usize, T)>>,
}

impl<T> First<T> {
    fn is_behind(&self, index: usize) -> bool {
        // Ordering: Relaxed; a hint. The lock decides.
        index > self.below.load(Ordering::Relaxed)
    }

    fn offer(&self, index: usize, found: T) {
        let mut answer = self.answer.lock();
        let beaten = match &answer.0 {
            Some((lowest, _)) if *lowest < index => Some((index, found)),
            _ => {
                // Ordering: Relaxed, as in `is_behind`.
                self.below.store(index, Ordering::Relaxed);
                answer.0.replace((index, found))
            }
        };
        // Its destructor is the user's and may do anything: not under the lock.
        drop(answer);
        drop(beaten);
    }

    fn into_answer(self) -> Option<T> {
        self.answer.into_inner().0.take().map(|(_, found)| found)
    }
}

/// The types that a step of [`try_par_for`] may return: a [`ControlFlow`], a `Result` or an
/// `Option`, each with `()` for "go on". Sealed: only these three.
///
/// ```
/// use std::ops::ControlFlow;
///
/// fn all(step: impl Fn(usize) -> Option<()> + Sync) -> bool {
///     roving::try_par_for(0..100, step).is_some()
/// }
/// assert!(all(|i| (i < 100).then_some(())));
/// let found = roving::try_par_for(0..100, |i| match i {
///     42 => ControlFlow::Break("here"),
///     _ => ControlFlow::Continue(()),
/// });
/// assert_eq!(found, ControlFlow::Break("here"));
/// ```
pub trait Attempt: sealed::Attempt {}

impl<A: sealed::Attempt> Attempt for A {}

mod sealed {
    use std::ops::ControlFlow;

    pub trait Attempt: Send {
        type Break: Send;
        fn branch(self) -> ControlFlow<Self::Break>;
        fn from_break(found: Self::Break) -> Self;
        fn from_continue() -> Self;
    }

    impl<B: Send> Attempt for ControlFlow<B> {
        type Break = B;
        fn branch(self) -> ControlFlow<B> {
            self
        }
        fn from_break(found: B) -> Self {
            ControlFlow::Break(found)
        }
        fn from_continue() -> Self {
            ControlFlow::Continue(())
        }
    }

    impl<E: Send> Attempt for Result<(), E> {
        type Break = E;
        fn branch(self) -> ControlFlow<E> {
            match self {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            }
        }
        fn from_break(error: E) -> Self {
            Err(error)
        }
        fn from_continue() -> Self {
            Ok(())
        }
    }

    impl Attempt for Option<()> {
        type Break = ();
        fn branch(self) -> ControlFlow<()> {
            match self {
                Some(()) => ControlFlow::Continue(()),
                None => ControlFlow::Break(()),
            }
        }
        fn from_break((): ()) -> Self {
            None
        }
        fn from_continue() -> Self {
            Some(())
        }
    }
}
