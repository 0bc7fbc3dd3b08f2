//! The factorisation as async tasks. A part that is still written goes to one task after the
//! other and comes back from each; one that is done is only read from then on.

use roving::task::{Forked, Scope, Task};

use super::quadrant::{Quadrant, ReadQuadrant};
use super::quadtree::{Quadtree, Tile};
use crate::forms::tasks::BranchOrder;
use crate::workloads::part::{Final, SlicePart};
use crate::workloads::{dense, triangular};

/// Tiles that are still written.
type Tiles<'scope> = SlicePart<'scope, Tile>;
/// Tiles that are done.
type DoneTiles<'scope> = Final<'scope, Tile>;
/// The factors of a product, unless one is all zero.
type Factors<'scope> = Option<(ReadQuadrant<'scope>, ReadQuadrant<'scope>)>;

/// A part of the matrix that is still written.
pub(super) struct WrittenQuadrant<'scope> {
    pub(super) shape: &'scope Quadtree,
    pub(super) tiles: Tiles<'scope>,
}

impl<'scope> WrittenQuadrant<'scope> {
    fn quadrants(self) -> [Option<WrittenQuadrant<'scope>>; 4] {
        let counts = self.shape.counts();
        let mut rest = Some(self.tiles);
        std::array::from_fn(|place| {
            let (tiles, after) = rest.take()?.split_at(counts[place]);
            rest = Some(after);
            let shape = self.shape.quadrant(place)?;
            Some(WrittenQuadrant { shape, tiles })
        })
    }
}

/// To be read.
fn done<'scope>(shape: &'scope Quadtree, tiles: DoneTiles<'scope>) -> ReadQuadrant<'scope> {
    let tiles = tiles.slice();
    ReadQuadrant { shape, tiles }
}

/// Rejoins two neighbours, of which either may have no tiles.
fn rejoin<'scope>(
    one: Option<DoneTiles<'scope>>,
    other: Option<DoneTiles<'scope>>,
) -> Option<DoneTiles<'scope>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.rejoin(other)),
        (one, other) => one.or(other),
    }
}

/// The parts that tasks give back, in the order of their tiles, and a last one, as one. The newest
/// task is awaited first.
async fn all<'scope, const N: usize>(
    tasks: &mut [Option<Forked<Tiles<'scope>>>; N],
    last: Option<Tiles<'scope>>,
) -> Tiles<'scope> {
    let mut whole = last;
    for task in tasks.iter_mut().rev() {
        if let Some(newest) = task.take() {
            let tiles = newest.await;
            whole = Some(match whole.take() {
                Some(whole) => tiles.rejoin(whole),
                None => tiles,
            });
        }
    }
    whole.expect("a part has tiles")
}

/// The factor takes the place of a part of the diagonal.
pub(super) fn factor<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    mut part: WrittenQuadrant<'scope>,
) -> impl Task<DoneTiles<'scope>> + 'scope {
    async move {
        if let Quadtree::Tile = part.shape {
            triangular::cholesky(&mut part.tiles[0]);
            return part.tiles.finish();
        }
        let [Some(above), _, corner, below] = part.quadrants() else {
            unreachable!("the diagonal has all its tiles");
        };
        let Some(corner) = corner else {
            let above = factor::<O>(scope, above);
            // Nothing joins the two parts of the diagonal.
            return match below {
                Some(below) => {
                    let above = O::branch(scope, above).await;
                    let below = scope.call(factor::<O>(scope, below)).await;
                    above.await.rejoin(below)
                }
                None => scope.call(above).await,
            };
        };
        let shapes = (above.shape, corner.shape);
        let above = scope.call(factor::<O>(scope, above)).await;
        let corner = solve::<O>(scope, corner, done(shapes.0, above));
        let corner = scope.call(corner).await;
        let Some(below) = below else {
            return above.rejoin(corner);
        };
        let shape = below.shape;
        let tiles = update_diagonal::<O>(scope, below, done(shapes.1, corner));
        let tiles = scope.call(tiles).await;
        let below = scope
            .call(factor::<O>(scope, WrittenQuadrant { shape, tiles }))
            .await;
        above.rejoin(corner).rejoin(below)
    }
}

/// The X with X · Lᵀ = `part` takes its place, where L is on the diagonal. Rows are independent.
fn solve<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    mut part: WrittenQuadrant<'scope>,
    factor: ReadQuadrant<'scope>,
) -> impl Task<DoneTiles<'scope>> + 'scope {
    async move {
        if let Quadtree::Tile = part.shape {
            triangular::solve_transposed(&factor.tiles[0], &mut part.tiles[0]);
            return part.tiles.finish();
        }
        let [p00, p01, p10, p11] = part.quadrants();
        let above = O::branch(scope, solve_row::<O>(scope, p00, p01, factor)).await;
        let below = scope.call(solve_row::<O>(scope, p10, p11, factor)).await;
        rejoin(above.await, below).expect("a part has tiles")
    }
}

/// [`solve`] for the two quadrants of a row.
fn solve_row<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    left: Option<WrittenQuadrant<'scope>>,
    right: Option<WrittenQuadrant<'scope>>,
    factor: ReadQuadrant<'scope>,
) -> impl Task<Option<DoneTiles<'scope>>> + 'scope {
    async move {
        let [Some(above), _, corner, below] = factor.quadrants() else {
            unreachable!("the diagonal has all its tiles");
        };
        let (mut left_tiles, mut left_done) = (None, None);
        if let Some(left) = left {
            let shape = left.shape;
            let tiles = scope.call(solve::<O>(scope, left, above)).await;
            (left_tiles, left_done) = (Some(tiles), Some(done(shape, tiles)));
        }
        let (Some(right), Some(below)) = (right, below) else {
            return left_tiles;
        };
        let shape = right.shape;
        let tiles = update_all::<O, 1>(scope, right, [left_done.zip(corner)]);
        let tiles = scope.call(tiles).await;
        let right = solve::<O>(scope, WrittenQuadrant { shape, tiles }, below);
        rejoin(left_tiles, Some(scope.call(right).await))
    }
}

/// The factors of both products that `a · bᵀ` has in a quadrant.
fn factors<'scope>(
    a: ReadQuadrant<'scope>,
    b: ReadQuadrant<'scope>,
    quadrant: usize,
) -> [Factors<'scope>; 2] {
    let (row, column) = (quadrant / 2, quadrant % 2);
    let [a, b] = [a.quadrants(), b.quadrants()];
    [0, 1].map(|inner| a[2 * row + inner].zip(b[2 * column + inner]))
}

/// `part -= a · bᵀ`. Where `part` has no tiles, the product is zero: the tree was made so. No part
/// of the diagonal, and no tile.
fn update<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    part: WrittenQuadrant<'scope>,
    (a, b): (ReadQuadrant<'scope>, ReadQuadrant<'scope>),
) -> impl Task<Tiles<'scope>> + 'scope {
    async move {
        let mut quadrants = part.quadrants();
        let mut tasks = [const { None }; 3];
        for place in 0..3 {
            if let Some(quadrant) = quadrants[place].take() {
                let task = update_all::<O, 2>(scope, quadrant, factors(a, b, place));
                tasks[place] = Some(O::branch(scope, task).await);
            }
        }
        let mut last = None;
        if let Some(quadrant) = quadrants[3].take() {
            let task = update_all::<O, 2>(scope, quadrant, factors(a, b, 3));
            last = Some(scope.call(task).await);
        }
        all(&mut tasks, last).await
    }
}

/// Products that are subtracted one after the other.
fn update_all<'scope, O: BranchOrder, const N: usize>(
    scope: Scope<'scope>,
    mut part: WrittenQuadrant<'scope>,
    products: [Factors<'scope>; N],
) -> impl Task<Tiles<'scope>> + 'scope {
    async move {
        let shape = part.shape;
        for (a, b) in products.into_iter().flatten() {
            if let Quadtree::Tile = shape {
                dense::subtract_transposed(&mut part.tiles[0], &a.tiles[0], &b.tiles[0]);
            } else {
                let tiles = scope.call(update::<O>(scope, part, (a, b))).await;
                part = WrittenQuadrant { shape, tiles };
            }
        }
        part.tiles
    }
}

/// `part -= a · aᵀ` for a part of the diagonal, of which only the lower triangle counts, for each
/// of `products`, one after the other.
fn update_diagonal_all<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    mut part: WrittenQuadrant<'scope>,
    products: [Quadrant<'scope>; 2],
) -> impl Task<Tiles<'scope>> + 'scope {
    async move {
        let shape = part.shape;
        for a in products.into_iter().flatten() {
            let tiles = scope.call(update_diagonal::<O>(scope, part, a)).await;
            part = WrittenQuadrant { shape, tiles };
        }
        part.tiles
    }
}

/// `part -= a · aᵀ` for a part of the diagonal.
fn update_diagonal<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    mut part: WrittenQuadrant<'scope>,
    a: ReadQuadrant<'scope>,
) -> impl Task<Tiles<'scope>> + 'scope {
    async move {
        if let Quadtree::Tile = part.shape {
            dense::subtract_transposed(&mut part.tiles[0], &a.tiles[0], &a.tiles[0]);
            return part.tiles;
        }
        let mut quadrants = part.quadrants();
        let mut tasks = [const { None }; 2];
        if let Some(above) = quadrants[0].take() {
            let [a00, a01, ..] = a.quadrants();
            let task = update_diagonal_all::<O>(scope, above, [a00, a01]);
            tasks[0] = Some(O::branch(scope, task).await);
        }
        if let Some(corner) = quadrants[2].take() {
            let task = update_all::<O, 2>(scope, corner, factors(a, a, 2));
            tasks[1] = Some(O::branch(scope, task).await);
        }
        let mut last = None;
        if let Some(below) = quadrants[3].take() {
            let [.., a10, a11] = a.quadrants();
            let task = update_diagonal_all::<O>(scope, below, [a10, a11]);
            last = Some(scope.call(task).await);
        }
        all(&mut tasks, last).await
    }
}
