//! The search as async tasks.

use roving::task::{Forked, Scope, Task};

use super::sha::{Hash, State};
use super::visit::{Found, Node, Search, TOGETHER};
use crate::tasks::Order;

/// The whole tree.
pub(super) fn search<'scope, O: Order, H: Hash + 'scope>(
    scope: Scope<'scope>,
    search: Search<'scope, H>,
) -> impl Task<Found> + 'scope {
    async move {
        let root = search.root();
        let here = Found {
            nodes: 1,
            leaves: u64::from(root.children == 0),
            depth: 0,
        };
        let children = (0, root.children);
        here.and(siblings::<O, H>(scope, search, root.state, children, 1).await)
    }
}

/// The children `first .. last` of `parent`, which are at `height`, and all below them.
fn siblings<'scope, O: Order, H: Hash + 'scope>(
    scope: Scope<'scope>,
    search: Search<'scope, H>,
    parent: State,
    (first, last): (u32, u32),
    height: u32,
) -> impl Task<Found> + 'scope {
    async move {
        if (last - first) as usize > TOGETHER {
            let middle = first + (last - first).div_ceil(2).next_multiple_of(TOGETHER as u32);
            let low = siblings::<O, H>(scope, search, parent, (first, middle), height);
            let low = O::branch(scope, low).await;
            let high = siblings::<O, H>(scope, search, parent, (middle, last), height);
            let high = scope.call(high).await;
            return low.await.and(high);
        }
        let mut nodes = [Node::default(); TOGETHER];
        let count = (last - first) as usize;
        let inner = search.look(&parent, first, &mut nodes[..count], height);
        let mut found = Found {
            nodes: count as u64,
            leaves: (count - inner) as u64,
            depth: if count == 0 { 0 } else { height },
        };
        let Some(newest) = inner.checked_sub(1) else {
            return found;
        };
        // All but one may be taken; that one runs here.
        let below = |node: &Node| {
            siblings::<O, H>(scope, search, node.state, (0, node.children), height + 1)
        };
        let mut others: [Option<Forked<Found>>; TOGETHER - 1] = Default::default();
        for place in 0..newest {
            others[place] = Some(O::branch(scope, below(&nodes[place])).await);
        }
        found = found.and(scope.call(below(&nodes[newest])).await);
        for other in others.into_iter().flatten() {
            found = found.and(other.await);
        }
        found
    }
}
