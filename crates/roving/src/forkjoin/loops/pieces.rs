//! Splitting for work of any kind: whatever can be cut in two, fed to whatever takes it.
//!
//! `roving-iter` builds its iterators on this, so they split, end early and heed tokens exactly as
//! [`par_for`](crate::par_for) does.

use super::early::Early;
use super::range::{Pace, on_worker};
use crate::forkjoin::join::join;
use crate::workers::Worker;

/// Work that can be cut. A unit is the least part that a cut may separate; items may be more or
/// fewer than units.
pub trait Piece: Sized + Send {
    /// Returns the number of units that are left, as far as that is known; 0 only if nothing is.
    fn units(&self) -> usize;

    /// Cuts behind the first `at` units, where `at` is at least 1 and below `units()`. The first
    /// part must hold at least one unit.
    fn cut(self, at: usize) -> (Self, Self);

    /// Returns the number of units below which no part is to be cut.
    fn least(&self) -> usize {
        1
    }

    /// Returns the number of units above which every part is to be cut, as far as `least` allows.
    fn most(&self) -> usize {
        usize::MAX
    }
}

/// Takes pieces, on many workers at a time, and puts together what came of them.
pub trait Sink<P>: Sync {
    /// The state of a part: all that one worker has made of adjacent pieces so far. It stays on its
    /// thread.
    type State;
    /// The outcome of a part, once it has ended.
    type Outcome: Send;

    /// Returns the state before the first piece of a part.
    fn begin(&self) -> Self::State;

    /// Adds a piece, which follows the pieces before it.
    fn feed(&self, state: Self::State, piece: P) -> Self::State;

    /// Closes a part.
    fn end(&self, state: Self::State) -> Self::Outcome;

    /// Goes on behind a part that was closed.
    fn resume(&self, outcome: Self::Outcome) -> Self::State;

    /// Puts two adjacent parts together.
    fn join(&self, lower: Self::Outcome, upper: Self::Outcome) -> Self::Outcome;

    /// Whether the rest of a part, `piece`, can be left out.
    fn is_done(&self, state: &Self::State, piece: &P) -> bool;
}

/// Calls `f` on a worker: on the calling thread if it is one, else in the global pool.
#[inline]
pub fn run_on_worker<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    on_worker(|_| f())
}

/// Feeds the piece to the sink, block by block, and in parallel where other workers ask for some of
/// it.
///
/// # Panics
/// On a thread that is no worker; with what the sink panics with; unwinds with
/// [`CancelledError`](crate::CancelledError) where a token made it leave out units.
#[inline]
pub fn feed_pieces<P, S>(piece: P, sink: &S, state: S::State) -> S::State
where
    P: Piece,
    S: Sink<P>,
{
    let early = Early::new();
    let pieces = Pieces {
        sink,
        early: &early,
    };
    let state = Worker::with_current(|worker| {
        let worker = worker.expect("pieces are fed on workers");
        pieces.run(worker, piece, state)
    });
    early.result_of(state)
}

/// A sink, as all parts of one loop see it.
struct Pieces<'e, S> {
    sink: &'e S,
    early: &'e Early,
}

impl<S> Pieces<'_, S> {
    fn run<P: Piece>(&self, worker: &Worker, mut piece: P, mut state: S::State) -> S::State
    where
        S: Sink<P>,
    {
        let (least, most) = (piece.least().max(1), piece.most().max(1));
        let mut pace = Pace::new(worker);
        loop {
            let left = piece.units();
            if left == 0 || self.early.is_due() || self.sink.is_done(&state, &piece) {
                return state;
            }
            if left / 2 >= least && (left > most || worker.is_asked()) {
                return self.divide(piece, state);
            }
            let count = pace.block().max(least);
            if count >= left {
                return self.early.unless(|| self.sink.feed(state, piece));
            }
            let (block, rest) = piece.cut(count);
            piece = rest;
            state = self.early.unless(|| self.sink.feed(state, block));
            pace.adjust(worker);
        }
    }

    /// Both halves, perhaps at the same time. The state stays on this thread, so the lower half
    /// goes on from what was made of it.
    #[inline(never)]
    fn divide<P: Piece>(&self, piece: P, state: S::State) -> S::State
    where
        S: Sink<P>,
    {
        let sink = self.sink;
        let outcome = self.early.unless(|| sink.end(state));
        let middle = piece.units() / 2;
        let (lower, upper) = piece.cut(middle);
        let (lower, upper) = join(
            || self.part(lower, || sink.resume(outcome)),
            || self.part(upper, || sink.begin()),
        );
        self.early.unless(|| sink.resume(sink.join(lower, upper)))
    }

    fn part<P: Piece>(&self, piece: P, state: impl FnOnce() -> S::State) -> S::Outcome
    where
        S: Sink<P>,
    {
        Worker::with_current(|worker| {
            let worker = worker.expect("parts of loops run on workers");
            let state = self.early.unless(state);
            let state = self.run(worker, piece, state);
            self.early.unless(|| self.sink.end(state))
        })
    }
}
