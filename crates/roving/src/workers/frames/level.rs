//! On top of what a worker runs something.

/// The kind of native stack frame on top of which a worker runs frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    /// The bare worker, or a blocking call that waits for just this root.
    Ground,
    /// A waiting frame: only tasks that were there before, or descend from them, run on top of it.
    Above,
}
