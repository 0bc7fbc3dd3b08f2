//! Finding processes that wait for each other, and letting them go on.

use std::sync::Arc;

use crate::channel::words::End;
use crate::line::Line;
use crate::shared::Shared;

/// One process of a cycle, and what it waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wait {
    pub(crate) process: u32,
    pub(crate) channel: u32,
    pub(crate) end: End,
}

/// A channel that was made larger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Growth {
    pub(crate) channel: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// What looks at the whole network at a time.
#[derive(Default)]
pub(crate) struct Detector;

/// A process has been suspended. After a fence.
#[inline]
pub(crate) fn after_suspension(_: &Arc<Shared>, _: &Line, _: u32, _: bool) {}

/// A process has ended.
pub(crate) fn after_end(_: &Arc<Shared>, _: &Line) {}
