//! A program's own code at its tokens: it asks what the network does while they are written, read
//! and dropped, which takes the locks of the ends of channels, and takes its time.

mod common;

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use common::{directory, hash, watched};
use roving::Pool;
use roving_dist::{Checkpoints, Mover, Network, NetworkError, World};
use roving_flow::{In, Out};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Whoever takes longer hangs.
const MOST: Duration = Duration::from_secs(120);

/// The movers of all ranks.
static MOVERS: Mutex<Vec<Mover>> = Mutex::new(Vec::new());

/// Asks for the state of all ranks, as a log would.
fn tell() {
    let movers = MOVERS.lock().unwrap().clone();
    for mover in movers {
        assert!(!format!("{mover:?}").is_empty());
    }
}

/// A token that tells what the network does whenever its code is called.
#[derive(PartialEq, Debug)]
struct Telling(u64);

impl Serialize for Telling {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        tell();
        to.serialize_u64(self.0)
    }
}

impl<'d> Deserialize<'d> for Telling {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Telling, D::Error> {
        tell();
        u64::deserialize(from).map(Telling)
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        tell();
    }
}

/// A waker of another executor, which tells what the network does whenever its code is called.
struct TellingWaker(Waker);

impl Wake for TellingWaker {
    fn wake(self: Arc<Self>) {
        tell();
        self.0.wake_by_ref();
    }
}

impl Drop for TellingWaker {
    fn drop(&mut self) {
        tell();
    }
}

/// Polls with such a waker, as an executor inside of a process would.
async fn elsewhere<R>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    poll_fn(|context| {
        let waker = Waker::from(Arc::new(TellingWaker(context.waker().clone())));
        poll(&mut Context::from_waker(&waker))
    })
    .await
}

/// A token whose bytes take long, so that ends are held and released meanwhile; and during which
/// the worker does something else.
#[derive(PartialEq, Debug)]
struct Slow(u64);

impl Serialize for Slow {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let wait = |part| thread::sleep(Duration::from_micros(hash(self.0 + part) % 600));
        roving::join(|| wait(0), || wait(1 << 32));
        to.serialize_u64(self.0)
    }
}

impl<'d> Deserialize<'d> for Slow {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Slow, D::Error> {
        u64::deserialize(from).map(Slow)
    }
}

#[test]
fn tokens_that_tell_of_the_network_hang_no_rank() {
    watched(MOST, || {
        let got = World::threads(2, |world| {
            let mut got = Vec::new();
            let mut network = Network::new(&world);
            let (out, input) = network.bounded("tokens", 2);
            network.source("source", out, (0..30).map(Telling));
            network.sink("sink", input, |token: Telling| got.push(token));
            network.pin("source", 0);
            network.pin("sink", 1);
            MOVERS.lock().unwrap().push(network.mover());
            network.run(&Pool::new(1).unwrap()).unwrap();
            got
        });
        assert!(got[1].iter().map(|token| token.0).eq(0..30));
    });
}

/// Passes so many tokens from rank to rank through two processes that move all the time. What has
/// come out, and how many moves there were.
fn passed_while_moving<T>(tokens: u64, token: fn(u64) -> T) -> (Vec<T>, usize)
where
    T: Serialize + serde::de::DeserializeOwned + Send + 'static,
{
    let mut all = World::threads(2, |world| {
        let mut got = Vec::new();
        let mut network = Network::new(&world);
        let (out, mut last) = network.bounded("0", 4);
        network.source("source", out, (0..tokens).map(token));
        for name in ["1", "2"] {
            let (out, next) = network.bounded(name, 4);
            network.movable(name, (last, out), (), async |(), ports| {
                let (mut input, mut out): (In<T>, Out<T>) = ports;
                out.send(input.recv().await?).await.ok()?;
                Some(((), (input, out)))
            });
            last = next;
        }
        let (mover, into) = (network.mover(), &mut got);
        MOVERS.lock().unwrap().push(network.mover());
        network.process("sink", last, async move |mut input| {
            while let Some(token) = input.recv().await {
                let draw = hash(into.len() as u64);
                let name = if draw % 2 == 0 { "1" } else { "2" };
                mover.move_to(name, (draw >> 1) as usize % 2);
                into.push(token);
            }
        });
        network.pin("source", 0);
        network.pin("sink", 1);
        let report = network.run(&Pool::new(2).unwrap()).unwrap();
        (got, report.moves.len())
    });
    all.pop().unwrap()
}

#[test]
fn tokens_that_tell_of_the_network_move_with_their_consumer() {
    watched(MOST, || {
        let (got, _) = passed_while_moving(200, Telling);
        assert!(got.iter().map(|token| token.0).eq(0..200));
    });
}

#[test]
fn none_is_lost_where_ends_are_held_while_tokens_are_written() {
    watched(MOST, || {
        let (got, moves) = passed_while_moving(600, Slow);
        assert!(got.iter().map(|token| token.0).eq(0..600));
        assert!(moves > 5, "{moves} moves");
    });
}

/// Passes numbers on in a network with a cut as often as possible.
fn passed_while_recorded<T>(tokens: u64, name: &str, token: fn(u64) -> T) -> Vec<u64>
where
    T: Serialize + serde::de::DeserializeOwned + Send + 'static,
    T: Numbered,
{
    let directory = directory(name);
    let got = World::threads(2, |world| {
        let got = Mutex::new(Vec::new());
        let mut network = Network::new(&world);
        network.checkpoints(Checkpoints::to(&directory).every(Duration::ZERO));
        let (out, first) = network.bounded("0", 8);
        network.movable("source", out, 0, async |number, mut out: Out<T>| {
            out.send(token(number)).await.ok()?;
            (number + 1 < tokens).then_some((number + 1, out))
        });
        let (out, second) = network.bounded("1", 8);
        network.movable("passes", (first, out), (), async |(), ports| {
            let (mut input, mut out): (In<T>, Out<T>) = ports;
            out.send(input.recv().await?).await.ok()?;
            Some(((), (input, out)))
        });
        let into = &got;
        network.movable("sink", second, (), async |(), mut input: In<T>| {
            let number = input.recv().await?.number();
            into.lock().unwrap().push(number);
            // Tokens lie before the port when it is recorded.
            thread::sleep(Duration::from_micros(200));
            Some(((), input))
        });
        for (name, rank) in [("source", 0), ("passes", 1), ("sink", 0)] {
            network.pin(name, rank);
        }
        MOVERS.lock().unwrap().push(network.mover());
        network.run(&Pool::new(2).unwrap()).unwrap();
        got.into_inner().unwrap()
    });
    std::fs::remove_dir_all(&directory).unwrap();
    got.into_iter().flatten().collect()
}

trait Numbered {
    fn number(&self) -> u64;
}

impl Numbered for Telling {
    fn number(&self) -> u64 {
        self.0
    }
}

impl Numbered for Slow {
    fn number(&self) -> u64 {
        self.0
    }
}

#[test]
fn tokens_that_tell_of_the_network_are_recorded() {
    watched(MOST, || {
        let got = passed_while_recorded(300, "telling", Telling);
        assert!(got.into_iter().eq(0..300));
    });
}

#[test]
fn tokens_that_come_while_others_are_recorded_stay_in_order() {
    watched(MOST, || {
        let got = passed_while_recorded(600, "slow", Slow);
        assert!(got.into_iter().eq(0..600));
    });
}

/// Each port is polled by another executor; the consumer's waker stays with its channel when the
/// process waits no more.
#[test]
fn wakers_of_another_executor_hang_no_rank() {
    watched(MOST, || {
        let got = World::threads(2, |world| {
            let mut got = Vec::new();
            let mut network = Network::new(&world);
            let (out, mut last) = network.bounded("0", 2);
            network.process("source", out, async |mut out: Out<u64>| {
                for number in 0..200 {
                    elsewhere(|context| out.poll_ready(context)).await.unwrap();
                    out.try_send(number).unwrap();
                }
            });
            for name in ["1", "2"] {
                let (out, next) = network.bounded(name, 2);
                network.movable(name, (last, out), (), async |(), ports| {
                    let (mut input, mut out): (In<u64>, Out<u64>) = ports;
                    let number = elsewhere(|context| input.poll_recv(context)).await?;
                    let ready = elsewhere(|context| out.poll_ready(context)).await;
                    ready.ok()?;
                    out.try_send(number).ok()?;
                    Some(((), (input, out)))
                });
                last = next;
            }
            let (mover, into) = (network.mover(), &mut got);
            MOVERS.lock().unwrap().push(network.mover());
            network.process("sink", last, async move |mut input| {
                while let Some(number) = elsewhere(|context| input.poll_recv(context)).await {
                    let draw = hash(number);
                    let name = if draw % 2 == 0 { "1" } else { "2" };
                    mover.move_to(name, (draw >> 1) as usize % 2);
                    into.push(number);
                }
            });
            network.pin("source", 0);
            network.pin("sink", 1);
            network.run(&Pool::new(2).unwrap()).unwrap();
            got
        });
        assert!(got[1].iter().copied().eq(0..200));
    });
}

/// Rank 0 ends the network under a lock, where a waker of another executor waits.
#[test]
fn a_waker_of_another_executor_hangs_no_rank_whose_network_is_in_a_deadlock() {
    watched(MOST, || {
        World::threads(2, |world| {
            let mut network = Network::new(&world);
            let ports = network.bounded("to itself", 1);
            network.process("waits", ports, async |(_out, mut input): (_, In<u64>)| {
                elsewhere(|context| input.poll_recv(context)).await;
            });
            let (to_b, from_a) = network.bounded("a to b", 1);
            let (to_a, from_b) = network.bounded("b to a", 1);
            for (name, ports) in [("a", (to_b, from_b)), ("b", (to_a, from_a))] {
                network.process(name, ports, async |(_out, mut input): (_, In<u64>)| {
                    input.recv().await;
                });
            }
            MOVERS.lock().unwrap().push(network.mover());
            network.pin("waits", 0);
            network.pin("a", 0);
            network.pin("b", 1);
            let failed = network.run(&Pool::new(2).unwrap()).unwrap_err();
            let is_deadlock = matches!(failed, NetworkError::Deadlock { .. });
            assert!(is_deadlock, "{failed:?}");
        });
    });
}
