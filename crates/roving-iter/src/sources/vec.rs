//! The items of a vector.

use crate::engine::{Exact, IterPiece};
use crate::iter::{IntoParallelIterator, drive_exactly};
use crate::memory::{Owned, OwnedSeq, own_all};

/// An iterator that takes the items out of a vector.
///
/// ```
/// use roving_iter::prelude::*;
///
/// let words = vec![String::from("to"), String::from("be")];
/// let lengths: Vec<usize> = words.into_par_iter().map(|word| word.len()).collect();
/// assert_eq!(lengths, [2, 2]);
/// ```
#[derive(Clone, Debug)]
pub struct IntoIter<T> {
    items: Vec<T>,
}

impl<T: Send> IntoParallelIterator for Vec<T> {
    type Iter = IntoIter<T>;
    type Item = T;

    fn into_par_iter(self) -> IntoIter<T> {
        IntoIter { items: self }
    }
}

impl<T: Send> IntoParallelIterator for Box<[T]> {
    type Iter = IntoIter<T>;
    type Item = T;

    fn into_par_iter(self) -> IntoIter<T> {
        self.into_vec().into_par_iter()
    }
}

impl<T: Send, const N: usize> IntoParallelIterator for [T; N] {
    type Iter = IntoIter<T>;
    type Item = T;

    fn into_par_iter(self) -> IntoIter<T> {
        Vec::from(self).into_par_iter()
    }
}

drive_exactly! {
    impl [T: Send] for IntoIter<T>, Item = T;
    fn len(self) { self.items.len() }
    type Piece<'a> = VecPiece<'a, T>;
    fn piece(self) { VecPiece(own_all(&mut self.items)) }
}

/// A part of a vector.
pub struct VecPiece<'a, T>(Owned<'a, T>);

impl<'a, T: Send> IterPiece for VecPiece<'a, T> {
    type Item = T;
    type Seq = OwnedSeq<'a, T>;

    fn units(&self) -> usize {
        self.0.len()
    }
    fn cut(self, at: usize) -> (Self, Self) {
        let (lower, upper) = self.0.cut(at);
        (VecPiece(lower), VecPiece(upper))
    }
    fn into_seq(self) -> OwnedSeq<'a, T> {
        self.0.into_seq()
    }
}

impl<T: Send> Exact for VecPiece<'_, T> {}
