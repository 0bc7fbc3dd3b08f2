//! tokio's tasks and its bounded channels, as processes: the ring and the scatter-gather of our
//! networks.

use std::io;
use std::time::{Duration, Instant};

use ::tokio::runtime::{Builder, Runtime};
use ::tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::networks::ring::Ring;
use crate::networks::scatter::{Scatter, reply};
use crate::networks::work::mixed;

/// tokio's runtime with many threads.
pub(crate) struct TokioProcesses(Runtime);

impl TokioProcesses {
    /// So many threads.
    pub(crate) fn start(workers: usize) -> io::Result<TokioProcesses> {
        Ok(TokioProcesses(
            Builder::new_multi_thread()
                .worker_threads(workers)
                .build()?,
        ))
    }

    /// One run of `ring`: the time in which the token made its rounds.
    pub(crate) fn ring(&self, ring: &Ring) -> Result<Duration, String> {
        let (rounds, capacity) = (ring.rounds, ring.capacity as usize);
        let (first, mut held) = channel(capacity);
        for _ in 1..ring.processes {
            let (out, next) = channel(capacity);
            self.0.spawn(forward(held, out));
            held = next;
        }
        let start = self.0.spawn(start(rounds, held, first));
        let ended = self.0.block_on(start).map_err(|error| error.to_string())?;
        let (hops, time) = ended.ok_or("a task ended before its time")?;
        if hops == ring.hops() {
            Ok(time)
        } else {
            Err(format!("found {hops} hops, not {}", ring.hops()))
        }
    }

    /// One run of `scatter-gather`: the time of the centre. `want` is the checksum of a serial run.
    pub(crate) fn scatter(&self, scatter: &Scatter, want: u64) -> Result<Duration, String> {
        let (turns, messages) = (scatter.turns, scatter.messages);
        let (mut outs, mut inputs) = (Vec::new(), Vec::new());
        for _ in 0..scatter.processes {
            let (out, input) = channel(messages as usize);
            let (replies, back) = channel(messages as usize);
            self.0.spawn(serve(turns, input, replies));
            outs.push(out);
            inputs.push(back);
        }
        let centre = self.0.spawn(centre(scatter.rounds, messages, outs, inputs));
        let ended = self.0.block_on(centre).map_err(|error| error.to_string())?;
        let (sum, time) = ended.ok_or("a task ended before its time")?;
        if sum == want {
            Ok(time)
        } else {
            Err(format!("found checksum {sum}, not {want}"))
        }
    }
}

async fn forward(mut input: Receiver<u64>, out: Sender<u64>) {
    while let Some(hops) = input.recv().await {
        if out.send(hops + 1).await.is_err() {
            break;
        }
    }
}

async fn start(rounds: u64, mut input: Receiver<u64>, out: Sender<u64>) -> Option<(u64, Duration)> {
    let start = Instant::now();
    let mut hops = 0;
    for _ in 0..rounds {
        out.send(hops + 1).await.ok()?;
        hops = input.recv().await?;
    }
    Some((hops, start.elapsed()))
}

async fn serve(turns: u64, mut input: Receiver<u64>, out: Sender<u64>) {
    while let Some(number) = input.recv().await {
        if out.send(reply(turns, number)).await.is_err() {
            break;
        }
    }
}

async fn centre(
    rounds: u64,
    messages: u64,
    outs: Vec<Sender<u64>>,
    mut inputs: Vec<Receiver<u64>>,
) -> Option<(u64, Duration)> {
    let start = Instant::now();
    let (mut number, mut sum) = (0, 0);
    for _ in 0..rounds {
        for out in &outs {
            for _ in 0..messages {
                out.send(number).await.ok()?;
                number += 1;
            }
        }
        for input in &mut inputs {
            for _ in 0..messages {
                sum = mixed(sum, input.recv().await?);
            }
        }
    }
    Some((sum, start.elapsed()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::NetworkProgram as _;

    #[test]
    fn both_programs_give_what_ours_must() {
        for workers in [1, 3] {
            let pool = TokioProcesses::start(workers).unwrap();
            let ring = Ring::parse("50,rounds=20").unwrap();
            assert!(pool.ring(&ring).is_ok());
            assert!(pool.ring(&Ring::parse("1,rounds=3").unwrap()).is_ok());
            let scatter = Scatter::parse("7,messages=3,work=5,rounds=9").unwrap();
            let sum = scatter.serial().unwrap().0[0];
            assert!(pool.scatter(&scatter, sum).is_ok());
            assert!(pool.scatter(&scatter, sum ^ 1).is_err());
        }
    }
}
