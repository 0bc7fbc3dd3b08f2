//! Random programs over several pools at once, shares of one arena and one with threads of its own,
//! checked against a serial evaluation.

mod common;
#[path = "common/panics.rs"]
mod panics;

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

use common::{Random, tries, watched};
use panics::fail;
use roving::{Arena, Pool, Priority, blocking, join};

const CLASSES: [Priority; 3] = [Priority::Low, Priority::Normal, Priority::High];

/// The state that all parts of a program share.
struct World {
    pools: Vec<Pool>,
    detached: Arc<AtomicUsize>,
}

/// A node of a program.
#[derive(Clone, Copy)]
enum Node {
    Leaf,
    Join,
    Install(usize),
    Scope(usize),
    Panic,
    Broadcast(usize),
    Blocking,
    Detached(usize, Priority),
}

/// The node with that seed, and the seeds of its children.
fn node(seed: u64, depth: u32, pools: usize) -> (Node, [u64; 3]) {
    let mut random = Random(seed);
    let children = [random.next(), random.next(), random.next()];
    if depth == 0 {
        return (Node::Leaf, children);
    }
    let pool = random.below(pools as u64) as usize;
    let node = match random.below(16) {
        0 => Node::Leaf,
        1..=5 => Node::Join,
        6..=9 => Node::Install(pool),
        10 | 11 => Node::Scope(2 + random.below(2) as usize),
        12 => Node::Panic,
        13 => Node::Broadcast(pool),
        14 => Node::Blocking,
        _ => Node::Detached(pool, CLASSES[random.below(3) as usize]),
    };
    (node, children)
}

/// How many leaves, and how many detached jobs, by the definition.
fn serial(seed: u64, depth: u32, pools: usize) -> (usize, usize) {
    let (node, seeds) = node(seed, depth, pools);
    let count = match node {
        Node::Leaf => return (1, 0),
        Node::Join => 2,
        Node::Scope(count) => count,
        Node::Install(_) | Node::Panic | Node::Blocking => 1,
        Node::Broadcast(_) => 1,
        Node::Detached(..) => {
            let (leaves, jobs) = serial(seeds[0], depth - 1, pools);
            return (leaves, jobs + 1);
        }
    };
    let parts = seeds[..count].iter();
    let parts = parts.map(|&seed| serial(seed, depth - 1, pools));
    parts.fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
}

fn run(world: &World, seed: u64, depth: u32) -> usize {
    let (node, seeds) = node(seed, depth, world.pools.len());
    let part = |at: usize| run(world, seeds[at], depth - 1);
    match node {
        Node::Leaf => 1,
        Node::Join => {
            let (a, b) = join(|| part(0), || part(1));
            a + b
        }
        Node::Install(pool) => world.pools[pool].install(|| part(0)),
        Node::Scope(count) => {
            let sum = AtomicUsize::new(0);
            roving::scope(|s| {
                for at in 0..count {
                    let (sum, part) = (&sum, &part);
                    s.spawn(move |_| {
                        sum.fetch_add(part(at), SeqCst);
                    });
                }
            });
            sum.into_inner()
        }
        Node::Panic => {
            let pool = &world.pools[seed as usize % world.pools.len()];
            let mut leaves = 0;
            let caught = panic::catch_unwind(AssertUnwindSafe(|| {
                let (a, ()) = join(|| part(0), || ());
                leaves = a;
                join(|| (), || pool.install(|| fail("on purpose")));
            }));
            assert!(caught.is_err());
            leaves
        }
        Node::Broadcast(pool) => {
            let indices = world.pools[pool].broadcast(|index| index);
            assert!(indices.iter().enumerate().all(|(at, &index)| at == index));
            part(0)
        }
        Node::Blocking => blocking(|| {
            thread::yield_now();
            part(0)
        }),
        Node::Detached(pool, class) => {
            let detached = Arc::clone(&world.detached);
            world.pools[pool].spawn_with(class, move || {
                detached.fetch_add(1, SeqCst);
            });
            part(0)
        }
    }
}

#[test]
fn programs_over_many_pools_come_to_what_they_are() {
    watched(|| {
        let mut random = Random(9);
        for round in 0..tries(60) {
            let arena = Arena::new(1 + round % 3).unwrap();
            let share = |at: usize| {
                let builder = arena.pool().workers(1 + at % 3).workers_max(3);
                builder.priority(CLASSES[at % 3]).build().unwrap()
            };
            let mut pools: Vec<Pool> = (0..4).map(share).collect();
            pools.push(common::pool(2));
            let world = World {
                pools,
                detached: Arc::new(AtomicUsize::new(0)),
            };
            let (count, stop) = (world.pools.len(), AtomicBool::new(false));
            let seeds: Vec<u64> = (0..3).map(|_| random.next()).collect();
            let expected: Vec<_> = seeds.iter().map(|&seed| serial(seed, 8, count)).collect();
            thread::scope(|s| {
                let (world, stop) = (&world, &stop);
                let resizes = s.spawn(move || {
                    let mut random = Random(round as u64);
                    while !stop.load(SeqCst) {
                        let pool = &world.pools[random.below(4) as usize];
                        pool.resize(1 + random.below(3) as usize).unwrap();
                        thread::yield_now();
                    }
                });
                let programs: Vec<_> = seeds
                    .iter()
                    .enumerate()
                    .map(|(at, &seed)| {
                        s.spawn(move || world.pools[at].install(|| run(world, seed, 8)))
                    })
                    .collect();
                for (program, (leaves, _)) in programs.into_iter().zip(&expected) {
                    assert_eq!(program.join().unwrap(), *leaves);
                }
                stop.store(true, SeqCst);
                resizes.join().unwrap();
            });
            let jobs = expected.iter().map(|(_, jobs)| jobs).sum::<usize>();
            let detached = Arc::clone(&world.detached);
            drop(world);
            // Pools that are dropped have run what they held.
            assert_eq!(detached.load(SeqCst), jobs);
            drop(arena);
        }
    });
}
