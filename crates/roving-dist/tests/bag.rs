//! Bags between ranks that are threads: exact in every run, whatever the messages' order.

mod common;

use std::time::Duration;

use common::{hash, nodes, tree, watched};
use roving::Pool;
use roving_dist::{Bag, Plan, World};

/// Counts a tree of about so many nodes on `plan`'s ranks, with so many workers each.
fn count(plan: &Plan, workers: usize, seed: u64) -> Vec<u64> {
    World::threads_with(plan, |world| {
        let pool = Pool::new(workers).unwrap();
        Bag::new(&world)
            .run(&pool, [(seed, 0)], tree, |a, b| a + b)
            .unwrap()
    })
}

#[test]
fn counts_are_exact_on_1_2_4_and_8_ranks_in_100_runs() {
    watched(Duration::from_secs(300), || {
        for run in 0..100 {
            let expected = nodes((run, 0));
            for ranks in [1, 2, 4, 8] {
                let found = count(&Plan::new(ranks), 1 + run as usize % 2, run);
                assert_eq!(found, vec![expected; ranks], "run {run}, {ranks} ranks");
            }
        }
    });
}

#[test]
fn counts_are_exact_when_messages_are_late() {
    watched(Duration::from_secs(300), || {
        for seed in 0..40 {
            let delay = Duration::from_micros(hash(seed) % 2000);
            let plan = Plan::new(2 + seed as usize % 5).seed(seed).delay_max(delay);
            let expected = nodes((seed, 0));
            for found in count(&plan, 1, seed) {
                assert_eq!(found, expected, "seed {seed}");
            }
        }
    });
}
