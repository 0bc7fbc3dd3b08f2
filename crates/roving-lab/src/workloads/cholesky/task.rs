//! The factorisation as async tasks. A part that is still written goes to one task after the
//! other and comes back from each; one that is done is only read from then on.

use roving::task::{Scope, Task};

use super::quadtree::{Shape, Tile};
use crate::tasks::Order;
use crate::workloads::part::{Final, Part};
use crate::workloads::{dense, triangular};

/// Tiles that are still written.
type Tiles<'scope> = Part<'scope, Tile>;
/// Tiles that are done.
type DoneTiles<'scope> = Final<'scope, Tile>;

/// A part of the matrix that is still written.
pub(super) struct Open<'scope> {
    pub(super) shape: &'scope Shape,
    pub(super) tiles: Tiles<'scope>,
}

/// A part of the matrix that is done.
#[derive(Clone, Copy)]
pub(super) struct Done<'scope> {
    shape: &'scope Shape,
    tiles: DoneTiles<'scope>,
}

/// Two parts that are done, of which either may be all zero.
type Two<'scope> = (Option<Done<'scope>>, Option<Done<'scope>>);

impl<'scope> Open<'scope> {
    fn quadrants(self) -> [Option<Open<'scope>>; 4] {
        let counts = self.shape.counts();
        let mut rest = Some(self.tiles);
        std::array::from_fn(|place| {
            let (tiles, after) = rest.take()?.split_at(counts[place]);
            rest = Some(after);
            let shape = self.shape.quadrant(place)?;
            Some(Open { shape, tiles })
        })
    }

    fn finish(self) -> Done<'scope> {
        Done {
            shape: self.shape,
            tiles: self.tiles.finish(),
        }
    }
}

impl<'scope> Done<'scope> {
    fn quadrants(self) -> [Option<Done<'scope>>; 4] {
        let counts = self.shape.counts();
        let mut rest = self.tiles;
        std::array::from_fn(|place| {
            let (tiles, after) = rest.split_at(counts[place]);
            rest = after;
            let shape = self.shape.quadrant(place)?;
            Some(Done { shape, tiles })
        })
    }
}

/// The quadrants that tasks gave back, in the order of their tiles, as the part that they were.
fn rejoin<'scope, const N: usize>(
    shape: &'scope Shape,
    quadrants: [Option<Open<'scope>>; N],
) -> Open<'scope> {
    let tiles = quadrants
        .into_iter()
        .flatten()
        .map(|quadrant| quadrant.tiles);
    let tiles = tiles.reduce(Part::rejoin).expect("a part has tiles");
    Open { shape, tiles }
}

/// The same for quadrants that are done.
fn rejoin_done<'scope, const N: usize>(
    shape: &'scope Shape,
    quadrants: [Option<Done<'scope>>; N],
) -> Done<'scope> {
    let tiles = quadrants
        .into_iter()
        .flatten()
        .map(|quadrant| quadrant.tiles);
    let tiles = tiles.reduce(Final::rejoin).expect("a part has tiles");
    Done { shape, tiles }
}

/// What is awaited, if there is anything.
async fn awaited<F: Future>(future: Option<F>) -> Option<F::Output> {
    match future {
        Some(future) => Some(future.await),
        None => None,
    }
}

/// The factor takes the place of a part of the diagonal.
pub(super) fn factor<'scope, O: Order>(
    scope: Scope<'scope>,
    mut part: Open<'scope>,
) -> impl Task<Done<'scope>> + 'scope {
    async move {
        if let Shape::Tile = part.shape {
            triangular::cholesky(&mut part.tiles[0]);
            return part.finish();
        }
        let shape = part.shape;
        let [above, _, corner, below] = part.quadrants();
        let Some(corner) = corner else {
            // Nothing joins the two parts of the diagonal.
            let above = above.map(|above| factor::<O>(scope, above));
            let above = awaited(above.map(|child| O::branch(scope, child))).await;
            let below = awaited(below.map(|below| scope.call(factor::<O>(scope, below)))).await;
            return rejoin_done(shape, [awaited(above).await, below]);
        };
        let above = awaited(above.map(|above| scope.call(factor::<O>(scope, above)))).await;
        let corner = match above {
            Some(above) => scope.call(solve::<O>(scope, corner, above)).await,
            None => corner.finish(),
        };
        let below = match below {
            Some(below) => {
                let below = scope.call(update_diagonal::<O>(scope, below, corner)).await;
                Some(scope.call(factor::<O>(scope, below)).await)
            }
            None => None,
        };
        rejoin_done(shape, [above, Some(corner), below])
    }
}

/// The X with X · Lᵀ = `part` takes its place, where L is on the diagonal. Rows are independent.
fn solve<'scope, O: Order>(
    scope: Scope<'scope>,
    mut part: Open<'scope>,
    factor: Done<'scope>,
) -> impl Task<Done<'scope>> + 'scope {
    async move {
        if let Shape::Tile = part.shape {
            triangular::solve_transposed(&factor.tiles[0], &mut part.tiles[0]);
            return part.finish();
        }
        let shape = part.shape;
        let [p00, p01, p10, p11] = part.quadrants();
        let above = O::branch(scope, solve_row::<O>(scope, (p00, p01), factor)).await;
        let below = scope.call(solve_row::<O>(scope, (p10, p11), factor)).await;
        let above = above.await;
        rejoin_done(shape, [above.0, above.1, below.0, below.1])
    }
}

/// [`solve`] for the two quadrants of a row.
fn solve_row<'scope, O: Order>(
    scope: Scope<'scope>,
    (left, right): (Option<Open<'scope>>, Option<Open<'scope>>),
    factor: Done<'scope>,
) -> impl Task<Two<'scope>> + 'scope {
    async move {
        let [above, _, corner, below] = factor.quadrants();
        let left = match (left, above) {
            (Some(left), Some(above)) => Some(scope.call(solve::<O>(scope, left, above)).await),
            (left, _) => left.map(Open::finish),
        };
        let right = match (right, below) {
            (Some(right), Some(below)) => {
                let right = update_all::<O, 1>(scope, right, [(left, corner)]);
                let right = scope.call(right).await;
                Some(scope.call(solve::<O>(scope, right, below)).await)
            }
            (right, _) => right.map(Open::finish),
        };
        (left, right)
    }
}

/// `part -= a · bᵀ`. Where `part` has no tiles, the product is zero: the tree was made so.
fn update<'scope, O: Order>(
    scope: Scope<'scope>,
    mut part: Open<'scope>,
    a: Done<'scope>,
    b: Done<'scope>,
) -> impl Task<Open<'scope>> + 'scope {
    async move {
        if let Shape::Tile = part.shape {
            dense::subtract_transposed(&mut part.tiles[0], &a.tiles[0], &b.tiles[0]);
            return part;
        }
        let shape = part.shape;
        let [p00, p01, p10, p11] = part.quadrants();
        let [a00, a01, a10, a11] = a.quadrants();
        let [b00, b01, b10, b11] = b.quadrants();
        let child = |part: Option<Open<'scope>>, products: [Two<'scope>; 2]| {
            part.map(|part| update_all::<O, 2>(scope, part, products))
        };
        let p00 =
            awaited(child(p00, [(a00, b00), (a01, b01)]).map(|child| O::branch(scope, child)))
                .await;
        let p01 =
            awaited(child(p01, [(a00, b10), (a01, b11)]).map(|child| O::branch(scope, child)))
                .await;
        let p10 =
            awaited(child(p10, [(a10, b00), (a11, b01)]).map(|child| O::branch(scope, child)))
                .await;
        let p11 =
            awaited(child(p11, [(a10, b10), (a11, b11)]).map(|child| scope.call(child))).await;
        let p00 = awaited(p00).await;
        let p01 = awaited(p01).await;
        rejoin(shape, [p00, p01, awaited(p10).await, p11])
    }
}

/// Products that are subtracted one after the other.
fn update_all<'scope, O: Order, const N: usize>(
    scope: Scope<'scope>,
    mut part: Open<'scope>,
    products: [Two<'scope>; N],
) -> impl Task<Open<'scope>> + 'scope {
    async move {
        for (a, b) in products {
            if let (Some(a), Some(b)) = (a, b) {
                part = scope.call(update::<O>(scope, part, a, b)).await;
            }
        }
        part
    }
}

/// `part -= a · aᵀ` for a part of the diagonal, of which only the lower triangle counts.
fn update_diagonal<'scope, O: Order>(
    scope: Scope<'scope>,
    mut part: Open<'scope>,
    a: Done<'scope>,
) -> impl Task<Open<'scope>> + 'scope {
    async move {
        if let Shape::Tile = part.shape {
            dense::subtract_transposed(&mut part.tiles[0], &a.tiles[0], &a.tiles[0]);
            return part;
        }
        let shape = part.shape;
        let [above, _, corner, below] = part.quadrants();
        let [a00, a01, a10, a11] = a.quadrants();
        let child = |part: Option<Open<'scope>>, products| {
            part.map(|part| update_diagonal_all::<O>(scope, part, products))
        };
        let above = awaited(child(above, [a00, a01]).map(|child| O::branch(scope, child))).await;
        let below = awaited(child(below, [a10, a11]).map(|child| O::branch(scope, child))).await;
        let products = [(a10, a00), (a11, a01)];
        let corner = corner.map(|corner| update_all::<O, 2>(scope, corner, products));
        let corner = awaited(corner.map(|child| scope.call(child))).await;
        let above = awaited(above).await;
        rejoin(shape, [above, corner, awaited(below).await])
    }
}

/// Products of the diagonal that are subtracted one after the other.
fn update_diagonal_all<'scope, O: Order>(
    scope: Scope<'scope>,
    mut part: Open<'scope>,
    products: [Option<Done<'scope>>; 2],
) -> impl Task<Open<'scope>> + 'scope {
    async move {
        for a in products.into_iter().flatten() {
            part = scope.call(update_diagonal::<O>(scope, part, a)).await;
        }
        part
    }
}
