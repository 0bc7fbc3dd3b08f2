//! The expected outcome of a program: its value, or the panics that it may end with; how many tasks
//! it runs.

use super::node::*;
use super::reduction;
use crate::random::{mix, mix2};

/// The panics that may come out. Sorted, without repeats, and never empty where there is one.
pub(crate) type Ids = Vec<Id>;

/// Where a panic was caught.
pub(crate) const CAUGHT: u64 = 99;
/// The value that is seen without a tag.
pub(crate) const NO_TAG: u64 = 55;
/// The value of a part that was stopped, or may have been.
pub(crate) const STOPPED: u64 = 9;
/// The value of a message that was never sent.
pub(crate) const NO_MESSAGE: u64 = 77;

/// The expected outcome, with which the parallel run of a program is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) outcome: Result<u64, Ids>,
    pub(crate) ran_min: u64,
    pub(crate) ran_max: u64,
    pub(crate) jobs: u64,
    /// Of the results of the jobs that have one.
    pub(crate) jobs_sum: u64,
    pub(crate) jobs_failed: u64,
    /// The panics that these may end with.
    pub(crate) job_ids: Ids,
}

/// Evaluates a program for pools with so many workers; it runs in the first.
pub(crate) fn expected(node: &ClosureNode, workers: &[usize]) -> Expected {
    let mut serial = Serial {
        workers,
        here: 0,
        tag: NO_TAG,
        calm: false,
        loose: Ids::new(),
        expected: Expected {
            outcome: Ok(0),
            ran_min: 0,
            ran_max: 0,
            jobs: 0,
            jobs_sum: 0,
            jobs_failed: 0,
            job_ids: Ids::new(),
        },
    };
    let outcome = serial.node(node);
    Expected {
        outcome,
        ..serial.expected
    }
}

struct Serial<'a> {
    workers: &'a [usize],
    /// The pool that the evaluation is in.
    here: usize,
    /// The innermost tag.
    tag: u64,
    /// Nothing throws: what would may be dropped.
    calm: bool,
    /// The panics of tasks of the current root that are never awaited.
    loose: Ids,
    expected: Expected,
}

fn add(to: &mut Ids, ids: Ids) {
    to.extend(ids);
    to.sort_unstable();
    to.dedup();
}

fn leaves(seed: u64, count: u64) -> u64 {
    (0..count).fold(0, |sum, leaf| sum.wrapping_add(leaf_value(seed, leaf)))
}

impl Serial<'_> {
    fn ran(&mut self, tasks: u64) {
        self.expected.ran_min += tasks;
        self.expected.ran_max += tasks;
    }

    fn node(&mut self, node: &ClosureNode) -> Result<u64, Ids> {
        match node {
            ClosureNode::Leaf(value) => Ok(mix(*value)),
            ClosureNode::Throw(id) => self.throw(*id, 0),
            ClosureNode::Join(both) | ClosureNode::Wide(both) => {
                self.ran(1);
                let (a, b) = (self.node(&both.0), self.node(&both.1));
                Ok(a?.rotate_left(1) ^ b?)
            }
            ClosureNode::Heap { depth, seed, .. } => {
                self.ran((1 << depth) - 1);
                Ok(leaves(*seed, 1 << depth))
            }
            ClosureNode::Scope { kind, steps } => self.scope(*kind, steps),
            ClosureNode::Flat { tasks, seed, .. } => {
                self.ran(u64::from(*tasks));
                Ok(leaves(*seed, u64::from(*tasks)))
            }
            ClosureNode::Cancelled { .. } => Ok(1),
            ClosureNode::Cancelling { tasks, .. } => {
                self.expected.ran_min += u64::from(*tasks > 0);
                self.expected.ran_max += u64::from(*tasks);
                Ok(2)
            }
            ClosureNode::Loop {
                kind,
                end,
                seed,
                throw,
            } => match throw {
                Some((_, id)) => self.throw(*id, 0),
                None if *kind == LoopKind::Reduce => Ok(reduction::serial(*seed, *end as usize)),
                None => Ok(leaves(*seed, u64::from(*end))),
            },
            ClosureNode::Catch(node) => Ok(self.node(node).unwrap_or(CAUGHT)),
            ClosureNode::Broadcast { seed, throw } => {
                let workers = self.workers[self.here] as u64;
                self.ran(workers);
                match throw {
                    Some((index, id)) if u64::from(*index) < workers => self.throw(*id, 0),
                    _ => Ok(leaves(*seed, workers)),
                }
            }
            ClosureNode::Blocking { node, .. } => self.node(node),
            ClosureNode::Install { pool, node } => {
                self.elsewhere(Some(*pool), |serial| serial.node(node))
            }
            ClosureNode::Root { pool, task } => self.elsewhere(*pool, |serial| serial.root(task)),
            ClosureNode::Tagged { tag, node } => {
                self.tagged(Some(*tag), |serial| serial.node(node))
            }
            ClosureNode::Seen => Ok(mix(self.tag)),
            ClosureNode::Stoppable { stop, node } => self.stoppable(*stop, node),
            ClosureNode::Waits { .. } => {
                self.expected.ran_max += 2;
                Ok(STOPPED)
            }
            ClosureNode::Resize(_) => Ok(4),
            ClosureNode::Job { priority, node } => {
                let pool = priority.map(|_| 0);
                self.elsewhere(pool, |serial| serial.job(node));
                Ok(3)
            }
        }
    }

    fn elsewhere<R>(&mut self, pool: Option<usize>, f: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.here;
        self.here = pool.unwrap_or(before);
        let result = f(self);
        self.here = before;
        result
    }

    fn throw(&self, id: Id, otherwise: u64) -> Result<u64, Ids> {
        match self.calm {
            true => Ok(otherwise),
            false => Err(vec![id]),
        }
    }

    fn tagged<R>(&mut self, tag: Option<u64>, f: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.tag;
        self.tag = tag.unwrap_or(before);
        let result = f(self);
        self.tag = before;
        result
    }

    fn stoppable(&mut self, stop: Stop, node: &ClosureNode) -> Result<u64, Ids> {
        match stop {
            Stop::Never => self.node(node),
            Stop::Before => Ok(STOPPED),
            Stop::Outside | Stop::After(_) => {
                // At least nothing runs; at most all that would if nothing threw, because what
                // throws may be dropped.
                let before = (self.expected.ran_min, self.calm);
                self.calm = true;
                let _ = self.node(node);
                (self.expected.ran_min, self.calm) = before;
                Ok(STOPPED)
            }
        }
    }

    fn job(&mut self, node: &ClosureNode) {
        self.ran(1);
        self.expected.jobs += 1;
        match self.node(node) {
            Ok(value) => {
                self.expected.jobs_sum = self.expected.jobs_sum.wrapping_add(mix(value));
            }
            Err(ids) => {
                self.expected.jobs_failed += 1;
                add(&mut self.expected.job_ids, ids);
            }
        }
    }

    /// The body's panic wins; otherwise it is that of any task. All tasks that were spawned run.
    fn scope(&mut self, kind: ScopeKind, steps: &[ScopeStep]) -> Result<u64, Ids> {
        // Tasks run in the scope's pool, the body where it is.
        let pool = match kind {
            ScopeKind::InPlaceOf(pool) => pool,
            ScopeKind::Scope | ScopeKind::InPlace => self.here,
        };
        let (mut sum, mut failed) = (0_u64, Ids::new());
        for (index, step) in steps.iter().enumerate() {
            let mut task = |serial: &mut Self, node: &ClosureNode, key: u64| {
                serial.ran(1);
                match serial.elsewhere(Some(pool), |serial| serial.node(node)) {
                    Ok(value) => sum = sum.wrapping_add(mix2(value, key)),
                    Err(ids) => add(&mut failed, ids),
                }
            };
            let index = index as u64;
            match step {
                ScopeStep::Spawn(node) | ScopeStep::Foreign(node) => task(self, node, index),
                ScopeStep::SpawnTagged(tag, node) => {
                    self.tagged(Some(*tag), |serial| task(serial, node, index));
                }
                ScopeStep::Chain(first, second) => {
                    task(self, first, index);
                    task(self, second, !index);
                }
                ScopeStep::Here(node) => {
                    let value = self.node(node)?;
                    sum = sum.wrapping_add(mix2(value, index));
                }
                ScopeStep::Broadcast(seed) => {
                    let workers = self.workers[pool] as u64;
                    self.ran(workers);
                    sum = sum.wrapping_add(leaves(*seed, workers));
                }
            }
        }
        match failed.is_empty() {
            true => Ok(sum),
            false => Err(failed),
        }
    }

    /// The root's own panic wins; otherwise it is that of any task that nobody awaited.
    fn root(&mut self, task: &TaskNode) -> Result<u64, Ids> {
        let outer = std::mem::take(&mut self.loose);
        self.ran(1);
        let own = self.task(task);
        let loose = std::mem::replace(&mut self.loose, outer);
        match (own, loose.is_empty()) {
            (Ok(_), false) => Err(loose),
            (own, _) => own,
        }
    }

    fn task(&mut self, task: &TaskNode) -> Result<u64, Ids> {
        match task {
            TaskNode::Tree(tree) => self.tree(tree),
            TaskNode::Fib { depth, seed, .. } => {
                self.ran((1 << (depth + 1)) - 2);
                Ok(leaves(*seed, 1 << depth))
            }
            TaskNode::Loop { tasks, seed, .. } => {
                self.ran(u64::from(*tasks));
                Ok(leaves(*seed, u64::from(*tasks)))
            }
        }
    }

    fn tree(&mut self, tree: &TaskTree) -> Result<u64, Ids> {
        let mut held = Vec::new();
        let result = self.tree_body(tree, &mut held);
        // Handles that were not awaited: what those tasks panic with goes to the root.
        for (_, outcome) in held {
            if let Err(ids) = outcome {
                add(&mut self.loose, ids);
            }
        }
        result
    }

    fn tree_body(
        &mut self,
        tree: &TaskTree,
        held: &mut Vec<(u64, Result<u64, Ids>)>,
    ) -> Result<u64, Ids> {
        let mut value = mix(tree.value) ^ mix(self.tag);
        if let Some(inner) = &tree.inner {
            value = value.wrapping_add(self.node(inner)?);
        }
        for (index, child) in tree.children.iter().enumerate() {
            let index = index as u64;
            self.ran(1 + u64::from(child.passes_on()));
            let outcome = self.tagged(child.own_tag(), |serial| serial.task(&child.node));
            if child.how == How::Call || child.fate == Fate::AwaitedAtOnce {
                value = value.wrapping_add(mix2(outcome?, index));
                continue;
            }
            match child.fate {
                Fate::AwaitedAtTheEnd | Fate::PassedOn => held.push((index, outcome)),
                Fate::Message => {
                    let sent = *outcome.as_ref().unwrap_or(&NO_MESSAGE);
                    self.is_loose(outcome);
                    value = value.wrapping_add(mix2(sent, index));
                }
                Fate::Dropped | Fate::AwaitedAtOnce => self.is_loose(outcome),
            }
        }
        if let Some(id) = tree.throw {
            value = self.throw(id, value)?;
        }
        while !held.is_empty() {
            let (index, outcome) = held.remove(0);
            value = value.wrapping_add(mix2(outcome?, index));
        }
        Ok(value)
    }

    fn is_loose(&mut self, outcome: Result<u64, Ids>) {
        if let Err(ids) = outcome {
            add(&mut self.loose, ids);
        }
    }
}

impl Child {
    /// The tag that it does not have from its parent.
    pub(crate) fn own_tag(&self) -> Option<u64> {
        self.tag.filter(|_| self.how == How::Spawn)
    }

    /// Another task awaits it.
    pub(crate) fn passes_on(&self) -> bool {
        self.how != How::Call && self.fate == Fate::PassedOn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(a: ClosureNode, b: ClosureNode) -> Box<(ClosureNode, ClosureNode)> {
        Box::new((a, b))
    }

    #[test]
    fn of_a_join_the_first_panic_counts_and_both_sides_run() {
        let inner = ClosureNode::Join(boxed(ClosureNode::Leaf(1), ClosureNode::Throw(5)));
        let node = ClosureNode::Join(boxed(ClosureNode::Throw(4), inner));
        let expected = expected(&node, &[2]);
        assert_eq!(expected.outcome, Err(vec![4]));
        assert_eq!((expected.ran_min, expected.ran_max), (2, 2));
    }

    #[test]
    fn of_a_scope_any_panic_may_come_out_but_that_of_the_body_wins() {
        let tasks = [
            ScopeStep::Spawn(ClosureNode::Throw(2)),
            ScopeStep::Spawn(ClosureNode::Throw(1)),
        ];
        let with = |last: Vec<ScopeStep>| ClosureNode::Scope {
            kind: ScopeKind::Scope,
            steps: tasks.iter().cloned().chain(last).collect(),
        };
        assert_eq!(expected(&with(vec![]), &[1]).outcome, Err(vec![1, 2]));
        let body = vec![
            ScopeStep::Here(ClosureNode::Throw(3)),
            ScopeStep::Spawn(ClosureNode::Throw(9)),
        ];
        let of_body = expected(&with(body), &[1]);
        assert_eq!(of_body.outcome, Err(vec![3]));
        assert_eq!(
            of_body.ran_max, 2,
            "what comes after the panic is not spawned"
        );
    }

    #[test]
    fn a_panic_that_nobody_awaits_reaches_the_root() {
        let failing = || {
            TaskNode::Tree(TaskTree {
                throw: Some(8),
                ..tree(vec![])
            })
        };
        fn tree(children: Vec<Child>) -> TaskTree {
            TaskTree {
                value: 1,
                pause: Pause::None,
                inner: None,
                children,
                throw: None,
            }
        }
        let child = |fate| Child {
            how: How::Fork,
            fate,
            tag: None,
            node: failing(),
        };
        for fate in [
            Fate::Dropped,
            Fate::Message,
            Fate::AwaitedAtOnce,
            Fate::PassedOn,
        ] {
            let task = Box::new(TaskNode::Tree(tree(vec![child(fate)])));
            let node = ClosureNode::Root { pool: None, task };
            let expected = expected(&node, &[1]);
            assert_eq!(expected.outcome, Err(vec![8]), "{fate:?}");
            assert_eq!(expected.ran_max, 2 + u64::from(fate == Fate::PassedOn));
        }
    }

    #[test]
    fn a_broadcast_follows_the_pool_that_it_is_in() {
        let node = ClosureNode::Broadcast {
            seed: 1,
            throw: Some((2, 6)),
        };
        assert!(expected(&node, &[2, 3]).outcome.is_ok());
        let inside = ClosureNode::Install {
            pool: 1,
            node: Box::new(node),
        };
        let expected = expected(&inside, &[2, 3]);
        assert_eq!(expected.outcome, Err(vec![6]));
        assert_eq!(expected.ran_min, 3);
    }
}
