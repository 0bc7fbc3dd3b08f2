//! At most one item, one item many times, and none.

use std::{iter, option};

use crate::engine::{Exact, IterPiece};
use crate::iter::{IntoParallelIterator, drive_exactly};

/// An iterator over at most one item: that of an `Option` or a `Result`.
///
/// ```
/// use roving_iter::prelude::*;
///
/// assert_eq!(Some(5).into_par_iter().chain(vec![6, 7]).sum::<i32>(), 18);
/// ```
#[derive(Clone, Debug)]
pub struct IntoIter<T> {
    item: Option<T>,
}

/// Returns an iterator over one item.
///
/// ```
/// use roving_iter::{iter::once, prelude::*};
///
/// assert_eq!(once(1).chain(2..4).collect::<Vec<_>>(), [1, 2, 3]);
/// ```
pub fn once<T: Send>(item: T) -> IntoIter<T> {
    IntoIter { item: Some(item) }
}

/// Returns an iterator over no items.
///
/// ```
/// use roving_iter::{iter::empty, prelude::*};
///
/// assert_eq!(empty::<u8>().count(), 0);
/// ```
pub fn empty<T: Send>() -> IntoIter<T> {
    IntoIter { item: None }
}

drive_exactly! {
    impl [T: Send] for IntoIter<T>, Item = T;
    fn len(self) { usize::from(self.item.is_some()) }
    type Piece<'a> = FewPiece<T>;
    fn piece(self) { FewPiece(self.item.take()) }
}

/// One item or none.
pub struct FewPiece<T>(Option<T>);

impl<T: Send> IterPiece for FewPiece<T> {
    type Item = T;
    type Seq = option::IntoIter<T>;

    fn units(&self) -> usize {
        usize::from(self.0.is_some())
    }
    fn cut(self, at: usize) -> (Self, Self) {
        if at == 0 {
            (FewPiece(None), self)
        } else {
            (self, FewPiece(None))
        }
    }
    fn into_seq(self) -> option::IntoIter<T> {
        self.0.into_iter()
    }
}

impl<T: Send> Exact for FewPiece<T> {}

impl<T: Send> IntoParallelIterator for Option<T> {
    type Iter = IntoIter<T>;
    type Item = T;

    fn into_par_iter(self) -> IntoIter<T> {
        IntoIter { item: self }
    }
}

impl<T: Send, E> IntoParallelIterator for Result<T, E> {
    type Iter = IntoIter<T>;
    type Item = T;

    fn into_par_iter(self) -> IntoIter<T> {
        IntoIter { item: self.ok() }
    }
}

macro_rules! by_reference {
    ($([$($error:ident)?] $of:ty => $method:ident;)+) => {$(
        impl<'data, T: Sync + 'data $(, $error)?> IntoParallelIterator for &'data $of {
            type Iter = IntoIter<&'data T>;
            type Item = &'data T;

            fn into_par_iter(self) -> IntoIter<&'data T> {
                IntoIter { item: self.as_ref().$method() }
            }
        }

        impl<'data, T: Send + 'data $(, $error)?> IntoParallelIterator for &'data mut $of {
            type Iter = IntoIter<&'data mut T>;
            type Item = &'data mut T;

            fn into_par_iter(self) -> IntoIter<&'data mut T> {
                IntoIter { item: self.as_mut().$method() }
            }
        }
    )+};
}

by_reference! {
    [] Option<T> => into;
    [E] Result<T, E> => ok;
}

/// An iterator over one item many times: [`repeat_n`].
///
/// ```
/// use roving_iter::{iter::repeat_n, prelude::*};
///
/// assert_eq!(repeat_n("ab", 2).collect::<String>(), "abab");
/// ```
#[derive(Clone, Debug)]
pub struct RepeatN<T> {
    item: T,
    count: usize,
}

/// Returns an iterator over clones of an item.
///
/// ```
/// use roving_iter::{iter::repeat_n, prelude::*};
///
/// assert_eq!(repeat_n(7, 3).collect::<Vec<_>>(), [7, 7, 7]);
/// ```
pub fn repeat_n<T: Clone + Send>(item: T, count: usize) -> RepeatN<T> {
    RepeatN { item, count }
}

drive_exactly! {
    impl [T: Clone + Send] for RepeatN<T>, Item = T;
    fn len(self) { self.count }
    type Piece<'a> = RepeatN<T>;
    fn piece(self) { RepeatN { item: self.item.clone(), count: self.count } }
}

impl<T: Clone + Send> IterPiece for RepeatN<T> {
    type Item = T;
    type Seq = iter::RepeatN<T>;

    fn units(&self) -> usize {
        self.count
    }
    fn cut(self, at: usize) -> (Self, Self) {
        let lower = RepeatN {
            item: self.item.clone(),
            count: at,
        };
        let upper = RepeatN {
            item: self.item,
            count: self.count - at,
        };
        (lower, upper)
    }
    fn into_seq(self) -> iter::RepeatN<T> {
        iter::repeat_n(self.item, self.count)
    }
}

impl<T: Clone + Send> Exact for RepeatN<T> {}
