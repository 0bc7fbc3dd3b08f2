//! `matmul`: the product of two square matrices by halves in both directions, down to tiles of
//! 32 × 32, no other cut-off. Whole numbers, so that a result is right or wrong, never near.
//!
//! A matrix is stored as its four quadrants in a row, each stored the same way, down to tiles
//! stored by rows. So the four parts of a product are four slices, and nobody shares any.

use roving::task::{Scope, Task};

use super::part::SlicePart;
use super::{RunAnswer, Workload};
use crate::forms::fork_join::{ForkJoin, Serial};
use crate::forms::tasks::BranchOrder;
use crate::io::input::{BadInput, whole_number};
use crate::machine::memory;

/// The side of a tile.
const TILE: usize = 32;
/// The greatest side of a matrix.
const MOST: u64 = 16_384;

/// c = a · b.
#[derive(Debug)]
pub(crate) struct Matmul {
    side: usize,
    a: Vec<u32>,
    b: Vec<u32>,
    c: Vec<u32>,
}

/// The four quadrants of a matrix: above left, above right, below left, below right.
fn quadrants(matrix: &[u32]) -> [&[u32]; 4] {
    let (above, below) = matrix.split_at(matrix.len() / 2);
    let (above, below) = (
        above.split_at(above.len() / 2),
        below.split_at(below.len() / 2),
    );
    [above.0, above.1, below.0, below.1]
}

/// c += a · b.
fn multiply<C: ForkJoin>(cx: &mut C, c: &mut [u32], a: &[u32], b: &[u32]) {
    if c.len() <= TILE * TILE {
        return multiply_tile(c, a, b);
    }
    let [a11, a12, a21, a22] = quadrants(a);
    let [b11, b12, b21, b22] = quadrants(b);
    let (above, below) = c.split_at_mut(c.len() / 2);
    let (c11, c12) = above.split_at_mut(above.len() / 2);
    let (c21, c22) = below.split_at_mut(below.len() / 2);
    // The two products that add up in one quadrant come one after the other.
    cx.join(
        |cx| {
            cx.join(
                |cx| multiply_twice(cx, c11, (a11, b11), (a12, b21)),
                |cx| multiply_twice(cx, c12, (a11, b12), (a12, b22)),
            )
        },
        |cx| {
            cx.join(
                |cx| multiply_twice(cx, c21, (a21, b11), (a22, b21)),
                |cx| multiply_twice(cx, c22, (a21, b12), (a22, b22)),
            )
        },
    );
}

fn multiply_twice<C: ForkJoin>(
    cx: &mut C,
    c: &mut [u32],
    first: (&[u32], &[u32]),
    second: (&[u32], &[u32]),
) {
    multiply(cx, c, first.0, first.1);
    multiply(cx, c, second.0, second.1);
}

/// Multiplies as async tasks. Gives the part of the product back.
fn multiply_task<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    mut c: SlicePart<'scope, u32>,
    a: &'scope [u32],
    b: &'scope [u32],
) -> impl Task<SlicePart<'scope, u32>> + 'scope {
    async move {
        if c.len() <= TILE * TILE {
            multiply_tile(&mut c, a, b);
            return c;
        }
        let [a11, a12, a21, a22] = quadrants(a);
        let [b11, b12, b21, b22] = quadrants(b);
        let [c11, c12, c21, c22] = c.quarters();
        let one = |c, first, second| multiply_twice_task::<O>(scope, c, first, second);
        let c11 = O::branch(scope, one(c11, (a11, b11), (a12, b21))).await;
        let c12 = O::branch(scope, one(c12, (a11, b12), (a12, b22))).await;
        let c21 = O::branch(scope, one(c21, (a21, b11), (a22, b21))).await;
        let c22 = scope.call(one(c22, (a21, b12), (a22, b22))).await;
        let c21 = c21.await;
        let c12 = c12.await;
        SlicePart::rejoin_all([c11.await, c12, c21, c22])
    }
}

fn multiply_twice_task<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    c: SlicePart<'scope, u32>,
    first: (&'scope [u32], &'scope [u32]),
    second: (&'scope [u32], &'scope [u32]),
) -> impl Task<SlicePart<'scope, u32>> + 'scope {
    async move {
        let c = scope
            .call(multiply_task::<O>(scope, c, first.0, first.1))
            .await;
        scope
            .call(multiply_task::<O>(scope, c, second.0, second.1))
            .await
    }
}

fn multiply_tile(c: &mut [u32], a: &[u32], b: &[u32]) {
    for (c_row, a_row) in c.chunks_exact_mut(TILE).zip(a.chunks_exact(TILE)) {
        for (a, b_row) in a_row.iter().zip(b.chunks_exact(TILE)) {
            for (c, b) in c_row.iter_mut().zip(b_row) {
                *c = c.wrapping_add(a.wrapping_mul(*b));
            }
        }
    }
}

/// Numbers without a pattern.
fn noise(count: usize, seed: u32) -> Vec<u32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        state >> 8
    };
    (0..count).map(|_| next()).collect()
}

impl Workload for Matmul {
    const NAME: &'static str = "matmul";
    const ABOUT: &'static str = "matrix product by quadrants down to 32 × 32, whole numbers";
    const INPUTS: &'static [(&'static str, &'static str)] = &[
        ("1024", "1,024 × 1,024, three times 4 MiB"),
        ("128", "128 × 128"),
        ("512", "512 × 512"),
        ("2048", "2,048 × 2,048, three times 16 MiB"),
        ("4096", "4,096 × 4,096, three times 64 MiB"),
    ];
    const PARAMS: &'static str = "the side, a power of two from 32 to 16384";
    const ITEMS: &'static str = "multiplications";
    const FIGURES: &'static [&'static str] = &["checksum"];

    fn parse(input: &str) -> Result<Self, BadInput> {
        let side = whole_number(input)
            .filter(|side| (TILE as u64..=MOST).contains(side) && side.is_power_of_two());
        let side = side.ok_or_else(|| {
            let allowed = format!("a power of two from {TILE} to {MOST}");
            BadInput::new("matmul input", input, allowed, "take matmul 1024")
        })? as usize;
        let count = side * side;
        memory::require(Self::NAME, input, count as u64 * 12, "take matmul 1024")?;
        Ok(Matmul {
            side,
            a: noise(count, 1),
            b: noise(count, 2),
            c: vec![0; count],
        })
    }

    fn input(&self) -> String {
        self.side.to_string()
    }

    fn prepare(&mut self) {
        self.c.fill(0);
    }

    fn run<C: ForkJoin>(&mut self, cx: &mut C) {
        multiply(cx, &mut self.c, &self.a, &self.b);
    }

    fn task<'scope, O: BranchOrder>(
        &'scope mut self,
        scope: Scope<'scope>,
    ) -> impl Task<()> + 'scope {
        async move {
            let c = SlicePart::new(&mut self.c);
            multiply_task::<O>(scope, c, &self.a, &self.b).await;
        }
    }

    fn run_serial(&mut self) {
        self.run(&mut Serial);
    }

    fn answer(&self) -> RunAnswer {
        // Each number counts with its place.
        let digest = |digest: u64, number: &u32| {
            (digest.rotate_left(5) ^ u64::from(*number)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        RunAnswer([self.c.iter().fold(0, digest), 0, 0])
    }

    fn items(&self, _: &RunAnswer) -> u64 {
        (self.side as u64).pow(3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::fork_join::{Counting, Roving};
    use crate::workloads::dense::place;

    fn is_product(work: &Matmul) -> bool {
        let side = work.side;
        (0..side * side).all(|cell| {
            let (row, column) = (cell / side, cell % side);
            let want = (0..side).fold(0u32, |sum, inner| {
                let a = work.a[place(TILE, side, row, inner)];
                sum.wrapping_add(a.wrapping_mul(work.b[place(TILE, side, inner, column)]))
            });
            work.c[place(TILE, side, row, column)] == want
        })
    }

    #[test]
    fn the_product_is_that_of_the_textbook() {
        for side in ["32", "64", "128"] {
            let mut work = Matmul::parse(side).unwrap();
            work.prepare();
            work.run_serial();
            assert!(is_product(&work), "{side}");
            work.prepare();
            assert!(!is_product(&work));
        }
    }

    #[test]
    fn in_a_pool_and_by_joins() {
        let pool = roving::Pool::builder().workers(3).build().unwrap();
        let mut work = Matmul::parse("128").unwrap();
        pool.install(|| work.run(&mut Roving));
        assert!(is_product(&work));
        let mut cx = Counting::default();
        work.run(&mut cx);
        // Three joins for each of 1 + 8 products that are not tiles.
        assert_eq!(cx.spawns, 3 * 9);
    }

    #[test]
    fn the_checksum_sees_two_numbers_exchanged() {
        let mut work = Matmul::parse("32").unwrap();
        work.run_serial();
        let before = work.answer();
        work.c.swap(3, 700);
        assert_ne!(work.answer(), before);
    }

    #[test]
    fn sides_that_do_not_halve_are_named() {
        for bad in ["16", "100", "32768", "x"] {
            let error = Matmul::parse(bad).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{bad}`")) && error.contains("32 to 16384"),
                "{error}"
            );
        }
    }
}
