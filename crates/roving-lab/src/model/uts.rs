//! UTS trees for the simulator: the tasks of the search in `workloads/uts`, made by the tree's own
//! rule and stored nowhere.

use std::io::{self, Write};

use roving_model::{Recorder, Step, Then, Tree as TaskTree};

#[cfg(target_arch = "x86_64")]
use crate::workloads::uts::ShaNi;
use crate::workloads::uts::{
    CompiledTree, DigestSink, Hash, NodeDigest, Params, Portable, TOGETHER, UtsNode,
};

/// One tree, and what a node takes.
pub(crate) struct UtsTree<H> {
    tree: CompiledTree,
    hash: H,
    node_ns: f64,
}

/// A task of the search.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UtsTask {
    Root,
    /// The children `first .. last` of a node with that digest, at `height`, and all below them.
    Siblings {
        parent: NodeDigest,
        first: u32,
        last: u32,
        height: u32,
    },
    /// All below those of the children from `first` on that are in `mask`: they have children.
    Inner {
        parent: NodeDigest,
        first: u32,
        mask: u8,
        height: u32,
    },
}

impl<H: Hash> UtsTree<H> {
    pub(crate) fn new(params: Params, hash: H, node_ns: f64) -> UtsTree<H> {
        UtsTree {
            tree: CompiledTree::new(params),
            hash,
            node_ns,
        }
    }

    fn root_node(&self) -> UtsNode {
        let state = NodeDigest::root(self.tree.params.r);
        let children = self.tree.children_of_root(state.rand());
        UtsNode { state, children }
    }

    /// The children from `first` on, as many as there is room for.
    fn children(&self, parent: &NodeDigest, first: u32, nodes: &mut [UtsNode], height: u32) {
        self.hash.children(parent, first, nodes);
        for node in nodes {
            node.children = self.tree.children(height, node.state.rand());
        }
    }

    fn below(&self, node: &UtsNode, height: u32) -> UtsTask {
        UtsTask::Siblings {
            parent: node.state,
            first: 0,
            last: node.children,
            height: height + 1,
        }
    }

    /// Looks at up to [`TOGETHER`] siblings.
    fn look(&self, parent: NodeDigest, (first, last): (u32, u32), height: u32) -> Step<UtsTask> {
        let mut nodes = [UtsNode::default(); TOGETHER];
        let count = (last - first) as usize;
        self.children(&parent, first, &mut nodes[..count], height);
        let ns = self.node_ns * count as f64;
        let inner = |place: &usize| nodes[*place].children > 0;
        let mask = (0..count)
            .filter(inner)
            .fold(0u8, |mask, place| mask | 1 << place);
        if mask == 0 {
            return Step {
                ns,
                then: Then::End,
            };
        }
        let next = self.inner(
            parent,
            first,
            mask,
            height,
            &nodes[mask.trailing_zeros() as usize],
        );
        Step {
            ns: ns + next.ns,
            then: next.then,
        }
    }

    /// `node` is the first of those in `mask`.
    fn inner(
        &self,
        parent: NodeDigest,
        first: u32,
        mask: u8,
        height: u32,
        node: &UtsNode,
    ) -> Step<UtsTask> {
        let others = mask & (mask - 1);
        let below = self.below(node, height);
        if others == 0 {
            return self.run(below);
        }
        let then = Then::Join {
            first: below,
            second: UtsTask::Inner {
                parent,
                first,
                mask: others,
                height,
            },
            after_ns: 0.0,
        };
        Step { ns: 0.0, then }
    }

    /// Writes the tree down, node by node.
    pub(crate) fn record<W: Write>(&self, to: W) -> io::Result<W> {
        let mut recorder = Recorder::new(to)?;
        let ns = self.node_ns as f32;
        recorder.task(0, ns, 0.0)?;
        // Nodes whose children are not all written yet: digest, children, the next one, height of
        // these.
        let mut open = vec![(self.root_node(), 0, 1)];
        while let Some((node, next, height)) = open.last_mut() {
            if *next == node.children {
                open.pop();
                continue;
            }
            let mut child = [UtsNode::default()];
            self.children(&node.state, *next, &mut child, *height);
            *next += 1;
            let height = *height;
            recorder.task(height, ns, 0.0)?;
            if child[0].children > 0 {
                open.push((child[0], 0, height + 1));
            }
        }
        recorder.finish()
    }
}

impl<H: Hash> TaskTree for UtsTree<H> {
    type Task = UtsTask;

    fn root(&self) -> UtsTask {
        UtsTask::Root
    }

    fn run(&self, task: UtsTask) -> Step<UtsTask> {
        match task {
            UtsTask::Root => {
                let root = self.root_node();
                let next = match root.children {
                    0 => Step {
                        ns: 0.0,
                        then: Then::End,
                    },
                    _ => self.run(self.below(&root, 0)),
                };
                Step {
                    ns: self.node_ns + next.ns,
                    then: next.then,
                }
            }
            UtsTask::Siblings {
                parent,
                first,
                last,
                height,
            } => {
                if (last - first) as usize <= TOGETHER {
                    return self.look(parent, (first, last), height);
                }
                let half = (last - first).div_ceil(2);
                let middle = first + half.next_multiple_of(TOGETHER as u32);
                let part = |first, last| UtsTask::Siblings {
                    parent,
                    first,
                    last,
                    height,
                };
                let then = Then::Join {
                    first: part(first, middle),
                    second: part(middle, last),
                    after_ns: 0.0,
                };
                Step { ns: 0.0, then }
            }
            UtsTask::Inner {
                parent,
                first,
                mask,
                height,
            } => {
                let mut node = [UtsNode::default()];
                self.children(&parent, first + mask.trailing_zeros(), &mut node, height);
                self.inner(parent, first, mask, height, &node[0])
            }
        }
    }
}

/// SHA-1 by the fastest way that this machine has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnyHash {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    ShaNi(ShaNi),
}

impl AnyHash {
    pub(crate) fn detect() -> AnyHash {
        #[cfg(target_arch = "x86_64")]
        if let Some(hash) = ShaNi::detect() {
            return AnyHash::ShaNi(hash);
        }
        AnyHash::Portable(Portable)
    }
}

impl Hash for AnyHash {
    fn children<N: DigestSink>(self, parent: &NodeDigest, first: u32, children: &mut [N]) {
        match self {
            AnyHash::Portable(hash) => hash.children(parent, first, children),
            #[cfg(target_arch = "x86_64")]
            AnyHash::ShaNi(hash) => hash.children(parent, first, children),
        }
    }
}

#[cfg(test)]
mod tests {
    use roving_model::{Recorded, Runtime};

    use super::*;
    use crate::workloads::Workload;
    use crate::workloads::uts::Uts;

    fn tree(flags: &str) -> UtsTree<AnyHash> {
        let (params, _) = Uts::parse(flags).unwrap().params();
        UtsTree::new(params, AnyHash::detect(), 100.0)
    }

    /// The trees that `workloads/uts` checks its own search by.
    #[test]
    fn all_nodes_are_simulated_and_recorded() {
        for (flags, nodes) in [
            ("-t0 -b100 -q0.2 -m4 -r0", 489u32),
            ("-t0 -b100 -q0.124875 -m8 -r42", 6797),
            ("-t1 -a3 -d5 -b4 -r19", 3987),
            ("-t1 -a2 -d8 -b4 -r502", 6244),
            ("-t2 -a0 -d8 -b4 -r1 -q0.2 -m4", 1179),
            ("-t0 -b0", 1),
        ] {
            let tree = tree(flags);
            for workers in [1, 5] {
                let outcome = Runtime::new(workers).run(&tree).unwrap();
                let work = f64::from(nodes) * 100.0;
                assert!(
                    (outcome.work_ns - work).abs() < 1e-3,
                    "{flags}: {}",
                    outcome.work_ns
                );
            }
            let text = tree.record(Vec::new()).unwrap();
            let recorded = Recorded::read(text.as_slice()).unwrap();
            assert_eq!(recorded.tasks(), nodes as usize, "{flags}");
            let outcome = Runtime::new(3).run(&recorded).unwrap();
            assert!(
                (outcome.work_ns - f64::from(nodes) * 100.0).abs() < 1e-3,
                "{flags}"
            );
        }
    }

    /// Which siblings are looked at together, and which nodes are joined: as in the real search.
    #[test]
    fn joins_are_those_of_the_search() {
        for flags in ["-t0 -b100 -q0.124875 -m8 -r42", "-t1 -a3 -d5 -b4 -r19"] {
            let mut counting = crate::forms::fork_join::Counting::default();
            Uts::parse(flags).unwrap().run(&mut counting);
            let outcome = Runtime::new(1).run(&tree(flags)).unwrap();
            assert_eq!(outcome.joins, counting.spawns, "{flags}");
        }
    }
}
