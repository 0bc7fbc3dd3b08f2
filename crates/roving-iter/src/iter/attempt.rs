//! Values that say whether to go on.

use std::ops::ControlFlow;

/// The types by which a closure says whether to go on: `Option`, `Result` and `ControlFlow`.
/// Sealed: only these three.
///
/// ```
/// use roving_iter::prelude::*;
///
/// let sum = (0..10_i32).into_par_iter().map(|n| n.checked_mul(2));
/// assert_eq!(sum.try_reduce(|| 0, |a, b| a.checked_add(b)), Some(90));
/// ```
pub trait Try: sealed::Try {}

impl<T: sealed::Try> Try for T {}

pub(crate) mod sealed {
    use std::ops::ControlFlow;

    pub trait Try {
        type Output;
        type Residual;
        fn from_output(output: Self::Output) -> Self;
        fn from_residual(residual: Self::Residual) -> Self;
        fn branch(self) -> ControlFlow<Self::Residual, Self::Output>;
    }
}

impl<T> sealed::Try for Option<T> {
    type Output = T;
    type Residual = ();
    fn from_output(output: T) -> Self {
        Some(output)
    }
    fn from_residual((): ()) -> Self {
        None
    }
    fn branch(self) -> ControlFlow<(), T> {
        self.map_or(ControlFlow::Break(()), ControlFlow::Continue)
    }
}

impl<T, E> sealed::Try for Result<T, E> {
    type Output = T;
    type Residual = E;
    fn from_output(output: T) -> Self {
        Ok(output)
    }
    fn from_residual(error: E) -> Self {
        Err(error)
    }
    fn branch(self) -> ControlFlow<E, T> {
        match self {
            Ok(output) => ControlFlow::Continue(output),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl<D, T> sealed::Try for ControlFlow<D, T> {
    type Output = T;
    type Residual = D;
    fn from_output(output: T) -> Self {
        ControlFlow::Continue(output)
    }
    fn from_residual(found: D) -> Self {
        ControlFlow::Break(found)
    }
    fn branch(self) -> ControlFlow<D, T> {
        self
    }
}
