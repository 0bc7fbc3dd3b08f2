//! Complex numbers, four at a time, and the leaf code of the transform.

use super::super::simd::{self, Kernel, add_product};
use super::plan::Leaf;

/// How many complex numbers stand together.
pub(super) const LANES: usize = 4;

/// Four complex numbers: first their real parts, then their imaginary ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub(super) struct Lanes {
    pub(super) re: [f64; LANES],
    pub(super) im: [f64; LANES],
}

/// Three coefficients for each of four numbers; that of the first number of a butterfly is 1.
pub(super) type Coefficients = [Lanes; 3];

impl Lanes {
    /// Four numbers from one.
    #[inline(always)]
    pub(super) fn all(re: f64, im: f64) -> Lanes {
        Lanes {
            re: [re; LANES],
            im: [im; LANES],
        }
    }

    #[inline(always)]
    fn zip(self, other: Lanes, of: impl Fn(f64, f64) -> f64) -> Lanes {
        Lanes {
            re: std::array::from_fn(|lane| of(self.re[lane], other.re[lane])),
            im: std::array::from_fn(|lane| of(self.im[lane], other.im[lane])),
        }
    }

    #[inline(always)]
    fn plus(self, other: Lanes) -> Lanes {
        self.zip(other, |a, b| a + b)
    }

    #[inline(always)]
    fn minus(self, other: Lanes) -> Lanes {
        self.zip(other, |a, b| a - b)
    }

    /// Times the imaginary unit.
    #[inline(always)]
    fn turned(self) -> Lanes {
        Lanes {
            re: self.im.map(|im| -im),
            im: self.re,
        }
    }

    #[inline(always)]
    fn times<const FUSED: bool>(self, other: Lanes) -> Lanes {
        let part = |lane: usize| {
            let (a, b) = (self.re[lane], self.im[lane]);
            let (c, d) = (other.re[lane], other.im[lane]);
            (
                add_product::<FUSED>(a, c, -(b * d)),
                add_product::<FUSED>(a, d, b * c),
            )
        };
        Lanes {
            re: std::array::from_fn(|lane| part(lane).0),
            im: std::array::from_fn(|lane| part(lane).1),
        }
    }

    /// Real and imaginary parts exchanged: with it a transform is the inverse one, but for a
    /// factor.
    pub(super) fn exchanged(self) -> Lanes {
        Lanes {
            re: self.im,
            im: self.re,
        }
    }
}

/// The transform of four numbers, in each lane.
#[inline(always)]
fn of_four([a, b, c, d]: [Lanes; 4]) -> [Lanes; 4] {
    let (ac, bd) = (a.plus(c), b.plus(d));
    let (a_c, b_d) = (a.minus(c), b.minus(d).turned());
    [ac.plus(bd), a_c.minus(b_d), ac.minus(bd), a_c.plus(b_d)]
}

/// Rows become columns.
#[inline(always)]
fn transposed(rows: [Lanes; 4]) -> [Lanes; 4] {
    std::array::from_fn(|column| Lanes {
        re: std::array::from_fn(|row| rows[row].re[column]),
        im: std::array::from_fn(|row| rows[row].im[column]),
    })
}

/// Four slices of one length, to be read.
pub(super) type Quarters<'a> = [&'a [Lanes]; 4];
/// Four slices of one length, to be written.
pub(super) type QuartersMut<'a> = [&'a mut [Lanes]; 4];

struct Deal<'a> {
    from: &'a [Lanes],
    to: QuartersMut<'a>,
}

/// Number 4k + j becomes number k of quarter j.
pub(super) fn deal(from: &[Lanes], to: QuartersMut<'_>) {
    simd::run(Deal { from, to });
}

impl Kernel for Deal<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (fours, _) = self.from.as_chunks::<4>();
        let [q0, q1, q2, q3] = self.to;
        let quarters = q0.iter_mut().zip(q1).zip(q2.iter_mut().zip(q3));
        for (four, ((q0, q1), (q2, q3))) in fours.iter().zip(quarters) {
            [*q0, *q1, *q2, *q3] = transposed(*four);
        }
    }
}

struct Combine<'a> {
    coefficients: &'a [Coefficients],
    from: Quarters<'a>,
    to: QuartersMut<'a>,
}

/// The transforms `from` of the quarters become that of the whole, or a stretch of it.
pub(super) fn combine(coefficients: &[Coefficients], from: Quarters<'_>, to: QuartersMut<'_>) {
    simd::run(Combine {
        coefficients,
        from,
        to,
    });
}

impl Kernel for Combine<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let count = self.coefficients.len();
        let from = self.from.map(|quarter| &quarter[..count]);
        let to = self.to.map(|quarter| &mut quarter[..count]);
        for (place, coefficients) in self.coefficients.iter().enumerate() {
            let four = of_four([
                from[0][place],
                from[1][place].times::<FUSED>(coefficients[0]),
                from[2][place].times::<FUSED>(coefficients[1]),
                from[3][place].times::<FUSED>(coefficients[2]),
            ]);
            for (quarter, number) in four.into_iter().enumerate() {
                to[quarter][place] = number;
            }
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
