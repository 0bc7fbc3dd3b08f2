//! Items and helpers that the test programs of this crate share.

/// One of two sizes: under Miri each step costs a thousand times as much.
pub(crate) const fn size<T: Copy>(native: T, miri: T) -> T {
    if cfg!(miri) { miri } else { native }
}
