//! The search as async tasks.

use std::ops::Range;

use roving::task::{Scope, Task};

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
        if root.children == 0 {
            return here;
        }
        let children = 0..root.children;
        let below = siblings::<O, H>(scope, search, root.state, children, 1);
        here.and(scope.call(below).await)
    }
}

/// The children in `places` of `parent`, which are at `height`, and all below them.
fn siblings<'scope, O: Order, H: Hash + 'scope>(
    scope: Scope<'scope>,
    search: Search<'scope, H>,
    mut parent: State,
    mut places: Range<u32>,
    mut height: u32,
) -> impl Task<Found> + 'scope {
    async move {
        let mut found = Found::default();
        let (nodes, inner) = loop {
            if places.len() > TOGETHER {
                return found.and(wide::<O, H>(scope, search, parent, places, height).await);
            }
            let mut nodes = [Node::default(); TOGETHER];
            let all = &mut nodes[..places.len()];
            let inner = search.look(&parent, places.start, all, height);
            found = found.and(Found {
                nodes: places.len() as u64,
                leaves: (places.len() - inner) as u64,
                depth: height,
            });
            match inner {
                0 => return found,
                // Nothing to share: on with the only one.
                1 => (parent, places, height) = (nodes[0].state, 0..nodes[0].children, height + 1),
                _ => break (nodes, inner),
            }
        };
        let mut others = Vec::with_capacity(inner - 1);
        for node in &nodes[1..inner] {
            let children = 0..node.children;
            let other = siblings::<O, H>(scope, search, node.state, children, height + 1);
            others.push(O::branch(scope, other).await);
        }
        let children = 0..nodes[0].children;
        let one = siblings::<O, H>(scope, search, nodes[0].state, children, height + 1);
        found = found.and(scope.call(one).await);
        while let Some(newest) = others.pop() {
            found = found.and(newest.await);
        }
        found
    }
}

/// The same for more children than are looked at together: each half is a task.
fn wide<'scope, O: Order, H: Hash + 'scope>(
    scope: Scope<'scope>,
    search: Search<'scope, H>,
    parent: State,
    places: Range<u32>,
    height: u32,
) -> impl Task<Found> + 'scope {
    async move {
        let Range { start, end } = places;
        let middle = start + (end - start).div_ceil(2).next_multiple_of(TOGETHER as u32);
        let low = siblings::<O, H>(scope, search, parent, start..middle, height);
        let low = O::branch(scope, low).await;
        let high = siblings::<O, H>(scope, search, parent, middle..end, height);
        let high = scope.call(high).await;
        low.await.and(high)
    }
}
