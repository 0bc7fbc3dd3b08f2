//! Networks on deterministic pools: the same seed is the same run, also of what depends on the
//! order; and what does not depend on it comes out the same under every seed.

use std::collections::BTreeSet;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use roving::testing::Explorer;
use roving::{Cancel, CancelledError, Pool};
use roving_flow::{Error, In, Merge, Network, Out, Placement};

/// So many schedules are looked at.
const SEEDS: u64 = if cfg!(miri) { 6 } else { 60 };

fn drawn(seed: u64) -> Pool {
    let builder = Pool::builder().deterministic(seed).workers(3);
    builder.log_schedule(true).build().unwrap()
}

/// Three sources, whose numbers pass a stage each and are merged as they come. Returns what came,
/// in that order, and how channels have grown.
fn merging(pool: &Pool, placement: Option<Placement>) -> (Vec<u32>, Vec<(usize, usize)>) {
    let mut seen = Vec::new();
    let mut network = Network::new();
    network.placement(placement.unwrap_or(Placement::Stealing));
    let merged = (0..3).map(|source| {
        let (out, numbers) = network.bounded(format!("numbers {source}"), 2);
        let (doubled, results) = network.bounded(format!("doubled {source}"), 1);
        let first = source * 100;
        network.source(format!("source {source}"), out, first..first + 20);
        let ports = (numbers, doubled);
        network.process(
            format!("double {source}"),
            ports,
            async |(mut numbers, mut doubled)| {
                while let Some(number) = numbers.recv().await {
                    doubled.send(number * 2).await.unwrap();
                }
            },
        );
        results
    });
    let merge = Merge::new(merged.collect::<Vec<_>>());
    let came = &mut seen;
    network.process("merge", merge, async move |mut merge: Merge<u32>| {
        while let Some((_, number)) = merge.recv().await {
            came.push(number);
        }
    });
    let report = network.run(pool).unwrap();
    let growths = report.growths.iter().map(|one| (one.from, one.to));
    (seen, growths.collect())
}

#[test]
fn one_seed_is_one_run_of_a_network() {
    let mut orders = BTreeSet::new();
    for seed in 0..SEEDS {
        let run = || {
            let pool = drawn(seed);
            (merging(&pool, None), pool.schedule_log())
        };
        let (came, log) = run();
        assert_eq!(run(), (came.clone(), log), "seed {seed}");
        let mut sorted = came.0.clone();
        sorted.sort_unstable();
        let expected = (0..3).flat_map(|source| (0..20).map(move |n| (source * 100 + n) * 2));
        assert!(sorted.into_iter().eq(expected));
        orders.insert(came.0);
    }
    let differ = orders.len() as u64;
    assert!(
        differ > SEEDS - SEEDS / 12 - 1,
        "{differ} of {SEEDS} orders differ"
    );
}

#[test]
fn every_placement_comes_to_its_end() {
    for seed in 0..SEEDS / 6 {
        for placement in [Placement::partitioned(), Placement::adaptive()] {
            let (came, _) = merging(&drawn(seed), Some(placement));
            assert_eq!(came.len(), 60);
        }
    }
}

/// Both sides send more than there is room for before they receive.
#[test]
fn channels_grow_the_same_under_every_seed() {
    let run = |seed| {
        let mut network = Network::new();
        let (there, here) = network.bounded::<u32>("there", 1);
        let (done, is_done) = network.bounded::<()>("done", 1);
        network.process("a", (there, done), async |(mut there, mut done)| {
            for number in 0..10 {
                there.send(number).await.unwrap();
            }
            done.send(()).await.unwrap();
        });
        network.process("b", (here, is_done), async |(mut here, mut is_done)| {
            is_done.recv().await;
            while here.recv().await.is_some() {}
        });
        let report = network.run(&drawn(seed)).unwrap();
        let growths = report.growths.iter().map(|one| (one.from, one.to));
        growths.collect::<Vec<_>>()
    };
    for seed in 0..SEEDS {
        assert_eq!(run(seed), [(1, 2), (2, 4), (4, 8), (8, 16)], "seed {seed}");
    }
}

#[test]
fn a_deadlock_is_found_under_every_seed() {
    for seed in 0..SEEDS {
        let mut network = Network::new();
        let (to_a, at_a) = network.channel::<u32>("to a");
        let (to_b, at_b) = network.channel::<u32>("to b");
        for (name, ports) in [("a", (to_b, at_a)), ("b", (to_a, at_b))] {
            network.process(name, ports, async |(mut out, mut input)| {
                while let Some(number) = input.recv().await {
                    out.send(number).await.unwrap();
                }
            });
        }
        let error = network.run(&drawn(seed)).unwrap_err();
        assert!(
            matches!(error, Error::Deadlock { .. }),
            "seed {seed}: {error}"
        );
    }
}

#[test]
fn an_exploration_finds_what_counts_on_the_order_of_a_merge() {
    let seeds = SEEDS / 3;
    let explorer = Explorer::new().seeds(0..seeds).workers(3);
    let counts_on_it = |sorts: bool| {
        let explore = || {
            explorer.run_on(|pool| {
                let (mut came, _) = merging(pool, None);
                if sorts {
                    came.sort_unstable();
                }
                assert!(came.is_sorted());
            })
        };
        panic::catch_unwind(explore)
    };
    assert!(counts_on_it(false).is_err());
    let explored = counts_on_it(true).unwrap();
    assert_eq!((explored.runs, explored.schedules), (seeds, seeds));
}

/// Three sources without end are merged, and whoever merges them cancels the token of the network
/// at the seventh number. Returns from which source each number came, and how many were sent.
fn cancelled(pool: &Pool) -> (Vec<usize>, usize) {
    let (sent, held, token) = (AtomicUsize::new(0), Arc::new(()), Cancel::new());
    let mut came = Vec::new();
    let outcome = token.run(|| {
        let mut network = Network::new();
        let inputs: Vec<_> = (0..3)
            .map(|source| {
                let (mut out, input) = network.bounded(format!("from {source}"), 2);
                let (sent, held) = (&sent, Arc::clone(&held));
                network.process(format!("source {source}"), (), async move |()| {
                    while out.send(Arc::clone(&held)).await.is_ok() {
                        sent.fetch_add(1, Relaxed);
                    }
                });
                input
            })
            .collect();
        let (came, token) = (&mut came, &token);
        let merge = Merge::new(inputs);
        network.process("merge", merge, async move |mut merge: Merge<Arc<()>>| {
            while let Some((source, _)) = merge.recv().await {
                came.push(source);
                if came.len() == 7 {
                    token.cancel();
                }
            }
        });
        network.run(pool)
    });
    let is_cancelled = matches!(outcome, Err(CancelledError) | Ok(Err(Error::Cancelled)));
    assert!(is_cancelled, "{outcome:?}");
    assert_eq!(Arc::strong_count(&held), 1, "nothing is left of it");
    (came, sent.into_inner())
}

#[test]
fn a_network_that_is_cancelled_ends_the_same_under_each_seed() {
    let mut ends = BTreeSet::new();
    for seed in 0..SEEDS {
        let run = || {
            let pool = drawn(seed);
            (cancelled(&pool), pool.schedule_log())
        };
        let (end, log) = run();
        assert!(end.0.len() >= 7 && end.1 >= 7, "seed {seed}: {end:?}");
        assert_eq!(run(), (end.clone(), log), "seed {seed}");
        ends.insert(end);
    }
    assert!(ends.len() > 1, "all seeds come to {ends:?}");
}

/// A thread outside sends numbers to a network, and another one takes the results; two processes
/// share the work, and what they find is merged. All come through, whatever the seed.
#[test]
fn threads_outside_are_served_under_every_seed() {
    for seed in 0..SEEDS / 2 {
        let mut network = Network::new();
        let (mut to, numbers) = network.bounded::<u32>("from outside", 1);
        let (mut results, mut from) = network.bounded::<u32>("to outside", 1);
        let (mut odd, odds) = network.bounded("odd", 1);
        let (mut even, evens) = network.bounded("even", 1);
        network.process("deal", numbers, async move |mut numbers: In<u32>| {
            while let Some(number) = numbers.recv().await {
                let out: &mut Out<u32> = if number % 2 == 1 { &mut odd } else { &mut even };
                out.send(number).await.unwrap();
            }
        });
        let merge = Merge::new([odds, evens]);
        network.process("merge", merge, async move |mut merge: Merge<u32>| {
            while let Some((_, number)) = merge.recv().await {
                results.send(number * 2).await.unwrap();
            }
        });
        let mut came: Vec<u32> = thread::scope(|threads| {
            threads.spawn(move || (0..20).for_each(|number| to.send_blocking(number).unwrap()));
            let takes =
                threads.spawn(move || std::iter::from_fn(|| from.recv_blocking()).collect());
            network.run(&drawn(seed)).unwrap();
            takes.join().unwrap()
        });
        came.sort_unstable();
        assert!(
            came.into_iter().eq((0..20).map(|number| number * 2)),
            "seed {seed}"
        );
    }
}
