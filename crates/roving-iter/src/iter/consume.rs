//! The consumers at the end of each iterator.

use std::iter;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Either;
use super::attempt::Try;
use super::position::{Nearest, UnitPosition};
use crate::engine::{Consumer, state_is_outcome, with_quiet};
use crate::memory::{EmptySlots, Filled};

/// Calls a closure with each item.
pub(crate) struct ForEach<F>(pub(crate) F);

impl<T, F: Fn(T) + Send + Sync> Consumer<T> for ForEach<F> {
    state_is_outcome!(());
    #[inline]
    fn begin(&self) {}
    #[inline]
    fn feed<I: Iterator<Item = T>>(&self, (): (), items: I, (): ()) {
        items.for_each(&self.0);
    }
    #[inline]
    fn join(&self, (): (), (): ()) {}
}

/// Combines all items by a closure.
pub(crate) struct Reduce<T, F> {
    f: F,
    items: PhantomData<fn(T)>,
}

impl<T, F> Reduce<T, F> {
    pub(crate) fn new(f: F) -> Self {
        Reduce {
            f,
            items: PhantomData,
        }
    }
}

impl<T: Send, F: Fn(T, T) -> T + Send + Sync> Consumer<T> for Reduce<T, F> {
    state_is_outcome!(Option<T>);
    fn begin(&self) -> Option<T> {
        None
    }
    #[inline]
    fn feed<I: Iterator<Item = T>>(&self, state: Option<T>, items: I, (): ()) -> Option<T> {
        match state {
            Some(total) => Some(items.fold(total, &self.f)),
            None => items.reduce(&self.f),
        }
    }
    fn join(&self, lower: Option<T>, upper: Option<T>) -> Option<T> {
        match (lower, upper) {
            (Some(lower), Some(upper)) => Some((self.f)(lower, upper)),
            (lower, upper) => first_of(lower, upper),
        }
    }
}

/// Adds up all items.
pub(crate) struct Sum<S>(PhantomData<fn() -> S>);

impl<S> Sum<S> {
    pub(crate) fn new() -> Self {
        Sum(PhantomData)
    }
}

impl<T, S: Send + iter::Sum<T> + iter::Sum<S>> Consumer<T> for Sum<S> {
    state_is_outcome!(S);
    #[inline]
    fn begin(&self) -> S {
        iter::empty::<T>().sum()
    }
    #[inline]
    fn feed<I: Iterator<Item = T>>(&self, state: S, items: I, (): ()) -> S {
        [state, items.sum()].into_iter().sum()
    }
    #[inline]
    fn join(&self, lower: S, upper: S) -> S {
        [lower, upper].into_iter().sum()
    }
}

/// Multiplies all items.
pub(crate) struct Product<S>(PhantomData<fn() -> S>);

impl<S> Product<S> {
    pub(crate) fn new() -> Self {
        Product(PhantomData)
    }
}

impl<T, S: Send + iter::Product<T> + iter::Product<S>> Consumer<T> for Product<S> {
    state_is_outcome!(S);
    fn begin(&self) -> S {
        iter::empty::<T>().product()
    }
    #[inline]
    fn feed<I: Iterator<Item = T>>(&self, state: S, items: I, (): ()) -> S {
        [state, items.product()].into_iter().product()
    }
    fn join(&self, lower: S, upper: S) -> S {
        [lower, upper].into_iter().product()
    }
}

/// Counts the items.
pub(crate) struct Count;

impl<T> Consumer<T> for Count {
    state_is_outcome!(usize);
    fn begin(&self) -> usize {
        0
    }
    #[inline]
    fn feed<I: Iterator<Item = T>>(&self, state: usize, items: I, (): ()) -> usize {
        state + items.count()
    }
    fn join(&self, lower: usize, upper: usize) -> usize {
        lower + upper
    }
}

/// Looks for an item that a closure wants, whichever is found.
pub(crate) struct FindAny<T, P> {
    is_wanted: P,
    is_found: AtomicBool,
    items: PhantomData<fn(T)>,
}

impl<T, P> FindAny<T, P> {
    pub(crate) fn new(is_wanted: P) -> Self {
        FindAny {
            is_wanted,
            is_found: AtomicBool::new(false),
            items: PhantomData,
        }
    }

    fn is_found(&self) -> bool {
        // Ordering: Relaxed; a request to end. The item itself goes through the joins.
        self.is_found.load(Ordering::Relaxed)
    }
}

impl<T: Send, P: Fn(&T) -> bool + Send + Sync> Consumer<T> for FindAny<T, P> {
    state_is_outcome!(Option<T>);
    const ENDS_EARLY: bool = true;
    fn begin(&self) -> Option<T> {
        None
    }
    /// Others look whether this one has found an item before their next block, which takes no
    /// longer than a few microseconds or one item; and inside an item, as `Looking` does.
    #[inline]
    fn feed<I>(&self, state: Option<T>, mut items: I, (): ()) -> Option<T>
    where
        I: Iterator<Item = T>,
    {
        if state.is_some() {
            drop(items);
            return state;
        }
        let found = items.find(&self.is_wanted);
        if found.is_some() {
            // Ordering: Relaxed; see `is_found`.
            self.is_found.store(true, Ordering::Relaxed);
        }
        // While the item is a variable still: should another panic in its drop, it is not leaked.
        drop(items);
        found
    }
    fn join(&self, lower: Option<T>, upper: Option<T>) -> Option<T> {
        first_of(lower, upper)
    }
    fn is_over(&self, (): &()) -> bool {
        self.is_found()
    }
}

/// Looks for the first item that a closure wants.
pub(crate) struct FindFirst<T, P> {
    is_wanted: P,
    below: Nearest,
    items: PhantomData<fn(T)>,
}

impl<T, P> FindFirst<T, P> {
    pub(crate) fn new(is_wanted: P) -> Self {
        FindFirst {
            is_wanted,
            below: Nearest::new(),
            items: PhantomData,
        }
    }
}

impl<T: Send, P: Fn(&T) -> bool + Send + Sync> Consumer<T, UnitPosition> for FindFirst<T, P> {
    state_is_outcome!(Option<T>);
    const ENDS_EARLY: bool = true;
    fn begin(&self) -> Option<T> {
        None
    }
    fn feed<I>(&self, state: Option<T>, mut items: I, at: UnitPosition) -> Option<T>
    where
        I: Iterator<Item = T>,
    {
        if state.is_some() {
            drop(items);
            return state;
        }
        let found = items.find(&self.is_wanted);
        if found.is_some() {
            self.below.note(at);
        }
        // As in `FindAny`, so that it is not leaked.
        drop(items);
        found
    }
    fn join(&self, lower: Option<T>, upper: Option<T>) -> Option<T> {
        first_of(lower, upper)
    }
    fn is_over(&self, at: &UnitPosition) -> bool {
        self.below.is_passed(at)
    }
    fn is_done(&self, state: &Option<T>, at: &UnitPosition) -> bool {
        state.is_some() || self.is_over(at)
    }
}

/// Looks for the last item that a closure wants.
pub(crate) struct FindLast<T, P> {
    is_wanted: P,
    /// Of mirrored positions.
    above: Nearest,
    items: PhantomData<fn(T)>,
}

impl<T, P> FindLast<T, P> {
    pub(crate) fn new(is_wanted: P) -> Self {
        FindLast {
            is_wanted,
            above: Nearest::new(),
            items: PhantomData,
        }
    }
}

impl<T: Send, P: Fn(&T) -> bool + Send + Sync> Consumer<T, UnitPosition> for FindLast<T, P> {
    state_is_outcome!(Option<T>);
    const ENDS_EARLY: bool = true;
    fn begin(&self) -> Option<T> {
        None
    }
    fn feed<I: Iterator<Item = T>>(
        &self,
        state: Option<T>,
        items: I,
        at: UnitPosition,
    ) -> Option<T> {
        let mut is_found = false;
        // Not by `last`, which leaks an item if the one that it replaces panics in its drop.
        let (last, ()) = with_quiet(state, |last| {
            items.filter(&self.is_wanted).for_each(|item| {
                is_found = true;
                *last = Some(item);
            });
        });
        if is_found {
            self.above.note(at.mirrored());
        }
        last
    }
    fn join(&self, lower: Option<T>, upper: Option<T>) -> Option<T> {
        first_of(upper, lower)
    }
    fn is_over(&self, at: &UnitPosition) -> bool {
        self.above.is_passed(&at.mirrored())
    }
}

/// Calls a closure with each item until it says that this is enough.
pub(crate) struct TryForEach<F, R> {
    f: F,
    has_ended: AtomicBool,
    results: PhantomData<fn() -> R>,
}

impl<F, R> TryForEach<F, R> {
    pub(crate) fn new(f: F) -> Self {
        TryForEach {
            f,
            has_ended: AtomicBool::new(false),
            results: PhantomData,
        }
    }

    fn has_ended(&self) -> bool {
        // Ordering: Relaxed; a request to end. The result itself goes through the joins.
        self.has_ended.load(Ordering::Relaxed)
    }
}

impl<T, R, F> Consumer<T> for TryForEach<F, R>
where
    R: Try<Output = ()> + Send,
    F: Fn(T) -> R + Send + Sync,
{
    state_is_outcome!(Option<R>);
    const ENDS_EARLY: bool = true;
    fn begin(&self) -> Option<R> {
        None
    }
    fn feed<I: Iterator<Item = T>>(&self, state: Option<R>, items: I, (): ()) -> Option<R> {
        let mut state = state;
        for item in items {
            if self.has_ended() {
                break;
            }
            if let ControlFlow::Break(residual) = (self.f)(item).branch() {
                // Ordering: Relaxed; see `has_ended`.
                self.has_ended.store(true, Ordering::Relaxed);
                state = Some(R::from_residual(residual));
                break;
            }
        }
        state
    }
    fn join(&self, lower: Option<R>, upper: Option<R>) -> Option<R> {
        first_of(lower, upper)
    }
    fn is_over(&self, (): &()) -> bool {
        self.has_ended()
    }
}

/// Combines all items by a closure until one of them, or the closure, says that this is enough.
pub(crate) struct TryReduce<F> {
    f: F,
    has_ended: AtomicBool,
}

impl<F> TryReduce<F> {
    pub(crate) fn new(f: F) -> Self {
        TryReduce {
            f,
            has_ended: AtomicBool::new(false),
        }
    }

    fn end_with<R: Try>(&self, residual: R::Residual) -> Option<R> {
        // Ordering: Relaxed; a request to end. The result itself goes through the joins.
        self.has_ended.store(true, Ordering::Relaxed);
        Some(R::from_residual(residual))
    }

    fn has_ended(&self) -> bool {
        // Ordering: Relaxed, as in `end_with`.
        self.has_ended.load(Ordering::Relaxed)
    }

    fn add<R: Try>(&self, total: Option<R::Output>, item: R) -> ControlFlow<R::Residual, R::Output>
    where
        F: Fn(R::Output, R::Output) -> R,
    {
        match (total, item.branch()) {
            (Some(total), ControlFlow::Continue(item)) => (self.f)(total, item).branch(),
            (total, item) => {
                // While the item is a variable still, which is not leaked then.
                drop(total);
                item
            }
        }
    }
}

impl<R, F> Consumer<R> for TryReduce<F>
where
    R: Try + Send,
    F: Fn(R::Output, R::Output) -> R + Send + Sync,
{
    state_is_outcome!(Option<R>);
    // It does not say `ENDS_EARLY`, though an item can end it. A fold before it would then hand
    // over each block, and to combine those one after the other takes a square of the time where a
    // total grows, as in `try_fold(Vec::new, …).try_reduce(Vec::new, …)`. A `try_fold` that fails
    // ends its part by itself, and `is_done` the others.
    fn begin(&self) -> Option<R> {
        None
    }
    fn feed<I: Iterator<Item = R>>(&self, state: Option<R>, mut items: I, (): ()) -> Option<R> {
        let mut total = None;
        if let Some(state) = state {
            match state.branch() {
                ControlFlow::Continue(output) => total = Some(output),
                ControlFlow::Break(residual) => return self.end_with(residual),
            }
        }
        let (total, failed) = with_quiet(total, |total| {
            for item in items.by_ref() {
                if self.has_ended() {
                    break;
                }
                match self.add(total.take(), item) {
                    ControlFlow::Continue(output) => *total = Some(output),
                    ControlFlow::Break(residual) => return self.end_with(residual),
                }
            }
            None
        });
        // The others of the block are dropped while these are variables.
        drop(items);
        failed.or(total.map(R::from_output))
    }
    fn join(&self, lower: Option<R>, upper: Option<R>) -> Option<R> {
        match (lower, upper) {
            (Some(lower), Some(upper)) => match lower.branch() {
                ControlFlow::Break(residual) => {
                    drop(upper);
                    self.end_with(residual)
                }
                ControlFlow::Continue(lower) => match self.add(Some(lower), upper) {
                    ControlFlow::Continue(output) => Some(R::from_output(output)),
                    ControlFlow::Break(residual) => self.end_with(residual),
                },
            },
            (lower, upper) => first_of(lower, upper),
        }
    }
    fn is_over(&self, (): &()) -> bool {
        self.has_ended()
    }
}

/// Parts items between two vectors.
pub(crate) struct Separate<F>(pub(crate) F);

impl<T, A, B, F> Consumer<T> for Separate<F>
where
    A: Send,
    B: Send,
    F: Fn(T) -> Either<A, B> + Send + Sync,
{
    state_is_outcome!((Vec<A>, Vec<B>));
    fn begin(&self) -> (Vec<A>, Vec<B>) {
        (Vec::new(), Vec::new())
    }
    fn feed<I>(&self, state: (Vec<A>, Vec<B>), items: I, (): ()) -> (Vec<A>, Vec<B>)
    where
        I: Iterator<Item = T>,
    {
        let (state, ()) = with_quiet(state, |(lefts, rights)| {
            items.for_each(|item| match (self.0)(item) {
                Either::Left(left) => lefts.push(left),
                Either::Right(right) => rights.push(right),
            });
        });
        state
    }
    fn join(&self, lower: (Vec<A>, Vec<B>), upper: (Vec<A>, Vec<B>)) -> (Vec<A>, Vec<B>) {
        (append(lower.0, upper.0), append(lower.1, upper.1))
    }
}

/// Puts the halves of pairs into two vectors.
pub(crate) struct Unzip;

impl<A: Send, B: Send> Consumer<(A, B)> for Unzip {
    state_is_outcome!((Vec<A>, Vec<B>));
    fn begin(&self) -> (Vec<A>, Vec<B>) {
        (Vec::new(), Vec::new())
    }
    fn feed<I>(&self, state: (Vec<A>, Vec<B>), items: I, (): ()) -> (Vec<A>, Vec<B>)
    where
        I: Iterator<Item = (A, B)>,
    {
        with_quiet(state, |state| state.extend(items)).0
    }
    fn join(&self, lower: (Vec<A>, Vec<B>), upper: (Vec<A>, Vec<B>)) -> (Vec<A>, Vec<B>) {
        (append(lower.0, upper.0), append(lower.1, upper.1))
    }
}

/// `first.or(second)`, which leaks the first if the second panics in its drop.
fn first_of<T>(first: Option<T>, second: Option<T>) -> Option<T> {
    if first.is_none() {
        return second;
    }
    drop(second);
    first
}

fn append<T>(mut lower: Vec<T>, mut upper: Vec<T>) -> Vec<T> {
    if lower.is_empty() {
        return upper;
    }
    lower.append(&mut upper);
    lower
}

/// Puts items into a vector, in their order.
pub(crate) struct Push;

impl<T: Send> Consumer<T> for Push {
    state_is_outcome!(Vec<T>);
    fn begin(&self) -> Vec<T> {
        Vec::new()
    }
    #[inline]
    fn feed<I: Iterator<Item = T>>(&self, state: Vec<T>, items: I, (): ()) -> Vec<T> {
        with_quiet(state, |state| state.extend(items)).0
    }
    fn join(&self, lower: Vec<T>, upper: Vec<T>) -> Vec<T> {
        append(lower, upper)
    }
}

/// Puts characters and texts into a text, in their order.
pub(crate) struct PushText;

impl<T> Consumer<T> for PushText
where
    String: Extend<T>,
{
    state_is_outcome!(String);
    fn begin(&self) -> String {
        String::new()
    }
    fn feed<I: Iterator<Item = T>>(&self, mut state: String, items: I, (): ()) -> String {
        state.extend(items);
        state
    }
    fn join(&self, mut lower: String, upper: String) -> String {
        if lower.is_empty() {
            return upper;
        }
        lower.push_str(&upper);
        lower
    }
}

/// Moves items to where they belong in the memory of a vector.
pub(crate) struct Fill<'a, T>(PhantomData<fn(&'a T)>);

impl<T> Fill<'_, T> {
    pub(crate) fn new() -> Self {
        Fill(PhantomData)
    }
}

impl<'a, T: Send> Consumer<T, EmptySlots<'a, T>> for Fill<'a, T> {
    state_is_outcome!(Filled<'a, T>);
    fn begin(&self) -> Filled<'a, T> {
        Filled::none()
    }
    #[inline]
    fn feed<I>(&self, state: Filled<'a, T>, items: I, slots: EmptySlots<'a, T>) -> Filled<'a, T>
    where
        I: Iterator<Item = T>,
    {
        state.and(slots.fill(items))
    }
    fn join(&self, lower: Filled<'a, T>, upper: Filled<'a, T>) -> Filled<'a, T> {
        lower.and(upper)
    }
}
