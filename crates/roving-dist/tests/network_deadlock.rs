//! Deadlocks across ranks: those that larger channels resolve, those that nothing does, and random
//! networks with channels that are too small.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{pause, watched};
use proptest::prelude::*;
use roving::Pool;
use roving_dist::{Network, NetworkError, Plan, World};
use roving_flow::{In, Operation, Out};

/// Longer than any of these takes.
const MOST: Duration = Duration::from_secs(180);

fn pool() -> Pool {
    Pool::new(1).unwrap()
}

fn delayed(ranks: usize, seed: u64) -> Plan {
    let plan = Plan::new(ranks).seed(seed);
    plan.delay_max(Duration::from_micros(50 * (seed % 4)))
}

#[test]
fn a_channel_between_ranks_grows_until_the_batch_fits() {
    watched(MOST, || {
        for seed in 0..8 {
            let grown = World::threads_with(&delayed(2, seed), |world| {
                let mut network = Network::new(&world);
                let (batch, input) = network.bounded::<u32>("batch", 10);
                let (go, may_go) = network.bounded::<()>("go", 1);
                network.process("sender", (batch, go), async |(mut batch, mut go)| {
                    for number in 0..40 {
                        batch.send(number).await.unwrap();
                    }
                    go.send(()).await.unwrap();
                });
                network.process(
                    "receiver",
                    (input, may_go),
                    async |(mut input, mut may_go)| {
                        may_go.recv().await;
                        for number in 0..40 {
                            assert_eq!(input.recv().await, Some(number));
                        }
                    },
                );
                network.pin("sender", seed as usize % 2);
                network.pin("receiver", 1 - seed as usize % 2);
                let report = network.run(&pool()).unwrap();
                assert_eq!(report.channels().next().unwrap().capacity, Some(40));
                let grown = report
                    .growths
                    .iter()
                    .map(|one| (one.channel, one.from, one.to));
                grown.collect::<Vec<_>>()
            });
            assert_eq!(grown, vec![vec![(0, 10, 20), (0, 20, 40)]; 2]);
        }
    });
}

#[test]
fn a_circle_over_three_ranks_grows_its_smallest_channel() {
    watched(MOST, || {
        let grown = World::threads(3, |world| {
            let mut network = Network::new(&world);
            let mut ends = [("a", 3), ("b", 2), ("c", 5)].map(|(name, capacity)| {
                let (out, input) = network.bounded::<u32>(name, capacity);
                (Some(out), Some(input))
            });
            for at in 0..3 {
                let out = ends[at].0.take().unwrap();
                let input = ends[(at + 2) % 3].1.take().unwrap();
                let name = format!("p{at}");
                // Each sends all before it takes any.
                network.process(
                    &name,
                    (input, out),
                    async |(mut input, mut out): (In<u32>, Out<u32>)| {
                        for number in 0..6 {
                            out.send(number).await.unwrap();
                        }
                        drop(out);
                        let mut count = 0;
                        while input.recv().await.is_some() {
                            count += 1;
                        }
                        assert_eq!(count, 6);
                    },
                );
                network.pin(&name, at);
            }
            let report = network.run(&pool()).unwrap();
            report
                .growths
                .iter()
                .map(|one| (one.channel, one.from))
                .collect::<Vec<_>>()
        });
        // When the first of them has sent all, nobody waits for it any more. Growths are listed by
        // rank.
        assert_eq!(grown, vec![vec![(0, 3), (1, 2)]; 3]);
    });
}

#[test]
fn a_true_deadlock_across_ranks_names_processes_and_ranks() {
    watched(MOST, || {
        for seed in 0..6 {
            let errors = World::threads_with(&delayed(3, seed), |world| {
                let mut network = Network::new(&world);
                let (to_b, from_a) = network.channel::<u32>("a to b");
                let (to_a, from_b) = network.channel::<u32>("b to a");
                for (name, ports) in [("a", (to_b, from_b)), ("b", (to_a, from_a))] {
                    network.process(
                        name,
                        ports,
                        async |(mut out, mut input): (Out<u32>, In<u32>)| {
                            let number = input.recv().await.unwrap();
                            out.send(number).await.unwrap();
                        },
                    );
                }
                network.pin("a", 1);
                network.pin("b", 2);
                network.run(&pool()).unwrap_err()
            });
            assert!(errors.iter().all(|error| *error == errors[0]));
            let NetworkError::Deadlock { cycle } = &errors[0] else {
                panic!("{}", errors[0]);
            };
            assert_eq!(cycle.len(), 2);
            for one in cycle {
                let (rank, other) = if one.process == "a" {
                    (1, "b")
                } else {
                    (2, "a")
                };
                assert_eq!((one.rank, &*one.waits_for), (rank, other));
                assert_eq!(one.operation, Operation::Receive);
                assert_eq!(one.channel, format!("{other} to {}", one.process));
            }
        }
    });
}

#[test]
fn deadlocks_within_a_rank_are_found_as_well() {
    watched(MOST, || {
        World::threads(2, |world| {
            let mut network = Network::new(&world);
            let (out, input) = network.bounded::<u32>("self", 2);
            network.process("alone", (out, input), async |(mut out, mut input)| {
                for number in 0..10 {
                    out.send(number).await.unwrap();
                }
                drop(out);
                while input.recv().await.is_some() {}
            });
            network.pin("alone", 1);
            let report = network.run(&pool()).unwrap();
            assert_eq!(report.growths.last().unwrap().to, 16);

            let mut network = Network::new(&world);
            let (out, input) = network.bounded::<u32>("self", 2);
            network.process("stuck", (out, input), async |(_out, mut input)| {
                input.recv().await;
            });
            network.pin("stuck", 1);
            let error = network.run(&pool()).unwrap_err();
            let NetworkError::Deadlock { cycle } = &error else {
                panic!("{error}");
            };
            assert_eq!((&*cycle[0].process, cycle[0].rank), ("stuck", 1));
        });
    });
}

#[test]
fn a_deadlock_is_resolved_while_the_rest_goes_on() {
    watched(MOST, || {
        World::threads(2, |world| {
            let mut network = Network::new(&world);
            // Two that talk until the others are done.
            let (ping, pings) = network.bounded::<u64>("ping", 1);
            let (pong, pongs) = network.bounded::<u64>("pong", 1);
            let (done, is_done) = network.bounded::<()>("done", 1);
            network.process(
                "talks",
                (ping, pongs, is_done),
                async |(mut ping, mut pongs, is_done)| {
                    let mut is_done: In<()> = is_done;
                    while is_done.try_recv().is_err() {
                        ping.send(1).await.unwrap();
                        pongs.recv().await.unwrap();
                    }
                },
            );
            network.process("answers", (pings, pong), async |(mut pings, mut pong)| {
                while let Some(number) = pings.recv().await {
                    if pong.send(number).await.is_err() {
                        break;
                    }
                }
            });
            let (batch, input) = network.bounded::<u32>("batch", 2);
            let (go, may_go) = network.bounded::<()>("go", 1);
            network.process("sender", (batch, go), async |(mut batch, mut go)| {
                for number in 0..9 {
                    batch.send(number).await.unwrap();
                }
                go.send(()).await.unwrap();
            });
            let ports = (input, may_go, done);
            network.process(
                "receiver",
                ports,
                async |(mut input, mut may_go, mut done)| {
                    may_go.recv().await;
                    while input.recv().await.is_some() {}
                    done.send(()).await.unwrap();
                },
            );
            for (name, rank) in [("talks", 0), ("answers", 1), ("sender", 0), ("receiver", 1)] {
                network.pin(name, rank);
            }
            let report = network.run(&pool()).unwrap();
            assert_eq!(report.growths.len(), 3);
        });
    });
}

#[test]
fn a_deadlock_is_resolved_on_ranks_that_never_rest() {
    watched(MOST, || {
        for busy in [[true, false], [false, true], [true, true]] {
            let is_done = AtomicBool::new(false);
            World::threads(2, |world| {
                let mut network = Network::new(&world);
                for (rank, _) in busy.iter().enumerate().filter(|(_, is_busy)| **is_busy) {
                    // Two of whom one always can go on, whatever the others do.
                    let (ping, pings) = network.bounded::<u64>(format_args!("ping {rank}"), 1);
                    let (pong, pongs) = network.bounded::<u64>(format_args!("pong {rank}"), 1);
                    let (talks, answers) = (format!("talks {rank}"), format!("answers {rank}"));
                    let is_done = &is_done;
                    network.process(&talks, (ping, pongs), async move |(mut ping, mut pongs)| {
                        // Ordering: Relaxed; nothing is handed over.
                        while !is_done.load(Ordering::Relaxed) {
                            ping.send(1).await.unwrap();
                            pongs.recv().await.unwrap();
                        }
                    });
                    network.process(&answers, (pings, pong), async |(mut pings, mut pong)| {
                        while let Some(number) = pings.recv().await {
                            if pong.send(number).await.is_err() {
                                break;
                            }
                        }
                    });
                    network.pin(&talks, rank);
                    network.pin(&answers, rank);
                }
                let (batch, input) = network.bounded::<u32>("batch", 2);
                let (go, may_go) = network.bounded::<()>("go", 1);
                network.process("sender", (batch, go), async |(mut batch, mut go)| {
                    for number in 0..5 {
                        // Until long after the ranks have nothing to say to each other any more.
                        let begun = Instant::now();
                        while begun.elapsed() < Duration::from_millis(30) {
                            pause().await;
                        }
                        batch.send(number).await.unwrap();
                    }
                    go.send(()).await.unwrap();
                });
                let is_done = &is_done;
                network.process(
                    "receiver",
                    (input, may_go),
                    async move |(mut input, mut may_go): (In<u32>, In<()>)| {
                        may_go.recv().await;
                        while input.recv().await.is_some() {}
                        // Ordering: Relaxed; nothing is handed over.
                        is_done.store(true, Ordering::Relaxed);
                    },
                );
                network.pin("sender", 0);
                network.pin("receiver", 1);
                let report = network.run(&pool()).unwrap();
                assert_eq!(report.growths.len(), 2);
            });
        }
    });
}

/// A random network: in each round, every process sends to some and then receives from those that
/// send to it, with sums of what it got. A process may send more than a channel holds.
#[derive(Clone, Debug)]
struct Random {
    processes: usize,
    /// From, to, capacity, messages in a round.
    channels: Vec<(usize, usize, usize, u64)>,
    rounds: u64,
    pins: Vec<usize>,
}

impl Random {
    fn arbitrary() -> impl Strategy<Value = Random> {
        (2..7_usize).prop_flat_map(|processes| {
            let channel = (0..processes, 0..processes, 1..4_usize, 1..7_u64);
            let channels = prop::collection::vec(channel, 1..12);
            let pins = prop::collection::vec(0..4_usize, processes);
            (Just(processes), channels, 1..6_u64, pins).prop_map(
                |(processes, channels, rounds, pins)| Random {
                    processes,
                    channels,
                    rounds,
                    pins,
                },
            )
        })
    }

    /// Runs the network, and returns the result of each process.
    fn run(&self, plan: &Plan, workers: usize) -> Vec<u64> {
        let sums = World::threads_with(plan, |world| {
            let mut sums = vec![0_u64; self.processes];
            let mut network = Network::new(&world);
            let mut outs: Vec<Vec<(Out<u64>, u64)>> =
                (0..self.processes).map(|_| Vec::new()).collect();
            let mut ins: Vec<Vec<(In<u64>, u64)>> =
                (0..self.processes).map(|_| Vec::new()).collect();
            for (at, &(from, to, capacity, messages)) in self.channels.iter().enumerate() {
                let (out, input) = network.bounded(format_args!("c{at}"), capacity);
                outs[from].push((out, messages));
                ins[to].push((input, messages));
            }
            let rounds = self.rounds;
            let parts = outs.into_iter().zip(ins).zip(&mut sums).enumerate();
            for (at, ((outs, ins), sum)) in parts {
                let (outs, sent): (Vec<_>, Vec<_>) = outs.into_iter().unzip();
                let (ins, got): (Vec<_>, Vec<_>) = ins.into_iter().unzip();
                let name = format!("p{at}");
                network.process(
                    &name,
                    (outs, ins),
                    move |(mut outs, mut ins): (Vec<Out<u64>>, Vec<In<u64>>)| async move {
                        *sum = at as u64 + 1;
                        for _ in 0..rounds {
                            for (out, &messages) in outs.iter_mut().zip(&sent) {
                                for number in 0..messages {
                                    out.send(*sum ^ number).await.unwrap();
                                }
                            }
                            for (input, &messages) in ins.iter_mut().zip(&got) {
                                for _ in 0..messages {
                                    let number = input.recv().await.unwrap();
                                    *sum = (*sum ^ number)
                                        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                                        .rotate_left(7);
                                }
                            }
                        }
                    },
                );
                network.pin(&name, self.pins[at]);
            }
            let report = network.run(&Pool::new(workers).unwrap());
            drop(report.unwrap());
            sums
        });
        // Each process ran on one rank.
        (0..self.processes)
            .map(|at| sums.iter().map(|one| one[at]).fold(0, |a, b| a | b))
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn random_networks_with_tiny_channels_compute_the_same(random in Random::arbitrary(), seed: u64) {
        let results = watched(MOST, move || {
            let right = random.run(&Plan::new(1), 1);
            let others = [
                random.run(&Plan::new(2), 1),
                random.run(&delayed(3, seed), 2),
                random.run(&delayed(4, seed ^ 1), 1),
            ];
            (right, others)
        });
        for other in &results.1 {
            prop_assert_eq!(&results.0, other);
        }
    }
}
