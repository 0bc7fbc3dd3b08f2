//! Networks drawn by a seed, whose processes move at random: what each process has received is what
//! it receives on one rank, where nothing moves.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{hash, plan, watched_telling};
use roving::Pool;
use roving_dist::{Mover, Network, NetworkError, Plan, World};
use roving_flow::{In, Out};
use serde::{Deserialize, Serialize};

/// How many seeds, and the first: `ROVING_DIST_SEEDS` and `ROVING_DIST_FIRST_SEED` ask for others.
fn number(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().expect("a number of seeds"),
        Err(_) => usual,
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = hash(self.0);
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// A random network: a process is named by its place.
#[derive(Clone)]
struct Drawn {
    processes: usize,
    /// Producer, consumer, capacity.
    channels: Vec<(usize, usize, Option<usize>)>,
    /// Which can move.
    is_movable: Vec<bool>,
    steps: usize,
    seed: u64,
}

impl Drawn {
    fn new(seed: u64) -> Drawn {
        let mut random = Random(seed);
        let processes = 3 + random.below(4);
        let mut channels = Vec::new();
        for _ in 0..processes + random.below(6) {
            let (from, to) = (random.below(processes), random.below(processes));
            let capacity = match random.below(5) {
                0 => None,
                more => Some(more),
            };
            // Mostly without circles, and seldom to itself: these are deadlocks more often than
            // not.
            let (from, to) = match random.below(30) {
                0 => (from, to),
                _ if from == to => (0, processes - 1),
                _ => (from.min(to), from.max(to)),
            };
            channels.push((from, to, capacity));
        }
        Drawn {
            processes,
            channels,
            is_movable: (0..processes).map(|_| random.below(4) > 0).collect(),
            steps: 50 + random.below(150),
            seed,
        }
    }
}

/// The state that a process takes with it. Its next deed follows from this alone.
#[derive(Serialize, Deserialize)]
struct Doer {
    random: Random,
    left: usize,
    /// Of all that it has received.
    seen: u64,
}

type Ports = (Vec<In<u64>>, Vec<Option<Out<u64>>>);

/// A few deeds: receives, sends, drops a port, or has ports change places.
async fn act(mut doer: Doer, (mut ins, mut outs): Ports) -> Result<(Doer, Ports), u64> {
    for _ in 0..=doer.random.below(3) {
        if doer.left == 0 {
            return Err(doer.seen);
        }
        doer.left -= 1;
        match doer.random.below(20) {
            0 if ins.len() > 1 => drop(ins.swap_remove(doer.random.below(ins.len()))),
            1 if outs.len() > 1 => {
                let at = doer.random.below(outs.len());
                outs[at] = None;
            }
            2 if !ins.is_empty() => ins.rotate_left(1),
            3 => outs.reverse(),
            4..=11 if !ins.is_empty() => {
                let at = doer.random.below(ins.len());
                doer.seen = match ins[at].recv().await {
                    Some(token) => hash(doer.seen ^ token),
                    None => {
                        drop(ins.swap_remove(at));
                        hash(doer.seen)
                    }
                };
            }
            _ if !outs.is_empty() => {
                let at = doer.random.below(outs.len());
                let token = hash(doer.seen ^ doer.left as u64);
                // Whether somebody receives it is not for this process to see.
                if let Some(out) = &mut outs[at] {
                    let _nobody_receives = out.send(token).await;
                }
            }
            _ => {}
        }
    }
    Ok((doer, (ins, outs)))
}

/// The outcome of the network on one rank: what each process has seen, or the processes that wait
/// for each other.
#[derive(Clone, PartialEq, Debug)]
enum Outcome {
    Seen(Vec<u64>),
    Deadlock,
}

/// All runs of one network have this in common; ranks are threads of this process.
#[derive(Clone)]
struct Board {
    seen: Arc<Mutex<Vec<u64>>>,
    moves: Arc<AtomicUsize>,
}

fn build(network: &mut Network<'_>, drawn: &Drawn, board: &Board) {
    let mut ports: Vec<Ports> = (0..drawn.processes).map(|_| Ports::default()).collect();
    for (at, &(from, to, capacity)) in drawn.channels.iter().enumerate() {
        let name = format!("c{at}");
        let (out, input) = match capacity {
            Some(capacity) => network.bounded(name, capacity),
            None => network.unbounded(name),
        };
        ports[from].1.push(Some(out));
        ports[to].0.push(input);
    }
    for (at, ports) in ports.into_iter().enumerate() {
        let first = Doer {
            random: Random(hash(drawn.seed) ^ at as u64),
            left: drawn.steps,
            seen: at as u64,
        };
        let seen = Arc::clone(&board.seen);
        let name = format!("p{at}");
        if drawn.is_movable[at] {
            network.movable(name, ports, first, move |doer, ports| {
                let seen = Arc::clone(&seen);
                async move {
                    let acted = act(doer, ports).await;
                    acted.map_err(|all| seen.lock().unwrap()[at] = all).ok()
                }
            });
        } else {
            network.process(name, ports, async move |ports: Ports| {
                let mut now = Ok((first, ports));
                while let Ok((doer, ports)) = now {
                    now = act(doer, ports).await;
                }
                seen.lock().unwrap()[at] = now.err().unwrap();
            });
        }
    }
}

/// By rank, whom to ask what a rank waits for.
type Ranks = Arc<Mutex<Vec<Mover>>>;

/// Runs it on so many ranks; on each, somebody asks for so many moves.
fn run(
    drawn: &Drawn,
    plan: &Plan,
    workers: usize,
    asks: usize,
    telling: &Ranks,
) -> (Outcome, usize) {
    telling.lock().unwrap().clear();
    let board = Board {
        seen: Arc::new(Mutex::new(vec![0; drawn.processes])),
        moves: Arc::default(),
    };
    let ran = World::threads_with(plan, |world| {
        let mut network = Network::new(&world);
        build(&mut network, drawn, &board);
        telling.lock().unwrap().push(network.mover());
        for rank in 0..world.ranks() {
            let (mover, ranks) = (network.mover(), world.ranks());
            let mut random = Random(drawn.seed ^ hash(rank as u64 + 7));
            let name = format!("asks {rank}");
            let processes = drawn.processes;
            network.process(&name, (), async move |()| {
                for _ in 0..asks {
                    let process = random.below(processes);
                    mover.move_to(&format!("p{process}"), random.below(ranks));
                    for _ in 0..random.below(60) {
                        common::pause().await;
                    }
                }
            });
            network.pin(&name, rank);
        }
        let ran = network.run(&Pool::new(workers).unwrap());
        let report = match ran {
            Ok(report) => report,
            Err(NetworkError::Deadlock { .. }) => return None,
            Err(error) => panic!("{error}"),
        };
        board.moves.store(report.moves.len(), SeqCst);
        for moved in &report.moves {
            assert!(drawn.is_movable[moved.process] && moved.from != moved.to);
        }
        // Each goes on where it was.
        let mut places = vec![None; drawn.processes];
        for moved in &report.moves {
            let last = places[moved.process].replace(moved.to);
            assert!(last.is_none_or(|last| last == moved.from), "{moved:?}");
        }
        for (process, place) in report.processes().zip(places) {
            assert!(place.is_none_or(|place| place == process.rank));
        }
        let ranks: Vec<_> = report.processes().map(|one| one.rank).collect();
        Some((ranks, report.moves))
    });
    assert!(ran.iter().all(|one| *one == ran[0]), "{ran:?}");
    let outcome = match ran[0] {
        None => Outcome::Deadlock,
        Some(_) => Outcome::Seen(board.seen.lock().unwrap().clone()),
    };
    (outcome, board.moves.load(SeqCst))
}

#[test]
fn networks_of_all_kinds_come_to_the_same_whatever_moves() {
    let (mut moves, mut deadlocks) = (0, 0);
    let first = number("ROVING_DIST_FIRST_SEED", 0);
    let usual = match std::env::var_os("ROVING_DEEP") {
        Some(_) => 150,
        None => 24,
    };
    for seed in first..first + number("ROVING_DIST_SEEDS", usual) {
        let telling = Ranks::default();
        let ranks = Arc::clone(&telling);
        let tell = move || {
            let ranks = ranks.lock().unwrap();
            let told = ranks.iter().map(|rank| format!("{rank:?}\n"));
            format!("seed {seed}\n{}", told.collect::<String>())
        };
        watched_telling(Duration::from_secs(600), tell, || {
            let drawn = Drawn::new(hash(seed));
            let (right, none) = run(&drawn, &Plan::new(1), 1, 0, &telling);
            assert_eq!(none, 0);
            let (ranks, workers) = (2 + seed as usize % 3, 1 + seed as usize / 3 % 2);
            let (got, moved) = run(&drawn, &plan(ranks, seed), workers, 40, &telling);
            assert_eq!(got, right, "seed {seed}");
            moves += moved;
            deadlocks += usize::from(right == Outcome::Deadlock);
        });
    }
    // Else nothing would have been tested.
    assert!(moves > 0 && deadlocks > 0, "{moves} {deadlocks}");
    println!("{moves} moves, {deadlocks} deadlocks");
}
