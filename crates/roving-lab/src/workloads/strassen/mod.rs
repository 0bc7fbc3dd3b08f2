//! `strassen`: the product of two square matrices of doubles by Strassen's method in Winograd's
//! form, seven products of quadrants instead of eight, down to tiles of 64 × 64.
//!
//! A matrix is stored as its four quadrants in a row, each stored the same way, down to tiles
//! stored by rows. So a sum of quadrants is one pass over slices.
//!
//! The numbers are whole, from -8 to 8. All that is computed from them on the way is whole and
//! below 2^53, so no operation rounds, and the bound on the difference between this product and
//! the plain one is 0.

mod blocks;
mod buffers;
mod task;

use std::ops::Deref;

use roving::task::{Scope, Task};

use self::blocks::{LEFT, RIGHT, TILE, Terms, put_together, quadrants, sum_into, tile_product};
use self::buffers::{Buffer, Buffers};
use self::task::ReadMatrix;
use super::numbers::{Digest, Judged, Noise, within};
use super::{RunAnswer, Workload};
use crate::forms::fork_join::{ForkJoin, Serial};
use crate::forms::tasks::BranchOrder;
use crate::io::input::{BadInput, whole_number};
use crate::machine::memory;

/// The greatest side of a matrix. There, sums of quadrants are below 8 · 4^8 = 2^19, products of
/// tiles below 64 · 2^38 = 2^44, and sums of seven of these below 2^47.
const MOST: u64 = 16_384;
/// The greatest number in a matrix.
const NUMBER_MAX: u32 = 8;
/// The greatest number in a vector of the check: products of both matrices and it are below 2^45.
const CHECK_MAX: u32 = 1 << 10;
/// Vectors of the check. A wrong row escapes each of them with probability 1/2^11 at most.
const CHECKS: usize = 3;
/// Matrices of the full size that are held at most: three, and what the products of quadrants
/// hold on all levels on a few workers.
const HELD_MAX: u64 = 16;

/// c = a · b.
#[derive(Debug)]
pub(crate) struct Strassen {
    side: usize,
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
    buffers: Buffers,
    judged: Judged,
}

/// A factor of one of the seven products.
enum Factor<'a, 'b> {
    /// A quadrant.
    Quadrant(&'a [f64]),
    /// A sum of quadrants.
    Sum(Buffer<'b>),
}

impl Deref for Factor<'_, '_> {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        match self {
            Factor::Quadrant(quadrant) => quadrant,
            Factor::Sum(sum) => sum,
        }
    }
}

impl<'a, 'b> Factor<'a, 'b> {
    /// The factor that `terms` say.
    fn new(buffers: &'b Buffers, terms: Terms, quadrants: &[&'a [f64]; 4]) -> Self {
        if let [(place, _)] = terms {
            return Factor::Quadrant(quadrants[*place]);
        }
        let mut sum = buffers.take(quadrants[0].len());
        sum_into(&mut sum, terms, quadrants);
        Factor::Sum(sum)
    }
}

/// a · b. Each of the seven tasks makes its factors from the quadrants by itself.
fn product<'b, C: ForkJoin>(cx: &mut C, buffers: &'b Buffers, a: &[f64], b: &[f64]) -> Buffer<'b> {
    if a.len() <= TILE * TILE {
        return tile_product(buffers, a, b);
    }
    let (a, b) = (&quadrants(a), &quadrants(b));
    let one = |cx: &mut C, which: usize| {
        let left = Factor::new(buffers, LEFT[which], a);
        let right = Factor::new(buffers, RIGHT[which], b);
        product(cx, buffers, &left, &right)
    };
    let (((p0, p1), (p2, p3)), ((p4, p5), p6)) = cx.join(
        |cx| {
            cx.join(
                |cx| cx.join(|cx| one(cx, 0), |cx| one(cx, 1)),
                |cx| cx.join(|cx| one(cx, 2), |cx| one(cx, 3)),
            )
        },
        |cx| {
            cx.join(
                |cx| cx.join(|cx| one(cx, 4), |cx| one(cx, 5)),
                |cx| one(cx, 6),
            )
        },
    );
    let products = [p0, p1, p2, p3, p4, p5, p6];
    let mut c = buffers.take(4 * products[0].len());
    put_together(cx, &mut c, &products.each_ref().map(|product| &product[..]));
    c
}

/// `out += matrix · vector`, by the quadrants of the matrix.
fn apply(matrix: &[f64], vector: &[f64], out: &mut [f64]) {
    if matrix.len() <= TILE * TILE {
        for (out, row) in out.iter_mut().zip(matrix.chunks_exact(TILE)) {
            *out += row.iter().zip(vector).map(|(a, b)| a * b).sum::<f64>();
        }
        return;
    }
    let (left, right) = vector.split_at(vector.len() / 2);
    let (above, below) = out.split_at_mut(out.len() / 2);
    let [m11, m12, m21, m22] = quadrants(matrix);
    apply(m11, left, above);
    apply(m12, right, above);
    apply(m21, left, below);
    apply(m22, right, below);
}

impl Strassen {
    /// In how many rows of all checks c · x = a · (b · x) for a random x.
    fn rows_right(&self) -> u64 {
        let mut noise = Noise::new(3);
        let times = |matrix: &[f64], vector: &[f64]| {
            let mut out = vec![0.0; self.side];
            apply(matrix, vector, &mut out);
            out
        };
        let check = |_| {
            let x: Vec<f64> = (0..self.side).map(|_| noise.whole(CHECK_MAX)).collect();
            let found = times(&self.c, &x);
            let wanted = times(&self.a, &times(&self.b, &x));
            within(&found, &wanted, std::iter::repeat(0.0))
        };
        (0..CHECKS).map(check).sum()
    }
}

impl Workload for Strassen {
    const NAME: &'static str = "strassen";
    const ABOUT: &'static str =
        "matrix product by seven products of quadrants down to 64 × 64, doubles";
    const INPUTS: &'static [(&'static str, &'static str)] = &[
        (
            "1024",
            "1,024 × 1,024, 2,401 products, as in StackThreads/MP's paper",
        ),
        ("512", "512 × 512, as BOTS' test input"),
        (
            "2048",
            "2,048 × 2,048, as in the paper, and BOTS' small input",
        ),
        ("4096", "4,096 × 4,096, as in the paper"),
        ("8192", "8,192 × 8,192, as BOTS' medium input"),
    ];
    const PARAMS: &'static str = "the side, a power of two from 64 to 16384";
    const ITEMS: &'static str = "products of tiles";
    const FIGURES: &'static [&'static str] = &["rows right", "checksum"];

    fn parse(input: &str) -> Result<Self, BadInput> {
        let side = whole_number(input)
            .filter(|side| (TILE as u64..=MOST).contains(side) && side.is_power_of_two());
        let side = side.ok_or_else(|| {
            let allowed = format!("a power of two from {TILE} to {MOST}");
            BadInput::new("strassen input", input, allowed, "take strassen 1024")
        })?;
        memory::require(
            Self::NAME,
            input,
            HELD_MAX * side * side * 8,
            "take strassen 1024",
        )?;
        let side = side as usize;
        let whole = |seed| {
            let mut noise = Noise::new(seed);
            (0..side * side).map(|_| noise.whole(NUMBER_MAX)).collect()
        };
        Ok(Strassen {
            side,
            a: whole(1),
            b: whole(2),
            c: Vec::new(),
            buffers: Buffers::default(),
            judged: Judged::default(),
        })
    }

    fn input(&self) -> String {
        self.side.to_string()
    }

    fn prepare(&mut self) {
        self.buffers.give(std::mem::take(&mut self.c));
    }

    fn run<C: ForkJoin>(&mut self, cx: &mut C) {
        self.c = product(cx, &self.buffers, &self.a, &self.b).into_numbers();
    }

    fn task<'scope, O: BranchOrder>(
        &'scope mut self,
        scope: Scope<'scope>,
    ) -> impl Task<()> + 'scope {
        async move {
            let (a, b) = (ReadMatrix::lent(&self.a), ReadMatrix::lent(&self.b));
            let c = task::product::<O>(scope, &self.buffers, a, b).await;
            self.c = c.into_numbers();
        }
    }

    fn run_serial(&mut self) {
        self.run(&mut Serial);
    }

    fn answer(&self) -> RunAnswer {
        let mut digest = Digest::default();
        digest.numbers(&self.c);
        self.judged.answer(digest.value(), || [self.rows_right()])
    }

    fn demanded(&self) -> Vec<u64> {
        vec![(CHECKS * self.side) as u64]
    }

    fn items(&self, _: &RunAnswer) -> u64 {
        7u64.pow((self.side / TILE).ilog2())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::fork_join::{Counting, Roving};
    use crate::workloads::dense::place;

    #[test]
    fn the_product_is_that_of_the_textbook_and_exact() {
        for side in [64, 128, 256] {
            let mut work = Strassen::parse(&side.to_string()).unwrap();
            work.run_serial();
            for row in (0..side).step_by(7) {
                for column in 0..side {
                    let want: f64 = (0..side)
                        .map(|i| {
                            work.a[place(TILE, side, row, i)] * work.b[place(TILE, side, i, column)]
                        })
                        .sum();
                    assert_eq!(
                        work.c[place(TILE, side, row, column)],
                        want,
                        "{side}: {row} {column}"
                    );
                }
            }
            assert_eq!(work.answer().0[0], work.demanded()[0]);
        }
    }

    #[test]
    fn one_wrong_number_is_found_whatever_its_sign() {
        let mut work = Strassen::parse("128").unwrap();
        work.run_serial();
        let right = work.answer();
        for (cell, change) in [(0, 1.0), (5000, -1.0), (16_383, -0.5), (77, f64::NAN)] {
            let was = work.c[cell];
            work.c[cell] = was + change;
            let wrong = work.answer();
            assert_eq!(
                wrong.0[0],
                right.0[0] - CHECKS as u64,
                "cell {cell} + {change}"
            );
            work.c[cell] = was;
        }
        assert_eq!(work.answer(), right);
    }

    #[test]
    fn in_a_pool_and_by_joins() {
        let pool = roving::Pool::builder().workers(3).build().unwrap();
        let mut work = Strassen::parse("256").unwrap();
        let mut cx = Counting::default();
        work.run(&mut cx);
        // Six joins for each of 1 + 7 products that are not tiles, three to put the first together.
        assert_eq!((cx.spawns, work.items(&work.answer())), (6 * 8 + 3, 49));
        let serial = work.answer();
        pool.install(|| work.run(&mut Roving));
        assert_eq!(work.answer(), serial);
    }

    #[test]
    fn sides_that_do_not_halve_are_named() {
        for bad in ["32", "1000", "32768", "x"] {
            let error = Strassen::parse(bad).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{bad}`")) && error.contains("64 to 16384"),
                "{error}"
            );
        }
    }
}
