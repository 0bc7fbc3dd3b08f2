//! The traits of parallel iterators, and what their methods return.
//!
//! The names and their meanings are those of Rayon, so that its books and pages apply.
//!
//! ```
//! use roving_iter::prelude::*;
//!
//! let words = ["to", "be", "or", "not", "to", "be"];
//! let mut long: Vec<_> = words.par_iter().filter(|word| word.len() > 2).collect();
//! long.par_sort();
//! assert_eq!(long, [&"not"]);
//! ```

mod bridge;
mod chain;
mod chunks;
mod collect;
mod cut;
mod either;
mod extend;
pub(crate) mod few;
mod filter;
mod flat;
mod fold;
mod indexed;
mod into;
mod length;
mod map;
mod multi;
mod parallel;
mod results;
mod steps;
mod zip;

mod attempt;
pub(crate) mod consume;

pub use attempt::Try;
pub use bridge::{IterBridge, ParallelBridge};
pub use chain::Chain;
pub use chunks::Chunks;
pub use collect::FromParallelIterator;
pub use cut::{Rev, Skip, Take};
pub use either::Either;
pub use extend::ParallelExtend;
pub use few::{RepeatN, empty, once, repeat_n};
pub use filter::{Filter, FilterMap, WhileSome};
pub use flat::{FlatMap, FlatMapIter, Flatten, FlattenIter};
pub use fold::{Fold, FoldWith, TryFold};
pub use indexed::IndexedParallelIterator;
pub use into::{
    IntoParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelDrainFull,
    ParallelDrainRange,
};
pub use length::{MaxLen, MinLen};
pub use map::{Cloned, Copied, Inspect, Map, MapInit, MapWith, Mapped, Update};
pub use multi::MultiZip;
pub use parallel::ParallelIterator;
pub use steps::StepBy;
pub use zip::{Enumerate, Zip};

/// Implements both traits for an iterator whose pieces are exact.
macro_rules! drive_exactly {
    (
        impl [$($param:tt)*] for $of:ty, Item = $item:ty $(, where [$($bounds:tt)*])?;
        fn len($this:ident) $len:block
        type Piece<$life:lifetime> = $piece:ty;
        fn piece($that:ident) $make:block
    ) => {
        impl<$($param)*> $crate::iter::ParallelIterator for $of
        $(where $($bounds)*)?
        {
            type Item = $item;

            #[inline]
            fn drive<B, C>(mut self, beside: B, consumer: &C, state: C::State) -> C::State
            where
                B: $crate::engine::Companion,
                C: $crate::engine::Consumer<Self::Item, B>,
            {
                let piece = $crate::iter::IndexedParallelIterator::piece(&mut self);
                $crate::engine::drive(piece, beside, consumer, state)
            }
            fn span(&self) -> usize {
                $crate::iter::IndexedParallelIterator::len(self)
            }
            fn is_exact(&self) -> bool {
                true
            }
        }

        impl<$($param)*> $crate::iter::IndexedParallelIterator for $of
        $(where $($bounds)*)?
        {
            type Piece<$life> = $piece where Self: $life;

            fn len(&$this) -> usize $len
            fn piece(&mut $that) -> Self::Piece<'_> $make
        }
    };
}
pub(crate) use drive_exactly;
