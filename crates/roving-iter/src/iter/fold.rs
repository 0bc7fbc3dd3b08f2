//! Iterators over what parts of another one come to.

use std::marker::PhantomData;
use std::mem;
use std::ops::ControlFlow;

use super::ParallelIterator;
use super::adaptors::{Fold, FoldWith, TryFold};
use super::attempt::Try;
use super::map::clone_locked;
use crate::engine::{Companion, Consumer, QuietState, with_quiet};

impl<I, T, N, F> ParallelIterator for Fold<I, N, F>
where
    I: ParallelIterator,
    T: Send,
    N: Fn() -> T + Send + Sync,
    F: Fn(T, I::Item) -> T + Send + Sync,
{
    type Item = T;

    fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
    where
        B: Companion,
        C: Consumer<T, B>,
    {
        let into = FoldInto {
            slow_after: self.base.span() / TOTALS_IF_SLOWER,
            identity: self.identity,
            f: self.f,
            to: consumer,
        };
        let state = self.base.drive(beside, &into, (None, state));
        into.close(state)
    }
    fn span(&self) -> usize {
        self.base.span()
    }
}

impl<I, T, F> ParallelIterator for FoldWith<I, T, F>
where
    I: ParallelIterator,
    T: Clone + Send,
    F: Fn(T, I::Item) -> T + Send + Sync,
{
    type Item = T;

    fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
    where
        B: Companion,
        C: Consumer<T, B>,
    {
        let identity = || clone_locked(&self.identity);
        let fold = self.base.fold(identity, self.f);
        fold.drive(beside, consumer, state)
    }
    fn span(&self) -> usize {
        self.base.span()
    }
}

/// Totals that a fold makes at most where they make their items slower, besides one for each part
/// that was stolen.
const TOTALS_IF_SLOWER: usize = 16;

/// A consumer that folds what it takes, and gives another one what each part comes to.
///
/// A total that owns memory may grow, as a large number does, and each item that is added to it
/// then takes longer than the one before. The loop makes its blocks shorter where items take
/// longer. So a total whose blocks have become much shorter is handed over, and the next items
/// begin another one.
struct FoldInto<'c, N, F, C> {
    /// Of fewer units no total is handed over for that.
    slow_after: usize,
    identity: N,
    f: F,
    to: &'c C,
}

impl<N, F, C> FoldInto<'_, N, F, C> {
    /// Hands over what a part has come to.
    fn close<T, B>(&self, (open, state): (Option<RunningTotal<T, B>>, C::State)) -> C::State
    where
        C: Consumer<T, B>,
    {
        match open {
            Some(open) => self
                .to
                .feed(state, std::iter::once(open.total), open.beside),
            None => state,
        }
    }
}

/// The total of a part that has begun, and where.
struct RunningTotal<T, B> {
    total: T,
    beside: B,
    /// How many units it has taken; 0 for a total that owns no memory.
    units: usize,
    /// Those of its longest block, and of the last one.
    longest: usize,
    last: usize,
}

impl<T, B> RunningTotal<T, B> {
    /// Notes a block that was taken, of so many units. Returns whether they have become slower.
    ///
    /// The loop halves its blocks. Where one is shorter than that, another piece has begun, whose
    /// first blocks are short.
    #[inline]
    fn has_slowed(&mut self, block: usize, slow_after: usize) -> bool {
        let is_new = block < self.last / 2;
        self.longest = if is_new {
            block
        } else {
            self.longest.max(block)
        };
        self.last = block;
        self.units += block;
        self.units > slow_after && block <= self.longest / 4
    }
}

/// Folds by a closure to which the total goes and comes back. In between it is kept, so that a
/// panic of the iterator that makes the items does not meet one in its drop.
#[inline]
fn fold_quietly<T, I: Iterator>(items: I, total: T, f: &impl Fn(T, I::Item) -> T) -> T {
    if !mem::needs_drop::<T>() {
        return items.fold(total, f);
    }
    let mut kept = QuietState::new(total);
    items.for_each(|item| kept.replace(|total| f(total, item)));
    kept.take()
}

impl<T, U, B, N, F, C> Consumer<U, B> for FoldInto<'_, N, F, C>
where
    B: Companion,
    N: Fn() -> T + Send + Sync,
    F: Fn(T, U) -> T + Send + Sync,
    C: Consumer<T, B>,
{
    type State = (Option<RunningTotal<T, B>>, C::State);
    type Outcome = C::Outcome;
    const ENDS_EARLY: bool = C::ENDS_EARLY;

    fn begin(&self) -> Self::State {
        (None, self.to.begin())
    }
    #[inline]
    fn feed<I>(&self, (open, state): Self::State, items: I, beside: B) -> Self::State
    where
        I: Iterator<Item = U>,
    {
        let block = items.size_hint().1.unwrap_or(0);
        let (state, mut open) = with_quiet(state, |_| {
            let mut open = open.unwrap_or_else(|| RunningTotal {
                total: (self.identity)(),
                beside,
                units: 0,
                longest: 0,
                last: 0,
            });
            open.total = fold_quietly(items, open.total, &self.f);
            open
        });
        let is_given =
            C::ENDS_EARLY || mem::needs_drop::<T>() && open.has_slowed(block, self.slow_after);
        match is_given {
            true => (None, self.close((Some(open), state))),
            false => (Some(open), state),
        }
    }
    fn end(&self, state: Self::State) -> C::Outcome {
        self.to.end(self.close(state))
    }
    fn resume(&self, outcome: C::Outcome) -> Self::State {
        (None, self.to.resume(outcome))
    }
    fn join(&self, lower: C::Outcome, upper: C::Outcome) -> C::Outcome {
        self.to.join(lower, upper)
    }
    fn is_over(&self, beside: &B) -> bool {
        self.to.is_over(beside)
    }
    fn fail(&self) {
        self.to.fail();
    }
    fn is_done(&self, state: &Self::State, beside: &B) -> bool {
        self.to.is_done(&state.1, beside)
    }
}

impl<I, R, N, F> ParallelIterator for TryFold<I, R, N, F>
where
    I: ParallelIterator,
    R: Try + Send,
    N: Fn() -> R::Output + Send + Sync,
    F: Fn(R::Output, I::Item) -> R + Send + Sync,
{
    type Item = R;

    fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
    where
        B: Companion,
        C: Consumer<R, B>,
    {
        let into = TryFoldInto {
            identity: self.identity,
            f: self.f,
            to: consumer,
            result: self.result,
        };
        let state = self.base.drive(beside, &into, (None, state));
        into.close(state)
    }
    fn span(&self) -> usize {
        self.base.span()
    }
}

struct TryFoldInto<'c, R, N, F, C> {
    identity: N,
    f: F,
    to: &'c C,
    result: PhantomData<fn() -> R>,
}

/// The total of a part, or why it has ended.
type Tried<R> = ControlFlow<
    <R as super::attempt::sealed::Try>::Residual,
    <R as super::attempt::sealed::Try>::Output,
>;

/// As [`fold_quietly`], until the closure says that this is enough.
fn try_fold_quietly<R, I>(
    items: &mut I,
    total: R::Output,
    f: &impl Fn(R::Output, I::Item) -> R,
) -> Tried<R>
where
    R: Try,
    I: Iterator,
{
    if !mem::needs_drop::<R::Output>() {
        return items.try_fold(total, |total, item| f(total, item).branch());
    }
    let mut kept = QuietState::new(ControlFlow::Continue(total));
    _ = items.try_for_each(|item| {
        kept.replace(|tried: Tried<R>| match tried {
            ControlFlow::Continue(total) => f(total, item).branch(),
            over => over,
        });
        match kept.get() {
            ControlFlow::Continue(_) => ControlFlow::Continue(()),
            ControlFlow::Break(_) => ControlFlow::Break(()),
        }
    });
    kept.take()
}

impl<R: Try, N, F, C> TryFoldInto<'_, R, N, F, C> {
    fn close<B>(&self, (open, state): (Option<(Tried<R>, B)>, C::State)) -> C::State
    where
        C: Consumer<R, B>,
    {
        let Some((tried, beside)) = open else {
            return state;
        };
        let item = match tried {
            ControlFlow::Continue(output) => R::from_output(output),
            ControlFlow::Break(residual) => R::from_residual(residual),
        };
        self.to.feed(state, std::iter::once(item), beside)
    }
}

impl<R, U, B, N, F, C> Consumer<U, B> for TryFoldInto<'_, R, N, F, C>
where
    R: Try,
    B: Companion,
    N: Fn() -> R::Output + Send + Sync,
    F: Fn(R::Output, U) -> R + Send + Sync,
    C: Consumer<R, B>,
{
    type State = (Option<(Tried<R>, B)>, C::State);
    type Outcome = C::Outcome;
    const ENDS_EARLY: bool = C::ENDS_EARLY;

    fn begin(&self) -> Self::State {
        (None, self.to.begin())
    }
    fn feed<I>(&self, (open, state): Self::State, mut items: I, beside: B) -> Self::State
    where
        I: Iterator<Item = U>,
    {
        let (state, (tried, at)) = with_quiet(state, |_| {
            let (tried, at) =
                open.unwrap_or_else(|| (ControlFlow::Continue((self.identity)()), beside));
            let tried = match tried {
                ControlFlow::Continue(total) => try_fold_quietly(&mut items, total, &self.f),
                over => over,
            };
            // While that is a variable still: should an item panic in its drop, it is not leaked.
            drop(items);
            (tried, at)
        });
        // A failure stays, for it ends its part.
        let is_given = C::ENDS_EARLY && tried.is_continue();
        let open = Some((tried, at));
        match is_given {
            true => (None, self.close((open, state))),
            false => (open, state),
        }
    }
    fn end(&self, state: Self::State) -> C::Outcome {
        self.to.end(self.close(state))
    }
    fn resume(&self, outcome: C::Outcome) -> Self::State {
        (None, self.to.resume(outcome))
    }
    fn join(&self, lower: C::Outcome, upper: C::Outcome) -> C::Outcome {
        self.to.join(lower, upper)
    }
    fn is_over(&self, beside: &B) -> bool {
        self.to.is_over(beside)
    }
    fn fail(&self) {
        self.to.fail();
    }
    fn is_done(&self, state: &Self::State, beside: &B) -> bool {
        matches!(state.0, Some((ControlFlow::Break(_), _))) || self.to.is_done(&state.1, beside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iter::consume::Push;

    /// How many items are in each total of a fold that takes blocks of so many.
    fn taken<T: Send>(
        blocks: &[usize],
        identity: fn() -> T,
        f: fn(T, usize) -> T,
        count: fn(&T) -> usize,
    ) -> Vec<usize> {
        let into = FoldInto {
            slow_after: 100,
            identity,
            f,
            to: &Push,
        };
        let begun = Consumer::<usize, ()>::begin(&into);
        let feed = |state, block: &usize| into.feed(state, 0..*block, ());
        let state = blocks.iter().fold(begun, feed);
        let totals = Consumer::<usize, ()>::end(&into, state);
        totals.iter().map(count).collect()
    }

    fn totals(blocks: &[usize]) -> Vec<usize> {
        let push = |mut total: Vec<usize>, item| {
            total.push(item);
            total
        };
        taken(blocks, Vec::new, push, Vec::len)
    }

    #[test]
    fn a_total_whose_blocks_have_become_shorter_is_handed_over() {
        assert_eq!(totals(&[64, 64, 64, 64]), [256]);
        assert_eq!(totals(&[64, 64, 32, 16, 8, 8]), [176, 16]);
        // Again, and not while it has few.
        assert_eq!(totals(&[64, 64, 32, 16, 64, 32, 16, 8]), [176, 112, 8]);
        assert_eq!(totals(&[32, 16, 8, 4]), [60]);
        // The first blocks of another piece are short.
        assert_eq!(totals(&[64, 64, 1, 1, 1, 4, 16, 64]), [215]);
    }

    #[test]
    fn a_total_that_owns_no_memory_cannot_grow() {
        let count = |total, _| total + 1;
        let blocks = [64, 64, 32, 16, 8, 8];
        assert_eq!(taken(&blocks, || 0, count, |total| *total), [192]);
    }
}
