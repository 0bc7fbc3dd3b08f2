//! The loop: whatever can be cut in two, fed to whatever takes it, and split when, and only when,
//! another worker asks.
//!
//! A loop works through its piece from the lower end. Between blocks it looks whether the other
//! workers would take more than this worker is showing them; only then does it split off the upper
//! half of what is left as a task (lazy binary splitting; Tzannes, Caragea, Barua and Vishkin
//! 2010). Blocks grow and shrink by the clock, which is read every few microseconds: there is no
//! grain to tune. When one part panics, or the loop is cancelled, all stop at their next look.
//!
//! The loops of this crate and the iterators of `roving-iter` are pieces and sinks.

use super::early_end::Early;
use super::pace::Pace;
use super::parts;
use crate::forkjoin::join::join;
use crate::machine::unwind::beside;
use crate::pool::global::Roving;
use crate::pool::{global, install};
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

    /// Closes a part, before the worker begins anything else of the loop: what it came to may end
    /// the others.
    fn end(&self, state: Self::State) -> Self::Outcome;

    /// Goes on behind a part that was closed.
    fn resume(&self, outcome: Self::Outcome) -> Self::State;

    /// Puts two adjacent parts together.
    fn join(&self, lower: Self::Outcome, upper: Self::Outcome) -> Self::Outcome;

    /// Whether the rest of a part, `piece`, can be left out.
    #[inline]
    fn is_done(&self, state: &Self::State, piece: &P) -> bool {
        let _ = (state, piece);
        false
    }
}

/// Calls `f` on a worker: on the calling thread if it is one, else in the global pool. The thread
/// stays a worker until `f` ends, also where that drops a pool which has adopted the thread.
#[inline]
pub fn run_on_worker<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    on_worker(|worker| {
        let _stays = worker.owner().stay();
        f()
    })
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
    let all = Loop::new(sink, &early);
    early.result_of(with_worker(|worker| {
        all.run(worker, &mut Pace::new(), piece, state)
    }))
}

/// Feeds all of the piece to the sink, on a worker.
#[inline]
pub(super) fn run_loop<P, S>(piece: P, sink: &S, early: &Early) -> S::State
where
    P: Piece,
    S: Sink<P, State: Send>,
{
    let all = Loop::new(sink, early);
    // On a worker, without a call on the way.
    Worker::with_current(|worker| match worker {
        Some(worker) => all.run_inline(worker, &mut Pace::new(), piece, sink.begin()),
        None => on_worker(|worker| all.run(worker, &mut Pace::new(), piece, sink.begin())),
    })
}

/// Calls `f` with the worker that the calling thread is, or else with one of the global pool.
#[inline]
fn on_worker<R: Send>(f: impl FnOnce(&Worker) -> R + Send) -> R {
    Worker::with_current(|worker| match worker {
        Some(worker) => f(worker),
        None => install(global::of::<Roving>().registry(), || with_worker(f)),
    })
}

/// Calls `f` with the worker that the calling thread is. It is one: parts of loops
/// run on workers.
#[inline]
pub(super) fn with_worker<R>(f: impl FnOnce(&Worker) -> R) -> R {
    Worker::with_current(|worker| f(worker.expect("parts of loops run on workers")))
}

/// A loop, as all its parts see it.
pub(super) struct Loop<'e, S> {
    pub(super) sink: &'e S,
    pub(super) early: &'e Early,
}

/// How far a part has come.
pub(super) enum Fed<P, St> {
    /// To its end: nothing is left, or the rest is left out.
    Through(St),
    /// To where this piece is to be cut, which has so many units left. A piece may say another
    /// number when it is asked again.
    UpTo(P, usize, St),
}

impl<'e, S> Loop<'e, S> {
    fn new(sink: &'e S, early: &'e Early) -> Loop<'e, S> {
        Loop { sink, early }
    }

    #[inline]
    fn run<P: Piece>(&self, worker: &Worker, pace: &mut Pace, piece: P, state: S::State) -> S::State
    where
        S: Sink<P>,
    {
        self.run_inline(worker, pace, piece, state)
    }

    #[inline(always)]
    fn run_inline<P: Piece>(
        &self,
        worker: &Worker,
        pace: &mut Pace,
        piece: P,
        state: S::State,
    ) -> S::State
    where
        S: Sink<P>,
    {
        let most = piece.most().max(1);
        let is_to_cut = |pace: &mut Pace, left| {
            left > most || worker.owner().is_asked() && pace.is_worth_a_cut(worker, left)
        };
        match self.feed(worker, pace, piece, state, is_to_cut) {
            Fed::Through(state) => state,
            Fed::UpTo(piece, left, state) => self.split(worker, *pace, piece, left, state),
        }
    }

    /// Feeds the piece block by block, until a look around says that it `is_to_cut`.
    #[inline(always)]
    pub(super) fn feed<P: Piece>(
        &self,
        worker: &Worker,
        pace: &mut Pace,
        mut piece: P,
        mut state: S::State,
        is_to_cut: impl Fn(&mut Pace, usize) -> bool,
    ) -> Fed<P, S::State>
    where
        S: Sink<P>,
    {
        let least = piece.least().max(1);
        loop {
            let left = piece.units();
            if left == 0 || self.early.is_due() || self.sink.is_done(&state, &piece) {
                // Should this panic, the state is not leaked.
                let (state, ()) = beside(state, || drop(piece));
                return Fed::Through(state);
            }
            if left / 2 >= least && is_to_cut(pace, left) {
                return Fed::UpTo(piece, left, state);
            }
            let count = pace.block().max(least);
            // No block is shorter than a part may be.
            if count >= left || least > 1 && left - count < least {
                return Fed::Through(self.sink.feed(state, piece));
            }
            let (before, (block, rest)) = beside(state, || piece.cut(count));
            (piece, state) = beside(rest, || self.sink.feed(before, block));
            pace.adjust(worker);
        }
    }

    #[inline(never)]
    fn split<P: Piece>(
        &self,
        worker: &Worker,
        pace: Pace,
        piece: P,
        left: usize,
        state: S::State,
    ) -> S::State
    where
        S: Sink<P>,
    {
        if !worker.is_current() {
            // The loop has dropped the pool that had adopted the thread: the rest is its own.
            return self.feed_alone(worker, &mut { pace }, piece, state);
        }
        if left > piece.most().max(1) {
            return self.divide(piece, left, state);
        }
        parts::run(self, worker, pace, piece, state)
    }

    /// Feeds the piece on this thread, in parts of which none is to be cut.
    fn feed_alone<P: Piece>(
        &self,
        worker: &Worker,
        pace: &mut Pace,
        piece: P,
        state: S::State,
    ) -> S::State
    where
        S: Sink<P>,
    {
        let (sink, most) = (self.sink, piece.most().max(1));
        match self.feed(worker, pace, piece, state, |_, left| left > most) {
            Fed::Through(state) => state,
            Fed::UpTo(piece, left, state) => {
                let outcome = sink.end(state);
                let (outcome, (lower, upper)) = beside(outcome, || piece.cut(left / 2));
                let (upper, outcome) = beside(upper, || {
                    sink.end(self.feed_alone(worker, pace, lower, sink.resume(outcome)))
                });
                self.feed_alone(worker, pace, upper, sink.resume(outcome))
            }
        }
    }

    /// Both halves, each with a state of its own: where every part is to be cut. The state stays on
    /// this thread, so the lower half goes on from what was made of it.
    fn divide<P: Piece>(&self, piece: P, left: usize, state: S::State) -> S::State
    where
        S: Sink<P>,
    {
        let sink = self.sink;
        let outcome = sink.end(state);
        let (outcome, (lower, upper)) = beside(outcome, || piece.cut(left / 2));
        let (lower, upper) = join(
            || self.part(lower, || sink.resume(outcome)),
            || self.part(upper, || sink.begin()),
        );
        sink.resume(sink.join(lower, upper))
    }

    fn part<P: Piece>(&self, piece: P, state: impl FnOnce() -> S::State) -> S::Outcome
    where
        S: Sink<P>,
    {
        with_worker(|worker| {
            self.early.unless(|| {
                let mut pace = self.early.pace();
                let state = self.run(worker, &mut pace, piece, state());
                self.early.learn(&pace);
                self.sink.end(state)
            })
        })
    }
}
