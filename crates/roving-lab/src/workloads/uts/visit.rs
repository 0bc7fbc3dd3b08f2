//! The search: every node once, nodes and leaves counted, the greatest height kept.

use serde::{Deserialize, Serialize};

use super::sha::{DigestSink, Hash, NodeDigest};
use super::tree::CompiledTree;
use crate::forms::fork_join::ForkJoin;

/// Siblings that one task looks at together. More would hide work, fewer would cost joins.
pub(crate) const TOGETHER: usize = 8;

/// The counts of a subtree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SubtreeCounts {
    /// All nodes.
    pub(crate) nodes: u64,
    /// Nodes without children.
    pub(crate) leaves: u64,
    /// The greatest height of a node; the root has height 0.
    pub(crate) depth: u32,
}

impl SubtreeCounts {
    #[inline(always)]
    pub(crate) fn and(self, other: SubtreeCounts) -> SubtreeCounts {
        SubtreeCounts {
            nodes: self.nodes + other.nodes,
            leaves: self.leaves + other.leaves,
            depth: self.depth.max(other.depth),
        }
    }
}

/// A node, and how many children it has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UtsNode {
    /// Its digest.
    pub(crate) state: NodeDigest,
    /// How many children it has.
    pub(crate) children: u32,
}

impl DigestSink for UtsNode {
    #[inline(always)]
    fn put(&mut self, state: NodeDigest) {
        self.state = state;
    }
}

/// One search: the tree, the hash, and how deep it may recurse.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeSearch<'tree, H> {
    tree: &'tree CompiledTree,
    hash: H,
    /// From this height on the search keeps its own stack and makes no tasks.
    recursion_max: u32,
}

impl<'tree, H: Hash> TreeSearch<'tree, H> {
    /// A search of `tree` that recurses down to `recursion_max`.
    pub(crate) fn new(tree: &'tree CompiledTree, hash: H, recursion_max: u32) -> Self {
        TreeSearch {
            tree,
            hash,
            recursion_max,
        }
    }

    /// The root.
    pub(crate) fn root(&self) -> UtsNode {
        let state = NodeDigest::root(self.tree.params.r);
        let children = self.tree.children_of_root(state.rand());
        UtsNode { state, children }
    }

    /// The whole tree.
    pub(crate) fn run<C: ForkJoin>(&self, cx: &mut C) -> SubtreeCounts {
        let root = self.root();
        let below = if root.children == 0 {
            SubtreeCounts {
                nodes: 0,
                leaves: 1,
                depth: 0,
            }
        } else {
            self.below(cx, &root, 0)
        };
        SubtreeCounts {
            nodes: 1,
            leaves: 0,
            depth: 0,
        }
        .and(below)
    }

    /// All below `node`, which has children and is at `height`.
    fn below<C: ForkJoin>(&self, cx: &mut C, node: &UtsNode, height: u32) -> SubtreeCounts {
        if height >= self.recursion_max {
            return self.below_without_recursion(node, height);
        }
        self.siblings(cx, &node.state, (0, node.children), height + 1)
    }

    /// The children `first .. last` of `parent`, which are at `height`, and all below them.
    fn siblings<C: ForkJoin>(
        &self,
        cx: &mut C,
        parent: &NodeDigest,
        (first, last): (u32, u32),
        height: u32,
    ) -> SubtreeCounts {
        if (last - first) as usize > TOGETHER {
            let middle = first + (last - first).div_ceil(2).next_multiple_of(TOGETHER as u32);
            let (one, other) = cx.join(
                |cx| self.siblings(cx, parent, (first, middle), height),
                |cx| self.siblings(cx, parent, (middle, last), height),
            );
            return one.and(other);
        }
        let mut nodes = [UtsNode::default(); TOGETHER];
        let count = (last - first) as usize;
        let inner = self.look(parent, first, &mut nodes[..count], height);
        let here = SubtreeCounts {
            nodes: count as u64,
            leaves: (count - inner) as u64,
            depth: height,
        };
        if inner == 0 {
            here
        } else {
            here.and(self.below_all(cx, &nodes[..inner], height))
        }
    }

    /// The whole tree, with a task for each node: no two are computed together.
    pub(crate) fn run_each<C: ForkJoin>(&self, cx: &mut C) -> SubtreeCounts {
        let root = self.root();
        let here = SubtreeCounts {
            nodes: 1,
            leaves: u64::from(root.children == 0),
            depth: 0,
        };
        here.and(self.each(cx, &root.state, (0, root.children), 1))
    }

    /// [`Self::siblings`], with a task for each node.
    fn each<C: ForkJoin>(
        &self,
        cx: &mut C,
        parent: &NodeDigest,
        (first, last): (u32, u32),
        height: u32,
    ) -> SubtreeCounts {
        match last - first {
            0 => SubtreeCounts::default(),
            1 => {
                let (node, here) = self.look_at_one(parent, first, height);
                if node.children == 0 {
                    here
                } else if height >= self.recursion_max {
                    here.and(self.below_without_recursion(&node, height))
                } else {
                    here.and(self.each(cx, &node.state, (0, node.children), height + 1))
                }
            }
            count => {
                let middle = first + count / 2;
                let (one, other) = cx.join(
                    |cx| self.each(cx, parent, (first, middle), height),
                    |cx| self.each(cx, parent, (middle, last), height),
                );
                one.and(other)
            }
        }
    }

    /// Computes one child of `parent`, which is at `height`.
    #[inline(always)]
    pub(crate) fn look_at_one(
        &self,
        parent: &NodeDigest,
        place: u32,
        height: u32,
    ) -> (UtsNode, SubtreeCounts) {
        let mut nodes = [UtsNode::default()];
        let inner = self.look(parent, place, &mut nodes, height);
        let found = SubtreeCounts {
            nodes: 1,
            leaves: 1 - inner as u64,
            depth: height,
        };
        (nodes[0], found)
    }

    /// Computes the children `first ..` of `parent`, which are at `height`, moves those that have
    /// children themselves to the beginning, and says how many they are.
    #[inline(always)]
    pub(crate) fn look(
        &self,
        parent: &NodeDigest,
        first: u32,
        nodes: &mut [UtsNode],
        height: u32,
    ) -> usize {
        for _ in 0..self.tree.params.g {
            self.hash.children(parent, first, nodes);
        }
        let mut inner = 0;
        for place in 0..nodes.len() {
            let node = nodes[place];
            let children = self.tree.children(height, node.state.rand());
            nodes[inner] = UtsNode { children, ..node };
            // Not a branch: whether a node has children is a coin's throw.
            inner += usize::from(children > 0);
        }
        inner
    }

    /// All below `nodes`, at least one, which have children and are at `height`.
    fn below_all<C: ForkJoin>(&self, cx: &mut C, nodes: &[UtsNode], height: u32) -> SubtreeCounts {
        match nodes {
            [] => SubtreeCounts::default(),
            [node] => self.below(cx, node, height),
            [node, others @ ..] => {
                let (one, other) = cx.join(
                    |cx| self.below(cx, node, height),
                    |cx| self.below_all(cx, others, height),
                );
                one.and(other)
            }
        }
    }

    /// Searches like `below`, without recursion and without tasks: for trees deeper than any stack.
    #[cold]
    #[inline(never)]
    fn below_without_recursion(&self, node: &UtsNode, height: u32) -> SubtreeCounts {
        let mut found = SubtreeCounts::default();
        let mut open = vec![(*node, height)];
        while let Some((node, height)) = open.pop() {
            let mut first = 0;
            while first < node.children {
                let mut nodes = [UtsNode::default(); TOGETHER];
                let count = (node.children - first).min(TOGETHER as u32) as usize;
                let inner = self.look(&node.state, first, &mut nodes[..count], height + 1);
                let leaves = (count - inner) as u64;
                found = found.and(SubtreeCounts {
                    nodes: count as u64,
                    leaves,
                    depth: height + 1,
                });
                open.extend(nodes[..inner].iter().map(|inner| (*inner, height + 1)));
                first += count as u32;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::sha::Portable;
    use super::super::tree::Params;
    use super::*;
    use crate::forms::fork_join::{Counting, Serial};

    #[test]
    fn recursion_can_end_at_any_height() {
        let params = super::super::parse_flags("-t0 -b100 -q0.124875 -m8 -r42").unwrap();
        let tree = CompiledTree::new(params);
        for recursion_max in [0, 1, 5, 66, 67, 1000] {
            let found = TreeSearch::new(&tree, Portable, recursion_max).run(&mut Serial);
            assert_eq!(
                found,
                SubtreeCounts {
                    nodes: 6797,
                    leaves: 5959,
                    depth: 67
                },
                "{recursion_max}"
            );
        }
    }

    #[test]
    fn a_wide_root_is_split_by_joins() {
        let params = Params {
            b: 1000.0,
            q: 0.0,
            ..super::super::parse_flags("-t0").unwrap()
        };
        let mut cx = Counting::default();
        let found = TreeSearch::new(&CompiledTree::new(params), Portable, 10).run(&mut cx);
        assert_eq!(
            found,
            SubtreeCounts {
                nodes: 1001,
                leaves: 1000,
                depth: 1
            }
        );
        assert_eq!(cx.spawns, 1000_u64.div_ceil(TOGETHER as u64) - 1);
    }
}
