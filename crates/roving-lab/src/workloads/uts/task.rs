//! The search as async tasks.

use std::ops::Range;

use roving::task::{Forked, Scope, Task};

use super::sha::{Hash, NodeDigest};
use super::visit::{SubtreeCounts, TOGETHER, TreeSearch, UtsNode};
use crate::forms::tasks::BranchOrder;

/// The whole tree.
pub(super) fn search<'scope, O: BranchOrder, H: Hash + 'scope>(
    scope: Scope<'scope>,
    search: TreeSearch<'scope, H>,
) -> impl Task<SubtreeCounts> + 'scope {
    async move {
        let root = search.root();
        let here = SubtreeCounts {
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

/// The children in `places` of `parent`, which are at `height`, and all below them. Of what there
/// is to do at once, this task does the first part itself, and branches the others off.
fn siblings<'scope, O: BranchOrder, H: Hash + 'scope>(
    scope: Scope<'scope>,
    search: TreeSearch<'scope, H>,
    mut parent: NodeDigest,
    mut places: Range<u32>,
    mut height: u32,
) -> impl Task<SubtreeCounts> + 'scope {
    async move {
        let mut found = SubtreeCounts::default();
        let mut others = Vec::new();
        let mut nodes = [UtsNode::default(); TOGETHER];
        loop {
            if places.len() > TOGETHER {
                let half = places.len().div_ceil(2).next_multiple_of(TOGETHER) as u32;
                let low = places.start..places.start + half;
                places.start += half;
                let low = siblings::<O, H>(scope, search, parent, low, height);
                keep(&mut others, &mut found, O::branch(scope, low).await).await;
                continue;
            }
            let all = &mut nodes[..places.len()];
            let inner = search.look(&parent, places.start, all, height);
            found = found.and(SubtreeCounts {
                nodes: places.len() as u64,
                leaves: (places.len() - inner) as u64,
                depth: height,
            });
            if inner == 0 {
                break;
            }
            height += 1;
            for node in &nodes[1..inner] {
                let children = 0..node.children;
                let other = siblings::<O, H>(scope, search, node.state, children, height);
                keep(&mut others, &mut found, O::branch(scope, other).await).await;
            }
            (parent, places) = (nodes[0].state, 0..nodes[0].children);
        }
        while let Some(newest) = others.pop() {
            found = found.and(newest.await);
        }
        found
    }
}

/// The whole tree, with a task for each node: no two are computed together.
pub(super) fn search_each<'scope, O: BranchOrder, H: Hash + 'scope>(
    scope: Scope<'scope>,
    search: TreeSearch<'scope, H>,
) -> impl Task<SubtreeCounts> + 'scope {
    async move {
        let root = search.root();
        let here = SubtreeCounts {
            nodes: 1,
            leaves: u64::from(root.children == 0),
            depth: 0,
        };
        let children = 0..root.children;
        here.and(
            scope
                .call(each::<O, H>(scope, search, root.state, children, 1))
                .await,
        )
    }
}

/// [`siblings`], with a task for each node.
fn each<'scope, O: BranchOrder, H: Hash + 'scope>(
    scope: Scope<'scope>,
    search: TreeSearch<'scope, H>,
    parent: NodeDigest,
    places: Range<u32>,
    height: u32,
) -> impl Task<SubtreeCounts> + 'scope {
    async move {
        if places.len() > 1 {
            let middle = places.start + places.len() as u32 / 2;
            let (low, high) = (places.start..middle, middle..places.end);
            let low = each::<O, H>(scope, search, parent, low, height);
            let low = O::branch(scope, low).await;
            let high = each::<O, H>(scope, search, parent, high, height);
            let high = scope.call(high).await;
            return high.and(low.await);
        }
        if places.is_empty() {
            return SubtreeCounts::default();
        }
        let (node, here) = search.look_at_one(&parent, places.start, height);
        if node.children == 0 {
            return here;
        }
        let children = 0..node.children;
        let below = each::<O, H>(scope, search, node.state, children, height + 1);
        here.and(scope.call(below).await)
    }
}

/// Keeps the handle of a task for later; unless that has ended, as it has if it was forked and
/// nobody stole what followed.
async fn keep(
    others: &mut Vec<Forked<SubtreeCounts>>,
    found: &mut SubtreeCounts,
    other: Forked<SubtreeCounts>,
) {
    match other.is_ended() {
        true => *found = found.and(other.await),
        false => others.push(other),
    }
}
