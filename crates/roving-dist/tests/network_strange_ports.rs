//! Steps that return ports which their process was not given.

mod common;

use std::path::Path;
use std::time::Duration;

use common::{directory, pause, plan, watched};
use roving::Pool;
use roving_dist::{Checkpoints, Network, World};
use roving_flow::In;

/// Longer than any of these takes.
const MOST: Duration = Duration::from_secs(120);

const RIGHT: &str =
    "rank 0: process `bad` panicked: it returns other ports than those that it was given";

fn pool() -> Pool {
    Pool::new(1).unwrap()
}

/// A port of another network, whose number there may be that of one of the process's own.
fn foreign(number: usize) -> In<u64> {
    let mut other = roving_flow::Network::new();
    let mut input = |_| other.channel(number).1;
    (0..=number).map(&mut input).last().unwrap()
}

/// How its first step spoils its ports.
#[derive(Clone, Copy)]
enum Spoil {
    Add,
    Replace,
}

fn spoiled(how: Spoil, mut ports: Vec<In<u64>>, number: usize) -> Vec<In<u64>> {
    if let Spoil::Replace = how {
        ports.clear();
    }
    ports.push(foreign(number));
    ports
}

#[test]
fn a_process_with_a_strange_port_does_not_move() {
    for how in [Spoil::Add, Spoil::Replace] {
        for number in 0..6 {
            let run = |world: World| {
                let mut network = Network::new(&world);
                let mover = network.mover();
                let (out, input) = network.bounded::<u64>("numbers", 2);
                network.source("source", out, 0..);
                network.movable("bad", vec![input], (), move |(), mut ports| {
                    mover.move_to("bad", 1);
                    async move {
                        ports = spoiled(how, ports, number);
                        pause().await;
                        Some(((), ports))
                    }
                });
                network.pin("bad", 0);
                network.run(&pool()).unwrap_err().to_string()
            };
            let errors = watched(MOST, || World::threads_with(&plan(2, number as u64), run));
            assert_eq!(errors, [RIGHT; 2]);
        }
    }
}

/// Runs from the last checkpoint until there is another one, and a strange port in the next.
fn recorded(to: &Path, number: usize) -> [String; 2] {
    let errors = World::threads(2, |world| {
        let mut network = Network::new(&world);
        let checkpoints = Checkpoints::to(to).every(Duration::ZERO);
        network.checkpoints(checkpoints.clone());
        let (out, input) = network.bounded("numbers", 2);
        network.movable("source", out, 1, async |number: u64, mut out| {
            out.send(number).await.ok()?;
            Some((number + 1, out))
        });
        let step = move |seen: u64, mut ports: Vec<In<u64>>| {
            let is_there = checkpoints.is_there();
            async move {
                assert_eq!(ports.first_mut()?.recv().await, Some(seen + 1));
                std::thread::sleep(Duration::from_micros(100));
                if ports.len() == 1 && is_there {
                    ports.push(foreign(number));
                }
                Some((seen + 1, ports))
            }
        };
        network.movable("bad", vec![input], 0, step);
        network.pin("source", 1);
        network.pin("bad", 0);
        network.run(&pool()).unwrap_err().to_string()
    });
    errors.try_into().unwrap()
}

#[test]
fn a_strange_port_is_in_no_checkpoint() {
    for number in 0..6 {
        let directory = directory("strange-ports");
        // The second run begins with what was recorded before, which is as good as it was.
        for _ in 0..2 {
            let errors = watched(MOST, || recorded(&directory, number));
            assert_eq!(errors, [RIGHT; 2]);
            assert!(Checkpoints::to(&directory).is_there());
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

/// It is an error of the run, on all ranks, whatever number the port has there.
#[test]
fn a_movable_process_that_is_given_a_strange_port_is_refused() {
    for number in 0..6 {
        let errors = watched(MOST, || {
            World::threads(2, |world| {
                let mut network = Network::new(&world);
                let (out, input) = network.channel("numbers");
                network.source("source", out, 0..10);
                let ports = vec![input, foreign(number)];
                network.movable("bad", ports, (), async |(), _: Vec<In<u64>>| None);
                network.run(&pool()).unwrap_err().to_string()
            })
        });
        let right = "process `bad` has a port of another network: give it ports of its own";
        assert!(
            errors.iter().all(|error| error.starts_with(right)),
            "{errors:?}"
        );
    }
}
