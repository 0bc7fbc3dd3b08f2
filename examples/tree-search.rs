//! Searches a tree of which nobody knows the shape before, and sorts what it has found.
//!
//! ```text
//! cargo run --release --example tree-search -- 8
//! ```
//!
//! Parallel iterators, as with Rayon. Each node has 1 to 11 children, and each node's loop over
//! them is a parallel one: a loop that nobody helps with costs about as much as a plain one, so
//! there is no depth below which the program goes on serially.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use roving_examples::{Failure, Words, random};
use roving_iter::prelude::*;

const USAGE: &str = "tree-search [DEPTH]      1 to 12, default 8";
/// One leaf in so many is looked for.
const RARE: u64 = 100;

fn main() -> ExitCode {
    roving_examples::run(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let depth = words.number("depth", 8, 1..=12)?;
    words.end()?;
    let root = Node { value: 1, depth };
    writeln!(out, "{} nodes", root.count())?;
    let mut found = root.search();
    found.par_sort_unstable();
    found.dedup();
    writeln!(out, "{} leaves are found", found.len())?;
    if let (Some(least), Some(most)) = (found.first(), found.last()) {
        writeln!(out, "from {least:016x} to {most:016x}")?;
    }
    Ok(())
}

/// A node knows what is below it.
#[derive(Clone, Copy)]
struct Node {
    value: u64,
    /// Levels below it.
    depth: u32,
}

impl Node {
    fn children(self) -> impl ParallelIterator<Item = Node> {
        let count = match self.depth {
            0 => 0,
            _ => 1 + self.value % 11,
        };
        (0..count).into_par_iter().map(move |child| Node {
            value: random(self.value.wrapping_add(child)),
            depth: self.depth - 1,
        })
    }

    /// The number of nodes from here on.
    fn count(self) -> u64 {
        1 + self.children().map(Node::count).sum::<u64>()
    }

    /// The values of the leaves that are looked for.
    fn search(self) -> Vec<u64> {
        if self.depth == 0 {
            return Vec::from_iter(self.value.is_multiple_of(RARE).then_some(self.value));
        }
        self.children().flat_map_iter(Node::search).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts and searches by plain recursion.
    fn serial(node: Node, found: &mut Vec<u64>) -> u64 {
        if node.depth == 0 {
            found.extend(node.value.is_multiple_of(RARE).then_some(node.value));
            return 1;
        }
        let count = 1 + node.value % 11;
        let child = |child| Node {
            value: random(node.value.wrapping_add(child)),
            depth: node.depth - 1,
        };
        1 + (0..count).map(|n| serial(child(n), found)).sum::<u64>()
    }

    #[test]
    fn nodes_and_leaves_are_those_of_the_recursion() {
        for workers in [1, 2, 4] {
            let pool = roving::Pool::new(workers).unwrap();
            for depth in 0..6 {
                let root = Node { value: 7, depth };
                let mut expected = Vec::new();
                let count = serial(root, &mut expected);
                assert_eq!(pool.install(|| root.count()), count);
                // In the order of the tree, whoever was faster.
                assert_eq!(pool.install(|| root.search()), expected);
            }
        }
    }

    #[test]
    fn the_program_says_what_it_found() {
        let text = roving_examples::output(program, &["5"]).unwrap();
        let mut expected = Vec::new();
        let count = serial(Node { value: 1, depth: 5 }, &mut expected);
        expected.sort_unstable();
        expected.dedup();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(&*format!("{count} nodes")));
        let found = format!("{} leaves are found", expected.len());
        assert_eq!(lines.next(), Some(&*found));
        assert!(
            lines
                .next()
                .unwrap()
                .ends_with(&format!("{:016x}", expected[expected.len() - 1]))
        );
    }
}
