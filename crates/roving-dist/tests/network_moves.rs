//! Processes that move between ranks while their network runs: the answer is the serial one,
//! whatever moves when.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use common::{pause, plan, watched};
use roving::Pool;
use roving_dist::{Mover, Network, NetworkError, Report, World};
use roving_flow::{In, Out};
use serde::{Deserialize, Serialize};

/// Longer than any of these takes.
const MOST: Duration = Duration::from_secs(120);

fn pool(workers: usize) -> Pool {
    Pool::new(workers).unwrap()
}

/// Numbers that look random.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// The state that a movable process takes with it.
#[derive(Serialize, Deserialize)]
struct Tally {
    count: u64,
    sum: u64,
}

/// Sends the sum so far, and how many there were.
async fn add(
    tally: Tally,
    (mut input, mut out): (In<u64>, Out<u64>),
) -> Option<(Tally, (In<u64>, Out<u64>))> {
    let number = input.recv().await?;
    let tally = Tally {
        count: tally.count + 1,
        sum: tally.sum.wrapping_mul(3).wrapping_add(number),
    };
    out.send(tally.sum ^ tally.count).await.ok()?;
    Some((tally, (input, out)))
}

/// A line of movable processes. `ask` is called on every rank for each token that its source or its
/// sink sees.
fn line(
    world: &World,
    stages: u64,
    tokens: u64,
    capacity: usize,
    mut ask: impl FnMut(&Mover, u64) + Clone + Send,
) -> (Vec<u64>, Report) {
    let mut got = Vec::new();
    let mut network = Network::new(world);
    let mover = network.mover();
    let (first, mut last) = network.bounded("c0", capacity);
    let (from_source, mut asks) = (mover.clone(), ask.clone());
    network.process("source", first, async move |mut out| {
        for number in 0..tokens {
            asks(&from_source, number);
            out.send(number).await.unwrap();
        }
    });
    for stage in 1..=stages {
        let (out, next) = network.bounded(format_args!("c{stage}"), capacity);
        let tally = Tally { count: 0, sum: 0 };
        network.movable(format_args!("stage {stage}"), (last, out), tally, add);
        last = next;
    }
    let into = &mut got;
    network.process("sink", last, async move |mut input: In<u64>| {
        while let Some(number) = input.recv().await {
            ask(&mover, number);
            into.push(number);
        }
    });
    network.pin("source", 0);
    network.pin("sink", world.ranks() - 1);
    let report = network.run(&pool(1)).unwrap();
    (got, report)
}

fn serial(stages: u64, tokens: u64) -> Vec<u64> {
    let mut tallies: Vec<Tally> = (0..stages).map(|_| Tally { count: 0, sum: 0 }).collect();
    let through = |mut number: u64| {
        for tally in &mut tallies {
            tally.count += 1;
            tally.sum = tally.sum.wrapping_mul(3).wrapping_add(number);
            number = tally.sum ^ tally.count;
        }
        number
    };
    (0..tokens).map(through).collect()
}

#[test]
fn random_moves_at_random_moments_leave_the_serial_answer() {
    watched(MOST, || {
        let (right, mut moves) = (serial(3, 200), 0);
        for ranks in 2..=4 {
            for capacity in [1, 2, 17] {
                for seed in 1..=2 {
                    let ran = World::threads_with(&plan(ranks, seed), |world| {
                        let mut random = Random(seed * 1000 + 77);
                        line(&world, 3, 200, capacity, move |mover, _| {
                            if random.below(40) == 0 {
                                let stage = random.below(3) + 1;
                                let to = random.below(ranks as u64) as usize;
                                assert!(mover.move_to(&format!("stage {stage}"), to));
                            }
                        })
                    });
                    assert_eq!(ran[ranks - 1].0, right, "{ranks} {capacity} {seed}");
                    moves += ran[0].1.moves.len();
                    for (_, report) in &ran {
                        assert!(report.deterministic);
                        assert!(report.channels().all(|one| one.messages == 200));
                        assert!(report.channels().all(|one| one.received == 200));
                        assert!(report.channels().all(|one| one.capacity == Some(capacity)));
                        let ranks: Vec<_> = report.processes().map(|one| one.rank).collect();
                        let first = ran[0].1.processes().map(|one| one.rank);
                        assert!(first.eq(ranks));
                    }
                }
            }
        }
        // Else nothing would have been tested.
        assert!(moves > 0);
    });
}

#[test]
fn a_process_moves_to_its_neighbours_rank_and_back() {
    watched(MOST, || {
        let (right, mut moves) = (serial(1, 300), 0);
        for seed in 1..=3 {
            let ran = World::threads_with(&plan(2, seed), |world| {
                line(&world, 1, 300, 3, |mover, number| {
                    if number % 16 == 0 {
                        mover.move_to("stage 1", (number / 16) as usize % 2);
                    }
                })
            });
            assert_eq!(ran[1].0, right);
            let mut processes = ran[0].1.processes();
            assert!(processes.all(|one| one.moves == 0 || one.name == "stage 1"));
            moves += ran[0].1.moves.len();
        }
        assert!(moves > 0);
    });
}

#[test]
fn neighbours_that_are_to_move_at_the_same_time_both_do() {
    watched(MOST, || {
        let (right, mut moves) = (serial(4, 200), 0);
        for seed in 1..=2 {
            let ran = World::threads_with(&plan(3, seed), |world| {
                line(&world, 4, 200, 2, |mover, number| {
                    for stage in 1..=4 {
                        if number % 32 > 0 {
                            continue;
                        }
                        mover.move_to(&format!("stage {stage}"), (number + stage) as usize % 3);
                    }
                })
            });
            assert_eq!(ran[2].0, right, "{seed}");
            moves += ran[0].1.moves.len();
        }
        assert!(moves > 0);
    });
}

#[test]
fn one_rank_moves_nothing() {
    let ran = World::threads(1, |world| {
        line(&world, 2, 50, 1, |mover, _| {
            assert!(!mover.move_to("stage 1", 1))
        })
    });
    assert_eq!(ran[0].0, serial(2, 50));
}

#[test]
fn only_movable_processes_are_moved() {
    watched(MOST, || {
        let ran = World::threads(2, |world| {
            line(&world, 1, 50, 4, |mover, _| {
                assert!(!mover.move_to("sink", 0));
                assert!(!mover.move_to("nobody", 0));
            })
        });
        assert!(ran[0].1.processes().all(|one| one.moves == 0));
    });
}

/// A process that waits in a step moves when that step has ended, and one that has ended does not.
#[test]
fn a_process_that_waits_moves_later_and_one_that_is_done_never() {
    watched(MOST, || {
        for seed in 1..=4 {
            let reports = World::threads_with(&plan(2, seed), |world| {
                let mut network = Network::new(&world);
                let (out, input) = network.bounded::<u64>("numbers", 1);
                let (told, heard) = network.bounded::<u64>("back", 1);
                let mover = network.mover();
                network.process("driver", (out, heard), async move |(mut out, mut heard)| {
                    // It waits for the first token already, or not yet begun to.
                    mover.move_to("waits", 1);
                    out.send(1).await.unwrap();
                    assert_eq!(heard.recv().await, Some(1));
                    out.send(2).await.unwrap();
                    assert_eq!(heard.recv().await, Some(2));
                    drop(out);
                    assert_eq!(heard.recv().await, None);
                    // It has ended, though not everybody may know.
                    mover.move_to("waits", 0);
                });
                network.movable("waits", (input, told), 0_u64, async |last, ports| {
                    let (mut input, mut told): (In<u64>, Out<u64>) = ports;
                    let number: u64 = input.recv().await?;
                    assert_eq!(number, last + 1);
                    told.send(number).await.ok()?;
                    Some((number, (input, told)))
                });
                network.pin("driver", 0);
                network.pin("waits", 0);
                network.run(&pool(1)).unwrap()
            });
            let waits = reports[0].processes().nth(1).unwrap();
            assert_eq!((waits.rank, waits.moves), (1, 1));
        }
    });
}

/// The rest of a stream that has ended goes with its consumer, also to where that was before.
#[test]
fn tokens_behind_which_nothing_comes_move_with_their_consumer() {
    watched(MOST, || {
        for seed in 1..=6 {
            let sums = World::threads_with(&plan(3, seed), |world| {
                let mut got = 0;
                let mut network = Network::new(&world);
                let (out, input) = network.bounded("numbers", 64);
                let (told, heard) = network.bounded("sum", 1);
                network.source("source", out, 1..=40_u64);
                let mover = network.mover();
                let ports = (input, told);
                let here = world.rank();
                let first = None::<usize>;
                network.movable("sum", ports, (0_u64, first), move |(sum, wanted), ports| {
                    let mover = mover.clone();
                    async move {
                        let (mut input, mut told): (In<u64>, Out<u64>) = ports;
                        if wanted.is_some_and(|wanted| wanted != here) {
                            pause().await;
                            return Some(((sum, wanted), (input, told)));
                        }
                        let Some(number) = input.recv().await else {
                            told.send(sum).await.unwrap();
                            return None;
                        };
                        let mut wanted = wanted;
                        if number % 8 == 0 {
                            wanted = Some((here + 1) % 3);
                            mover.move_to("sum", here + 1);
                        }
                        Some(((sum + number, wanted), (input, told)))
                    }
                });
                network.sink("sink", heard, |sum: u64| got += sum);
                network.pin("source", 1);
                network.pin("sink", 0);
                let report = network.run(&pool(1)).unwrap();
                assert_eq!(report.processes().nth(1).unwrap().moves, 5);
                got
            });
            assert_eq!(sums, [820, 0, 0], "{seed}");
        }
    });
}

#[test]
fn a_loop_of_one_process_moves_with_it() {
    watched(MOST, || {
        for seed in 1..=6 {
            World::threads_with(&plan(3, seed), |world| {
                let mut network = Network::new(&world);
                let (out, input) = network.bounded::<u64>("round", 2);
                let mover = network.mover();
                let ports = (out, input);
                let here = world.rank();
                let first = (0_u64, None::<usize>);
                network.movable(
                    "alone",
                    ports,
                    first,
                    move |(at, wanted), (mut out, mut input)| {
                        let mover = mover.clone();
                        async move {
                            if wanted.is_some_and(|wanted| wanted != here) {
                                pause().await;
                                return Some(((at, wanted), (out, input)));
                            }
                            // One of two lies there between two steps.
                            out.send(at).await.unwrap();
                            if at == 0 {
                                out.send(0).await.unwrap();
                                assert_eq!(input.recv().await, Some(0));
                            } else {
                                assert_eq!(input.recv().await, Some(at - 1));
                            }
                            let mut wanted = wanted;
                            if at % 20 == 0 {
                                wanted = Some((here + 1) % 3);
                                mover.move_to("alone", here + 1);
                            }
                            (at < 99).then_some(((at + 1, wanted), (out, input)))
                        }
                    },
                );
                let report = network.run(&pool(1)).unwrap();
                assert_eq!(report.processes().next().unwrap().moves, 5);
                assert_eq!(report.channels().next().unwrap().messages, 101);
            });
        }
    });
}

#[test]
fn a_panic_or_a_cancel_while_processes_move_is_every_ranks_error() {
    watched(MOST, || {
        for seed in 1..=12 {
            let is_cancelled = seed % 2 == 0;
            let errors = World::threads_with(&plan(3, seed), |world| {
                let mut network = Network::new(&world);
                let (out, mut last) = network.bounded::<u64>("c0", 2);
                network.source("source", out, 0..);
                for stage in 1..=3 {
                    let (out, next) = network.bounded::<u64>(format_args!("c{stage}"), 2);
                    let tally = Tally { count: 0, sum: 0 };
                    network.movable(format_args!("stage {stage}"), (last, out), tally, add);
                    last = next;
                }
                let (mover, canceller) = (network.mover(), network.canceller());
                let mut count = 0;
                network.sink("sink", last, move |_| {
                    count += 1;
                    for stage in 1..=3 {
                        mover.move_to(&format!("stage {stage}"), (stage + count) % 3);
                    }
                    if count == 20 + seed as usize {
                        match is_cancelled {
                            true => canceller.cancel(),
                            false => panic!("enough"),
                        }
                    }
                });
                network.pin("sink", 1);
                network.run(&pool(1)).unwrap_err()
            });
            let right = match is_cancelled {
                true => NetworkError::Cancelled { rank: 1 },
                false => NetworkError::Panicked {
                    rank: 1,
                    process: "sink".into(),
                    message: "enough".into(),
                },
            };
            assert_eq!(errors, vec![right; 3]);
        }
    });
}

/// A state that cannot be read again ends the network where it is read.
#[test]
fn a_state_that_cannot_be_read_is_an_error_of_its_process() {
    struct Bad;
    impl Serialize for Bad {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.serialize_u8(1)
        }
    }
    impl<'de> Deserialize<'de> for Bad {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Bad, D::Error> {
            Err(serde::de::Error::custom("bad"))
        }
    }
    let errors = watched(MOST, || {
        World::threads(2, |world| {
            let mut network = Network::new(&world);
            let (out, input) = network.bounded::<u64>("numbers", 2);
            network.source("source", out, 0..);
            let mover = network.mover();
            network.movable("bad", input, Bad, move |bad, mut input: In<u64>| {
                let mover = mover.clone();
                async move {
                    input.recv().await?;
                    mover.move_to("bad", 1);
                    Some((bad, input))
                }
            });
            network.pin("bad", 0);
            network.run(&pool(1)).unwrap_err()
        })
    });
    assert_eq!(errors[0], errors[1]);
    let NetworkError::Panicked { rank, process, .. } = &errors[0] else {
        panic!("{}", errors[0]);
    };
    assert_eq!((*rank, process.as_str()), (1, "bad"));
}

/// Two that wait for each other are found after one of them has moved, with its new rank; and the
/// full channels of an artificial deadlock grow wherever their producers are.
#[test]
fn deadlocks_are_found_after_a_move() {
    watched(MOST, || {
        for seed in 1..=6 {
            let errors = World::threads_with(&plan(3, seed), |world| {
                let mut network = Network::new(&world);
                let here = world.rank();
                let (to_b, from_a) = network.bounded::<u64>("a to b", 1);
                let (to_a, from_b) = network.bounded::<u64>("b to a", 1);
                let mover = network.mover();
                network.movable(
                    "a",
                    (to_b, from_b),
                    0_u64,
                    move |at, (mut out, mut input)| {
                        let mover = mover.clone();
                        async move {
                            mover.move_to("a", 2);
                            // Nobody begins the sixth round.
                            if at == 5 && here != 2 {
                                pause().await;
                                return Some((at, (out, input)));
                            }
                            if at < 5 {
                                out.send(at).await.unwrap();
                            }
                            let back: u64 = input.recv().await.unwrap();
                            assert_eq!(back, at);
                            Some((at + 1, (out, input)))
                        }
                    },
                );
                network.process("b", (to_a, from_a), async |(mut out, mut input)| {
                    while let Some(number) = input.recv().await {
                        out.send(number).await.unwrap();
                    }
                });
                network.pin("a", 0);
                network.pin("b", 1);
                network.run(&pool(1)).unwrap_err()
            });
            assert!(errors.iter().all(|error| *error == errors[0]));
            let NetworkError::Deadlock { cycle } = &errors[0] else {
                panic!("{}", errors[0]);
            };
            let ranks: Vec<_> = cycle.iter().map(|one| (&*one.process, one.rank)).collect();
            assert!(
                ranks.contains(&("a", 2)) && ranks.contains(&("b", 1)),
                "{ranks:?}"
            );
        }
    });
}

#[test]
fn full_channels_of_a_process_that_has_moved_grow() {
    watched(MOST, || {
        for seed in 1..=3 {
            let reports = World::threads_with(&plan(2, seed), |world| {
                let mut network = Network::new(&world);
                let (batch, input) = network.bounded::<u64>("batch", 1);
                let (go, may_go) = network.bounded::<()>("go", 1);
                let mover = network.mover();
                network.movable(
                    "sender",
                    (batch, go),
                    0_u64,
                    move |at, (mut batch, mut go)| {
                        let mover = mover.clone();
                        async move {
                            mover.move_to("sender", at as usize % 2);
                            batch.send(at).await.unwrap();
                            if at == 20 {
                                go.send(()).await.unwrap();
                                return None;
                            }
                            Some((at + 1, (batch, go)))
                        }
                    },
                );
                network.process(
                    "receiver",
                    (input, may_go),
                    async |(mut input, mut may_go)| {
                        may_go.recv().await;
                        for number in 0..=20 {
                            assert_eq!(input.recv().await, Some(number));
                        }
                        assert_eq!(input.recv().await, None);
                    },
                );
                network.pin("sender", 0);
                network.pin("receiver", 1);
                network.run(&pool(1)).unwrap()
            });
            let channel = reports[0].channels().next().unwrap();
            assert!(channel.capacity >= Some(21), "{:?}", channel.capacity);
            assert!(!reports[0].growths.is_empty());
        }
    });
}

/// At most its capacity lies on the way, wherever its ends go.
#[test]
fn no_more_than_its_capacity_lies_on_the_way_of_a_moving_producer() {
    let [sent, taken] = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
    for seed in 1..=6 {
        let is_late = Arc::new(AtomicBool::new(false));
        let all = (Arc::clone(&sent), Arc::clone(&taken), Arc::clone(&is_late));
        sent.store(0, SeqCst);
        taken.store(0, SeqCst);
        watched(MOST, move || {
            World::threads_with(&plan(3, seed), |world| {
                let (sent, taken, is_late) = all.clone();
                let mut network = Network::new(&world);
                let (out, input) = network.bounded::<u64>("numbers", 8);
                let (mover, counted) = (network.mover(), Arc::clone(&taken));
                let filled = Arc::clone(&sent);
                network.movable("source", out, 0_u64, move |at, mut out: Out<u64>| {
                    let (mover, counted) = (mover.clone(), Arc::clone(&counted));
                    let (sent, is_late) = (Arc::clone(&sent), Arc::clone(&is_late));
                    async move {
                        if at % 4 == 0 {
                            mover.move_to("source", at as usize / 4 % 3);
                        }
                        out.send(at).await.unwrap();
                        let sent = sent.fetch_add(1, SeqCst) + 1;
                        if sent > counted.load(SeqCst) + 9 {
                            is_late.store(true, SeqCst);
                        }
                        (at < 200).then_some((at + 1, out))
                    }
                });
                network.process("sink", input, async move |mut input: In<u64>| {
                    for number in 0..=200 {
                        // Sometimes slower than the source, so that there is much room or little.
                        while number / 16 % 2 == 0 && filled.load(SeqCst) < (number + 8).min(201) {
                            pause().await;
                        }
                        assert_eq!(input.recv().await, Some(number));
                        taken.fetch_add(1, SeqCst);
                    }
                    assert_eq!(input.recv().await, None);
                });
                network.run(&pool(1)).unwrap();
            });
        });
        assert_eq!((sent.load(SeqCst), taken.load(SeqCst)), (201, 201));
        assert!(!is_late.load(SeqCst), "{seed}");
    }
}
