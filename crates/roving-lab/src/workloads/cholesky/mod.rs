//! `cholesky`: L · Lᵀ = A for a sparse symmetric matrix as a tree of quadrants, as in the programs
//! of that name for Cilk and Wool, with tiles of 16 × 16 at its leaves. Where a quadrant has no
//! tiles there are no tasks, so the tree of tasks is as uneven as the matrix.

mod quadrant;
mod quadtree;
mod task;

use roving::task::{Scope, Task};

use self::quadrant::{PartMut, Quadrant, QuadrantMut, ReadQuadrant};
use self::quadtree::{MatrixEntry, Quadtree, SIDE, Tile, TilePlaces, random_matrix, tiles};
use super::numbers::{Digest, Judged, Noise, ROUNDING, within};
use super::part::SlicePart;
use super::{RunAnswer, Workload, dense, parse_params, triangular};
use crate::forms::fork_join::{ForkJoin, Serial};
use crate::forms::tasks::BranchOrder;
use crate::io::input::{BadInput, number_in};
use crate::machine::memory;

/// The greatest number of rows.
const ORDER_MAX: u64 = 16_384;
/// The most pairs of numbers beside the diagonal.
const PAIRS_MAX: u64 = 10_000_000;
/// Vectors of the check.
const CHECKS: usize = 2;

/// L.
#[derive(Debug)]
pub(crate) struct Cholesky {
    order: usize,
    pairs: usize,
    /// The lower triangle of A.
    entries: Vec<MatrixEntry>,
    shape: Quadtree,
    /// Row and column of each tile, counted in tiles.
    places: Vec<(usize, usize)>,
    original: Vec<Tile>,
    tiles: Vec<Tile>,
    judged: Judged,
}

/// The factor takes the place of a part of the diagonal.
fn factor<C: ForkJoin>(cx: &mut C, part: PartMut<'_>) {
    if let Quadtree::Tile = part.shape {
        return triangular::cholesky(&mut part.tiles[0]);
    }
    let [above, _, corner, below] = part.quadrants();
    let Some(mut corner) = corner else {
        // Nothing joins the two parts of the diagonal.
        cx.join(|cx| factor_some(cx, above), |cx| factor_some(cx, below));
        return;
    };
    if let Some(mut above) = above {
        factor(cx, above.again());
        solve(cx, corner.again(), above.read());
    }
    if let Some(mut below) = below {
        let corner = corner.read();
        update_diagonal(cx, below.again(), corner);
        factor(cx, below);
    }
}

fn factor_some<C: ForkJoin>(cx: &mut C, part: QuadrantMut<'_>) {
    if let Some(part) = part {
        factor(cx, part);
    }
}

/// The X with X · Lᵀ = `part` takes its place, where L is on the diagonal. Rows are independent.
fn solve<C: ForkJoin>(cx: &mut C, part: PartMut<'_>, factor: ReadQuadrant<'_>) {
    if let Quadtree::Tile = part.shape {
        return triangular::solve_transposed(&factor.tiles[0], &mut part.tiles[0]);
    }
    let [p00, p01, p10, p11] = part.quadrants();
    let factors = factor.quadrants();
    cx.join(
        |cx| solve_row(cx, p00, p01, factors),
        |cx| solve_row(cx, p10, p11, factors),
    );
}

/// [`solve`] for the two quadrants of a row.
fn solve_row<C: ForkJoin>(
    cx: &mut C,
    mut left: QuadrantMut<'_>,
    right: QuadrantMut<'_>,
    [above, _, corner, below]: [Quadrant<'_>; 4],
) {
    if let (Some(left), Some(above)) = (&mut left, above) {
        solve(cx, left.again(), above);
    }
    if let (Some(mut right), Some(below)) = (right, below) {
        let left = left.as_ref().map(PartMut::read);
        update(cx, Some(right.again()), left, corner);
        solve(cx, right, below);
    }
}

/// `part -= a · bᵀ`. Where `part` has no tiles, the product is zero: the tree was made so.
fn update<C: ForkJoin>(cx: &mut C, part: QuadrantMut<'_>, a: Quadrant<'_>, b: Quadrant<'_>) {
    let (Some(part), Some(a), Some(b)) = (part, a, b) else {
        return;
    };
    if let Quadtree::Tile = part.shape {
        return dense::subtract_transposed(&mut part.tiles[0], &a.tiles[0], &b.tiles[0]);
    }
    let [p00, p01, p10, p11] = part.quadrants();
    let [a00, a01, a10, a11] = a.quadrants();
    let [b00, b01, b10, b11] = b.quadrants();
    cx.join(
        |cx| {
            cx.join(
                |cx| update_twice(cx, p00, (a00, b00), (a01, b01)),
                |cx| update_twice(cx, p01, (a00, b10), (a01, b11)),
            )
        },
        |cx| {
            cx.join(
                |cx| update_twice(cx, p10, (a10, b00), (a11, b01)),
                |cx| update_twice(cx, p11, (a10, b10), (a11, b11)),
            )
        },
    );
}

/// Two products that are subtracted one after the other.
fn update_twice<C: ForkJoin>(
    cx: &mut C,
    part: QuadrantMut<'_>,
    (a, b): (Quadrant<'_>, Quadrant<'_>),
    (c, d): (Quadrant<'_>, Quadrant<'_>),
) {
    let Some(mut part) = part else { return };
    update(cx, Some(part.again()), a, b);
    update(cx, Some(part), c, d);
}

/// `part -= a · aᵀ` for a part of the diagonal, of which only the lower triangle counts.
fn update_diagonal<C: ForkJoin>(cx: &mut C, part: PartMut<'_>, a: ReadQuadrant<'_>) {
    if let Quadtree::Tile = part.shape {
        return dense::subtract_transposed(&mut part.tiles[0], &a.tiles[0], &a.tiles[0]);
    }
    let [above, _, corner, below] = part.quadrants();
    let [a00, a01, a10, a11] = a.quadrants();
    cx.join(
        |cx| {
            cx.join(
                |cx| update_diagonal_twice(cx, above, a00, a01),
                |cx| update_diagonal_twice(cx, below, a10, a11),
            )
        },
        |cx| update_twice(cx, corner, (a10, a00), (a11, a01)),
    );
}

/// Two products of the diagonal that are subtracted one after the other.
fn update_diagonal_twice<C: ForkJoin>(
    cx: &mut C,
    part: QuadrantMut<'_>,
    a: Quadrant<'_>,
    b: Quadrant<'_>,
) {
    let Some(mut part) = part else { return };
    for a in [a, b].into_iter().flatten() {
        update_diagonal(cx, part.again(), a);
    }
}

/// The tiles of the matrix in the order of `places`. What a tile has beyond the last row of the
/// matrix is that of the matrix whose other numbers are 1 on the diagonal and else 0.
fn filled(order: usize, entries: &[MatrixEntry], places: &[(usize, usize)]) -> Vec<Tile> {
    let numbers: std::collections::HashMap<_, usize> = places
        .iter()
        .enumerate()
        .map(|(number, place)| (*place, number))
        .collect();
    let mut filled = vec![[0.0; SIDE * SIDE]; places.len()];
    let mut set = |row: usize, column: usize, number: f64| {
        let tile = numbers[&(row / SIDE, column / SIDE)];
        filled[tile][row % SIDE * SIDE + column % SIDE] = number;
    };
    for entry in entries {
        set(entry.row, entry.column, entry.number);
        // Tiles of the diagonal are kept whole.
        if entry.row / SIDE == entry.column / SIDE {
            set(entry.column, entry.row, entry.number);
        }
    }
    for place in order..order.next_multiple_of(SIDE) {
        set(place, place, 1.0);
    }
    filled
}

impl Cholesky {
    /// L or Lᵀ times `vector`; with `sizes`, without the signs of L.
    fn times(&self, transposed: bool, sizes: bool, vector: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; vector.len()];
        for (tile, (tile_row, tile_column)) in self.tiles.iter().zip(&self.places) {
            for (inside, numbers) in tile.chunks_exact(SIDE).enumerate() {
                let (row, first) = (tile_row * SIDE + inside, tile_column * SIDE);
                // What is right of the diagonal means nothing.
                for (number, column) in numbers.iter().zip(first..=row) {
                    let number = if sizes { number.abs() } else { *number };
                    let (to, from) = if transposed {
                        (column, row)
                    } else {
                        (row, column)
                    };
                    out[to] += number * vector[from];
                }
            }
        }
        out
    }

    /// In how many rows of all checks L · (Lᵀ · x) = A · x for a random x. With n numbers in a row,
    /// each of both sides differs from its true value by n ROUNDING |L| |Lᵀ| |x| a few times: once
    /// for the factor, once for the left matrix, twice for the product of both.
    fn rows_right(&self) -> u64 {
        let mut noise = Noise::new(32);
        let padded = self.order.next_multiple_of(SIDE);
        let check = |_| {
            let mut x = noise.units(self.order);
            x.resize(padded, 0.0);
            let found = self.times(false, false, &self.times(true, false, &x));
            let mut wanted = vec![0.0; padded];
            for entry in &self.entries {
                wanted[entry.row] += entry.number * x[entry.column];
                if entry.row != entry.column {
                    wanted[entry.column] += entry.number * x[entry.row];
                }
            }
            let sizes: Vec<f64> = x.iter().map(|x| x.abs()).collect();
            let bounds = self.times(false, true, &self.times(true, true, &sizes));
            let each = 5.0 * (padded + 1) as f64 * ROUNDING;
            let bounds = bounds.iter().map(|bound| each * bound);
            within(&found[..self.order], &wanted, bounds)
        };
        (0..CHECKS).map(check).sum()
    }
}

/// Rows, and pairs of numbers beside the diagonal.
fn parse_size(input: &str) -> Result<(u64, u64), BadInput> {
    let remedy = "take cholesky 2000";
    let (mut order, mut pairs) = (2000, None);
    for (key, value) in parse_params(Cholesky::NAME, &["rows", "pairs"], input)? {
        match key {
            "rows" => order = number_in("cholesky rows", value, 1..=ORDER_MAX, remedy)?,
            _ => pairs = Some(number_in("cholesky pairs", value, 0..=PAIRS_MAX, remedy)?),
        }
    }
    let all = order * (order - 1) / 2;
    let pairs = pairs.unwrap_or((2 * order).min(all / 2));
    if pairs > all / 2 {
        let allowed = format!("half of the {all} pairs of a matrix of {order} rows at most");
        let remedy = "take fewer pairs or more rows";
        return Err(BadInput::new("cholesky pairs", pairs, allowed, remedy));
    }
    Ok((order, pairs))
}

impl Workload for Cholesky {
    const NAME: &'static str = "cholesky";
    const ABOUT: &'static str =
        "L · Lᵀ = A for a sparse matrix as a tree of quadrants down to 16 × 16, doubles";
    const INPUTS: &'static [(&'static str, &'static str)] = &[
        (
            "2000",
            "2,000 rows, 4,000 pairs of numbers beside the diagonal",
        ),
        ("500", "500 rows, 1,000 pairs"),
        ("4000", "4,000 rows, 8,000 pairs"),
        ("rows=2000,pairs=20000", "2,000 rows, 20,000 pairs"),
    ];
    const PARAMS: &'static str = "rows=1 to 16384, pairs=numbers below the diagonal, half of all \
                                  at most [default: twice the rows]";
    const ITEMS: &'static str = "tiles";
    const FIGURES: &'static [&'static str] = &["rows right", "checksum"];

    fn parse(input: &str) -> Result<Self, BadInput> {
        let (order, pairs) = parse_size(input)?;
        // The table of places, before the tiles are known.
        let remedy = "take cholesky 2000";
        let places_bytes = order.div_ceil(SIDE as u64).pow(2) + 128 * (order + pairs);
        memory::require(Self::NAME, input, places_bytes, remedy)?;
        let (order, pairs) = (order as usize, pairs as usize);
        let entries = random_matrix(order, pairs);
        let places = TilePlaces::of_factor(order, &entries);
        let need_bytes = places.tiles() * (2 * size_of::<Tile>() + 128);
        memory::require(Self::NAME, input, need_bytes as u64, remedy)?;
        let (shape, places) = places.tree();
        let original = filled(order, &entries, &places);
        Ok(Cholesky {
            order,
            pairs,
            entries,
            shape: shape.expect("there is a diagonal"),
            places,
            tiles: original.clone(),
            original,
            judged: Judged::default(),
        })
    }

    fn input(&self) -> String {
        format!("rows={},pairs={}", self.order, self.pairs)
    }

    fn prepare(&mut self) {
        self.tiles.copy_from_slice(&self.original);
    }

    fn run<C: ForkJoin>(&mut self, cx: &mut C) {
        let (shape, tiles) = (&self.shape, &mut self.tiles[..]);
        factor(cx, PartMut { shape, tiles });
    }

    fn task<'scope, O: BranchOrder>(
        &'scope mut self,
        scope: Scope<'scope>,
    ) -> impl Task<()> + 'scope {
        async move {
            let (shape, tiles) = (&self.shape, SlicePart::new(&mut self.tiles));
            task::factor::<O>(scope, task::WrittenQuadrant { shape, tiles }).await;
        }
    }

    fn run_serial(&mut self) {
        self.run(&mut Serial);
    }

    fn answer(&self) -> RunAnswer {
        let mut digest = Digest::default();
        self.tiles.iter().for_each(|tile| digest.numbers(tile));
        self.judged.answer(digest.value(), || [self.rows_right()])
    }

    fn demanded(&self) -> Vec<u64> {
        vec![(CHECKS * self.order) as u64]
    }

    fn items(&self, _: &RunAnswer) -> u64 {
        tiles(Some(&self.shape)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::fork_join::{Counting, Roving};

    fn is_right(work: &Cholesky) -> bool {
        work.answer().0[0] == work.demanded()[0]
    }

    #[test]
    fn any_size_is_factored() {
        for input in [
            "1",
            "2",
            "15",
            "16",
            "17",
            "100",
            "rows=64,pairs=0",
            "rows=200,pairs=9000",
        ] {
            let mut work = Cholesky::parse(input).unwrap();
            work.prepare();
            work.run_serial();
            assert!(is_right(&work), "{input}: {:?}", work.answer());
        }
    }

    #[test]
    fn the_factor_is_that_of_the_textbook() {
        let mut work = Cholesky::parse("rows=70,pairs=150").unwrap();
        work.run_serial();
        let n = work.order;
        let mut a = vec![vec![0.0; n]; n];
        for entry in &work.entries {
            a[entry.row][entry.column] = entry.number;
        }
        for step in 0..n {
            let root = f64::sqrt(a[step][step]);
            a[step][step] = root;
            (step + 1..n).for_each(|row| a[row][step] /= root);
            for row in step + 1..n {
                for column in step + 1..=row {
                    let product = a[row][step] * a[column][step];
                    a[row][column] -= product;
                }
            }
        }
        let mut found = vec![vec![0.0; n]; n];
        for (tile, (tile_row, tile_column)) in work.tiles.iter().zip(&work.places) {
            for (place, number) in tile.iter().enumerate() {
                let row = tile_row * SIDE + place / SIDE;
                let column = tile_column * SIDE + place % SIDE;
                if column <= row && row < n {
                    found[row][column] = *number;
                }
            }
        }
        for row in 0..n {
            for column in 0..=row {
                let distance = (a[row][column] - found[row][column]).abs();
                assert!(distance < 1e-12, "{row} {column}: {distance}");
            }
        }
    }

    #[test]
    fn a_wrong_number_is_found_whatever_its_sign() {
        let mut work = Cholesky::parse("100").unwrap();
        work.prepare();
        assert!(!is_right(&work));
        work.run_serial();
        let right = work.answer();
        for change in [1e-6, -1e-6, 5.0, -5.0, f64::NAN] {
            let was = work.tiles[3][SIDE];
            work.tiles[3][SIDE] += change;
            assert!(!is_right(&work), "{change}");
            work.tiles[3][SIDE] = was;
        }
        assert_eq!(work.answer(), right);
    }

    #[test]
    fn in_a_pool_and_by_joins() {
        let pool = roving::Pool::builder().workers(3).build().unwrap();
        let mut work = Cholesky::parse("300").unwrap();
        work.prepare();
        let mut cx = Counting::default();
        work.run(&mut cx);
        assert!(cx.spawns > 100, "{}", cx.spawns);
        let serial = work.answer();
        work.prepare();
        pool.install(|| work.run(&mut Roving));
        assert_eq!(work.answer(), serial);
        assert!(is_right(&work));
    }

    #[test]
    fn sizes_are_read_and_wrong_ones_named() {
        let work = Cholesky::parse("rows=40,pairs=100").unwrap();
        assert_eq!(work.input(), "rows=40,pairs=100");
        assert_eq!(Cholesky::parse("10").unwrap().input(), "rows=10,pairs=20");
        for (bad, named) in [
            ("0", "`0`"),
            ("16385", "`16385`"),
            ("rows=10,pairs=40", "`40`"),
            ("rows=10,size=3", "`size`"),
        ] {
            let error = Cholesky::parse(bad).unwrap_err().to_string();
            assert!(error.contains(named) && !error.contains('\n'), "{error}");
        }
    }
}
