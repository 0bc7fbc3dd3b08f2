//! Networks whose processes sleep for each message, against the least time that this takes.

use std::time::Instant;

use roving::Pool;
use roving_flow::{In, Network, Out};

use super::bound::Bounds;
use crate::io::input::CommandFailure;
use crate::shapes::shape::{Leaves, ShapePart, uneven_us};
use crate::timing::lanes::{Rounds, TimedLane, interleave_within};
use crate::timing::times::Times;

pub(crate) const WORKERS: usize = 16;

/// A centre sends each of its servers a message, waits for all the answers, and begins again.
const SERVERS: usize = 48;
const ROUNDS: usize = 6;

/// Each of many items goes through the stages one after the other.
const STAGES: usize = 24;
const ITEMS: usize = 96;
const STAGE_US: u32 = 1_000;

/// A network that was measured: its name, the least time that it can take, and what it took.
pub(crate) struct Woven {
    pub(crate) name: &'static str,
    pub(crate) bound: f64,
    pub(crate) times: Times,
}

impl Woven {
    pub(crate) fn over_bound(&self) -> f64 {
        self.times.median() / self.bound
    }
}

/// Both networks, so many times.
pub(crate) fn measure(rounds: usize) -> Result<[Woven; 2], CommandFailure> {
    let failed = |error| CommandFailure::Run(format!("networks that sleep: {error}"));
    let pool = Pool::builder().workers(WORKERS).assume_cores(WORKERS);
    let pool = pool.build().map_err(|error| failed(error.to_string()))?;
    let rounds = Rounds {
        least: rounds,
        most: rounds,
        until: None,
        quiet: false,
    };
    let mut lanes = [
        TimedLane::new("scatter and gather", WORKERS, || timed(&pool, scatter)),
        TimedLane::new("stages", WORKERS, || timed(&pool, stages)),
    ];
    let [scattered, staged] = &interleave_within(&mut lanes, rounds).map_err(failed)?[..] else {
        unreachable!("a series for each lane");
    };
    let woven = |name, bound, times: &Times| Woven {
        name,
        bound,
        times: times.clone(),
    };
    Ok([
        woven(
            "scatter and gather",
            scatter_bounds().list,
            &scattered.times,
        ),
        woven("stages", stages_bound(), &staged.times),
    ])
}

fn timed<'env>(
    pool: &Pool,
    weave: impl FnOnce(&mut Network<'env>),
) -> Result<std::time::Duration, String> {
    let mut network = Network::new();
    weave(&mut network);
    let start = Instant::now();
    network.run(pool).map_err(|error| error.to_string())?;
    Ok(start.elapsed())
}

fn scatter(network: &mut Network<'_>) {
    let (mut outs, mut inputs) = (Vec::new(), Vec::new());
    for server in 0..SERVERS {
        let (out, requests) = network.channel(format_args!("to {server}"));
        let (answer, answers) = network.channel(format_args!("from {server}"));
        network.process(
            format_args!("serve {server}"),
            (requests, answer),
            async |(mut requests, mut answer): (In<u32>, Out<u32>)| {
                while let Some(time_us) = requests.recv().await {
                    Leaves::default().pass(time_us);
                    if answer.send(time_us).await.is_err() {
                        break;
                    }
                }
            },
        );
        outs.push(out);
        inputs.push(answers);
    }
    network.process("centre", (outs, inputs), async |(mut outs, mut inputs)| {
        for round in 0..ROUNDS {
            for (server, out) in outs.iter_mut().enumerate() {
                // A server that has gone has failed, which ends the network.
                let _ = out.send(time_us(round, server)).await;
            }
            for input in &mut inputs {
                let _: Option<u32> = input.recv().await;
            }
        }
    });
}

fn time_us(round: usize, server: usize) -> u32 {
    uneven_us(round * SERVERS + server)
}

fn scatter_bounds() -> Bounds {
    let leaf = |round| move |server| ShapePart::Leaf(time_us(round, server));
    let round = |round| ShapePart::Spawn((0..SERVERS).map(leaf(round)).collect());
    Bounds::of(
        &ShapePart::Series((0..ROUNDS).map(round).collect()),
        WORKERS,
    )
}

fn stages(network: &mut Network<'_>) {
    let (out, mut input) = network.channel("to 0");
    network.source("source", out, 0..ITEMS);
    for stage in 0..STAGES {
        let (out, next) = network.channel(format_args!("from {stage}"));
        network.process(
            format_args!("stage {stage}"),
            (input, out),
            async |(mut input, mut out): (In<usize>, Out<usize>)| {
                while let Some(item) = input.recv().await {
                    Leaves::default().pass(STAGE_US);
                    if out.send(item).await.is_err() {
                        break;
                    }
                }
            },
        );
        input = next;
    }
    network.sink("sink", input, drop);
}

/// In seconds: all of the work on all workers, or the first item and then the others, one by one.
fn stages_bound() -> f64 {
    let share = (STAGES * ITEMS) as f64 / WORKERS as f64;
    let span = (STAGES + ITEMS - 1) as f64;
    share.max(span) * f64::from(STAGE_US) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_take_no_less_than_their_bounds() {
        // In a better order than that of the list the servers of a round end sooner.
        let scatter = scatter_bounds();
        let least = [scatter.greedy() / scatter.list, 1.0];
        for (one, least) in measure(1).unwrap().iter().zip(least) {
            let over = one.over_bound();
            assert!(over >= least, "{}: {over}, {least}", one.name);
        }
    }
}
