//! The product as async tasks. What a task makes for its children it shares with them.

use std::ops::Deref;
use std::sync::Arc;

use roving::task::{Forked, Scope, Task};

use super::blocks::{
    LEFT, PUT_TOGETHER_MIN, RESULT, RIGHT, TILE, Terms, put_together, quadrants, side, sum_into,
    tile_product,
};
use super::buffers::{Buffer, Buffers};
use crate::forms::fork_join::Serial;
use crate::forms::tasks::BranchOrder;

/// Where the numbers of a matrix are that is only read.
#[derive(Clone)]
enum Owner<'scope> {
    /// In a factor that outlives all tasks.
    Nobody(&'scope [f64]),
    /// In a sum of quadrants that several tasks share.
    Tasks(Arc<Buffer<'scope>>),
}

/// A matrix that is only read: all of what its owner has, or a quadrant of a quadrant of it.
#[derive(Clone)]
pub(super) struct ReadMatrix<'scope> {
    owner: Owner<'scope>,
    first: usize,
    count: usize,
}

impl<'scope> ReadMatrix<'scope> {
    /// All of a factor.
    pub(super) fn lent(numbers: &'scope [f64]) -> Self {
        ReadMatrix {
            owner: Owner::Nobody(numbers),
            first: 0,
            count: numbers.len(),
        }
    }

    /// The sum of quadrants that `terms` say; a single one is not copied.
    fn factor(&self, buffers: &'scope Buffers, terms: Terms) -> Self {
        let count = self.count / 4;
        if let [(place, _)] = terms {
            return ReadMatrix {
                owner: self.owner.clone(),
                first: self.first + place * count,
                count,
            };
        }
        let mut sum = buffers.take(count);
        sum_into(&mut sum, terms, &quadrants(self));
        ReadMatrix {
            owner: Owner::Tasks(Arc::new(sum)),
            first: 0,
            count,
        }
    }
}

impl Deref for ReadMatrix<'_> {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        let numbers = match &self.owner {
            Owner::Nobody(numbers) => numbers,
            Owner::Tasks(buffer) => &buffer[..],
        };
        &numbers[self.first..][..self.count]
    }
}

/// a · b.
pub(super) fn product<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    buffers: &'scope Buffers,
    a: ReadMatrix<'scope>,
    b: ReadMatrix<'scope>,
) -> impl Task<Buffer<'scope>> + 'scope {
    async move {
        if a.len() <= TILE * TILE {
            return tile_product(buffers, &a, &b);
        }
        let mut others: [Option<Forked<Buffer<'scope>>>; 6] = Default::default();
        for (which, other) in others.iter_mut().enumerate() {
            let one = one_of_seven::<O>(scope, buffers, which, a.clone(), b.clone());
            *other = Some(O::branch(scope, one).await);
        }
        let newest = scope.call(one_of_seven::<O>(scope, buffers, 6, a, b)).await;
        let mut products = vec![newest];
        for other in others.iter_mut().rev() {
            if let Some(other) = other.take() {
                products.push(other.await);
            }
        }
        products.reverse();
        scope.call(result::<O>(scope, buffers, products)).await
    }
}

/// One of the seven products.
fn one_of_seven<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    buffers: &'scope Buffers,
    which: usize,
    a: ReadMatrix<'scope>,
    b: ReadMatrix<'scope>,
) -> impl Task<Buffer<'scope>> + 'scope {
    async move {
        let left = a.factor(buffers, LEFT[which]);
        let right = b.factor(buffers, RIGHT[which]);
        drop((a, b));
        scope.call(product::<O>(scope, buffers, left, right)).await
    }
}

/// The numbers of all products.
fn numbers<'a>(products: &'a [Buffer<'_>]) -> [&'a [f64]; 7] {
    std::array::from_fn(|which| &products[which][..])
}

/// The result, from the seven products.
fn result<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    buffers: &'scope Buffers,
    products: Vec<Buffer<'scope>>,
) -> impl Task<Buffer<'scope>> + 'scope {
    async move {
        let quarter = products[0].len();
        let mut c = buffers.take(4 * quarter);
        if side(4 * quarter) < PUT_TOGETHER_MIN {
            put_together(&mut Serial, &mut c, &numbers(&products));
            return c;
        }
        // Each quadrant is made apart and then copied: a task cannot lend a part of `c`.
        let products = Arc::new(products);
        let sum = |terms: Terms| {
            let products = products.clone();
            async move {
                let mut sum = buffers.take(quarter);
                sum_into(&mut sum, terms, &numbers(&products));
                sum
            }
        };
        let mut others: [Option<Forked<Buffer<'scope>>>; 3] = Default::default();
        for (other, terms) in others.iter_mut().zip(RESULT) {
            *other = Some(O::branch(scope, sum(terms)).await);
        }
        let newest = sum(RESULT[3]).await;
        c[3 * quarter..].copy_from_slice(&newest);
        for (place, other) in others.iter_mut().enumerate().rev() {
            if let Some(other) = other.take() {
                let quadrant = other.await;
                c[place * quarter..][..quarter].copy_from_slice(&quadrant);
            }
        }
        c
    }
}
