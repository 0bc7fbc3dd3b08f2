//! Placements: the same results wherever processes run, and processes where they are placed.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use roving::Pool;
use roving_flow::partition::MigrationCost;
use roving_flow::{Error, In, Network, Out, Placement, Report};

/// All kinds, with figures that make them act within a few milliseconds.
fn placements() -> [Placement; 5] {
    let partitioned = |idle_us, migration_cost, topology| Placement::Partitioned {
        idle_threshold: Duration::from_micros(idle_us),
        alpha: 1,
        migration_cost,
        imbalance: 0.05,
        topology,
    };
    let half_ns = 100_000;
    [
        Placement::Stealing,
        partitioned(1_000_000_000, MigrationCost::Fixed(16), false),
        partitioned(500, MigrationCost::Fixed(16), true),
        partitioned(500, MigrationCost::Fading { cost: 64, half_ns }, false),
        Placement::Adaptive {
            grain: Duration::from_millis(100),
            trial: Duration::from_micros(300),
            margin: 0.0,
        },
    ]
}

fn never_again() -> Placement {
    placements()[1]
}

fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        black_box(begin);
    }
}

/// A stage between two neighbours in a chain.
async fn pass_on(mut input: In<u64>, mut out: Out<u64>, mut each: impl FnMut(u64) -> u64) {
    while let Some(n) = input.recv().await {
        if out.send(each(n)).await.is_err() {
            break;
        }
    }
}

/// A chain of so many stages between a source and a sink; what comes out.
fn chain(
    pool: &Pool,
    placement: Placement,
    messages: u64,
    stages: &[&(dyn Fn(u64) -> u64 + Sync)],
) -> (Vec<u64>, Report) {
    let mut got = Vec::new();
    let mut network = Network::new();
    network.placement(placement);
    let (out, mut input) = network.bounded("source", 8);
    network.source("source", out, 0..messages);
    for (number, &stage) in stages.iter().enumerate() {
        let (out, next) = network.bounded(number, 8);
        let ports = (std::mem::replace(&mut input, next), out);
        network.process(number, ports, move |(input, out)| {
            pass_on(input, out, stage)
        });
    }
    network.collect_into("sink", input, &mut got);
    let report = network.run(pool).unwrap();
    (got, report)
}

#[test]
fn a_partitioned_chain_runs_each_process_on_one_worker_and_cuts_one_channel() {
    let pool = Pool::new(2).unwrap();
    let seen: Vec<Mutex<BTreeSet<usize>>> = (0..8).map(|_| Mutex::default()).collect();
    let note = |stage: usize, n: u64| {
        let worker = roving::current_worker().unwrap();
        seen[stage].lock().unwrap().insert(worker);
        n + 1
    };
    let stages: Vec<_> = (0..8).map(|stage| move |n| note(stage, n)).collect();
    let stages: Vec<&(dyn Fn(u64) -> u64 + Sync)> = stages.iter().map(|of| of as _).collect();
    let messages = if cfg!(miri) { 50 } else { 2000 };
    let (got, report) = chain(&pool, never_again(), messages, &stages);
    assert!(got.into_iter().eq(8..messages + 8));
    assert!(report.moves.is_empty());
    let workers: Vec<usize> = seen
        .iter()
        .map(|seen| {
            let seen = seen.lock().unwrap();
            assert_eq!(seen.len(), 1, "{seen:?}");
            *seen.first().unwrap()
        })
        .collect();
    let cut = workers.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert_eq!(cut, 1, "{workers:?}");
}

/// By the numbers of processes, the two that work are on one worker: they are neighbours.
#[test]
fn processes_that_work_are_separated_once_workers_have_been_idle() {
    let pool = Pool::new(2).unwrap();
    let heavy = |n| {
        spin(Duration::from_micros(200));
        n
    };
    let light = |n| n;
    let stages: [&(dyn Fn(u64) -> u64 + Sync); 6] =
        [&heavy, &heavy, &light, &light, &light, &light];
    let placement = Placement::Partitioned {
        idle_threshold: Duration::from_millis(5),
        alpha: 1,
        migration_cost: MigrationCost::Fixed(16),
        imbalance: 0.05,
        topology: false,
    };
    // Where other programs take processor time from a light process, it looks heavy for a while.
    let mut messages = if cfg!(miri) { 50 } else { 500 };
    loop {
        let (got, report) = chain(&pool, placement, messages, &stages);
        assert_eq!(got.len() as u64, messages);
        assert!(report.moves.iter().all(|moved| moved.to == "parts"));
        if report.moves.iter().any(|moved| moved.processes > 0) {
            break;
        }
        messages *= 2;
        assert!(messages <= 32_000, "{:?}", report.moves);
    }
}

#[test]
fn adaptive_leaves_a_network_whose_messages_carry_work_alone() {
    let pool = Pool::new(2).unwrap();
    let work = |n| {
        spin(Duration::from_micros(100));
        n
    };
    let stages: [&(dyn Fn(u64) -> u64 + Sync); 2] = [&work, &work];
    let messages = if cfg!(miri) { 20 } else { 300 };
    let (_, report) = chain(&pool, Placement::adaptive(), messages, &stages);
    assert_eq!(report.moves, []);
}

#[test]
fn adaptive_tries_other_placements_where_messages_are_tiny() {
    let pool = Pool::new(2).unwrap();
    let pass = |n| n;
    let stages: [&(dyn Fn(u64) -> u64 + Sync); 4] = [&pass, &pass, &pass, &pass];
    let mut messages = if cfg!(miri) { 50 } else { 20_000 };
    loop {
        let (_, report) = chain(&pool, placements()[4], messages, &stages);
        if !report.moves.is_empty() {
            break;
        }
        // It was over before the first look.
        messages *= 2;
        assert!(messages < 1 << 28, "nothing is ever tried");
    }
}

#[test]
fn a_placement_that_cannot_be_is_refused_by_name() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    network.placement(Placement::Partitioned {
        idle_threshold: Duration::ZERO,
        alpha: 1,
        migration_cost: MigrationCost::Fixed(1),
        imbalance: -1.0,
        topology: false,
    });
    let error = network.run(&pool).unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }));
    let told = error.to_string();
    assert!(told.contains("-1; allowed are 0 to 100"), "{told}");
}

#[test]
fn a_panic_ends_a_placed_network_with_its_name() {
    let pool = Pool::new(2).unwrap();
    for placement in placements() {
        let mut network = Network::new();
        network.placement(placement);
        let (out, input) = network.channel("numbers");
        network.source("source", out, 0..);
        network.process("sink", input, async |mut input: In<u64>| {
            while let Some(n) = input.recv().await {
                assert_ne!(n, if cfg!(miri) { 50 } else { 1000 }, "so far");
            }
        });
        let error = network.run(&pool).unwrap_err();
        assert!(matches!(&error, Error::Panicked { process, .. } if process == "sink"));
    }
}

#[test]
fn deadlocks_are_found_wherever_processes_run() {
    let pool = Pool::new(2).unwrap();
    for placement in placements() {
        let mut network = Network::new();
        network.placement(placement);
        let (to_b, from_a) = network.channel::<u32>("a to b");
        let (to_a, from_b) = network.channel::<u32>("b to a");
        for (name, ports) in [("a", (to_b, from_b)), ("b", (to_a, from_a))] {
            network.process(
                name,
                ports,
                async |(mut out, mut input): (Out<_>, In<_>)| {
                    while let Some(n) = input.recv().await {
                        out.send(n).await.unwrap();
                    }
                },
            );
        }
        let error = network.run(&pool).unwrap_err();
        assert!(matches!(error, Error::Deadlock { .. }), "{error}");
    }
}

/// One sends all of its numbers by the first channel before the second; the other reads the second
/// first.
#[test]
fn channels_grow_wherever_processes_run() {
    let pool = Pool::new(2).unwrap();
    for placement in placements() {
        let mut sums = Vec::new();
        let mut network = Network::new();
        network.placement(placement);
        let (first_out, first) = network.bounded::<u32>("first", 2);
        let (second_out, second) = network.bounded::<u32>("second", 2);
        let (done_out, done) = network.bounded::<u32>("done", 2);
        network.process(
            "send",
            (first_out, second_out),
            async |ports: (Out<u32>, Out<u32>)| {
                let (mut first_out, mut second_out) = ports;
                for n in 0..100 {
                    first_out.send(n).await.unwrap();
                }
                second_out.send(100).await.unwrap();
            },
        );
        network.process(
            "receive",
            (first, second, done_out),
            async |ports: (In<u32>, In<u32>, Out<u32>)| {
                let (mut first, mut second, mut done) = ports;
                let mut sum = second.recv().await.unwrap();
                while let Some(n) = first.recv().await {
                    sum += n;
                }
                done.send(sum).await.unwrap();
            },
        );
        network.collect_into("collect", done, &mut sums);
        let report = network.run(&pool).unwrap();
        assert!(report.growths.iter().all(|growth| growth.channel == 0));
        assert!(!report.growths.is_empty());
        assert_eq!(sums, [5050]);
    }
}

#[test]
fn a_network_of_nothing_can_be_placed() {
    let pool = Pool::new(2).unwrap();
    for placement in placements() {
        let mut network = Network::new();
        network.placement(placement);
        network.run(&pool).unwrap();
    }
}

/// A worker that runs a network itself, and one that waits inside a process.
#[test]
fn placed_networks_nest() {
    let pool = Pool::new(2).unwrap();
    let messages = if cfg!(miri) { 5 } else { 100 };
    let sum = (2..messages + 2).sum::<u64>();
    let run = |placement| {
        let add = |n| n + 1;
        chain(&pool, placement, messages, &[&add, &add])
            .0
            .into_iter()
            .sum::<u64>()
    };
    for placement in placements() {
        assert_eq!(pool.install(|| run(placement)), sum);
        let outer = |n| n + run(placement);
        let (got, _) = chain(&pool, placement, 3, &[&outer]);
        assert_eq!(got, [sum, sum + 1, sum + 2]);
    }
}

/// Node by node: where its inputs come from. Nodes are numbered so that all come from before.
fn dag() -> impl Strategy<Value = Vec<Vec<usize>>> {
    let node = proptest::collection::vec(any::<prop::sample::Index>(), 1..4);
    proptest::collection::vec(node, 1..24).prop_map(|nodes| {
        let nodes = nodes.into_iter().enumerate();
        let inputs = nodes.map(|(at, inputs)| inputs.iter().map(|of| of.index(at + 1)).collect());
        inputs.collect()
    })
}

/// Each node sends to all that read it what it has read, mixed; what each has mixed at the end.
fn run_dag(inputs: &[Vec<usize>], placement: Placement, pool: &Pool) -> Vec<u64> {
    let nodes = inputs.len() + 1;
    let results: Vec<Mutex<u64>> = (0..nodes).map(|_| Mutex::default()).collect();
    let mut network = Network::new();
    network.placement(placement);
    let mut outs: Vec<Vec<Out<u64>>> = (0..nodes).map(|_| Vec::new()).collect();
    let mut ins: Vec<Vec<In<u64>>> = (0..nodes).map(|_| Vec::new()).collect();
    for (node, from) in inputs.iter().enumerate() {
        for &from in from {
            let (out, input) = network.bounded(format_args!("{from} {node}"), 1 + node % 3);
            outs[from].push(out);
            ins[node + 1].push(input);
        }
    }
    for (node, ports) in ins.into_iter().zip(outs).enumerate() {
        let result = &results[node];
        network.process(
            node,
            ports,
            move |(mut ins, mut outs): (Vec<In<u64>>, Vec<_>)| async move {
                let mut mixed = node as u64;
                for round in 0..if cfg!(miri) { 5 } else { 200 } {
                    for input in &mut ins {
                        let Some(n) = input.recv().await else { return };
                        mixed = (mixed ^ n)
                            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                            .rotate_left(17);
                    }
                    for out in &mut outs {
                        if Out::send(out, mixed + round).await.is_err() {
                            return;
                        }
                    }
                }
                *result.lock().unwrap() = mixed;
            },
        );
    }
    network.run(pool).unwrap();
    results
        .into_iter()
        .map(|of| of.into_inner().unwrap())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 20 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn networks_compute_the_same_wherever_their_processes_run(inputs in dag()) {
        let alone = run_dag(&inputs, Placement::Stealing, &Pool::new(1).unwrap());
        let pool = Pool::new(3).unwrap();
        for placement in placements() {
            prop_assert_eq!(&run_dag(&inputs, placement, &pool), &alone);
        }
    }
}
