//! Complex numbers, four at a time: coefficients, and the loops over quarters.

use std::f64::consts::TAU;

use super::super::simd::{self, Kernel, add_product};

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
    pub(super) fn plus(self, other: Lanes) -> Lanes {
        self.zip(other, |a, b| a + b)
    }

    #[inline(always)]
    pub(super) fn minus(self, other: Lanes) -> Lanes {
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
    pub(super) fn times<const FUSED: bool>(self, other: Lanes) -> Lanes {
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
pub(super) fn of_four([a, b, c, d]: [Lanes; 4]) -> [Lanes; 4] {
    let (ac, bd) = (a.plus(c), b.plus(d));
    let (a_c, b_d) = (a.minus(c), b.minus(d).turned());
    [ac.plus(bd), a_c.minus(b_d), ac.minus(bd), a_c.plus(b_d)]
}

/// Rows become columns.
#[inline(always)]
pub(super) fn transposed(rows: [Lanes; 4]) -> [Lanes; 4] {
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

/// e^(-2πi · power / length)
pub(super) fn root(power: usize, length: usize) -> (f64, f64) {
    let (sin, cos) = (TAU * (power % length) as f64 / length as f64).sin_cos();
    (cos, -sin)
}

/// The first three powers of root^place, for four places.
pub(super) fn coefficients(length: usize) -> Vec<Coefficients> {
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
