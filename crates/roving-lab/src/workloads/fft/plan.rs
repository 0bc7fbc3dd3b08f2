//! The coefficients of a transform: powers of the n-th root of one, in the order in which the
//! loops read them.

use std::f64::consts::TAU;

use super::lanes::{Coefficients, LANES, Lanes};

/// The greatest length of a transform that is a leaf: both its arrays fit into a first-level cache.
pub(super) const LEAF_MAX: usize = 1024;
/// The least length of a transform: the first stage of a leaf takes four lanes of four numbers.
pub(super) const LENGTH_MIN: usize = 16;

/// The coefficients of one leaf.
#[derive(Debug)]
pub(super) struct Leaf {
    /// Those of the first stage.
    pub(super) first: Vec<Coefficients>,
    /// Those of the later stages of radix 4.
    pub(super) stages: Vec<Vec<[(f64, f64); 3]>>,
}

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

/// e^(-2πi · power / length)
pub(super) fn root(power: usize, length: usize) -> (f64, f64) {
    let (sin, cos) = (TAU * (power % length) as f64 / length as f64).sin_cos();
    (cos, -sin)
}

/// The first three powers of root^place, for four places.
fn coefficients(length: usize) -> Vec<Coefficients> {
    let one = |first: usize| -> Coefficients {
        std::array::from_fn(|power| {
            let mut lanes = Lanes::default();
            for lane in 0..LANES {
                let power = (first + lane) * (power + 1);
                (lanes.re[lane], lanes.im[lane]) = root(power, length);
            }
            lanes
        })
    };
    (0..length / 4).step_by(LANES).map(one).collect()
}

impl Leaf {
    fn new(length: usize) -> Leaf {
        let stage = |length: usize| {
            let one = |place| std::array::from_fn(|power| root(place * (power + 1), length));
            (0..length / 4).map(one).collect()
        };
        let lengths = std::iter::successors(Some(length / 4), |length| Some(length / 4));
        Leaf {
            first: coefficients(length),
            stages: lengths
                .take_while(|length| *length >= 4)
                .map(stage)
                .collect(),
        }
    }
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
