//! Tuples of iterators, side by side.

use super::adaptors::Zip;
use super::map::{MapFn, Mapped};
use super::{IndexedParallelIterator, IntoParallelIterator};

/// An iterator over tuples of the items of several others, which are the items of a tuple.
///
/// ```
/// use roving_iter::prelude::*;
///
/// let (names, ages) = (["Ada", "Alan"], [36, 41]);
/// let told: Vec<_> = (&names, &ages).into_par_iter().map(|(n, a)| format!("{n} {a}")).collect();
/// assert_eq!(told, ["Ada 36", "Alan 41"]);
/// ```
pub type MultiZip<Z, T, U> = Mapped<Z, MapFn<fn(T) -> U>>;

impl<A, B> IntoParallelIterator for (A, B)
where
    A: IntoParallelIterator<Iter: IndexedParallelIterator>,
    B: IntoParallelIterator<Iter: IndexedParallelIterator>,
{
    type Iter = Zip<A::Iter, B::Iter>;
    type Item = (A::Item, B::Item);

    fn into_par_iter(self) -> Self::Iter {
        self.0.into_par_iter().zip(self.1)
    }
}

macro_rules! tuples {
    ($(($($name:ident)+), $last:ident;)+) => {$(
        impl<$($name,)+ $last> IntoParallelIterator for ($($name,)+ $last)
        where
            $($name: IntoParallelIterator<Iter: IndexedParallelIterator>,)+
            $last: IntoParallelIterator<Iter: IndexedParallelIterator>,
        {
            type Iter = MultiZip<
                Zip<<($($name,)+) as IntoParallelIterator>::Iter, $last::Iter>,
                (($($name::Item,)+), $last::Item),
                ($($name::Item,)+ $last::Item),
            >;
            type Item = ($($name::Item,)+ $last::Item);

            #[allow(non_snake_case)]
            fn into_par_iter(self) -> Self::Iter {
                let ($($name,)+ $last) = self;
                let zip = ($($name,)+).into_par_iter().zip($last);
                Mapped::new(zip, MapFn((|(($($name,)+), $last)| ($($name,)+ $last)) as fn(_) -> _))
            }
        }
    )+};
}

tuples! {
    (A B), C;
    (A B C), D;
}
