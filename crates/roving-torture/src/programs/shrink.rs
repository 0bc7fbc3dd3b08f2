//! Making a program that fails smaller, as long as it fails.

use super::node::*;
use super::round::{self, DrawnRound};
use super::serial;
use crate::census::Census;
use crate::dog::Dog;

/// How often a smaller program may run without failing before it counts as right.
const TRIES: usize = 30;
/// How many smaller programs are looked at in all.
const LOOKS: usize = 2000;

/// The smallest program found that fails in the way that this one does, if it fails again at all.
pub(crate) fn smallest(
    program: &ClosureNode,
    plan: &DrawnRound,
    census: &'static Census,
    dog: &Dog,
) -> Option<(ClosureNode, String)> {
    let leash = dog.watch("shrinking", plan.replay(None));
    let pools = plan.setup.build().ok()?;
    let workers = plan.setup.all_workers();
    let fails = |node: &ClosureNode| {
        leash.stroke();
        let expected = serial::expected(node, &workers);
        (0..TRIES).find_map(|_| round::check(node, &expected, &pools, census, dog.limit()).err())
    };
    let mut best = program.clone();
    let mut why = fails(&best)?;
    let mut looks = 0;
    'smaller: loop {
        for candidate in smaller(&best) {
            looks += 1;
            if looks > LOOKS {
                break 'smaller;
            }
            if let Some(text) = fails(&candidate) {
                (best, why) = (candidate, text);
                continue 'smaller;
            }
        }
        break;
    }
    Some((best, why))
}

/// Programs that are one step smaller: a part in the place of the whole, or a part made smaller.
pub(crate) fn smaller(node: &ClosureNode) -> Vec<ClosureNode> {
    let mut all: Vec<ClosureNode> = parts(node).into_iter().cloned().collect();
    match node {
        ClosureNode::Join(both) => all.extend(of_both(both).map(ClosureNode::Join)),
        ClosureNode::Wide(both) => all.extend(of_both(both).map(ClosureNode::Wide)),
        ClosureNode::Heap { depth, seed, owned } => {
            all.extend((0..*depth).rev().map(|depth| ClosureNode::Heap {
                depth,
                seed: *seed,
                owned: *owned,
            }))
        }
        ClosureNode::Flat { tasks, seed, shape } => {
            all.extend(
                [tasks / 2, tasks.saturating_sub(1)]
                    .into_iter()
                    .filter_map(|fewer| {
                        (fewer < *tasks).then_some(ClosureNode::Flat {
                            tasks: fewer,
                            seed: *seed,
                            shape: *shape,
                        })
                    }),
            );
        }
        ClosureNode::Scope { kind, steps } => {
            for (at, step) in steps.iter().enumerate() {
                let with = |new: Option<ScopeStep>| {
                    let mut steps = steps.clone();
                    steps.splice(at..=at, new);
                    ClosureNode::Scope { kind: *kind, steps }
                };
                all.push(with(None));
                all.extend(smaller_step(step).into_iter().map(|step| with(Some(step))));
            }
        }
        ClosureNode::Catch(part) => all.extend(inside(part, ClosureNode::Catch)),
        ClosureNode::Blocking { sleep_us, node } => {
            let sleep_us = *sleep_us;
            all.extend(inside(node, |node| ClosureNode::Blocking {
                sleep_us,
                node,
            }));
        }
        ClosureNode::Tagged { tag, node } => {
            all.extend(inside(node, |node| ClosureNode::Tagged { tag: *tag, node }));
        }
        ClosureNode::Stoppable { stop, node } => {
            all.extend(inside(node, |node| ClosureNode::Stoppable {
                stop: *stop,
                node,
            }));
        }
        ClosureNode::Install { pool, node } => {
            all.extend(inside(node, |node| ClosureNode::Install {
                pool: *pool,
                node,
            }));
        }
        ClosureNode::Root { pool, task } => all.extend(smaller_task(task).into_iter().map(
            |task| ClosureNode::Root {
                pool: *pool,
                task: Box::new(task),
            },
        )),
        _ => {}
    }
    all
}

/// The part made smaller, within what is around it.
fn inside(
    part: &ClosureNode,
    around: impl Fn(Box<ClosureNode>) -> ClosureNode,
) -> Vec<ClosureNode> {
    let all = smaller(part).into_iter();
    all.map(|node| around(Box::new(node))).collect()
}

/// The parts of a node that are programs themselves.
fn parts(node: &ClosureNode) -> Vec<&ClosureNode> {
    match node {
        ClosureNode::Join(both) | ClosureNode::Wide(both) => vec![&both.0, &both.1],
        ClosureNode::Scope { steps, .. } => steps
            .iter()
            .flat_map(|step| match step {
                ScopeStep::Spawn(node)
                | ScopeStep::SpawnTagged(_, node)
                | ScopeStep::Here(node)
                | ScopeStep::Foreign(node) => vec![node],
                ScopeStep::Chain(first, second) => vec![first, second],
                ScopeStep::Broadcast(_) => vec![],
            })
            .collect(),
        ClosureNode::Catch(node)
        | ClosureNode::Blocking { node, .. }
        | ClosureNode::Install { node, .. } => vec![node],
        ClosureNode::Tagged { node, .. } | ClosureNode::Stoppable { node, .. } => vec![node],
        ClosureNode::Job { node, .. } => vec![node],
        ClosureNode::Root { task, .. } => match &**task {
            TaskNode::Tree(tree) => tree.inner.iter().collect(),
            _ => vec![],
        },
        _ => vec![],
    }
}

fn of_both(
    both: &(ClosureNode, ClosureNode),
) -> impl Iterator<Item = Box<(ClosureNode, ClosureNode)>> + use<> {
    let first = smaller(&both.0)
        .into_iter()
        .map(|a| Box::new((a, both.1.clone())));
    let second = smaller(&both.1)
        .into_iter()
        .map(|b| Box::new((both.0.clone(), b)));
    first.chain(second).collect::<Vec<_>>().into_iter()
}

fn smaller_step(step: &ScopeStep) -> Vec<ScopeStep> {
    match step {
        ScopeStep::Spawn(node) => smaller(node).into_iter().map(ScopeStep::Spawn).collect(),
        ScopeStep::Here(node) => smaller(node).into_iter().map(ScopeStep::Here).collect(),
        ScopeStep::Foreign(node) => vec![ScopeStep::Spawn(node.clone())],
        ScopeStep::SpawnTagged(tag, node) => smaller(node)
            .into_iter()
            .map(|node| ScopeStep::SpawnTagged(*tag, node))
            .collect(),
        ScopeStep::Chain(first, second) => {
            let mut all = vec![
                ScopeStep::Spawn(first.clone()),
                ScopeStep::Spawn(second.clone()),
            ];
            let chain = |(first, second)| ScopeStep::Chain(first, second);
            let both = of_both(&(first.clone(), second.clone()));
            all.extend(both.map(|both| chain(*both)));
            all
        }
        ScopeStep::Broadcast(_) => vec![],
    }
}

fn smaller_task(task: &TaskNode) -> Vec<TaskNode> {
    match task {
        TaskNode::Tree(tree) => {
            let mut all: Vec<TaskNode> = tree
                .children
                .iter()
                .map(|child| child.node.clone())
                .collect();
            for (at, child) in tree.children.iter().enumerate() {
                let with = |new: Option<Child>| {
                    let mut tree = tree.clone();
                    tree.children.splice(at..=at, new);
                    TaskNode::Tree(tree)
                };
                all.push(with(None));
                let less = smaller_task(&child.node);
                all.extend(
                    less.into_iter()
                        .map(|node| with(Some(Child { node, ..*child }))),
                );
            }
            if let Some(inner) = &tree.inner {
                let with = |inner: Option<ClosureNode>| {
                    TaskNode::Tree(TaskTree {
                        inner,
                        ..tree.clone()
                    })
                };
                all.push(with(None));
                all.extend(smaller(inner).into_iter().map(|inner| with(Some(inner))));
            }
            if tree.pause != Pause::None {
                let pause = Pause::None;
                all.push(TaskNode::Tree(TaskTree {
                    pause,
                    ..tree.clone()
                }));
            }
            all
        }
        TaskNode::Fib { depth, seed, how } => (0..*depth)
            .rev()
            .map(|depth| TaskNode::Fib {
                depth,
                seed: *seed,
                how: *how,
            })
            .collect(),
        TaskNode::Loop {
            tasks,
            held,
            seed,
            how,
        } => [tasks / 2, tasks.saturating_sub(1)]
            .into_iter()
            .filter(|fewer| fewer < tasks)
            .map(|tasks| TaskNode::Loop {
                tasks,
                held: *held,
                seed: *seed,
                how: *how,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::{Limits, program};
    use super::*;

    fn throws(node: &ClosureNode) -> bool {
        matches!(node, ClosureNode::Throw(_)) || parts(node).into_iter().any(throws)
    }

    /// Whatever property a program has, taking steps that keep it ends at a small one.
    #[test]
    fn steps_lead_to_a_smallest_program() {
        let limits = Limits {
            tasks: 300,
            pools: 0,
            may_come_back: true,
            resize: None,
            throws: true,
        };
        let mut shrunk = 0;
        for seed in 0..200 {
            let mut node = program(seed, limits);
            if !throws(&node) {
                continue;
            }
            while let Some(next) = smaller(&node).into_iter().find(throws) {
                node = next;
            }
            assert!(matches!(node, ClosureNode::Throw(_)), "{node:?}");
            shrunk += 1;
        }
        assert!(shrunk > 20, "only {shrunk} programs throw");
    }
}
