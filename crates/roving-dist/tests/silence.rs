//! Ranks that are busy for longer than one may be silent are not taken for lost.

mod common;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::watched;
use roving::Pool;
use roving_dist::raw::Mail;
use roving_dist::{Network, Plan, World};
use serde::{Deserialize, Deserializer, Serialize};

const LONG: Duration = Duration::from_secs(120);
const SILENCE_MAX: Duration = Duration::from_secs(2);
/// Long enough that those who listen give up a rank that is silent meanwhile.
const BUSY: Duration = Duration::from_secs(6);

/// Takes long to read.
#[derive(Serialize)]
struct Slow(u32);

impl<'de> Deserialize<'de> for Slow {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Slow, D::Error> {
        thread::sleep(BUSY);
        u32::deserialize(from).map(Slow)
    }
}

/// The worker of the consumer's rank reads.
#[test]
fn a_rank_that_reads_a_token_for_long_lives() {
    let plan = Plan::new(3).silence_max(SILENCE_MAX);
    let got = watched(LONG, || {
        World::threads_with(&plan, |world| {
            let mut got = Vec::new();
            let mut network = Network::new(&world);
            let (out, input) = network.bounded("slow", 2);
            network.source("source", out, [Slow(7)]);
            network.sink("sink", input, |token: Slow| got.push(token.0));
            network.pin("source", 0);
            network.pin("sink", 1);
            network.run(&Pool::new(1).unwrap()).map(|_| got)
        })
    });
    assert_eq!(got, [Ok(vec![]), Ok(vec![7]), Ok(vec![])]);
}

/// A message is handled for long: by a thread that waits for it, or by the rank's own.
#[test]
fn a_rank_that_handles_a_message_for_long_lives() {
    for is_waited_for in [true, false] {
        let plan = Plan::new(3).silence_max(SILENCE_MAX);
        watched(LONG, || {
            World::threads_with(&plan, |world| {
                let handled = Arc::new(AtomicBool::new(false));
                let says = Arc::clone(&handled);
                let mail = Mail::new(&world, move |_, _| {
                    thread::sleep(BUSY);
                    // Ordering: Relaxed; the flag alone is waited for.
                    says.store(true, Ordering::Relaxed);
                });
                if world.rank() == 0 {
                    mail.send(1, b"long");
                    mail.flush();
                }
                if world.rank() == 1 && !is_waited_for {
                    thread::sleep(BUSY + SILENCE_MAX);
                }
                // Ordering: Relaxed, as above.
                let is_done = || world.rank() != 1 || handled.load(Ordering::Relaxed);
                mail.wait(is_done).unwrap();
                world.barrier().unwrap();
            });
        });
    }
}

/// Each rank sends to itself all the time, and some of that waits whenever a sign of life leaves.
#[test]
fn signs_of_life_do_not_wait_for_what_a_rank_sends_to_itself() {
    let plan = Plan::new(2).silence_max(SILENCE_MAX / 2);
    let others = watched(LONG, || {
        World::threads_with(&plan, |world| {
            let others = Arc::new(Mutex::new(BTreeSet::new()));
            let seen = Arc::clone(&others);
            let mail = Mail::new(&world, move |_, _| {
                // This thread has no name.
                let name = thread::current().name().map(str::to_owned);
                seen.lock().unwrap().extend(name);
            });
            let start = Instant::now();
            while start.elapsed() < 2 * SILENCE_MAX {
                mail.send(world.rank(), b"own");
                thread::sleep(Duration::from_micros(100));
            }
            world.barrier().unwrap();
            others.lock().unwrap().iter().cloned().collect::<Vec<_>>()
        })
    });
    // The rank's other thread, which does nothing but beat, calls no handlers.
    assert_eq!(others, [["roving-progress"], ["roving-progress"]]);
}
