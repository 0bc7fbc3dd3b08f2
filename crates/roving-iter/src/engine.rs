//! The parts of all iterators: pieces, which split; consumers, which take items; and companions,
//! which are split along with the pieces.
//!
//! Roving's loop cuts an [`IterPiece`] wherever another worker asks for some of it, and otherwise
//! takes blocks of a few microseconds from its lower end. A block becomes an ordinary iterator of
//! `std`, which a [`Consumer`] takes by one call: so the compiler sees a plain loop.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

use roving::raw;
use roving::raw::panics::drop_quietly;

/// A part of the work of an iterator.
pub trait IterPiece: Sized + Send {
    /// The items.
    type Item;
    /// The items as an iterator of `std`.
    type Seq: Iterator<Item = Self::Item>;

    /// Returns the number of units left, 0 only if there are none: the places at which it can be
    /// cut, which may be more or fewer than there are items.
    fn units(&self) -> usize;

    /// Cuts behind the first `at` units, at most all of them.
    fn cut(self, at: usize) -> (Self, Self);

    /// Returns the number of units below which it is not to be cut.
    fn least(&self) -> usize {
        1
    }

    /// Returns the number of units above which it is to be cut.
    fn most(&self) -> usize {
        usize::MAX
    }

    /// Turns into a plain iterator.
    fn into_seq(self) -> Self::Seq;
}

/// A piece each of whose units is one item.
pub trait Exact: IterPiece<Seq: DoubleEndedIterator + ExactSizeIterator> {}

/// A value that is cut where the pieces are cut, so that each block comes with its part.
pub trait Companion: Sized + Send {
    /// Cuts behind the first `at` units.
    fn cut(self, at: usize) -> (Self, Self);

    /// Returns the parts for an iterator of that span, and for what is behind it.
    fn chained(self, span: usize) -> (Self, Self) {
        self.cut(span)
    }

    /// Returns the part for what is inside a unit.
    fn inside(&mut self) -> Self;
}

impl Companion for () {
    fn cut(self, _: usize) -> ((), ()) {
        ((), ())
    }
    fn inside(&mut self) {}
}

/// Takes the items of an iterator, on many workers at a time.
pub trait Consumer<T, B = ()>: Send + Sync {
    /// The state of a part: all that one worker has made of adjacent blocks so far. It stays on its
    /// thread.
    type State;
    /// The outcome of a part, once it has ended.
    type Outcome: Send;
    /// Whether an item can end it early: then it is given what others would gather first.
    const ENDS_EARLY: bool = false;

    /// Returns the state before the first block of a part.
    fn begin(&self) -> Self::State;

    /// Takes a block of items, which follow those before it.
    fn feed<I: Iterator<Item = T>>(&self, state: Self::State, items: I, beside: B) -> Self::State;

    /// Closes a part.
    fn end(&self, state: Self::State) -> Self::Outcome;

    /// Goes on behind a part that was closed.
    fn resume(&self, outcome: Self::Outcome) -> Self::State;

    /// Puts two adjacent parts together.
    fn join(&self, lower: Self::Outcome, upper: Self::Outcome) -> Self::Outcome;

    /// Whether all from `beside` on can be left out, whoever has come there: another part has said
    /// so.
    fn is_over(&self, beside: &B) -> bool {
        let _ = beside;
        false
    }

    /// A part panics, so that nobody gets what any part of the iterator comes to: all are over.
    fn fail(&self) {}

    /// Whether the rest of a part can be left out, which begins at `beside`.
    fn is_done(&self, state: &Self::State, beside: &B) -> bool {
        let _ = state;
        self.is_over(beside)
    }
}

/// The methods of a consumer that wraps another one, `to`, and keeps nothing of its own.
macro_rules! forward_to {
    ($consumer:ident, $item:ty) => {
        type State = $consumer::State;
        type Outcome = $consumer::Outcome;
        const ENDS_EARLY: bool = $consumer::ENDS_EARLY;
        fn begin(&self) -> Self::State {
            self.to.begin()
        }
        fn end(&self, state: Self::State) -> Self::Outcome {
            self.to.end(state)
        }
        fn resume(&self, outcome: Self::Outcome) -> Self::State {
            self.to.resume(outcome)
        }
        fn join(&self, lower: Self::Outcome, upper: Self::Outcome) -> Self::Outcome {
            self.to.join(lower, upper)
        }
        fn fail(&self) {
            self.to.fail();
        }
    };
}
pub(crate) use forward_to;

/// The methods of a consumer whose state is its outcome.
macro_rules! state_is_outcome {
    ($state:ty) => {
        type State = $state;
        type Outcome = $state;
        fn end(&self, state: $state) -> $state {
            state
        }
        fn resume(&self, outcome: $state) -> $state {
            outcome
        }
    };
}
pub(crate) use state_is_outcome;

/// A state that nobody gets if what comes beside it panics: then a panic of its drop ends here. So
/// the loop keeps the rest of a piece.
pub(crate) struct QuietState<T>(Option<T>);

impl<T> QuietState<T> {
    pub(crate) fn new(value: T) -> QuietState<T> {
        QuietState(Some(value))
    }
    pub(crate) fn get(&mut self) -> &mut T {
        self.0.as_mut().expect("until it is taken")
    }
    /// Has `f` go on from it.
    pub(crate) fn replace(&mut self, f: impl FnOnce(T) -> T) {
        self.0 = self.0.take().map(f);
    }
    pub(crate) fn take(mut self) -> T {
        self.0.take().expect("it is taken once")
    }
}

impl<T> Drop for QuietState<T> {
    #[inline]
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            if let Some(value) = self.0.take() {
                drop_quietly(value);
            }
        }
    }
}

/// Calls `f` with a value, and returns both it and the result. If that panics, nobody gets the
/// value, as with [`QuietState`].
#[inline(always)]
pub(crate) fn with_quiet<T, R>(mut value: T, f: impl FnOnce(&mut T) -> R) -> (T, R) {
    if const { !mem::needs_drop::<T>() } {
        let result = f(&mut value);
        return (value, result);
    }
    let mut kept = QuietState::new(value);
    let result = f(kept.get());
    (kept.take(), result)
}

/// Feeds a piece to a consumer. The calling thread is a worker.
#[inline]
pub(crate) fn drive<P, B, C>(piece: P, beside: B, consumer: &C, state: C::State) -> C::State
where
    P: IterPiece,
    B: Companion,
    C: Consumer<P::Item, B>,
{
    raw::loops::feed_pieces(Along { piece, beside }, &Leaf(consumer), state)
}

/// A piece and its companion.
struct Along<P, B> {
    piece: P,
    beside: B,
}

impl<P: IterPiece, B: Companion> raw::loops::Piece for Along<P, B> {
    #[inline]
    fn units(&self) -> usize {
        self.piece.units()
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let (piece, piece_rest) = self.piece.cut(at);
        // A text is cut where a line ends, and so may be more or less than was asked.
        let (beside, beside_rest) = self.beside.cut(piece.units());
        let lower = Along { piece, beside };
        let upper = Along {
            piece: piece_rest,
            beside: beside_rest,
        };
        (lower, upper)
    }

    #[inline]
    fn least(&self) -> usize {
        self.piece.least()
    }

    #[inline]
    fn most(&self) -> usize {
        self.piece.most()
    }
}

/// The consumer of a whole iterator, which may be several loops, one behind another or inside. Each
/// loop ends its own parts when one panics, and this one all.
pub(crate) struct Whole<C> {
    to: C,
    has_failed: AtomicBool,
}

impl<C> Whole<C> {
    pub(crate) fn new(to: C) -> Whole<C> {
        Whole {
            to,
            has_failed: AtomicBool::new(false),
        }
    }
}

impl<T, B, C: Consumer<T, B>> Consumer<T, B> for Whole<C> {
    type State = C::State;
    type Outcome = C::Outcome;
    const ENDS_EARLY: bool = C::ENDS_EARLY;
    #[inline]
    fn begin(&self) -> C::State {
        self.to.begin()
    }
    #[inline]
    fn feed<I: Iterator<Item = T>>(&self, state: C::State, items: I, beside: B) -> C::State {
        self.to.feed(state, items, beside)
    }
    #[inline]
    fn end(&self, state: C::State) -> C::Outcome {
        self.to.end(state)
    }
    #[inline]
    fn resume(&self, outcome: C::Outcome) -> C::State {
        self.to.resume(outcome)
    }
    #[inline]
    fn join(&self, lower: C::Outcome, upper: C::Outcome) -> C::Outcome {
        self.to.join(lower, upper)
    }
    #[inline]
    fn is_over(&self, beside: &B) -> bool {
        // Ordering: Relaxed; a request to end. The panic itself goes through the loops.
        self.has_failed.load(Ordering::Relaxed) || self.to.is_over(beside)
    }
    #[inline]
    fn is_done(&self, state: &C::State, beside: &B) -> bool {
        // Ordering: Relaxed, as in `is_over`.
        self.has_failed.load(Ordering::Relaxed) || self.to.is_done(state, beside)
    }
    #[cold]
    fn fail(&self) {
        // Ordering: Relaxed, as in `is_over`.
        self.has_failed.store(true, Ordering::Relaxed);
    }
}

/// Calls `f`, which is about to use the consumer. If that panics, the whole iterator ends.
#[inline(always)]
pub(crate) fn or_fail<T, B, C, R>(consumer: &C, f: impl FnOnce() -> R) -> R
where
    C: Consumer<T, B>,
{
    struct Fails<F: Fn()>(F);
    impl<F: Fn()> Drop for Fails<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let fails = Fails(|| consumer.fail());
    let result = f();
    mem::forget(fails);
    result
}

/// A consumer as a sink of pieces.
struct Leaf<'c, C>(&'c C);

impl<P, B, C> raw::loops::Sink<Along<P, B>> for Leaf<'_, C>
where
    P: IterPiece,
    B: Companion,
    C: Consumer<P::Item, B>,
{
    type State = C::State;
    type Outcome = C::Outcome;

    #[inline]
    fn begin(&self) -> C::State {
        or_fail(self.0, || self.0.begin())
    }
    #[inline]
    fn feed(&self, state: C::State, block: Along<P, B>) -> C::State {
        or_fail(self.0, || {
            self.0.feed(state, block.piece.into_seq(), block.beside)
        })
    }
    #[inline]
    fn end(&self, state: C::State) -> C::Outcome {
        or_fail(self.0, || self.0.end(state))
    }
    #[inline]
    fn resume(&self, outcome: C::Outcome) -> C::State {
        or_fail(self.0, || self.0.resume(outcome))
    }
    #[inline]
    fn join(&self, lower: C::Outcome, upper: C::Outcome) -> C::Outcome {
        or_fail(self.0, || self.0.join(lower, upper))
    }
    #[inline]
    fn is_done(&self, state: &C::State, rest: &Along<P, B>) -> bool {
        self.0.is_done(state, &rest.beside)
    }
}
