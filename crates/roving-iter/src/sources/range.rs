//! Ranges of every type of integer, and of characters.

use std::ops;

use crate::engine::{Companion, Consumer};
use crate::engine::{Exact, IterPiece, drive};
use crate::iter::few;
use crate::iter::{
    Chain, IndexedParallelIterator, IntoParallelIterator, ParallelIterator, drive_exactly,
};

/// An iterator over a range.
///
/// ```
/// use roving_iter::prelude::*;
///
/// assert_eq!((1..101_u64).into_par_iter().sum::<u64>(), 5050);
/// ```
#[derive(Clone, Debug)]
pub struct Iter<T> {
    range: ops::Range<T>,
}

/// A part of a range.
pub struct RangePiece<T: Int> {
    range: ops::Range<T>,
    scale: T::Scale,
}

/// An iterator over a range with its end.
///
/// ```
/// use roving_iter::prelude::*;
///
/// assert_eq!((1..=100_u64).into_par_iter().sum::<u64>(), 5050);
/// ```
pub type InclusiveIter<T> = Chain<Iter<T>, few::IntoIter<T>>;

/// An integer, as the end of a range. Sealed: those of `std`.
///
/// ```
/// use roving_iter::prelude::*;
/// use roving_iter::range::RangeInteger;
///
/// fn total<T: RangeInteger + std::iter::Sum>(range: std::ops::Range<T>) -> T {
///     range.into_par_iter().sum()
/// }
/// assert_eq!((total(0..5_u8), total(-5..0_i128)), (10, -15));
/// ```
pub trait RangeInteger: sealed::Int {}

impl<T: sealed::Int> RangeInteger for T {}

mod sealed {
    use std::ops::Range;

    pub trait Int: Copy + Send + Sync + 'static {
        /// A range as an iterator of `std`.
        type Seq: Iterator<Item = Self>;
        fn seq(range: Range<Self>) -> Self::Seq;
        /// Returns the number of integers in a range, or `usize::MAX` if there are more.
        fn count(range: &Range<Self>) -> usize;
        /// How many integers a unit is, so that `usize` can say the units of the longest range.
        type Scale: Copy + Send;
        /// Returns the least scale for a range.
        fn scale(range: &Range<Self>) -> Self::Scale;
        /// Returns the number of units in a range, which was measured with the scale or is a part
        /// of one that was.
        fn units(range: &Range<Self>, scale: Self::Scale) -> usize;
        /// Returns the integer so many units behind this one, which is not beyond the greatest.
        fn plus(self, units: usize, scale: Self::Scale) -> Self;
        /// Returns the range without its end, and its end.
        fn parts(first: Self, last: Self) -> (Range<Self>, Option<Self>);
    }

    /// One whose ranges are no longer than `usize` can say, on every target.
    #[diagnostic::on_unimplemented(
        message = "a range of `{Self}` may be longer than a `usize` can say",
        note = "items are numbered in ranges of integers up to 32 bits, `usize` and `isize`"
    )]
    pub trait ShortInt: Int<Seq: DoubleEndedIterator + ExactSizeIterator> {}

    macro_rules! integers {
        ($($int:ident as $unsigned:ident)+; $scaling:ident) => {$(
            impl Int for $int {
                type Seq = Range<$int>;
                #[inline]
                fn seq(range: Range<$int>) -> Range<$int> {
                    range
                }
                #[inline]
                fn count(range: &Range<$int>) -> usize {
                    if range.start >= range.end {
                        return 0;
                    }
                    let length = range.end.wrapping_sub(range.start) as $unsigned;
                    usize::try_from(length).unwrap_or(usize::MAX)
                }
                $scaling! { $int as $unsigned }
                fn parts(first: $int, last: $int) -> (Range<$int>, Option<$int>) {
                    if first <= last { (first..last, Some(last)) } else { (0..0, None) }
                }
            }
        )+};
    }

    /// A unit is an integer: of types whose ranges `usize` can measure.
    macro_rules! unscaled {
        ($int:ident as $unsigned:ident) => {
            type Scale = ();
            #[inline]
            fn scale(_: &Range<$int>) {}
            #[inline]
            fn units(range: &Range<$int>, (): ()) -> usize {
                Self::count(range)
            }
            #[inline]
            fn plus(self, units: usize, (): ()) -> $int {
                self.wrapping_add(units as $int)
            }
        };
    }

    /// A unit is as many integers as a power of two says.
    macro_rules! scaled {
        ($int:ident as $unsigned:ident) => {
            type Scale = u32;
            fn scale(range: &Range<$int>) -> u32 {
                if range.start >= range.end {
                    return 0;
                }
                let length = range.end.wrapping_sub(range.start) as $unsigned;
                ($unsigned::BITS - length.leading_zeros()).saturating_sub(usize::BITS - 1)
            }
            fn units(range: &Range<$int>, scale: u32) -> usize {
                if range.start >= range.end {
                    return 0;
                }
                let length = range.end.wrapping_sub(range.start) as $unsigned;
                length.div_ceil(1 << scale) as usize
            }
            fn plus(self, units: usize, scale: u32) -> $int {
                self.wrapping_add((units as $int) << scale)
            }
        };
    }

    integers! {
        u8 as u8 u16 as u16 u32 as u32 usize as usize
        i8 as u8 i16 as u16 i32 as u32 isize as usize; unscaled
    }
    #[cfg(target_pointer_width = "64")]
    integers! { u64 as u64 i64 as u64; unscaled }
    #[cfg(not(target_pointer_width = "64"))]
    integers! { u64 as u64 i64 as u64; scaled }
    integers! { u128 as u128 i128 as u128; scaled }

    macro_rules! short {
        ($($int:ident)+) => {$(
            impl ShortInt for $int {}
        )+};
    }

    short! { u8 u16 u32 usize i8 i16 i32 isize }
}

use sealed::{Int, ShortInt};

impl<T: Int> IntoParallelIterator for ops::Range<T> {
    type Iter = Iter<T>;
    type Item = T;

    fn into_par_iter(self) -> Iter<T> {
        Iter { range: self }
    }
}

impl<T: Int> IntoParallelIterator for ops::RangeInclusive<T>
where
    T: PartialOrd,
{
    type Iter = InclusiveIter<T>;
    type Item = T;

    fn into_par_iter(self) -> InclusiveIter<T> {
        let is_empty = self.is_empty();
        let (first, last) = self.into_inner();
        let (range, last) = T::parts(first, last);
        // An iterator that has ended is empty, and may have its ends still.
        let last = last.filter(|_| !is_empty);
        let range = if is_empty { first..first } else { range };
        range.into_par_iter().chain(last)
    }
}

impl<T: Int> ParallelIterator for Iter<T> {
    type Item = T;

    #[inline]
    fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
    where
        B: Companion,
        C: Consumer<T, B>,
    {
        drive(RangePiece::new(self.range), beside, consumer, state)
    }
    fn span(&self) -> usize {
        T::count(&self.range)
    }
    /// Also where there are more integers than `usize` can say: then nobody has memory for them.
    fn is_exact(&self) -> bool {
        true
    }
}

impl<T: ShortInt> IndexedParallelIterator for Iter<T> {
    type Piece<'a> = RangePiece<T>;

    fn len(&self) -> usize {
        T::count(&self.range)
    }
    fn piece(&mut self) -> RangePiece<T> {
        RangePiece::new(self.range.clone())
    }
}

impl<T: Int> RangePiece<T> {
    fn new(range: ops::Range<T>) -> RangePiece<T> {
        let scale = T::scale(&range);
        RangePiece { range, scale }
    }
}

impl<T: Int> IterPiece for RangePiece<T> {
    type Item = T;
    type Seq = T::Seq;

    #[inline]
    fn units(&self) -> usize {
        T::units(&self.range, self.scale)
    }
    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let RangePiece { range, scale } = self;
        let middle = range.start.plus(at, scale);
        let part = |range| RangePiece { range, scale };
        (part(range.start..middle), part(middle..range.end))
    }
    #[inline]
    fn into_seq(self) -> T::Seq {
        T::seq(self.range)
    }
}

impl<T: ShortInt> Exact for RangePiece<T> {}

/// A part of a range of characters: of their numbers, less the gap where there are none.
pub struct CharPiece(ops::Range<u32>);

/// An iterator over a range of characters.
///
/// ```
/// use roving_iter::prelude::*;
///
/// let letters: String = ('a'..='e').into_par_iter().collect();
/// assert_eq!(letters, "abcde");
/// ```
#[derive(Clone, Debug)]
pub struct CharIter(ops::Range<u32>);

const GAP_START: u32 = 0xD800;
const GAP: u32 = 0x800;

fn without_gap(c: char) -> u32 {
    let number = u32::from(c);
    if number < GAP_START {
        number
    } else {
        number - GAP
    }
}

fn with_gap(number: u32) -> char {
    let number = if number < GAP_START {
        number
    } else {
        number + GAP
    };
    char::from_u32(number).expect("the numbers less the gap are characters")
}

impl IntoParallelIterator for ops::Range<char> {
    type Iter = CharIter;
    type Item = char;

    fn into_par_iter(self) -> CharIter {
        CharIter(without_gap(self.start)..without_gap(self.end))
    }
}

impl IntoParallelIterator for ops::RangeInclusive<char> {
    type Iter = CharIter;
    type Item = char;

    fn into_par_iter(self) -> CharIter {
        let end = without_gap(*self.end()) + u32::from(!self.is_empty());
        CharIter(without_gap(*self.start())..end)
    }
}

drive_exactly! {
    impl [] for CharIter, Item = char;
    fn len(self) { self.0.len() }
    type Piece<'a> = CharPiece;
    fn piece(self) { CharPiece(self.0.clone()) }
}

impl IterPiece for CharPiece {
    type Item = char;
    type Seq = std::iter::Map<ops::Range<u32>, fn(u32) -> char>;

    fn units(&self) -> usize {
        self.0.len()
    }
    fn cut(self, at: usize) -> (Self, Self) {
        let middle = self.0.start + at as u32;
        (
            CharPiece(self.0.start..middle),
            CharPiece(middle..self.0.end),
        )
    }
    fn into_seq(self) -> Self::Seq {
        self.0.map(with_gap)
    }
}

impl Exact for CharPiece {}
