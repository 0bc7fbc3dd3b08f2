//! Walks through a tree, by `walk_tree_prefix` and `walk_tree_postfix`.

use rayon::iter::{walk_tree_postfix, walk_tree_prefix};
use rayon::prelude::*;

use crate::work::{Scale, Work, value};

/// A node is the range of numbers below it, its own first (or last).
type Node = (u64, u64);

fn root(scale: Scale) -> Node {
    (0, scale.size(100_000, 1000) as u64)
}

/// Two halves of what is left without the first number.
fn below_first(node: &Node) -> Vec<Node> {
    halves(node.0 + 1, node.1)
}

/// Two halves of what is left without the last number.
fn below_last(node: &Node) -> Vec<Node> {
    halves(node.0, node.1 - 1)
}

fn halves(from: u64, to: u64) -> Vec<Node> {
    let middle = from + (to - from) / 2;
    let parts = [(from, middle), (middle, to)];
    parts.into_iter().filter(|part| part.0 < part.1).collect()
}

fn all(root: &Node) -> Vec<u64> {
    (root.0..root.1).collect()
}

fn total(root: &Node) -> u64 {
    (root.0..root.1).sum()
}

/// Numbers in order, parents before children.
pub(crate) fn prefix_collect(scale: Scale) -> Box<dyn Work> {
    value(root(scale), all, |root| {
        let nodes = walk_tree_prefix(*root, below_first);
        nodes.map(|node| node.0).collect()
    })
}

/// Numbers in order, children before parents.
pub(crate) fn postfix_collect(scale: Scale) -> Box<dyn Work> {
    value(root(scale), all, |root| {
        let nodes = walk_tree_postfix(*root, below_last);
        nodes.map(|node| node.1 - 1).collect()
    })
}

/// The sum, parents before children.
pub(crate) fn prefix_sum(scale: Scale) -> Box<dyn Work> {
    value(root(scale), total, |root| {
        let nodes = walk_tree_prefix(*root, below_first);
        nodes.map(|node| node.0).sum()
    })
}

/// The sum, children before parents.
pub(crate) fn postfix_sum(scale: Scale) -> Box<dyn Work> {
    value(root(scale), total, |root| {
        let nodes = walk_tree_postfix(*root, below_last);
        nodes.map(|node| node.1 - 1).sum()
    })
}
