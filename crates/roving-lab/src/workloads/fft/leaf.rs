//! The leaf of a transform: its coefficients, and its loops.

use super::super::simd::{self, Kernel};
use super::lanes::{Coefficients, Lanes, coefficients, of_four, root, transposed};

/// The coefficients of one leaf.
#[derive(Debug)]
pub(super) struct Leaf {
    /// Those of the first stage.
    pub(super) first: Vec<Coefficients>,
    /// Those of the later stages of radix 4.
    pub(super) stages: Vec<Vec<[(f64, f64); 3]>>,
}

impl Leaf {
    pub(super) fn new(length: usize) -> Leaf {
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

struct Small<'a> {
    leaf: &'a Leaf,
    data: &'a mut [Lanes],
    scratch: &'a mut [Lanes],
}

/// The whole transform of `data`, which fits into a cache, in its place.
pub(super) fn small(leaf: &Leaf, data: &mut [Lanes], scratch: &mut [Lanes]) {
    simd::run(Small {
        leaf,
        data,
        scratch,
    });
}

/// Stockham's form: each stage reads one array and writes the other, and the numbers come out in
/// order. Before a stage with stride s, number q + s·p belongs to transform q of s transforms.
impl Kernel for Small<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (mut from, mut to) = (self.data, self.scratch);
        first_stage::<FUSED>(&self.leaf.first, from, to);
        (from, to) = (to, from);
        let mut stages = 1;
        // In numbers of Lanes; after the first stage the stride is four numbers.
        let mut stride = 1;
        for coefficients in &self.leaf.stages {
            stage::<FUSED>(coefficients, stride, from, to);
            (from, to) = (to, from);
            (stages, stride) = (stages + 1, stride * 4);
        }
        if stride * 2 == from.len() {
            last_stage_of_two(from, to);
            (from, to) = (to, from);
            stages += 1;
        }
        if stages % 2 == 1 {
            to.copy_from_slice(from);
        }
    }
}

/// Stride 1: four transforms at once, and what they give stands together.
#[inline(always)]
fn first_stage<const FUSED: bool>(coefficients: &[Coefficients], from: &[Lanes], to: &mut [Lanes]) {
    let count = coefficients.len();
    let (to, _) = to.as_chunks_mut::<4>();
    let quarter = |quarter: usize| &from[quarter * count..][..count];
    let from = [quarter(0), quarter(1), quarter(2), quarter(3)];
    for ((place, coefficients), to) in coefficients.iter().enumerate().zip(to) {
        let [a, b, c, d] = of_four(from.map(|quarter| quarter[place]));
        *to = transposed([
            a,
            b.times::<FUSED>(coefficients[0]),
            c.times::<FUSED>(coefficients[1]),
            d.times::<FUSED>(coefficients[2]),
        ]);
    }
}

/// A later stage of radix 4, with one triple of coefficients for each group of `stride`.
#[inline(always)]
fn stage<const FUSED: bool>(
    coefficients: &[[(f64, f64); 3]],
    stride: usize,
    from: &[Lanes],
    to: &mut [Lanes],
) {
    let quarter = coefficients.len() * stride;
    let groups = to.chunks_exact_mut(4 * stride);
    for ((group, coefficients), to) in coefficients.iter().enumerate().zip(groups) {
        let of = |part: usize| &from[part * quarter + group * stride..][..stride];
        let from = [of(0), of(1), of(2), of(3)];
        let [one, two, three] = coefficients.map(|(re, im)| Lanes::all(re, im));
        let (above, below) = to.split_at_mut(2 * stride);
        let (to_a, to_b) = above.split_at_mut(stride);
        let (to_c, to_d) = below.split_at_mut(stride);
        for place in 0..stride {
            let [a, b, c, d] = of_four(from.map(|quarter| quarter[place]));
            to_a[place] = a;
            to_b[place] = b.times::<FUSED>(one);
            to_c[place] = c.times::<FUSED>(two);
            to_d[place] = d.times::<FUSED>(three);
        }
    }
}

/// The last stage where the length is no power of four.
#[inline(always)]
fn last_stage_of_two(from: &[Lanes], to: &mut [Lanes]) {
    let (from_a, from_b) = from.split_at(from.len() / 2);
    let (to_a, to_b) = to.split_at_mut(from_a.len());
    for ((a, b), (to_a, to_b)) in from_a.iter().zip(from_b).zip(to_a.iter_mut().zip(to_b)) {
        (*to_a, *to_b) = (a.plus(*b), a.minus(*b));
    }
}
