//! The row about a hop between ranks: a token that two processes pass to each other, and MPI's own
//! messages of the same bytes, in turn in one run.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use roving::Pool;
use roving_dist::raw::Bare;
use roving_dist::{Network, World};
use roving_flow::{In, Out};

use super::ask::{ask_by, has_ranks, word};
use crate::bench::Scale;
use crate::bench::record::{Bound::AtMost, Measurement, RowRecord};
use crate::dist::failure;
use crate::io::input::{CommandFailure, number_in};

/// The token that goes round.
type Token = [u8; 16];

/// Trips that are not timed.
const WARM_UP: u64 = 100;

/// Time of a hop, by what the ranks are connected with.
pub(in crate::bench) fn ring(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    if !has_ranks(&mut record) {
        return Ok(record);
    }
    let hops = if scale.quick { "2000" } else { "200000" };
    let rounds = scale.rounds(25).to_string();
    let words = ["dist-ring", hops, &rounds];
    let tcp: &[&str] = &["--mca", "btl", "tcp,self", "--mca", "pml", "ob1"];
    for (way, options) in [("shared memory", &[][..]), ("TCP", tcp)] {
        let nanos = ask_by(2, options, &words)?;
        let (network, bare): (Vec<_>, Vec<_>) =
            nanos.chunks_exact(2).map(|pair| (pair[0], pair[1])).unzip();
        let mut ratios: Vec<f64> = network.iter().zip(&bare).map(|(a, b)| a / b).collect();
        push(&mut record, way, "a network", network);
        push(&mut record, way, "bare MPI", bare);
        ratios.sort_unstable_by(f64::total_cmp);
        let what = format!("hop between two ranks by {way}, over bare MPI (median of pairs)");
        record.claim(
            what,
            "×",
            ratios[ratios.len() / 2],
            AtMost(1.8),
            AtMost(1.5),
        );
    }
    Ok(record)
}

/// Adds a measurement.
fn push(record: &mut RowRecord, way: &str, by: &str, mut nanos: Vec<f64>) {
    nanos.sort_unstable_by(f64::total_cmp);
    record.measurements.push(Measurement {
        what: format!("hop of 16 bytes between two ranks by {way}, {by}"),
        unit: "ns",
        median: nanos[nanos.len() / 2],
        min: nanos[0],
        runs: nanos.len(),
    });
}

/// `dist-ring HOPS ROUNDS`: for each round, nanoseconds of a hop by a network, and by MPI alone.
pub(super) fn hops(world: &World, words: &[String]) -> Result<Vec<f64>, CommandFailure> {
    let form = "dist-ring HOPS ROUNDS";
    let hops = number_in("hops", word(words, 0, form)?, 2..=1_000_000_000, form)?;
    let rounds = number_in("rounds", word(words, 1, form)?, 1..=1000, form)?;
    let pool = Pool::new(1).map_err(|error| CommandFailure::Run(format!("no pool: {error}")))?;
    let trips = hops / 2;
    let per_hop = |time: Duration| time.as_nanos() as f64 / (2 * trips) as f64;
    let mut nanos = Vec::new();
    for _ in 0..=rounds {
        nanos.push(per_hop(by_network(world, &pool, trips)?));
        world.barrier().map_err(failure)?;
        nanos.push(per_hop(by_mpi(world, trips)?));
    }
    // The first round warms up.
    Ok(nanos.split_off(2))
}

/// The time from the first token to the last, there and back so many times; and a few before, by
/// which both ranks have begun.
fn by_network(world: &World, pool: &Pool, trips: u64) -> Result<Duration, CommandFailure> {
    let time = Mutex::new(Duration::ZERO);
    let mut network = Network::new(world);
    let (go, come) = network.bounded::<Token>("there", 1);
    let (back, home) = network.bounded::<Token>("back", 1);
    network.process(
        "first",
        (go, home),
        async |(mut go, mut home): (Out<_>, In<_>)| {
            let mut start = Instant::now();
            for trip in 0..trips + WARM_UP {
                if trip == WARM_UP {
                    start = Instant::now();
                }
                let token = u128::from(trip).to_le_bytes();
                if go.send(token).await.is_err() || home.recv().await != Some(token) {
                    return;
                }
            }
            *time.lock().unwrap_or_else(PoisonError::into_inner) = start.elapsed();
        },
    );
    network.process(
        "second",
        (come, back),
        async |(mut come, mut back): (In<_>, Out<_>)| {
            while let Some(token) = come.recv().await {
                if back.send(token).await.is_err() {
                    break;
                }
            }
        },
    );
    network.pin("first", 0);
    network.pin("second", 1);
    let report = network
        .run(pool)
        .map_err(|error| CommandFailure::Run(error.to_string()))?;
    if report
        .channels()
        .any(|channel| channel.received != trips + WARM_UP)
    {
        return Err(CommandFailure::Run(
            "the token did not go all its way".into(),
        ));
    }
    Ok(time.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The time of a round by `MPI_Send` and `MPI_Recv`.
fn by_mpi(world: &World, trips: u64) -> Result<Duration, CommandFailure> {
    let rank = world.rank();
    Bare::with(world, |bare| {
        let mut token: Token = [0; 16];
        let mut start = Instant::now();
        for trip in 0..trips + WARM_UP {
            if trip == WARM_UP {
                start = Instant::now();
            }
            if rank == 0 {
                token = u128::from(trip).to_le_bytes();
                bare.send(1, &token)?;
                bare.receive(1, &mut token)?;
            } else {
                bare.receive(0, &mut token)?;
                bare.send(0, &token)?;
            }
        }
        Ok(start.elapsed())
    })
    .map_err(failure)
}
