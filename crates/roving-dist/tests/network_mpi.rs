//! Networks across ranks that are processes. Each test starts `mpirun` on this test program, in
//! which [`rank`] plays a role; without `mpirun`, or without the feature `mpi`, it says so and does
//! nothing.

mod common;

use std::env;
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::mpirun;
use roving::Pool;
use roving_dist::{Network, Rebalance, World};
use roving_flow::{In, Out};

/// The role that a rank plays.
const ROLE: &str = "ROVING_DIST_NETWORK_ROLE";
/// How long one `mpirun` may take before a test gives up.
const RUN_MAX: Duration = Duration::from_secs(300);

/// The program that `mpirun` starts; it does nothing otherwise.
#[test]
fn rank() {
    let Ok(role) = env::var(ROLE) else {
        return;
    };
    let world = World::init().unwrap();
    match &*role {
        "ring" => ring(&world),
        "errors" => errors(&world),
        "deadlocks" => deadlocks(&world),
        "moves" => moves(&world),
        _ => panic!("no role `{role}`"),
    }
    world.finish().unwrap();
}

/// Runs so many ranks of this program in a role, and returns what they said; none without MPI.
fn run(ranks: usize, role: &str) -> Option<String> {
    if !cfg!(feature = "mpi") {
        println!("skipped: built without the feature `mpi`");
        return None;
    }
    let started = mpirun(ranks, env::current_exe().unwrap())
        .args(["--exact", "rank", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = match started {
        Ok(child) => child,
        Err(error) => {
            println!("skipped: no mpirun here ({error})");
            return None;
        }
    };
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || drop(done.send(child.wait_with_output().unwrap())));
    let output = is_done.recv_timeout(RUN_MAX).expect("the ranks hang");
    let (said, warned) = (&output.stdout, &output.stderr);
    let text = format!(
        "{}\n{}",
        String::from_utf8_lossy(said),
        String::from_utf8_lossy(warned)
    );
    assert!(output.status.success(), "{text}");
    Some(text)
}

/// Small tokens round and round, and large ones past them.
fn ring(world: &World) {
    let pool = Pool::new(1).unwrap();
    let places = 12_u64;
    for capacity in [1, 64] {
        let mut sum = 0;
        let mut network = Network::new(world);
        let (first, mut held) = network.bounded::<Vec<u64>>("hop 0", capacity);
        for place in 1..places {
            let (out, next) = network.bounded(format_args!("hop {place}"), capacity);
            let name = format!("p{place}");
            network.process(
                &name,
                (held, out),
                async |(mut input, mut out): (In<Vec<u64>>, Out<_>)| {
                    while let Some(mut numbers) = input.recv().await {
                        numbers.iter_mut().for_each(|number| *number += 1);
                        if out.send(numbers).await.is_err() {
                            break;
                        }
                    }
                },
            );
            network.pin(&name, place as usize);
            held = next;
        }
        let total = &mut sum;
        network.process("first", (held, first), async move |(input, mut out)| {
            let mut input: In<Vec<u64>> = input;
            for round in 0..200_u64 {
                let numbers = vec![0; if round % 50 == 0 { 20_000 } else { 1 }];
                out.send(numbers).await.unwrap();
                *total += input.recv().await.unwrap()[0];
            }
        });
        network.pin("first", 0);
        network.run(&pool).unwrap();
        if world.rank() == 0 {
            println!("capacity {capacity} on {}: {sum}", world.ranks());
        }
    }
}

#[test]
fn a_ring_counts_its_hops_on_1_2_and_4_processes() {
    for ranks in [1, 2, 4] {
        let Some(text) = run(ranks, "ring") else {
            return;
        };
        for capacity in [1, 64] {
            let line = format!("capacity {capacity} on {ranks}: {}", 200 * 11);
            assert!(text.contains(&line), "{text}");
        }
    }
}

/// A process panics on each rank in turn, and the world goes on.
fn errors(world: &World) {
    let pool = Pool::new(1).unwrap();
    for bad in 0..world.ranks() {
        let mut network = Network::new(world);
        let (out, input) = network.bounded::<u64>("numbers", 3);
        network.source("source", out, 0..);
        network.sink("sink", input, |number| {
            assert!(number < 500, "five hundred")
        });
        network.pin("sink", bad);
        network.pin("source", bad + 1);
        let error = network.run(&pool).unwrap_err();
        println!("rank {} heard: {error}", world.rank());
    }
}

#[test]
fn a_panic_on_any_process_is_heard_on_all() {
    let Some(text) = run(3, "errors") else {
        return;
    };
    for rank in 0..3 {
        for bad in 0..3 {
            let line =
                format!("rank {rank} heard: rank {bad}: process `sink` panicked: five hundred");
            assert!(text.contains(&line), "{text}");
        }
    }
}

/// One that growing resolves, and one that nothing does.
fn deadlocks(world: &World) {
    let pool = Pool::new(1).unwrap();
    let mut network = Network::new(world);
    let (batch, input) = network.bounded::<u32>("batch", 4);
    let (go, may_go) = network.bounded::<()>("go", 1);
    network.process("sender", (batch, go), async |(mut batch, mut go)| {
        for number in 0..20 {
            batch.send(number).await.unwrap();
        }
        go.send(()).await.unwrap();
    });
    network.process(
        "receiver",
        (input, may_go),
        async |(mut input, mut may_go)| {
            may_go.recv().await;
            while input.recv().await.is_some() {}
        },
    );
    network.pin("sender", 0);
    network.pin("receiver", 1);
    let grown = network.run(&pool).unwrap().growths.len();
    println!("rank {} saw {grown} growths", world.rank());
    let mut network = Network::new(world);
    let (to_b, from_a) = network.channel::<u32>("a to b");
    let (to_a, from_b) = network.channel::<u32>("b to a");
    for (name, rank, ports) in [("a", 0, (to_b, from_b)), ("b", 1, (to_a, from_a))] {
        network.process(
            name,
            ports,
            async |(mut out, mut input): (Out<u32>, In<u32>)| {
                let number = input.recv().await.unwrap();
                out.send(number).await.unwrap();
            },
        );
        network.pin(name, rank);
    }
    let error = network.run(&pool).unwrap_err();
    println!(
        "rank {} heard: {}",
        world.rank(),
        error.to_string().replace('\n', ";")
    );
}

#[test]
fn deadlocks_across_processes_are_resolved_or_named() {
    let Some(text) = run(2, "deadlocks") else {
        return;
    };
    for rank in 0..2 {
        assert!(
            text.contains(&format!("rank {rank} saw 3 growths")),
            "{text}"
        );
        let line = format!("rank {rank} heard: deadlock: 2 processes wait for each other");
        assert!(text.contains(&line), "{text}");
    }
    assert!(
        text.contains("`a` on rank 0 waits for a message from `b` by `b to a`"),
        "{text}"
    );
}

/// Stages that move from rank to rank, because somebody says so and because the network is out of
/// balance.
fn moves(world: &World) {
    let pool = Pool::new(1).unwrap();
    let (stages, tokens) = (5_u64, 2000_u64);
    let mut sum = 0;
    let mut network = Network::new(world);
    let (out, mut last) = network.bounded("c0", 16);
    network.source("source", out, 0..tokens);
    for stage in 1..=stages {
        let (out, next) = network.bounded(format_args!("c{stage}"), 16);
        // The sum of all that came so far, with a state of some size.
        let first = (0_u64, vec![stage; 1000]);
        network.movable(stage, (last, out), first, async |(sum, state), ports| {
            let (mut input, mut out): (In<u64>, Out<u64>) = ports;
            let number: u64 = input.recv().await?;
            let sum = sum + number % (state[999] + 1);
            out.send(sum).await.ok()?;
            Some(((sum, state), (input, out)))
        });
        last = next;
    }
    let (mover, ranks) = (network.mover(), world.ranks());
    let total = &mut sum;
    network.process("sink", last, async move |mut input: In<u64>| {
        let mut count = 0;
        while let Some(number) = input.recv().await {
            *total += number;
            if count % 50 == 0 {
                let stage = count / 50 % stages + 1;
                mover.move_to(&stage.to_string(), (count / 50) as usize % ranks);
            }
            count += 1;
        }
    });
    network.pin("source", 0);
    network.pin("sink", 0);
    let mut often = Rebalance::default();
    often.every = Duration::from_millis(2);
    often.idle_threshold = Duration::from_millis(2);
    network.rebalance(often);
    let report = network.run(&pool).unwrap();
    let moves = &report.moves;
    assert!(
        moves
            .iter()
            .all(|moved| moved.bytes >= 1000 && moved.from != moved.to)
    );
    if world.rank() == 0 {
        println!("the sum on {ranks}: {sum}; moved: {}", !moves.is_empty());
    }
}

#[test]
fn processes_move_between_2_and_4_processes_and_find_the_same() {
    let Some(text) = run(1, "moves") else {
        return;
    };
    let at = text.find("the sum on 1: ").expect("rank 0 says it");
    let right = text[at..].split([':', ';']).nth(1).unwrap();
    for ranks in [2, 4] {
        let text = run(ranks, "moves").unwrap();
        let line = format!("the sum on {ranks}:{right}; moved: true");
        assert!(text.contains(&line), "{text}, not {line}");
    }
}
