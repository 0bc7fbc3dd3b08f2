//! Random trees whose shape nobody knows beforehand.

use super::{Step, Then, Tree};
use crate::random::mix;

/// A tree in the manner of the binomial ones of UTS: the root has `roots` children, and every other
/// node has `children` with probability `probability`, else none. What a node has is a hash of its place, so
/// the tree is the same however it is run. Siblings are split in halves by joins.
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
    /// What each node takes, in ns.
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
            parent,
            first,
            last,
        } = task;
        let count = last.saturating_sub(first);
        if count > 1 {
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
            return Step { ns: 0.0, then };
        }
        // One node: the step is its own, and its children are the next task.
        let node = mix(parent ^ mix(u64::from(first)));
        let draw = (node >> 11) as f64 / (1u64 << 53) as f64;
        if count == 0 || draw >= self.probability || self.children == 0 {
            let ns = if count == 0 { 0.0 } else { self.node_ns };
            return Step {
                ns,
                then: Then::End,
            };
        }
        let below = Siblings {
            parent: node,
            first: 0,
            last: self.children,
        };
        let next = self.run(below);
        Step {
            ns: self.node_ns + next.ns,
            then: next.then,
        }
    }
}
