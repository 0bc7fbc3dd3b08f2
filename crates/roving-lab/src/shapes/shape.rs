//! Programs whose leaves sleep, as data: each is described once, and all runtimes run it.
//!
//! A leaf that sleeps needs no core. So a few cores show how many workers share work, as long as
//! the work of sharing itself leaves them idle.
//!
//! This file knows nothing of the rest of the lab. A program that is linked with our `rayon-core`
//! (`crates/rayon-core/bench`) is told the parts, and runs them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A part of a program, in series and in parallel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ShapePart {
    /// Takes so many µs.
    Leaf(u32),
    /// One part after the other.
    Series(Vec<ShapePart>),
    /// Two parts by a `join`.
    Join(Box<[ShapePart; 2]>),
    /// Parts that a scope spawns.
    Spawn(Vec<ShapePart>),
    /// The rounds of a parallel loop.
    Loop(Vec<ShapePart>),
}

impl ShapePart {
    fn join(a: ShapePart, b: ShapePart) -> ShapePart {
        ShapePart::Join(Box::new([a, b]))
    }

    /// The parts that this one consists of.
    pub(crate) fn parts(&self) -> &[ShapePart] {
        match self {
            ShapePart::Leaf(_) => &[],
            ShapePart::Join(both) => &both[..],
            ShapePart::Series(parts) | ShapePart::Spawn(parts) | ShapePart::Loop(parts) => parts,
        }
    }

    /// The time of all leaves, one after the other, in µs.
    pub(crate) fn work_us(&self) -> u64 {
        match self {
            ShapePart::Leaf(time_us) => u64::from(*time_us),
            _ => self.parts().iter().map(ShapePart::work_us).sum(),
        }
    }

    /// The longest way through it, in µs.
    pub(crate) fn span_us(&self) -> u64 {
        let parts = self.parts().iter().map(ShapePart::span_us);
        match self {
            ShapePart::Leaf(time_us) => u64::from(*time_us),
            ShapePart::Series(_) => parts.sum(),
            ShapePart::Join(_) | ShapePart::Spawn(_) | ShapePart::Loop(_) => {
                parts.max().unwrap_or(0)
            }
        }
    }

    /// How many leaves it has.
    #[cfg(test)]
    pub(crate) fn leaves(&self) -> usize {
        match self {
            ShapePart::Leaf(_) => 1,
            _ => self.parts().iter().map(ShapePart::leaves).sum(),
        }
    }
}

/// From where the parts of a shape are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CalledFrom {
    /// The one part is called inside the pool.
    Inside,
    /// Each part is called by a thread outside the pool, all at once.
    Callers,
    /// A loop in one pool calls each part in another pool.
    TwoPools,
}

/// The end of the time that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimedUntil {
    /// From the call until all has ended.
    Ended,
    /// From the call until the last leaf has begun.
    Begun,
}

/// A shape before it is known on how many workers it runs.
#[derive(Debug)]
pub(crate) struct ShapeKind {
    /// The word on the command line, and in tables.
    pub(crate) name: &'static str,
    pub(crate) entry: CalledFrom,
    pub(crate) until: TimedUntil,
    make: fn(usize) -> Vec<ShapePart>,
}

/// A program on so many workers.
#[derive(Debug)]
pub(crate) struct ShapedProgram {
    pub(crate) kind: &'static ShapeKind,
    pub(crate) parts: Vec<ShapePart>,
}

impl ShapeKind {
    /// For that many workers: only [`TimedUntil::Begun`] depends on them. It stays to the end of
    /// the process, because runtimes with tasks that do not borrow run it too.
    pub(crate) fn for_workers(&'static self, workers: usize) -> &'static ShapedProgram {
        let parts = (self.make)(workers);
        Box::leak(Box::new(ShapedProgram { kind: self, parts }))
    }
}

impl ShapedProgram {
    /// It as one part of a program, for its bounds.
    pub(crate) fn whole(&self) -> ShapePart {
        ShapePart::Spawn(self.parts.clone())
    }
}

/// How leaves pass their time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Leaves {
    /// The share of each leaf that computes; it sleeps for the rest.
    pub(crate) spin: f64,
}

/// When the last leaf began, in ns since [`epoch`].
static BEGUN_NS: AtomicU64 = AtomicU64::new(0);

fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

/// From `start` until the last leaf began that has begun so far.
pub(crate) fn begun_since(start: Instant) -> Duration {
    // Ordering: Relaxed; the end of the run orders all leaves before this.
    let begun = Duration::from_nanos(BEGUN_NS.load(Ordering::Relaxed));
    (epoch() + begun).saturating_duration_since(start)
}

impl Leaves {
    /// Passes the time of a leaf.
    pub(crate) fn pass(self, time_us: u32) {
        let start = Instant::now();
        let begun_ns = start.duration_since(epoch()).as_nanos() as u64;
        // Ordering: Relaxed; see `begun_since`.
        BEGUN_NS.fetch_max(begun_ns, Ordering::Relaxed);
        let time = Duration::from_micros(u64::from(time_us));
        let spins = time.mul_f64(self.spin);
        while start.elapsed() < spins {
            std::hint::spin_loop();
        }
        if time > spins {
            thread::sleep(time - spins);
        }
    }
}

/// SplitMix64: the number of a leaf decides how long it is.
fn hash(number: u64) -> u64 {
    let mut x = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Between 0 and 1, never 0.
fn unit(number: u64) -> f64 {
    (hash(number) >> 11).max(1) as f64 / (1u64 << 53) as f64
}

const LEAVES: usize = 240;
const EVEN_US: u32 = 1_800;

fn even(_: usize) -> ShapePart {
    ShapePart::Leaf(EVEN_US)
}

/// From 0.3 to 3.3 ms.
pub(crate) fn uneven_us(number: usize) -> u32 {
    300 + (hash(number as u64) % 3_001) as u32
}

fn uneven(number: usize) -> ShapePart {
    ShapePart::Leaf(uneven_us(number))
}

/// Many short ones and ever fewer long ones.
fn geometric(number: usize) -> ShapePart {
    let time_us = -unit(number as u64).ln() * f64::from(EVEN_US);
    ShapePart::Leaf(time_us.clamp(50.0, 12_000.0) as u32)
}

/// Pareto's, with an exponent of 1.3: a few have most of the work.
fn heavy(number: usize) -> ShapePart {
    let time_us = 500.0 * unit(number as u64).powf(-1.0 / 1.3);
    ShapePart::Leaf(time_us.clamp(50.0, 25_000.0) as u32)
}

fn leaves(count: usize, leaf: fn(usize) -> ShapePart) -> Vec<ShapePart> {
    (0..count).map(leaf).collect()
}

/// A tree of joins over `first .. last`; `split` gives the first leaf of the second half.
fn tree(
    first: usize,
    last: usize,
    leaf: fn(usize) -> ShapePart,
    split: fn(usize, usize) -> usize,
) -> ShapePart {
    if last - first == 1 {
        return leaf(first);
    }
    let middle = split(first, last).clamp(first + 1, last - 1);
    let [a, b] = [(first, middle), (middle, last)].map(|(a, b)| tree(a, b, leaf, split));
    ShapePart::join(a, b)
}

fn halves(first: usize, last: usize) -> usize {
    first.midpoint(last)
}

fn lopsided_left(first: usize, last: usize) -> usize {
    last - (last - first).div_ceil(8)
}

fn lopsided_right(first: usize, last: usize) -> usize {
    first + (last - first).div_ceil(8)
}

/// The first part is short, and of a random size.
fn random(first: usize, last: usize) -> usize {
    let number = (first * LEAVES + last) as u64;
    first + 1 + (hash(number) as usize) % ((last - first) / 4 + 1)
}

/// A producer that works a little before each of its `count` tasks.
fn producer(number: usize, count: usize) -> ShapePart {
    let task = uneven(number * count + count);
    if count == 0 {
        return task;
    }
    let rest = producer(number, count - 1);
    ShapePart::Series(vec![ShapePart::Leaf(100), ShapePart::join(rest, task)])
}

/// A chain of joins, with a bush at each link.
fn chain(links: usize) -> ShapePart {
    let bush = tree(links * 5, links * 5 + 5, uneven, halves);
    match links {
        0 => bush,
        _ => ShapePart::join(chain(links - 1), bush),
    }
}

/// A node that works, and then spawns its children: nobody knows the tree before it is searched.
fn unknown(number: u64, height: usize) -> ShapePart {
    let children = match height {
        0 => 14,
        1..=9 if unit(number) < 0.46 => 3,
        _ => 0,
    };
    let children = (1..=children).map(|child| unknown(number * 16 + child, height + 1));
    let children: Vec<ShapePart> = children.collect();
    let work = ShapePart::Leaf(900);
    match children.is_empty() {
        true => work,
        false => ShapePart::Series(vec![work, ShapePart::Spawn(children)]),
    }
}

fn of_trees(count: usize) -> Vec<ShapePart> {
    let each = LEAVES / count;
    let tree_of = |number: usize| tree(number * each, (number + 1) * each, uneven, halves);
    (0..count).map(tree_of).collect()
}

/// Rounds of a loop, each of which is a loop: the last are much longer.
fn nested() -> ShapePart {
    let inner = |round: usize| ShapePart::Loop(leaves(1 + round * 2, uneven));
    ShapePart::Loop((0..15).map(inner).collect())
}

/// Nodes with 2 to 100 children.
fn fans() -> ShapePart {
    let fan =
        |count: usize| ShapePart::Spawn((0..count).map(|leaf| uneven(leaf + count)).collect());
    let fans = [2, 3, 5, 10, 20, 40, 60, 100].map(fan);
    ShapePart::Spawn(fans.into())
}

fn phases() -> ShapePart {
    let phase = |phase: usize| (phase * 30..phase * 30 + 30).map(uneven).collect();
    ShapePart::Series(
        (0..8)
            .map(|number| ShapePart::Spawn(phase(number)))
            .collect(),
    )
}

/// As long as it takes until every worker must have begun one.
fn start(_: usize) -> ShapePart {
    ShapePart::Leaf(15_000)
}

const fn inside(name: &'static str, make: fn(usize) -> Vec<ShapePart>) -> ShapeKind {
    ShapeKind {
        name,
        entry: CalledFrom::Inside,
        until: TimedUntil::Ended,
        make,
    }
}

/// All shapes, in the order of tables.
pub(crate) static KINDS: [ShapeKind; 23] = [
    inside("flat-even", |_| {
        vec![ShapePart::Spawn(leaves(LEAVES, even))]
    }),
    inside("flat-uneven", |_| {
        vec![ShapePart::Spawn(leaves(LEAVES, uneven))]
    }),
    inside("loop-even", |_| vec![ShapePart::Loop(leaves(LEAVES, even))]),
    inside("loop-uneven", |_| {
        vec![ShapePart::Loop(leaves(LEAVES, uneven))]
    }),
    inside("tree", |_| vec![tree(0, LEAVES, uneven, halves)]),
    inside("left", |_| vec![tree(0, LEAVES, uneven, lopsided_left)]),
    inside("right", |_| vec![tree(0, LEAVES, uneven, lopsided_right)]),
    inside("random", |_| vec![tree(0, LEAVES, uneven, random)]),
    inside("chain", |_| vec![chain(47)]),
    inside("fans", |_| vec![fans()]),
    inside("nested", |_| vec![nested()]),
    inside("phases", |_| vec![phases()]),
    ShapeKind {
        entry: CalledFrom::Callers,
        ..inside("callers", |_| of_trees(8))
    },
    ShapeKind {
        entry: CalledFrom::TwoPools,
        ..inside("two-pools", |_| of_trees(8))
    },
    inside("producers", |_| {
        vec![ShapePart::Spawn(
            (0..4).map(|one| producer(one, 59)).collect(),
        )]
    }),
    inside("joins-in-scope", |_| vec![ShapePart::Spawn(of_trees(15))]),
    inside("one-long", |_| {
        let short = ShapePart::Spawn(leaves(LEAVES - 20, uneven));
        vec![ShapePart::join(short, ShapePart::Leaf(20_000))]
    }),
    inside("long-first", |_| {
        let short = ShapePart::Spawn(leaves(LEAVES - 20, uneven));
        vec![ShapePart::join(ShapePart::Leaf(20_000), short)]
    }),
    inside("geometric", |_| vec![tree(0, LEAVES, geometric, random)]),
    inside("heavy-tail", |_| vec![tree(0, LEAVES, heavy, halves)]),
    inside("uts", |_| vec![unknown(1, 0)]),
    ShapeKind {
        until: TimedUntil::Begun,
        ..inside("start-flat", |workers| {
            vec![ShapePart::Spawn(leaves(workers, start))]
        })
    },
    ShapeKind {
        until: TimedUntil::Begun,
        ..inside("start-tree", |workers| {
            vec![tree(0, workers.max(2), start, halves)]
        })
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_work_for_many_workers_and_a_short_span() {
        for kind in &KINDS {
            let whole = kind.for_workers(8).whole();
            let (work, span) = (whole.work_us(), whole.span_us());
            assert!(whole.leaves() >= 8 && span > 0, "{}", kind.name);
            if kind.until == TimedUntil::Ended {
                let leaves = whole.leaves();
                assert!((150..=500).contains(&leaves), "{}: {leaves}", kind.name);
                assert!((200_000..=800_000).contains(&work), "{}: {work}", kind.name);
                assert!(span * 8 <= work, "{}: {work} / {span}", kind.name);
            }
            let inside = kind.entry == CalledFrom::Inside;
            assert_eq!(
                kind.for_workers(2).parts.len() == 1,
                inside,
                "{}",
                kind.name
            );
        }
    }

    #[test]
    fn work_and_span_follow_the_parts() {
        let both = ShapePart::join(ShapePart::Leaf(3), ShapePart::Leaf(5));
        let all = ShapePart::Series(vec![
            both.clone(),
            ShapePart::Loop(vec![both, ShapePart::Leaf(1)]),
        ]);
        assert_eq!((all.work_us(), all.span_us(), all.leaves()), (17, 10, 5));
    }

    #[test]
    fn a_leaf_says_when_it_began() {
        let start = Instant::now();
        Leaves { spin: 0.5 }.pass(200);
        assert!(start.elapsed() >= Duration::from_micros(200));
        assert!(begun_since(start) > Duration::ZERO);
    }
}
