//! The row about small messages: how many a second, in batches and one by one; and what an idle
//! rank costs.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use roving_dist::World;
use roving_dist::raw::{Bare, Mail};

use super::ask::{ask, has_ranks, word};
use crate::bench::Scale;
use crate::bench::record::{Bound::AtLeast, Measurement, RowRecord};
use crate::dist::failure;
use crate::io::input::{CommandFailure, number_in};
use crate::machine::cpu_time;

/// Bytes of a message.
const BYTES: usize = 16;
/// How long idle ranks are watched, after they had time to fall asleep.
const WATCH: Duration = Duration::from_secs(2);
const SETTLE: Duration = Duration::from_millis(500);

/// Messages a second from one rank to another.
pub(in crate::bench) fn messages(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    if !has_ranks(&mut record) {
        return Ok(record);
    }
    let count = if scale.quick { "100000" } else { "2000000" };
    let rounds = scale.rounds(15).to_string();
    let rates = ask(2, &["dist-messages", count, &rounds])?;
    let (batched, single): (Vec<_>, Vec<_>) =
        rates.chunks_exact(2).map(|pair| (pair[0], pair[1])).unzip();
    let batched = push(&mut record, "batched by roving-dist", batched);
    let single = push(&mut record, "MPI_Send one by one", single);
    let what = "16-byte messages a second, batched over one by one";
    record.claim(what, "×", batched / single, AtLeast(5.0), None);
    let idle = ask(2, &["dist-idle"])?;
    record.single(
        "CPU of an idle rank in 2 s, the larger of two",
        "ms",
        idle[0] / 1e6,
    );
    Ok(record)
}

/// Adds a measurement; its median.
fn push(record: &mut RowRecord, how: &str, mut rates: Vec<f64>) -> f64 {
    rates.sort_unstable_by(f64::total_cmp);
    let median = rates[rates.len() / 2];
    record.measurements.push(Measurement {
        what: format!("16-byte messages from rank to rank, {how}"),
        unit: "million/s",
        median: median / 1e6,
        min: rates[0] / 1e6,
        runs: rates.len(),
    });
    median
}

/// `dist-messages COUNT ROUNDS`: for each round, messages a second in batches and one by one.
pub(super) fn rates(world: &World, words: &[String]) -> Result<Vec<f64>, CommandFailure> {
    let form = "dist-messages COUNT ROUNDS";
    let count = number_in("count", word(words, 0, form)?, 1..=1_000_000_000, form)?;
    let rounds = number_in("rounds", word(words, 1, form)?, 1..=1000, form)?;
    let arrived = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&arrived);
    let mail = Mail::new(world, move |_, bytes| {
        black_box(bytes);
        // Ordering: Relaxed; only this handler writes, and who waits reads the count alone.
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    });
    let mut rates = Vec::new();
    let mut batched_before = 0;
    for _ in 0..=rounds {
        world.barrier().map_err(failure)?;
        rates.push(count as f64 / batched(world, &mail, &arrived, &mut batched_before, count)?);
        world.barrier().map_err(failure)?;
        rates.push(count as f64 / one_by_one(world, count)?);
    }
    // The first round warms up.
    Ok(rates.split_off(2))
}

/// Seconds until the receiver has said that it has them all.
fn batched(
    world: &World,
    mail: &Mail<'_>,
    arrived: &AtomicU64,
    before: &mut u64,
    count: u64,
) -> Result<f64, CommandFailure> {
    // Ordering: Relaxed; the count alone is what is waited for.
    let has = |many: u64| arrived.load(Ordering::Relaxed) >= many;
    let start = Instant::now();
    if world.rank() == 0 {
        let mut bytes = [0; BYTES];
        for number in 0..count {
            bytes[..8].copy_from_slice(&number.to_le_bytes());
            mail.send(1, &bytes);
        }
        mail.flush();
        *before += 1;
    } else {
        *before += count;
    }
    mail.wait(|| has(*before)).map_err(failure)?;
    if world.rank() == 1 {
        mail.send(0, &[0; BYTES]);
        mail.flush();
    }
    Ok(start.elapsed().as_secs_f64())
}

/// The rate of messages one by one with MPI itself.
fn one_by_one(world: &World, count: u64) -> Result<f64, CommandFailure> {
    let rank = world.rank();
    Bare::with(world, |bare| {
        let mut bytes = [0; BYTES];
        let start = Instant::now();
        for number in 0..count {
            if rank == 0 {
                bytes[..8].copy_from_slice(&number.to_le_bytes());
                bare.send(1, &bytes)?;
            } else {
                bare.receive(0, &mut bytes)?;
            }
        }
        match rank {
            0 => bare.receive(1, &mut bytes)?,
            _ => bare.send(0, &bytes)?,
        }
        Ok(start.elapsed().as_secs_f64())
    })
    .map_err(failure)
}

/// `dist-idle`: nanoseconds of CPU that a rank uses in two seconds in which nothing happens.
pub(super) fn idle(world: &World, _: &[String]) -> Result<Vec<f64>, CommandFailure> {
    world.barrier().map_err(failure)?;
    sleep(SETTLE);
    let unknown = || CommandFailure::Run("this system does not say how much CPU is used".into());
    let before = cpu_time().ok_or_else(unknown)?;
    sleep(WATCH);
    let used = cpu_time().ok_or_else(unknown)?.saturating_sub(before);
    let all = world
        .all_gather(&(used.as_nanos() as u64).to_le_bytes())
        .map_err(failure)?;
    let nanos = all
        .iter()
        .filter_map(|bytes| Some(u64::from_le_bytes(*bytes.first_chunk()?)));
    Ok(vec![nanos.max().unwrap_or_default() as f64])
}
