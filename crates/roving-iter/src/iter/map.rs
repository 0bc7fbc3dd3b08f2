//! Iterators that make one item of each item, and what they make of it.

use std::sync::{Mutex, PoisonError};

use super::patience::with_lock;

/// An iterator that makes one item of each item of another one. The names of what it makes of them
/// are [`Map`], [`MapWith`], [`MapInit`], [`Inspect`], [`Update`], [`Cloned`] and [`Copied`].
///
/// ```
/// use roving_iter::prelude::*;
///
/// let doubled: roving_iter::iter::Map<_, _> = vec![1, 2].into_par_iter().map(|n| 2 * n);
/// assert_eq!(doubled.collect::<Vec<_>>(), [2, 4]);
/// ```
#[derive(Clone, Debug)]
pub struct Mapped<I, O> {
    pub(super) base: I,
    pub(super) op: O,
}

/// An iterator that calls a closure with each item: [`map`](super::ParallelIterator::map).
///
/// ```
/// use roving_iter::iter::Map;
/// use roving_iter::prelude::*;
///
/// let iter: Map<_, _> = (0..3).into_par_iter().map(|n| 5 * n);
/// assert_eq!(iter.collect::<Vec<_>>(), [0, 5, 10]);
/// ```
pub type Map<I, F> = Mapped<I, MapFn<F>>;
/// An iterator that calls a closure with each item and a value of its own:
/// [`map_with`](super::ParallelIterator::map_with).
///
/// ```
/// use roving_iter::iter::MapWith;
/// use roving_iter::prelude::*;
///
/// let iter: MapWith<_, _, _> = (0..3).into_par_iter().map_with(5, |k, n| *k * n);
/// assert_eq!(iter.collect::<Vec<_>>(), [0, 5, 10]);
/// ```
pub type MapWith<I, T, F> = Mapped<I, WithFn<T, F>>;
/// An iterator that calls a closure with each item and a value made by another one:
/// [`map_init`](super::ParallelIterator::map_init).
///
/// ```
/// use roving_iter::iter::MapInit;
/// use roving_iter::prelude::*;
///
/// let iter: MapInit<_, _, _> = (0..3).into_par_iter().map_init(|| 5, |k, n| *k * n);
/// assert_eq!(iter.collect::<Vec<_>>(), [0, 5, 10]);
/// ```
pub type MapInit<I, N, F> = Mapped<I, InitFn<N, F>>;
/// An iterator that shows each item to a closure: [`inspect`](super::ParallelIterator::inspect).
///
/// ```
/// use roving_iter::iter::Inspect;
/// use roving_iter::prelude::*;
///
/// let iter: Inspect<_, _> = (0..3).into_par_iter().inspect(|n| assert!(*n < 3));
/// assert_eq!(iter.collect::<Vec<_>>(), [0, 1, 2]);
/// ```
pub type Inspect<I, F> = Mapped<I, InspectFn<F>>;
/// An iterator that lets a closure change each item: [`update`](super::ParallelIterator::update).
///
/// ```
/// use roving_iter::iter::Update;
/// use roving_iter::prelude::*;
///
/// let iter: Update<_, _> = (0..3).into_par_iter().update(|n| *n += 1);
/// assert_eq!(iter.collect::<Vec<_>>(), [1, 2, 3]);
/// ```
pub type Update<I, F> = Mapped<I, UpdateFn<F>>;
/// An iterator that clones each item: [`cloned`](super::ParallelIterator::cloned).
///
/// ```
/// use roving_iter::iter::Cloned;
/// use roving_iter::prelude::*;
///
/// let iter: Cloned<_> = [1, 2].par_iter().cloned();
/// assert_eq!(iter.collect::<Vec<_>>(), [1, 2]);
/// ```
pub type Cloned<I> = Mapped<I, Cloning>;
/// An iterator that copies each item: [`copied`](super::ParallelIterator::copied).
///
/// ```
/// use roving_iter::iter::Copied;
/// use roving_iter::prelude::*;
///
/// let iter: Copied<_> = [1, 2].par_iter().copied();
/// assert_eq!(iter.collect::<Vec<_>>(), [1, 2]);
/// ```
pub type Copied<I> = Mapped<I, Copying>;

/// A way to make one item of each item.
pub trait Op<T>: Send + Sync {
    /// A value for each part of the work.
    type Local;
    /// The items that are made.
    type Output;
    /// Makes the value for a part.
    fn local(&self) -> Self::Local;
    /// Makes an item.
    fn apply(&self, local: &mut Self::Local, item: T) -> Self::Output;
}

/// A closure from item to item.
#[derive(Clone, Debug)]
pub struct MapFn<F>(pub(super) F);

impl<T, R, F: Fn(T) -> R + Send + Sync> Op<T> for MapFn<F> {
    type Local = ();
    type Output = R;
    fn local(&self) {}
    #[inline]
    fn apply(&self, (): &mut (), item: T) -> R {
        (self.0)(item)
    }
}

/// A closure that looks at items.
#[derive(Clone, Debug)]
pub struct InspectFn<F>(pub(super) F);

impl<T, F: Fn(&T) + Send + Sync> Op<T> for InspectFn<F> {
    type Local = ();
    type Output = T;
    fn local(&self) {}
    #[inline]
    fn apply(&self, (): &mut (), item: T) -> T {
        (self.0)(&item);
        item
    }
}

/// A closure that changes items.
#[derive(Clone, Debug)]
pub struct UpdateFn<F>(pub(super) F);

impl<T, F: Fn(&mut T) + Send + Sync> Op<T> for UpdateFn<F> {
    type Local = ();
    type Output = T;
    fn local(&self) {}
    #[inline]
    fn apply(&self, (): &mut (), mut item: T) -> T {
        (self.0)(&mut item);
        item
    }
}

/// Clones items.
#[derive(Clone, Debug)]
pub struct Cloning;

impl<'a, T: Clone> Op<&'a T> for Cloning {
    type Local = ();
    type Output = T;
    fn local(&self) {}
    #[inline]
    fn apply(&self, (): &mut (), item: &'a T) -> T {
        item.clone()
    }
}

/// Copies items.
#[derive(Clone, Debug)]
pub struct Copying;

impl<'a, T: Copy> Op<&'a T> for Copying {
    type Local = ();
    type Output = T;
    fn local(&self) {}
    #[inline]
    fn apply(&self, (): &mut (), item: &'a T) -> T {
        *item
    }
}

/// A closure with a value that is cloned for each part.
#[derive(Debug)]
pub struct WithFn<W, F> {
    /// Locked because it need not be `Sync`.
    template: Mutex<W>,
    f: F,
}

impl<W, F> WithFn<W, F> {
    pub(super) fn new(template: W, f: F) -> Self {
        WithFn {
            template: Mutex::new(template),
            f,
        }
    }
}

impl<W: Clone, F: Clone> Clone for WithFn<W, F> {
    fn clone(&self) -> Self {
        WithFn::new(clone_locked(&self.template), self.f.clone())
    }
}

/// Clones what is behind a lock. Where an earlier clone has panicked the value is as it was.
pub(super) fn clone_locked<W: Clone>(template: &Mutex<W>) -> W {
    with_lock(template, |template| {
        template.unwrap_or_else(PoisonError::into_inner).clone()
    })
}

impl<T, R, W, F> Op<T> for WithFn<W, F>
where
    W: Clone + Send,
    F: Fn(&mut W, T) -> R + Send + Sync,
{
    type Local = W;
    type Output = R;
    fn local(&self) -> W {
        clone_locked(&self.template)
    }
    #[inline]
    fn apply(&self, local: &mut W, item: T) -> R {
        (self.f)(local, item)
    }
}

/// A closure with a value that is made for each part.
#[derive(Clone, Debug)]
pub struct InitFn<N, F> {
    pub(super) init: N,
    pub(super) f: F,
}

impl<T, R, W, N, F> Op<T> for InitFn<N, F>
where
    N: Fn() -> W + Send + Sync,
    F: Fn(&mut W, T) -> R + Send + Sync,
{
    type Local = W;
    type Output = R;
    fn local(&self) -> W {
        (self.init)()
    }
    #[inline]
    fn apply(&self, local: &mut W, item: T) -> R {
        (self.f)(local, item)
    }
}

impl<I, O> Mapped<I, O> {
    pub(super) fn new(base: I, op: O) -> Self {
        Mapped { base, op }
    }
}
