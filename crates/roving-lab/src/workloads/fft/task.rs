//! The transform as async tasks. Each gives back the parts that it was given.

use roving::task::{Scope, Task};

use super::lanes::{Coefficients, Lanes, combine, deal};
use super::leaf::small;
use super::plan::{GRAIN, LengthTables, TransformShape};
use crate::forms::tasks::BranchOrder;
use crate::workloads::part::SlicePart;

/// A stretch of an array.
type Stretch<'scope> = SlicePart<'scope, Lanes>;
/// One stretch in each of four quarters.
type Four<'scope> = [Stretch<'scope>; 4];

/// Each of four parts split at the same place.
fn split_all<'scope>(four: Four<'scope>, at: usize) -> (Four<'scope>, Four<'scope>) {
    let [a, b, c, d] = four.map(|part| part.split_at(at));
    ([a.0, b.0, c.0, d.0], [a.1, b.1, c.1, d.1])
}

/// Rejoins the results of [`split_all`] as four parts again.
fn rejoin_each<'scope>(low: Four<'scope>, high: Four<'scope>) -> Four<'scope> {
    let ([a, b, c, d], [e, f, g, h]) = (low, high);
    [a.rejoin(e), b.rejoin(f), c.rejoin(g), d.rejoin(h)]
}

/// The transform of `data`, in its place; what is in `scratch` afterwards means nothing.
pub(super) fn transform<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    level: LengthTables<'scope>,
    mut data: Stretch<'scope>,
    mut scratch: Stretch<'scope>,
) -> impl Task<(Stretch<'scope>, Stretch<'scope>)> + 'scope {
    async move {
        let (below, coefficients) = match level.shape() {
            TransformShape::Leaf(leaf) => {
                small(leaf, &mut data, &mut scratch);
                return (data, scratch);
            }
            TransformShape::Split(below, coefficients) => (below, coefficients),
        };
        let dealt = scope
            .call(deal_all::<O>(scope, data, scratch.quarters()))
            .await;
        let ([d0, d1, d2, d3], [s0, s1, s2, s3]) = (dealt.0.quarters(), dealt.1);
        let one = O::branch(scope, transform::<O>(scope, below, s0, d0)).await;
        let two = O::branch(scope, transform::<O>(scope, below, s1, d1)).await;
        let three = O::branch(scope, transform::<O>(scope, below, s2, d2)).await;
        let four = scope.call(transform::<O>(scope, below, s3, d3)).await;
        let three = three.await;
        let two = two.await;
        let one = one.await;
        let scratch = [one.0, two.0, three.0, four.0];
        let data = [one.1, two.1, three.1, four.1];
        let combined = scope
            .call(combine_all::<O>(scope, coefficients, scratch, data))
            .await;
        (
            SlicePart::rejoin_all(combined.1),
            SlicePart::rejoin_all(combined.0),
        )
    }
}

/// [`deal`], in parallel by halves.
fn deal_all<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    from: Stretch<'scope>,
    mut to: Four<'scope>,
) -> impl Task<(Stretch<'scope>, Four<'scope>)> + 'scope {
    async move {
        let count = to[0].len();
        if count <= GRAIN {
            deal(&from, to.each_mut().map(|part| &mut part[..]));
            return (from, to);
        }
        let half = from.len() / 2;
        let (from_low, from_high) = from.split_at(half);
        let (to_low, to_high) = split_all(to, count / 2);
        let low = O::branch(scope, deal_all::<O>(scope, from_low, to_low)).await;
        let high = scope.call(deal_all::<O>(scope, from_high, to_high)).await;
        let low = low.await;
        (low.0.rejoin(high.0), rejoin_each(low.1, high.1))
    }
}

/// [`combine`], in parallel by halves.
fn combine_all<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    coefficients: &'scope [Coefficients],
    from: Four<'scope>,
    mut to: Four<'scope>,
) -> impl Task<(Four<'scope>, Four<'scope>)> + 'scope {
    async move {
        let count = coefficients.len();
        if count <= GRAIN {
            let read = from.each_ref().map(|part| &part[..]);
            combine(coefficients, read, to.each_mut().map(|part| &mut part[..]));
            return (from, to);
        }
        let (low, high) = coefficients.split_at(count / 2);
        let (from_low, from_high) = split_all(from, count / 2);
        let (to_low, to_high) = split_all(to, count / 2);
        let low = O::branch(scope, combine_all::<O>(scope, low, from_low, to_low)).await;
        let high = scope
            .call(combine_all::<O>(scope, high, from_high, to_high))
            .await;
        let low = low.await;
        (rejoin_each(low.0, high.0), rejoin_each(low.1, high.1))
    }
}
