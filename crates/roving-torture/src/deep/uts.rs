//! Unbalanced Tree Search (Olivier et al. 2006), binomial trees: deep, and of unpredictable shape.

use std::time::{Duration, Instant};

use roving::Pool;
use sha1::{Digest as _, Sha1};

use crate::dog::Leash;
use crate::row::{Outcome, RowFigure, RowRun};
use crate::system;

type State = [u8; 20];

/// A tree of the UTS suite, with its published number of nodes.
struct PublishedTree {
    name: &'static str,
    root_children: u32,
    q: f64,
    m: u32,
    seed: u32,
    nodes: u64,
    depth: u64,
}

const T3: PublishedTree = PublishedTree {
    name: "UTS T3",
    root_children: 2000,
    q: 0.124875,
    m: 8,
    seed: 42,
    nodes: 4_112_897,
    depth: 1572,
};
const T3L: PublishedTree = PublishedTree {
    name: "UTS T3L",
    root_children: 2000,
    q: 0.200014,
    m: 5,
    seed: 7,
    nodes: 111_345_631,
    depth: 17_844,
};
const T3XXL: PublishedTree = PublishedTree {
    name: "UTS T3XXL",
    root_children: 2000,
    q: 0.499995,
    m: 2,
    seed: 316,
    nodes: 2_793_220_501,
    depth: 99_049,
};

/// Native stack of a level, at most: a scope's frame and what stands around it.
const LEVEL_BYTES: u64 = if cfg!(debug_assertions) {
    12_288
} else {
    2_048
};
/// Less time is not enough for the smallest tree.
const SHORTEST: Duration = Duration::from_secs(10);
/// Resident memory that a tree may take beyond the stacks.
const RESIDENT_KIB_MAX: f64 = 32_768.0;

fn root(seed: u32) -> State {
    let mut hash = Sha1::new();
    hash.update([0; 16]);
    hash.update(seed.to_be_bytes());
    hash.finalize().into()
}

fn child(parent: &State, index: u32) -> State {
    let mut hash = Sha1::new();
    hash.update(parent);
    hash.update(index.to_be_bytes());
    hash.finalize().into()
}

impl PublishedTree {
    fn children(&self, node: &State) -> u32 {
        let [.., a, b, c, d] = *node;
        let number = u32::from_be_bytes([a, b, c, d]) & 0x7FFF_FFFF;
        match f64::from(number) / 2_147_483_648.0 < self.q {
            true => self.m,
            false => 0,
        }
    }

    /// Nodes of the subtree, and its height. Some nodes by chance tell the watchdog that it goes
    /// on.
    fn walk(&self, node: &State, leash: &Leash<'_>) -> (u64, u64) {
        if node.starts_with(&[0, 0]) {
            leash.stroke();
        }
        self.walk_children(node, 0, self.children(node), leash)
    }

    /// Of the children from `first` to before `end`, and the node itself once.
    fn walk_children(&self, node: &State, first: u32, end: u32, leash: &Leash<'_>) -> (u64, u64) {
        let below = self.halves(node, first, end, leash);
        (below.0 + 1, below.1)
    }

    fn halves(&self, node: &State, first: u32, end: u32, leash: &Leash<'_>) -> (u64, u64) {
        match end - first {
            0 => (0, 0),
            1 => {
                let (nodes, height) = self.walk(&child(node, first), leash);
                (nodes, height + 1)
            }
            count => {
                let middle = first + count / 2;
                let (a, b) = roving::join(
                    || self.halves(node, first, middle, leash),
                    || self.halves(node, middle, end, leash),
                );
                (a.0 + b.0, a.1.max(b.1))
            }
        }
    }
}

/// The largest trees that the time allows: the small one says how fast it goes.
pub(crate) fn figures(run: &RowRun<'_>) -> Outcome {
    if run.time < SHORTEST {
        return Ok(vec![RowFigure::skipped(
            "UTS T3, nodes: no time for it",
            "nodes",
        )]);
    }
    let start = Instant::now();
    let mut figures = one(&T3, run)?;
    let node_s = start.elapsed().as_secs_f64() / T3.nodes as f64;
    for tree in [&T3L, &T3XXL] {
        let left_s = run.time.as_secs_f64() - run.start.elapsed().as_secs_f64();
        if tree.nodes as f64 * node_s * 1.2 > left_s {
            let what = format!("{}, nodes: no time for it", tree.name);
            figures.push(RowFigure::skipped(what, "nodes"));
            continue;
        }
        figures.extend(one(tree, run)?);
    }
    Ok(figures)
}

fn one(tree: &PublishedTree, run: &RowRun<'_>) -> Outcome {
    let stack_size = (tree.depth * LEVEL_BYTES).max(4 << 20);
    let builder = Pool::builder().workers(4).name("uts");
    let pool = builder.stack_size(stack_size as usize).build();
    let pool = pool.map_err(|error| run.failure(error.to_string()))?;
    let before = system::resident_kib();
    let start = Instant::now();
    let root = root(tree.seed);
    let (mut nodes, mut height) = (1, 0);
    let leash = run.dog.watch(tree.name, run.replay());
    // In parts, to tell how far it is.
    const PARTS: u32 = 50;
    for part in 0..PARTS {
        let share = |part| tree.root_children * part / PARTS;
        let below = pool.install(|| tree.halves(&root, share(part), share(part + 1), &leash));
        nodes += below.0;
        height = height.max(below.1);
        run.tell(|| format!("{nodes} nodes of {}", tree.name));
    }
    drop(leash);
    let ns = start.elapsed().as_secs_f64() * 1e9 / nodes as f64;
    if (nodes, height) != (tree.nodes, tree.depth) {
        let text = format!(
            "{}: {nodes} nodes, {height} deep, should be {} and {}",
            tree.name, tree.nodes, tree.depth
        );
        return Err(run.failure(text));
    }
    let name = tree.name;
    let what = format!("resident memory beyond the stacks, {name}");
    let most = RESIDENT_KIB_MAX + 4.0 * stack_size as f64 / 1024.0;
    let after = system::resident_kib();
    Ok(vec![
        RowFigure::at_least(
            format!("{name}, nodes"),
            nodes as f64,
            tree.nodes as f64,
            "nodes",
        ),
        RowFigure::told(format!("{name}, levels"), height as f64, "levels"),
        RowFigure::told(format!("{name}, a node"), ns, "ns"),
        match before.zip(after) {
            Some((before, after)) => {
                RowFigure::at_most(what, after.saturating_sub(before) as f64, most, "KiB")
            }
            None => RowFigure::skipped(what, "KiB"),
        },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dog::Dog;

    /// A subtree of T3 that is known from the serial program: the sum over all is its published
    /// size.
    #[test]
    fn the_first_children_of_t3_are_as_the_suite_has_them() {
        let pool = Pool::builder()
            .workers(2)
            .stack_size(64 << 20)
            .build()
            .unwrap();
        let root = root(T3.seed);
        let dog = Dog::new(Duration::from_secs(1000));
        let leash = dog.watch("T3", "this test");
        let parallel = pool.install(|| T3.halves(&root, 0, 100, &leash));
        fn serial(tree: &PublishedTree, node: &State) -> u64 {
            let below = (0..tree.children(node)).map(|index| serial(tree, &child(node, index)));
            below.sum::<u64>() + 1
        }
        let builder = std::thread::Builder::new().stack_size(64 << 20);
        let all = move || {
            (0..100)
                .map(|index| serial(&T3, &child(&root, index)))
                .sum()
        };
        let nodes: u64 = builder.spawn(all).unwrap().join().unwrap();
        assert_eq!(parallel.0, nodes);
    }
}
