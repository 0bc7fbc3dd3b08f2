//! A runtime that is ready for shapes.

use std::time::Duration;

use super::shape::{Leaves, ShapedProgram};

/// One run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShapeRun {
    pub(crate) time: Duration,
    /// Processor time of another process; nothing if it ran in this one.
    pub(crate) cpu: Option<Duration>,
}

/// A runtime that has made its threads. An error where it cannot do the shape.
pub(crate) type Runner = Box<dyn Fn(&'static ShapedProgram, Leaves) -> Result<ShapeRun, String>>;

/// A runtime in this process; `run` says nothing where it cannot do the shape.
pub(crate) fn here(
    run: impl Fn(&'static ShapedProgram, Leaves) -> Option<Duration> + 'static,
) -> Runner {
    Box::new(move |shape, leaves| {
        let time = run(shape, leaves).ok_or("it cannot do this shape")?;
        Ok(ShapeRun { time, cpu: None })
    })
}
