//! Random trees whose shape nobody knows beforehand.

use super::{Step, Then, Tree};
use crate::random::mix;

/// A tree in the manner of the binomial ones of UTS: the root has `roots` children, and every other
/// node has `children` with probability `probability`, else none. What a node has is a hash of its
/// place, so the tree is the same however it is run. Siblings are split in halves by joins.
///
/// ```
/// use roving_model::{Binomial, Runtime};
/// let tree = Binomial { seed: 1, roots: 500, children: 4, probability: 0.2, node_ns: 1000.0 };
/// let (one, four) = (Runtime::new(1).run(&tree)?, Runtime::new(4).run(&tree)?);
/// assert_eq!(one.work_ns, four.work_ns);
/// assert!(four.speedup() > 3.0);
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binomial {
    /// Another seed is another tree.
    pub seed: u64,
    /// Children of the root.
    pub roots: u32,
    /// Children of any other node that has some.
    pub children: u32,
    /// How likely it has; times `children` below 1, or the tree is endless.
    pub probability: f64,
    /// The time of each node, in ns.
    pub node_ns: f64,
}

/// The children `first .. last` of the node `parent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Siblings {
    parent: u64,
    first: u32,
    last: u32,
}

impl Tree for Binomial {
    type Task = Siblings;

    fn root(&self) -> Siblings {
        Siblings {
            parent: mix(self.seed),
            first: 0,
            last: self.roots,
        }
    }

    fn run(&self, task: Siblings) -> Step<Siblings> {
        let Siblings {
            mut parent,
            mut first,
            mut last,
        } = task;
        let mut ns = 0.0;
        // A single node's children are the next task, with nobody to share them with.
        while last.saturating_sub(first) == 1 {
            ns += self.node_ns;
            let node = mix(parent.wrapping_add(mix(u64::from(first) + 1)));
            let draw = (node >> 11) as f64 / (1u64 << 53) as f64;
            let children = if draw < self.probability {
                self.children
            } else {
                0
            };
            (parent, first, last) = (node, 0, children);
        }
        let count = last.saturating_sub(first);
        if count == 0 {
            let then = Then::End;
            return Step { ns, then };
        }
        let middle = first + count.div_ceil(2);
        let part = |first, last| Siblings {
            parent,
            first,
            last,
        };
        let then = Then::Join {
            first: part(first, middle),
            second: part(middle, last),
            after_ns: 0.0,
        };
        Step { ns, then }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain, which is as long as chance has it: no seed makes one that comes back to itself.
    #[test]
    fn chains_end_for_every_seed() {
        for seed in 0..2000 {
            let tree = Binomial {
                seed,
                roots: 1,
                children: 1,
                probability: 0.9,
                node_ns: 1.0,
            };
            let step = tree.run(tree.root());
            assert!(
                step.then == Then::End && step.ns >= 1.0 && step.ns < 400.0,
                "{seed}"
            );
        }
    }
}
