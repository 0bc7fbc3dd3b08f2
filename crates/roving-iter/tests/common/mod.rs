//! What several test programs use.

/// One of two sizes: under Miri each step costs a thousand times as much.
pub(crate) const fn size<T: Copy>(native: T, miri: T) -> T {
    if cfg!(miri) { miri } else { native }
}
