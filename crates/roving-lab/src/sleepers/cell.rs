//! One cell of the table of sleeping leaves: what was measured, and what was to be expected.

use super::bound::Bounds;
use crate::rivals::Runtime;
use crate::shapes::shape::ShapeKind;

/// One shape on so many workers of one runtime.
#[derive(Clone, Debug)]
pub(crate) struct GridCell {
    pub(crate) kind: &'static ShapeKind,
    pub(crate) workers: usize,
    pub(crate) form: Runtime,
    pub(crate) runs: usize,
    /// The median time in seconds, as all times here.
    pub(crate) median: f64,
    pub(crate) min: f64,
    /// The median processor time of the whole process; not a number where the system does not say
    /// it.
    pub(crate) cpu: f64,
    pub(crate) bounds: Bounds,
    /// The simulator's time for our closures, where it knows the shape.
    pub(crate) predicted: Option<f64>,
}

impl GridCell {
    /// The predicted time over the measured one.
    pub(crate) fn prediction(&self) -> Option<f64> {
        Some(self.predicted? / self.median)
    }

    /// How many times as long as a scheduler without costs.
    pub(crate) fn over_list(&self) -> f64 {
        self.median / self.bounds.list
    }
}
