//! Networks whose processes rank 0 spreads anew while they run. None of these looks at how fast
//! anything is: they wait until processes are where they belong, and a watchdog waits for them.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use common::{hash, watched, watched_telling};
use roving::Pool;
use roving_dist::{Network, NetworkError, Plan, Rebalance, Report, World};
use roving_flow::{In, Out};

/// Longer than any of these takes.
const MOST: Duration = Duration::from_secs(240);

fn often() -> Rebalance {
    every(Duration::from_millis(5))
}

fn every(time: Duration) -> Rebalance {
    let mut settings = Rebalance::default();
    (settings.every, settings.idle_threshold) = (time, time);
    settings
}

/// Takes a while on some core.
fn spin(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Where the stages are, as far as they have said.
#[derive(Clone, Default)]
struct Board {
    places: Arc<[AtomicUsize; 6]>,
    is_balanced: Arc<AtomicBool>,
}

/// Sends numbers to all stages until these are where they belong.
fn deals<'env>(
    network: &mut Network<'env>,
    outs: Vec<Out<u64>>,
    board: Board,
    is_balanced: impl Fn(&[usize]) -> bool + Send + 'env,
    total: &'env mut u64,
) {
    network.process("deals", outs, async move |mut outs: Vec<Out<u64>>| {
        for number in 0.. {
            let places = board.places.iter().map(|place| place.load(SeqCst));
            if is_balanced(&places.collect::<Vec<_>>()) {
                break;
            }
            for out in &mut outs {
                *total += number;
                out.send(number).await.unwrap();
            }
        }
        board.is_balanced.store(true, SeqCst);
    });
}

/// Deals numbers to six stages, all of which are on rank 0 at first, and takes them back, until
/// `is_balanced` likes where the stages are. The first two cannot move, the next two are pinned if
/// so told.
fn deal(
    world: &World,
    board: &Board,
    is_pinned: bool,
    is_balanced: impl Fn(&[usize]) -> bool + Send,
) -> (u64, u64, Report) {
    let (mut sent, mut got) = (0, 0);
    let mut network = Network::new(world);
    let (mut outs, mut ins): (Vec<Out<u64>>, Vec<In<u64>>) = (Vec::new(), Vec::new());
    let here = world.rank();
    for stage in 0..6 {
        let (out, input) = network.bounded(format_args!("to {stage}"), 4);
        let (told, heard) = network.bounded(format_args!("from {stage}"), 4);
        outs.push(out);
        ins.push(heard);
        let name = format!("stage {stage}");
        if stage < 2 {
            network.process(&name, (input, told), async |(mut input, mut told)| {
                while let Some(number) = input.recv().await {
                    spin(Duration::from_micros(100));
                    told.send(number).await.unwrap();
                }
            });
            network.pin(&name, 0);
            continue;
        }
        if is_pinned && stage < 4 {
            network.pin(&name, 0);
        }
        let places = Arc::clone(&board.places);
        network.movable(&name, (input, told), 0_u64, move |count, ports| {
            let (mut input, mut told): (In<u64>, Out<u64>) = ports;
            places[stage].store(here, SeqCst);
            async move {
                let number: u64 = input.recv().await?;
                spin(Duration::from_micros(100));
                told.send(number).await.ok()?;
                Some((count + 1, (input, told)))
            }
        });
    }
    deals(&mut network, outs, board.clone(), is_balanced, &mut sent);
    let total = &mut got;
    network.process("gathers", ins, async move |mut ins: Vec<In<u64>>| {
        while !ins.is_empty() {
            for at in (0..ins.len()).rev() {
                match ins[at].recv().await {
                    Some(number) => *total += number,
                    None => drop(ins.remove(at)),
                }
            }
        }
    });
    // Weighs as much as all others together, and does nothing: so these are on rank 0 at first.
    network.process("ballast", (), async |()| {});
    network.weight("ballast", 8);
    network.pin("ballast", 1);
    network.pin("deals", 0);
    network.pin("gathers", 0);
    network.rebalance(often());
    let report = network.run(&Pool::new(1).unwrap()).unwrap();
    (sent, got, report)
}

#[test]
fn a_network_that_is_all_on_one_rank_is_spread() {
    watched(MOST, || {
        let board = Board::default();
        let ran = World::threads(2, |world| {
            deal(&world, &board, false, |places| {
                places.iter().filter(|&&place| place == 1).count() >= 2
            })
        });
        let (sent, got, report) = &ran[0];
        assert!(sent > &0 && sent == got);
        assert!(board.is_balanced.load(SeqCst));
        let first = &report.moves[0];
        assert_eq!((first.from, first.to), (0, 1));
        // A number that takes one byte or more.
        assert!(first.bytes > 0);
        assert!(report.moves.is_sorted_by_key(|moved| moved.at));
        assert!(ran[1].2.moves == report.moves);
    });
}

#[test]
fn what_is_pinned_or_cannot_move_stays_where_it_is() {
    watched(MOST, || {
        let board = Board::default();
        let ran = World::threads(3, |world| {
            deal(&world, &board, true, |places| {
                places[4] != 0 && places[5] != 0
            })
        });
        let (sent, got, report) = &ran[0];
        assert_eq!(sent, got);
        for moved in &report.moves {
            let name = report.processes().nth(moved.process).unwrap().name;
            assert!(["stage 4", "stage 5"].contains(&name), "{name}");
        }
        for process in report.processes() {
            let stays = !["stage 4", "stage 5"].contains(&process.name);
            assert!(!stays || process.moves == 0);
        }
    });
}

/// A number that is handed on by as many as there are stages, each of which adds what it has seen.
fn line(world: &World, stages: usize, tokens: u64, seed: u64) -> (Vec<u64>, usize) {
    let mut got = Vec::new();
    let mut network = Network::new(world);
    let (out, mut last) = network.bounded("c0", 3);
    network.source("source", out, 0..tokens);
    for stage in 1..=stages {
        let (out, next) = network.bounded(format_args!("c{stage}"), 3);
        network.movable(stage, (last, out), stage as u64, move |seen, ports| {
            let (mut input, mut out): (In<u64>, Out<u64>) = ports;
            async move {
                let number: u64 = input.recv().await?;
                // Heavy for a while, and then light.
                let heavy = hash(seed ^ stage as u64 ^ (number / 128)) % 4 == 0;
                spin(Duration::from_micros(if heavy { 60 } else { 0 }));
                let seen = hash(seen ^ number);
                out.send(seen).await.ok()?;
                Some((seen, (input, out)))
            }
        });
        last = next;
    }
    network.collect_into("sink", last, &mut got);
    network.pin("sink", 0);
    let mut finely = every(Duration::from_millis(1));
    finely.imbalance = 0.01;
    network.rebalance(finely);
    let report = network.run(&Pool::new(1).unwrap()).unwrap();
    (got, report.moves.len())
}

#[test]
fn the_answer_is_that_of_one_rank_whatever_moves_by_itself() {
    let mut moves = 0;
    for seed in 1..=12 {
        let tell = move || format!("it runs the network of seed {seed}\n");
        // Each network by itself: beside much load all of them take minutes.
        moves += watched_telling(MOST, tell, || {
            let right = World::threads(1, |world| line(&world, 5, 600, seed));
            let plan = Plan::new(2 + seed as usize % 3)
                .seed(seed)
                .delay_max(Duration::from_micros(seed % 3 * 100));
            let ran = World::threads_with(&plan, |world| line(&world, 5, 600, seed));
            assert_eq!(ran[0].0, right[0].0, "{seed}");
            ran[0].1
        });
    }
    // Else nothing would have been tested.
    assert!(moves > 0);
    println!("{moves} moves");
}

#[test]
fn figures_out_of_range_and_ranks_that_differ_are_errors() {
    let run = |world: World, rebalance: Option<Rebalance>| {
        let mut network = Network::new(&world);
        network.process("alone", (), async |()| {});
        if let Some(rebalance) = rebalance {
            network.rebalance(rebalance);
        }
        network.run(&Pool::new(1).unwrap()).map(drop)
    };
    let never = every(Duration::ZERO);
    let message = "to rebalance every 0ns; allowed are 1 ms to 1 h: 50 ms is usual".to_owned();
    let right = Err(NetworkError::Invalid { message });
    assert_eq!(
        World::threads(2, |world| run(world, Some(never))),
        vec![right; 2]
    );
    let mut none = Rebalance::default();
    none.imbalance = f64::NAN;
    let errors = World::threads(1, |world| run(world, Some(none)).unwrap_err());
    assert!(
        errors[0]
            .to_string()
            .starts_with("an imbalance of NaN; allowed are 0 to 100")
    );
    let errors = World::threads(2, |world| {
        let is_first = world.rank() == 0;
        run(world, is_first.then(Rebalance::default)).unwrap_err()
    });
    assert!(
        errors[1]
            .to_string()
            .starts_with("rank 1 has built another network")
    );
}
