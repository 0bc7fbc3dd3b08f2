//! The calls by which a runtime that hosts workers has them run something of its own.

/// Something that such a runtime has for workers which wait for a task that another one has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostCalls {
    /// Whether there is something that may run on top of what the calling thread waits in.
    pub(crate) has_some: fn() -> bool,
    /// Runs one such thing, if it is still there.
    pub(crate) run: fn(),
}
