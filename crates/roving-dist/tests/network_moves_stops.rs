//! Errors while processes move, and conditions that keep others from moving.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use common::{hash, pause, plan, watched, with_patience};
use roving::Pool;
use roving_dist::{Network, NetworkError, World};
use roving_flow::{In, Out};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};

/// Longer than any of these takes.
const MOST: Duration = Duration::from_secs(120);

fn pool() -> Pool {
    Pool::new(1).unwrap()
}

/// Gives every number on.
async fn forward(count: u64, ports: (In<u64>, Out<u64>)) -> Option<(u64, (In<u64>, Out<u64>))> {
    let (mut input, mut out) = ports;
    let number = input.recv().await?;
    out.send(number).await.ok()?;
    Some((count + 1, (input, out)))
}

/// A line without an end, three of whose processes move all the time.
fn restless<'env>(network: &mut Network<'env>, each: impl FnMut(u64) + Send + 'env) {
    let (out, mut last) = network.bounded("c0", 3);
    network.source("source", out, 0_u64..);
    for stage in 1..=3 {
        let (out, next) = network.bounded(format_args!("c{stage}"), 3);
        network.movable(format_args!("stage {stage}"), (last, out), 0, forward);
        last = next;
    }
    network.sink("sink", last, each);
}

#[test]
fn a_rank_that_is_lost_while_processes_move_is_every_other_ranks_error() {
    watched(MOST, || {
        for seed in 1..=9 {
            let lost = seed as usize % 3;
            with_patience(Duration::from_millis(300), |silence| {
                let plan = plan(3, seed)
                    .lose(lost, hash(seed) % 400)
                    .silence_max(silence);
                let errors = World::threads_with(&plan, |world| {
                    let mut network = Network::new(&world);
                    let mover = network.mover();
                    restless(&mut network, move |number| {
                        let stage = number % 3 + 1;
                        mover.move_to(&format!("stage {stage}"), hash(number) as usize);
                    });
                    network.run(&pool()).unwrap_err()
                });
                for (rank, error) in errors.iter().enumerate() {
                    let NetworkError::World(error) = error else {
                        panic!("{error}");
                    };
                    if rank != lost && error.rank() != Some(lost) {
                        return Err(format!("{lost} is lost: {error}"));
                    }
                }
                Ok(())
            });
        }
    });
}

/// Moves once, from rank 0 to 1, and is asked for that before its first step.
fn error_of_a_move<S>(first: S, seed: u64) -> NetworkError
where
    S: Clone + Serialize + serde::de::DeserializeOwned + Send + Sync + 'static,
{
    let errors = World::threads_with(&plan(2, seed), |world| {
        let mut network = Network::new(&world);
        let mover = network.mover();
        let (out, input) = network.bounded::<u64>("numbers", 2);
        network.source("source", out, 0..);
        network.movable("bad", input, first.clone(), move |state, input: In<u64>| {
            mover.move_to("bad", 1);
            let mut input = input;
            async move {
                input.recv().await?;
                Some((state, input))
            }
        });
        network.pin("bad", 0);
        network.run(&pool()).unwrap_err()
    });
    assert_eq!(errors[0], errors[1]);
    errors[0].clone()
}

#[derive(Clone, Deserialize)]
struct Unwritable;

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("never"))
    }
}

#[test]
fn a_state_that_cannot_be_written_is_an_error_where_the_process_was() {
    for seed in 1..=4 {
        let error = watched(MOST, || error_of_a_move(Unwritable, seed));
        let right = "rank 0: process `bad` panicked: its state cannot be written as bytes:";
        assert!(error.to_string().starts_with(right), "{error}");
    }
}

/// Asks for more bytes than it was written as.
#[derive(Clone)]
struct Longer;

impl Serialize for Longer {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u8(0)
    }
}

impl<'de> Deserialize<'de> for Longer {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Longer, D::Error> {
        <(u8, u64)>::deserialize(from).map(|_| Longer)
    }
}

#[test]
fn a_state_that_is_read_in_another_way_is_an_error_where_the_process_goes() {
    for seed in 1..=4 {
        let error = watched(MOST, || error_of_a_move(Longer, seed));
        let right =
            "rank 1: process `bad` panicked: its state is read in another way than it was written";
        assert!(error.to_string().starts_with(right), "{error}");
    }
}

#[test]
fn a_port_that_is_kept_is_an_error_of_a_process_that_moves() {
    for seed in 1..=4 {
        let errors = watched(MOST, || {
            World::threads_with(&plan(2, seed), |world| {
                let mut network = Network::new(&world);
                let mover = network.mover();
                let (out, input) = network.bounded::<u64>("numbers", 2);
                network.source("source", out, 0..);
                let mut kept = None;
                network.movable("keeps", Some(input), (), move |(), mut input| {
                    if kept.is_none() {
                        kept = input.take();
                        mover.move_to("keeps", 1);
                    }
                    async {
                        pause().await;
                        Some(((), input))
                    }
                });
                network.pin("keeps", 0);
                network.run(&pool()).unwrap_err()
            })
        });
        let right = "rank 0: process `keeps` panicked: it has kept its port of channel `numbers`, and moves: a step \
                     returns all ports that it does not drop";
        assert!(
            errors.iter().all(|error| error.to_string() == right),
            "{errors:?}"
        );
    }
}

#[test]
fn a_panic_in_a_step_names_the_rank_where_the_process_is_then() {
    watched(MOST, || {
        for seed in 1..=8 {
            let errors = World::threads_with(&plan(3, seed), |world| {
                let here = world.rank();
                let mut network = Network::new(&world);
                let mover = network.mover();
                network.movable("walks", (), 0_u64, move |_, ()| {
                    mover.move_to("walks", here + 1);
                    async move {
                        pause().await;
                        assert!(here < 2, "this is far enough");
                        Some((0, ()))
                    }
                });
                network.pin("walks", 0);
                network.run(&pool()).unwrap_err()
            });
            let right = NetworkError::Panicked {
                rank: 2,
                process: "walks".into(),
                message: "this is far enough".into(),
            };
            assert_eq!(errors, vec![right; 3]);
        }
    });
}

/// Whoever has small channels elsewhere is helped, though there is always something that moves.
#[test]
fn full_channels_grow_while_others_move_without_end() {
    watched(MOST, || {
        for seed in 1..=6 {
            let is_done = Arc::new(AtomicBool::new(false));
            let reports = World::threads_with(&plan(3, seed), |world| {
                let mut network = Network::new(&world);
                let (batch, input) = network.bounded::<u64>("batch", 1);
                let (go, may_go) = network.bounded::<()>("go", 1);
                network.movable(
                    "sender",
                    (batch, go),
                    0_u64,
                    async |at, (mut batch, mut go)| {
                        batch.send(at).await.unwrap();
                        if at == 20 {
                            go.send(()).await.unwrap();
                            return None;
                        }
                        Some((at + 1, (batch, go)))
                    },
                );
                let done = Arc::clone(&is_done);
                network.process(
                    "receiver",
                    (input, may_go),
                    async move |(input, mut may_go)| {
                        let mut input: In<u64> = input;
                        may_go.recv().await;
                        while input.recv().await.is_some() {}
                        done.store(true, SeqCst);
                    },
                );
                network.pin("receiver", 1);
                let (here, mover) = (world.rank(), network.mover());
                let done = Arc::clone(&is_done);
                network.movable("restless", (), (), move |(), ()| {
                    mover.move_to("restless", here + 1);
                    let is_done = done.load(SeqCst);
                    async move {
                        pause().await;
                        (!is_done).then_some(((), ()))
                    }
                });
                network.run(&pool()).unwrap()
            });
            assert!(!reports[0].growths.is_empty() && !reports[0].moves.is_empty());
            let batch = reports[0].channels().next().unwrap();
            assert_eq!((batch.messages, batch.received), (21, 21));
        }
    });
}

/// Rank 0 decides who moves, also while its only worker has no time.
#[test]
fn a_process_that_never_pauses_keeps_no_others_from_moving() {
    watched(MOST, || {
        for seed in 1..=4 {
            let place = Arc::new(AtomicUsize::new(0));
            let reports = World::threads_with(&plan(3, seed), |world| {
                let mut network = Network::new(&world);
                let busy = Arc::clone(&place);
                network.process("busy", (), async move |()| {
                    while busy.load(SeqCst) != 2 {
                        std::thread::yield_now();
                    }
                });
                network.pin("busy", 0);
                let (here, mover) = (world.rank(), network.mover());
                let seen = Arc::clone(&place);
                network.movable("moves", (), (), move |(), ()| {
                    mover.move_to("moves", 2);
                    seen.store(here, SeqCst);
                    async move {
                        pause().await;
                        (here != 2).then_some(((), ()))
                    }
                });
                network.pin("moves", 1);
                network.run(&pool()).unwrap()
            });
            let moved = &reports[2].moves[0];
            assert_eq!((moved.from, moved.to, moved.process), (1, 2, 1));
        }
    });
}

/// The source ends, and the sink has enough, in the middle of moves.
#[test]
fn streams_that_end_on_either_side_end_wherever_their_processes_are() {
    watched(MOST, || {
        for seed in 1..=24 {
            let enough = hash(seed) % 60;
            let got = World::threads_with(&plan(3, seed), |world| {
                let mut got = Vec::new();
                let mut network = Network::new(&world);
                let mover = network.mover();
                let (out, first) = network.bounded("first", 2);
                let (told, second) = network.bounded("second", 2);
                network.movable("source", out, 0, async |at, mut out: Out<u64>| {
                    (at < 30 && out.send(at).await.is_ok()).then_some((at + 1, out))
                });
                network.movable("stage", (first, told), 0, forward);
                let (into, here) = (&mut got, world.rank());
                network.process("sink", second, async move |mut input: In<u64>| {
                    for name in ["source", "stage"].iter().cycle() {
                        mover.move_to(name, here + 1 + into.len() % 2);
                        match input.recv().await {
                            Some(number) if into.len() < enough as usize => into.push(number),
                            _ => break,
                        }
                    }
                });
                network.pin("sink", 1);
                network.run(&pool()).unwrap();
                got
            });
            let right: Vec<u64> = (0..enough.min(30)).collect();
            assert_eq!(got, [vec![], right, vec![]], "{seed}");
        }
    });
}
