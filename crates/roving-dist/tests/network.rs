//! Networks across ranks that are threads of this process: the same tokens on any number of ranks,
//! and ends that all ranks hear of.

mod common;

use std::sync::Mutex;
use std::time::Duration;

use common::{watched, with_patience};
use roving::Pool;
use roving_dist::{Network, NetworkError, Plan, Report, World};
use roving_flow::{In, Merge, Out};

/// Longer than any of these takes.
const MOST: Duration = Duration::from_secs(120);

fn pool(workers: usize) -> Pool {
    Pool::new(workers).unwrap()
}

/// The ranks that a test runs on, with and without delays.
fn plans() -> Vec<Plan> {
    let delayed = |ranks, seed| {
        let plan = Plan::new(ranks).seed(seed);
        plan.delay_max(Duration::from_micros(200))
    };
    let mut plans: Vec<Plan> = (1..=4).map(Plan::new).collect();
    plans.extend([delayed(2, 1), delayed(3, 2)]);
    plans
}

/// Runs the same on each of [`plans`].
fn everywhere(
    build: impl for<'w> Fn(&mut Network<'w>, &'w World) + Send + Sync + Copy + 'static,
) -> Vec<Vec<Report>> {
    let run = move |plan: Plan| {
        World::threads_with(&plan, move |world| {
            let mut network = Network::new(&world);
            build(&mut network, &world);
            network.run(&pool(1)).unwrap()
        })
    };
    watched(MOST, move || plans().into_iter().map(run).collect())
}

/// A pipeline of `stages` processes, the channels of which hold `capacity`.
fn pipeline(world: &World, stages: u64, tokens: u64, capacity: usize) -> (Vec<u64>, Report) {
    let mut got = Vec::new();
    let mut network = Network::new(world);
    let (first, mut last) = network.bounded("c0", capacity);
    network.source("source", first, 0..tokens);
    for stage in 1..stages {
        let (out, next) = network.bounded(format_args!("c{stage}"), capacity);
        let name = format!("stage {stage}");
        network.process(
            &name,
            (last, out),
            async |(mut input, mut out): (In<u64>, Out<u64>)| {
                while let Some(number) = input.recv().await {
                    if out.send(number + 1).await.is_err() {
                        break;
                    }
                }
            },
        );
        // From rank to rank and back.
        network.pin(&name, stage as usize);
        last = next;
    }
    network.collect_into("sink", last, &mut got);
    network.pin("sink", 0);
    let report = network.run(&pool(2)).unwrap();
    (got, report)
}

#[test]
fn a_pipeline_gives_the_same_tokens_on_any_number_of_ranks() {
    watched(MOST, || {
        for capacity in [1, 3, 64] {
            for plan in plans() {
                let ran = World::threads_with(&plan, |world| pipeline(&world, 9, 300, capacity));
                assert!(ran[0].0.iter().copied().eq(8..308), "{plan:?} {capacity}");
                for (rank, (got, report)) in ran.iter().enumerate() {
                    assert_eq!(got.is_empty(), rank > 0);
                    assert!(report.deterministic);
                    assert!(report.channels().all(|channel| channel.messages == 300));
                    assert!(report.channels().all(|channel| channel.received == 300));
                    assert!(report.channels().all(|one| one.capacity == Some(capacity)));
                    assert_eq!(report.channels().len(), 9);
                }
            }
        }
    });
}

#[test]
fn no_more_than_its_capacity_lies_between_two_ranks() {
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    watched(MOST, || {
        for capacity in [1, 2, 7] {
            let taken = AtomicU64::new(0);
            World::threads(2, |world| {
                let mut network = Network::new(&world);
                let (out, input) = network.bounded("numbers", capacity);
                let taken = &taken;
                network.process("source", out, async move |mut out| {
                    for number in 0..500_u64 {
                        // Before this one was sent, at most `capacity` lay there, and one is in
                        // hand.
                        out.send(number).await.unwrap();
                        let most = taken.load(SeqCst) + capacity as u64 + 1;
                        assert!(number < most, "{number} was sent, {most} are too many");
                    }
                });
                network.process("sink", input, async move |mut input| {
                    while input.recv().await.is_some() {
                        taken.fetch_add(1, SeqCst);
                    }
                });
                network.pin("source", 0);
                network.pin("sink", 1);
                network.run(&pool(1)).unwrap();
            });
            assert_eq!(taken.load(SeqCst), 500);
        }
    });
}

#[test]
fn a_consumer_that_has_enough_ends_its_producer_across_ranks() {
    let reports = everywhere(|network, world| {
        let (out, input) = network.bounded("numbers", 2);
        network.source("for ever", out, 0_u64..);
        network.process("enough", input, async |mut input: In<u64>| {
            for number in 0..100 {
                assert_eq!(input.recv().await, Some(number));
            }
        });
        network.pin("enough", world.ranks() - 1);
        network.pin("for ever", 0);
    });
    for report in reports.iter().flatten() {
        let channel = report.channels().next().unwrap();
        assert!(
            (100..=103).contains(&channel.messages),
            "{}",
            channel.messages
        );
    }
}

#[test]
fn a_producer_that_ends_is_heard_of_after_its_last_token() {
    everywhere(|network, world| {
        for at in 0..10_u64 {
            let (out, input) = network.bounded(format_args!("c{at}"), 3);
            let name = format!("source {at}");
            network.source(&name, out, 0..at);
            network.pin(&name, at as usize % world.ranks());
            let name = format!("sink {at}");
            network.process(&name, input, async move |mut input: In<u64>| {
                for number in 0..at {
                    assert_eq!(input.recv().await, Some(number));
                }
                assert_eq!(input.recv().await, None);
                assert_eq!(input.recv().await, None);
            });
            network.pin(&name, (at as usize + 1) % world.ranks());
        }
    });
}

#[test]
fn large_tokens_and_many_small_ones_keep_their_order() {
    everywhere(|network, world| {
        let (out, input) = network.channel::<Vec<u8>>("blocks");
        network.process("source", out, async |mut out| {
            for length in (0..400).chain([100_000, 3, 50_000, 0]) {
                out.send(vec![length as u8; length]).await.unwrap();
            }
        });
        network.process("sink", input, async |mut input| {
            for length in (0..400).chain([100_000, 3, 50_000, 0]) {
                assert_eq!(input.recv().await.unwrap(), vec![length as u8; length]);
            }
            assert!(input.recv().await.is_none());
        });
        network.pin("source", 0);
        network.pin("sink", world.ranks() - 1);
    });
}

#[test]
fn unbounded_channels_and_merges_cross_ranks() {
    let reports = everywhere(|network, world| {
        let mut inputs = Vec::new();
        for at in 0..4_u64 {
            let (out, input) = network.unbounded(format_args!("c{at}"));
            let name = format!("source {at}");
            network.source(&name, out, (0..200).map(move |number| number * 4 + at));
            network.pin(&name, at as usize % world.ranks());
            inputs.push(input);
        }
        network.process(
            "merge",
            Merge::new(inputs),
            async |mut merge: Merge<u64>| {
                let mut seen = vec![false; 800];
                while let Some((from, number)) = merge.recv().await {
                    assert_eq!(number % 4, from as u64);
                    assert!(!std::mem::replace(&mut seen[number as usize], true));
                }
                assert!(seen.into_iter().all(|seen| seen));
            },
        );
    });
    assert!(
        reports
            .iter()
            .flatten()
            .all(|report| report.channels().all(|one| one.capacity.is_none()))
    );
}

#[test]
fn a_stage_is_ordered_on_any_number_of_ranks() {
    watched(MOST, || {
        for plan in plans() {
            let got = World::threads_with(&plan, |world| {
                let mut got = Vec::new();
                let mut network = Network::new(&world);
                let (out, input) = network.channel("numbers");
                let (done, results) = network.channel("results");
                network.source("source", out, 0..200_u64);
                network.stage("triple", 5, input, done, |number| number * 3);
                network.collect_into("sink", results, &mut got);
                network.pin("sink", 0);
                for worker in 0..5 {
                    network.pin(format_args!("triple/{worker}"), worker);
                }
                network.run(&pool(1)).unwrap();
                got
            });
            assert!(got[0].iter().copied().eq((0..200).map(|number| number * 3)));
        }
    });
}

#[test]
fn a_panic_on_any_rank_is_every_ranks_error() {
    watched(MOST, || {
        for ranks in 2..=4 {
            for bad in 0..ranks {
                let errors = World::threads(ranks, |world| {
                    let mut network = Network::new(&world);
                    for at in 0..ranks {
                        let (out, input) = network.bounded::<u64>(format_args!("c{at}"), 2);
                        network.source(format_args!("source {at}"), out, 0..);
                        network.pin(format_args!("source {at}"), at + 1);
                        network.process(format_args!("p{at}"), input, async move |mut input| {
                            while let Some(number) = input.recv().await {
                                assert!(at != bad || number != 30, "thirty");
                            }
                            panic!("half of a stream was taken for the whole");
                        });
                        network.pin(format_args!("p{at}"), at);
                    }
                    network.run(&pool(1)).unwrap_err()
                });
                let right = NetworkError::Panicked {
                    rank: bad,
                    process: format!("p{bad}"),
                    message: "thirty".into(),
                };
                assert_eq!(errors, vec![right; ranks]);
            }
        }
    });
}

#[test]
fn an_error_of_a_process_is_no_end_of_a_stream() {
    watched(MOST, || {
        for seed in 0..20 {
            let plan = Plan::new(2)
                .seed(seed)
                .delay_max(Duration::from_micros(100));
            let errors = World::threads_with(&plan, |world| {
                let mut network = Network::new(&world);
                let (out, input) = network.bounded::<u64>("numbers", 4);
                network.try_process("fails", out, async |mut out| {
                    for number in 0..20 {
                        let _ = out.send(number).await;
                    }
                    Err("no more numbers")
                });
                network.process("sink", input, async |mut input| {
                    while input.recv().await.is_some() {}
                    panic!("half of a stream was taken for the whole");
                });
                network.pin("fails", 0);
                network.pin("sink", 1);
                network.run(&pool(1)).unwrap_err()
            });
            let right = NetworkError::Failed {
                rank: 0,
                process: "fails".into(),
                message: "no more numbers".into(),
            };
            assert_eq!(errors, vec![right; 2]);
        }
    });
}

/// Three ranks in a circle without end, of which the second one is lost, and each may be silent for
/// so long.
fn without_the_second(silence: Duration) -> Vec<NetworkError> {
    let plan = Plan::new(3).lose(1, 40).silence_max(silence);
    World::threads_with(&plan, |world| {
        let mut network = Network::new(&world);
        let (first, mut last) = network.bounded::<u64>("c0", 1);
        network.source("source", first, 0..);
        for at in 1..3 {
            let (out, next) = network.bounded::<u64>(format_args!("c{at}"), 1);
            network.process(
                format_args!("p{at}"),
                (last, out),
                async |(mut input, mut out)| {
                    while let Some(number) = input.recv().await {
                        if out.send(number).await.is_err() {
                            break;
                        }
                    }
                },
            );
            network.pin(format_args!("p{at}"), at);
            last = next;
        }
        network.sink("sink", last, |_| {});
        network.pin("source", 0);
        network.pin("sink", 0);
        network.run(&pool(1)).unwrap_err()
    })
}

#[test]
fn a_rank_that_is_lost_ends_the_network_on_the_others() {
    watched(MOST, || {
        with_patience(Duration::from_millis(100), |silence| {
            for error in without_the_second(silence) {
                let NetworkError::World(error) = error else {
                    panic!("{error}");
                };
                if error.rank() != Some(1) {
                    return Err(error.to_string());
                }
            }
            Ok(())
        });
    });
}

#[test]
fn one_world_runs_many_networks_and_goes_on_after_one_that_failed() {
    watched(MOST, || {
        World::threads(3, |world| {
            for round in 0..10_u64 {
                let (got, _) = pipeline(&world, 5, 50, 2);
                assert_eq!(got.len(), if world.rank() == 0 { 50 } else { 0 });
                let mut network = Network::new(&world);
                let (out, input) = network.bounded::<u64>("numbers", 1);
                network.source("source", out, 0..);
                network.sink("sink", input, |number| assert!(number < round));
                network.pin("source", 1);
                network.pin("sink", 2);
                let error = network.run(&pool(1)).unwrap_err();
                assert!(
                    matches!(error, NetworkError::Panicked { rank: 2, .. }),
                    "{error}"
                );
            }
        });
    });
}

#[test]
fn networks_that_cannot_run_say_why_on_every_rank() {
    fn refused(build: impl Fn(&mut Network<'_>, usize) + Sync) -> String {
        let errors = World::threads(2, |world| {
            let mut network = Network::new(&world);
            build(&mut network, world.rank());
            network.run(&pool(1)).unwrap_err().to_string()
        });
        assert_eq!(errors[0], errors[1]);
        errors[0].clone()
    }
    let kept = Mutex::new(Vec::new());
    let text = refused(|network, _| {
        let (out, input) = network.channel::<u8>("open");
        kept.lock().unwrap().push(input);
        network.source("source", out, []);
    });
    assert!(
        text.starts_with("the input of channel `open` is given to no process"),
        "{text}"
    );
    let text = refused(|network, _| network.pin("nobody", 1));
    assert!(
        text.starts_with("process `nobody` is pinned to rank 1, but there is none"),
        "{text}"
    );
    let text = refused(|network, _| network.weight("heavy", u64::MAX));
    assert!(text.contains("is not in 0..=1099511627776"), "{text}");
    let text = refused(|network, _| drop(network.bounded::<u8>("none", 0)));
    assert!(text.contains("a capacity of 0 is not in 1..="), "{text}");
    let text = refused(|network, rank| network.process(format_args!("p{rank}"), (), async |()| {}));
    assert!(
        text.starts_with("rank 1 has built another network than rank 0"),
        "{text}"
    );
    let text = refused(|network, _| {
        let (_, input) = roving_flow::Network::new().channel::<u8>("other");
        network.process("strange", input, async |_| {});
    });
    assert!(
        text.starts_with("process `strange` has a port of another network"),
        "{text}"
    );
}

#[test]
fn a_token_that_is_read_in_another_way_is_an_error() {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    struct Odd;
    impl Serialize for Odd {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.serialize_bytes(&[9, 9, 9])
        }
    }
    impl<'d> Deserialize<'d> for Odd {
        fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Odd, D::Error> {
            u8::deserialize(from).map(|_| Odd)
        }
    }
    let errors = watched(MOST, || {
        World::threads(2, |world| {
            let mut network = Network::new(&world);
            let (out, input) = network.channel("odd");
            network.source("source", out, [Odd]);
            network.sink("sink", input, |Odd| {});
            network.pin("source", 0);
            network.pin("sink", 1);
            network.run(&pool(1)).unwrap_err()
        })
    });
    for error in errors {
        let text = error.to_string();
        let right = "rank 1: a token of channel `odd`: is read in another way than it was written";
        assert!(text.starts_with(right), "{text}");
    }
}

#[test]
fn what_was_measured_decides_who_runs_together() {
    /// Four in a circle, of whom every second one sends many messages to the next.
    fn circle<'w>(world: &'w World, heavy: usize) -> Network<'w> {
        let mut network = Network::new(world);
        let mut outs: Vec<Option<Out<u64>>> = Vec::new();
        let mut inputs: Vec<Option<In<u64>>> = Vec::new();
        for at in 0..4 {
            let (out, input) = network.unbounded(format_args!("c{at}"));
            outs.push(Some(out));
            inputs.push(Some(input));
        }
        for at in 0..4 {
            let ports = (
                outs[at].take().unwrap(),
                inputs[(at + 3) % 4].take().unwrap(),
            );
            let messages = if at % 2 == heavy { 1000 } else { 1 };
            network.process(
                format_args!("p{at}"),
                ports,
                async move |(mut out, mut input): (Out<u64>, In<u64>)| {
                    for number in 0..messages {
                        out.send(number).await.unwrap();
                    }
                    drop(out);
                    while input.recv().await.is_some() {}
                },
            );
        }
        network
    }
    watched(MOST, || {
        for heavy in [0, 1] {
            World::threads(2, |world| {
                let first = circle(&world, heavy).run(&pool(1)).unwrap();
                let mut second = circle(&world, heavy);
                second.measured(&first);
                let second = second.run(&pool(1)).unwrap();
                let ranks: Vec<usize> = second.processes().map(|one| one.rank).collect();
                for at in [heavy, heavy + 2] {
                    assert_eq!(ranks[at], ranks[(at + 1) % 4], "{ranks:?}");
                }
                assert_ne!(ranks[heavy], ranks[(heavy + 2) % 4], "{ranks:?}");
                let crossing = second.channels().filter(|channel| channel.crosses);
                assert!(crossing.map(|channel| channel.messages).eq([1, 1]));
            });
        }
    });
}
