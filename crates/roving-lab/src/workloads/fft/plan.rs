//! The coefficients of a transform: powers of the n-th root of one, in the order in which the
//! loops read them.

use super::lanes::{Coefficients, coefficients};
use super::leaf::Leaf;

/// The greatest length of a transform that is a leaf: both its arrays fit into a first-level cache.
pub(super) const LEAF_MAX: usize = 1024;
/// The least length of a transform: the first stage of a leaf takes four lanes of four numbers.
pub(super) const LENGTH_MIN: usize = 16;

/// Loops are split down to so many [`super::lanes::Lanes`] in a quarter.
pub(super) const GRAIN: usize = 512;

/// All coefficients of a transform.
#[derive(Debug)]
pub(super) struct TransformPlan {
    /// For each length that is split into quarters, the greatest first.
    levels: Vec<Vec<Coefficients>>,
    /// For the length that is not.
    leaf: Leaf,
}

/// The tables for a transform of one length.
#[derive(Clone, Copy, Debug)]
pub(super) struct LengthTables<'a> {
    levels: &'a [Vec<Coefficients>],
    leaf: &'a Leaf,
}

/// A transform is either a leaf or split.
#[derive(Clone, Copy, Debug)]
pub(super) enum TransformShape<'a> {
    /// It fits into a cache.
    Leaf(&'a Leaf),
    /// Its quarters are transformed at this level, then combined with these coefficients.
    Split(LengthTables<'a>, &'a [Coefficients]),
}

impl TransformPlan {
    /// For a power of two, [`LENGTH_MIN`] at least.
    pub(super) fn new(length: usize) -> TransformPlan {
        let (mut levels, mut length) = (Vec::new(), length);
        while length > LEAF_MAX {
            levels.push(coefficients(length));
            length /= 4;
        }
        let leaf = Leaf::new(length);
        TransformPlan { levels, leaf }
    }

    /// The level of the whole.
    pub(super) fn level(&self) -> LengthTables<'_> {
        LengthTables {
            levels: &self.levels,
            leaf: &self.leaf,
        }
    }
}

impl<'a> LengthTables<'a> {
    /// Leaf or split.
    pub(super) fn shape(self) -> TransformShape<'a> {
        match self.levels {
            [] => TransformShape::Leaf(self.leaf),
            [coefficients, levels @ ..] => {
                let leaf = self.leaf;
                TransformShape::Split(LengthTables { levels, leaf }, coefficients)
            }
        }
    }
}
