//! Where the tiles of a sparse lower triangle are: a tree of quadrants, from the whole matrix
//! down to tiles. The tiles themselves stand in one slice, in the order of the tree, so that
//! those of each quadrant are a slice.

use super::super::numbers::Noise;

/// The side of a tile.
pub(super) const SIDE: usize = 16;

/// Numbers by rows.
pub(super) type Tile = [f64; SIDE * SIDE];

/// A part of the matrix that has tiles.
#[derive(Debug)]
pub(super) enum Quadtree {
    /// One tile.
    Tile,
    /// Quadrants: above left, above right, below left, below right; none where all is zero. On the
    /// diagonal there is none above right.
    Quadrants(Box<[Option<Quadtree>; 4]>, usize),
}

/// How many tiles a part has.
pub(super) fn tiles(shape: Option<&Quadtree>) -> usize {
    match shape {
        None => 0,
        Some(Quadtree::Tile) => 1,
        Some(Quadtree::Quadrants(_, tiles)) => *tiles,
    }
}

impl Quadtree {
    /// How many tiles each quadrant has; none for a tile.
    pub(super) fn counts(&self) -> [usize; 4] {
        match self {
            Quadtree::Tile => [0; 4],
            Quadtree::Quadrants(quadrants, _) => {
                std::array::from_fn(|place| tiles(quadrants[place].as_ref()))
            }
        }
    }

    /// A quadrant, if it has tiles.
    pub(super) fn quadrant(&self, place: usize) -> Option<&Quadtree> {
        match self {
            Quadtree::Tile => None,
            Quadtree::Quadrants(quadrants, _) => quadrants[place].as_ref(),
        }
    }
}

/// A number of the matrix, by its row and its column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MatrixEntry {
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) number: f64,
}

/// A symmetric matrix with so many pairs of numbers beside the diagonal, at places of chance,
/// and a diagonal that makes it positive definite. Its lower triangle, each place once.
pub(super) fn random_matrix(order: usize, pairs: usize) -> Vec<MatrixEntry> {
    let mut noise = Noise::new(31);
    let mut entries = Vec::with_capacity(order + pairs);
    let mut taken = std::collections::HashSet::new();
    let mut heavy = vec![1.0; order];
    while taken.len() < pairs {
        let (one, other) = (noise.below(order), noise.below(order));
        let (row, column) = (one.max(other), one.min(other));
        if row == column || !taken.insert((row, column)) {
            continue;
        }
        let number = noise.unit();
        heavy[row] += number.abs();
        heavy[column] += number.abs();
        entries.push(MatrixEntry {
            row,
            column,
            number,
        });
    }
    let diagonal = heavy.into_iter().enumerate();
    entries.extend(diagonal.map(|(row, number)| MatrixEntry {
        row,
        column: row,
        number,
    }));
    entries
}

/// The tiles of a lower triangle.
#[derive(Debug)]
pub(super) struct TilePlaces {
    /// How many there are in a column that is full.
    pub(super) count: usize,
    /// For each column the rows that have a tile, in order; that of the diagonal is the first.
    columns: Vec<Vec<usize>>,
}

impl TilePlaces {
    /// The tiles of the factor: those of the matrix, and those that become non-zero on the way.
    pub(super) fn of_factor(order: usize, entries: &[MatrixEntry]) -> TilePlaces {
        let count = order.div_ceil(SIDE);
        let mut present = vec![vec![false; count]; count];
        for entry in entries {
            present[entry.column / SIDE][entry.row / SIDE] = true;
        }
        let mut columns = Vec::with_capacity(count);
        for column in 0..count {
            let rows: Vec<usize> = (column..count)
                .filter(|row| present[column][*row])
                .collect();
            // Two tiles below the diagonal make one at the crossing of their rows.
            for (place, right) in rows.iter().enumerate().skip(1) {
                rows[place..]
                    .iter()
                    .for_each(|row| present[*right][*row] = true);
            }
            columns.push(rows);
        }
        TilePlaces { count, columns }
    }

    /// How many tiles.
    pub(super) fn tiles(&self) -> usize {
        self.columns.iter().map(Vec::len).sum()
    }

    /// The tree over all tiles, and where each tile of the tree's order is.
    pub(super) fn tree(&self) -> (Option<Quadtree>, Vec<(usize, usize)>) {
        let mut order = Vec::with_capacity(self.tiles());
        let span = self.count.next_power_of_two();
        let shape = self.part((0, 0), span, &mut order);
        (shape, order)
    }

    fn part(
        &self,
        (row, column): (usize, usize),
        span: usize,
        order: &mut Vec<(usize, usize)>,
    ) -> Option<Quadtree> {
        if span == 1 {
            let rows = self.columns.get(column)?;
            rows.binary_search(&row).ok()?;
            order.push((row, column));
            return Some(Quadtree::Tile);
        }
        if column >= self.count || column > row {
            return None;
        }
        let (half, before) = (span / 2, order.len());
        let corners = [(0, 0), (0, half), (half, 0), (half, half)];
        let quadrants =
            corners.map(|(down, right)| self.part((row + down, column + right), half, order));
        let tiles = order.len() - before;
        (tiles > 0).then(|| Quadtree::Quadrants(Box::new(quadrants), tiles))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_has_each_place_once_and_a_heavy_diagonal() {
        let entries = random_matrix(50, 200);
        assert_eq!(entries.len(), 250);
        let places: std::collections::HashSet<_> = entries
            .iter()
            .map(|entry| (entry.row, entry.column))
            .collect();
        assert_eq!(places.len(), 250);
        for row in 0..50 {
            let (mut diagonal, mut others) = (0.0, 0.0);
            for entry in &entries {
                assert!(entry.row >= entry.column);
                match (entry.row == row, entry.column == row) {
                    (true, true) => diagonal += entry.number,
                    (false, false) => {}
                    _ => others += entry.number.abs(),
                }
            }
            assert!(diagonal > others, "row {row}");
        }
    }

    #[test]
    fn the_factor_has_the_tiles_that_fill_in() {
        // An arrow to the upper left fills in everywhere; one to the lower right nowhere.
        let entry = |row, column| MatrixEntry {
            row: row * SIDE,
            column: column * SIDE,
            number: 1.0,
        };
        let diagonal = || (0..5).map(|place| entry(place, place));
        let full: Vec<_> = diagonal().chain((1..5).map(|row| entry(row, 0))).collect();
        let thin: Vec<_> = diagonal()
            .chain((0..4).map(|column| entry(4, column)))
            .collect();
        assert_eq!(TilePlaces::of_factor(5 * SIDE, &full).tiles(), 15);
        assert_eq!(TilePlaces::of_factor(5 * SIDE, &thin).tiles(), 9);
    }

    #[test]
    fn the_tree_has_all_tiles_in_the_order_of_its_quadrants() {
        let places = TilePlaces::of_factor(90, &random_matrix(90, 60));
        let (shape, order) = places.tree();
        let shape = shape.unwrap();
        assert_eq!(
            (order.len(), tiles(Some(&shape))),
            (places.tiles(), places.tiles())
        );
        assert_eq!(shape.counts().iter().sum::<usize>(), order.len());
        assert_eq!(shape.counts()[1], 0);
        // The first quadrant's tiles come first: rows and columns below 4 of 8.
        let first = &order[..shape.counts()[0]];
        assert!(first.iter().all(|(row, column)| *row < 4 && *column < 4));
        assert_eq!(
            order.iter().collect::<std::collections::HashSet<_>>().len(),
            order.len()
        );
    }
}
