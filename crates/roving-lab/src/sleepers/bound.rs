//! The least time that a shape takes on so many workers.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::shapes::shape::ShapePart;

/// The times by which a shape is bounded before it runs, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    /// All leaves, divided by the workers.
    pub(crate) share: f64,
    /// The longest way through it.
    pub(crate) span: f64,
    /// See [`list_us`].
    pub(crate) list: f64,
}

impl Bounds {
    pub(crate) fn of(whole: &ShapePart, workers: usize) -> Bounds {
        Bounds {
            share: whole.work_us() as f64 / workers as f64 / 1e6,
            span: whole.span_us() as f64 / 1e6,
            list: list_us(whole, workers) as f64 / 1e6,
        }
    }

    /// No schedule is shorter.
    pub(crate) fn greedy(&self) -> f64 {
        self.share.max(self.span)
    }
}

/// How long a scheduler without costs takes that keeps every worker at work while any leaf is
/// ready, and begins leaves in the order of a serial run. In µs.
pub(crate) fn list_us(whole: &ShapePart, workers: usize) -> u64 {
    let mut nodes = Vec::new();
    flatten(whole, None, &mut nodes);
    let mut schedule = ListSchedule {
        ready: BTreeSet::new(),
        nodes,
    };
    schedule.begin(0);
    let mut running = BinaryHeap::new();
    let mut now = 0;
    loop {
        while running.len() < workers {
            let Some(leaf) = schedule.ready.pop_first() else {
                break;
            };
            let ShapePart::Leaf(time_us) = schedule.nodes[leaf].part else {
                unreachable!("only leaves are ready");
            };
            running.push(Reverse((now + u64::from(*time_us), leaf)));
        }
        let Some(Reverse((end, leaf))) = running.pop() else {
            return now;
        };
        now = end;
        schedule.end(leaf);
    }
}

/// A part, at its place in the order of a serial run.
struct OrderedPart<'p> {
    part: &'p ShapePart,
    parent: Option<usize>,
    children: Vec<usize>,
    /// How many children have ended.
    ended: usize,
}

fn flatten<'p>(
    part: &'p ShapePart,
    parent: Option<usize>,
    nodes: &mut Vec<OrderedPart<'p>>,
) -> usize {
    let me = nodes.len();
    nodes.push(OrderedPart {
        part,
        parent,
        children: Vec::new(),
        ended: 0,
    });
    let parts = part.parts().iter();
    let children = parts.map(|child| flatten(child, Some(me), nodes)).collect();
    nodes[me].children = children;
    me
}

struct ListSchedule<'p> {
    nodes: Vec<OrderedPart<'p>>,
    ready: BTreeSet<usize>,
}

impl ListSchedule<'_> {
    fn begin(&mut self, me: usize) {
        match self.nodes[me].part {
            ShapePart::Leaf(_) => {
                self.ready.insert(me);
            }
            ShapePart::Series(_) => self.begin(self.nodes[me].children[0]),
            ShapePart::Join(_) | ShapePart::Spawn(_) | ShapePart::Loop(_) => {
                let children = self.nodes[me].children.clone();
                children.into_iter().for_each(|child| self.begin(child));
            }
        }
    }

    fn end(&mut self, me: usize) {
        let Some(parent) = self.nodes[me].parent else {
            return;
        };
        let node = &mut self.nodes[parent];
        node.ended += 1;
        if node.ended == node.children.len() {
            self.end(parent);
        } else if matches!(node.part, ShapePart::Series(_)) {
            let next = node.children[node.ended];
            self.begin(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::shape::KINDS;

    #[test]
    fn a_list_schedule_keeps_to_the_order_and_to_the_series() {
        let leaves = |times: &[u32]| times.iter().map(|time| ShapePart::Leaf(*time)).collect();
        let flat = ShapePart::Spawn(leaves(&[1, 1, 4]));
        assert_eq!((list_us(&flat, 2), list_us(&flat, 1)), (5, 6));
        let phases = ShapePart::Series(vec![flat.clone(), flat]);
        assert_eq!((list_us(&phases, 2), list_us(&phases, 3)), (10, 8));
        let greedy_us = |workers| Bounds::of(&phases, workers).greedy() * 1e6;
        assert_eq!(
            [1, 2].map(|workers| greedy_us(workers).round()),
            [12.0, 8.0]
        );
    }

    #[test]
    fn a_list_schedule_is_within_grahams_bound() {
        for kind in &KINDS {
            for workers in [1, 2, 7, 64] {
                let whole = kind.for_workers(workers).whole();
                let bounds = Bounds::of(&whole, workers);
                let (list, rounded) = (bounds.list, 1e-9);
                let within = bounds.greedy() - rounded..bounds.share + bounds.span + rounded;
                assert!(within.contains(&list), "{} on {workers}", kind.name);
            }
        }
    }
}
