//! Code of a program that fails where nobody of the program is waited for: what tokens, processes
//! and errors do when they are dropped, and checkpoints of a network that has failed.

mod common;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{Shown, directory, pause, watched};
use roving::Pool;
use roving::raw::panics::drop_quietly;
use roving_dist::{Checkpoints, Network, NetworkError, World};
use roving_flow::{In, Out};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

/// Whoever takes longer hangs.
const MOST: Duration = Duration::from_secs(60);
/// How late the other ranks may hear of an end.
const TOLD_MOST: Duration = Duration::from_secs(30);

fn wait_for(flag: &AtomicBool) {
    let begun = Instant::now();
    while !flag.load(SeqCst) && begun.elapsed() < TOLD_MOST {
        thread::yield_now();
    }
}

/// A token that panics when it is dropped where it has come. Its consumer drops the port while it
/// is read.
#[derive(Serialize)]
struct Bomb(bool);

static IS_COMING: AtomicBool = AtomicBool::new(false);
static IS_GONE: AtomicBool = AtomicBool::new(false);

impl<'d> Deserialize<'d> for Bomb {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Bomb, D::Error> {
        IS_COMING.store(true, SeqCst);
        wait_for(&IS_GONE);
        bool::deserialize(from).map(|_| Bomb(true))
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0, "a bomb");
    }
}

/// Drops the port when the token is being read.
async fn goes(input: In<Bomb>) {
    while !IS_COMING.load(SeqCst) {
        pause().await;
    }
    drop(input);
    IS_GONE.store(true, SeqCst);
    std::future::pending::<()>().await;
}

/// A consumer drops its port while a token comes, on the producer's rank or another one.
fn a_bomb_comes(to: usize) -> Vec<NetworkError> {
    IS_COMING.store(false, SeqCst);
    IS_GONE.store(false, SeqCst);
    World::threads(2, |world| {
        let mut network = Network::new(&world);
        let (out, input) = network.bounded::<Bomb>("bombs", 4);
        network.process("sends", out, async |mut out: Out<Bomb>| {
            out.send(Bomb(false)).await.unwrap();
            std::future::pending::<()>().await;
        });
        network.movable("goes", input, (), async |(), input| {
            goes(input).await;
            None::<((), In<Bomb>)>
        });
        network.process("waits", (), async |()| std::future::pending::<()>().await);
        for (name, rank) in [("sends", 0), ("goes", to), ("waits", 1)] {
            network.pin(name, rank);
        }
        network.run(&Pool::new(2).unwrap()).unwrap_err()
    })
}

#[test]
fn a_token_that_panics_where_nobody_takes_it_ends_its_network_alone() {
    watched(MOST, || {
        for to in [1, 0] {
            for error in a_bomb_comes(to) {
                let (text, right) = (error.to_string(), format!("rank {to}: a token of channel"));
                assert!(text.starts_with(&right), "{text}");
                assert!(text.ends_with("panicked when it was dropped: a bomb"));
            }
        }
    });
}

/// A token that panics wherever it is dropped after it has come.
#[derive(Serialize)]
struct Mine(bool);

static COME: AtomicUsize = AtomicUsize::new(0);

impl<'d> Deserialize<'d> for Mine {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Mine, D::Error> {
        COME.fetch_add(1, SeqCst);
        bool::deserialize(from).map(|_| Mine(true))
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        assert!(!self.0, "a mine");
    }
}

/// Two of them, so that one panics while the other unwinds, if nobody is in between.
#[test]
fn tokens_that_panic_where_their_consumer_leaves_are_an_error_of_the_network() {
    watched(MOST, || {
        let errors = World::threads(2, |world| {
            let mut network = Network::new(&world);
            let (out, input) = network.bounded::<Mine>("mines", 4);
            network.process("sends", out, async |mut out: Out<Mine>| {
                for _ in 0..2 {
                    out.send(Mine(false)).await.unwrap();
                }
                std::future::pending::<()>().await;
            });
            network.movable("leaves", input, (), async |(), input: In<Mine>| {
                pause().await;
                Some(((), input))
            });
            let mover = network.mover();
            network.process("moves", (), async move |()| {
                while COME.load(SeqCst) < 2 {
                    pause().await;
                }
                mover.move_to("leaves", 0);
                std::future::pending::<()>().await;
            });
            for (name, rank) in [("sends", 0), ("leaves", 1), ("moves", 1)] {
                network.pin(name, rank);
            }
            network.run(&Pool::new(2).unwrap()).unwrap_err()
        });
        for error in errors {
            let text = error.to_string();
            assert!(
                text.starts_with("rank 1: a token of channel `mines`"),
                "{text}"
            );
            assert!(
                text.ends_with("panicked when it was dropped: a mine"),
                "{text}"
            );
        }
    });
}

/// Panics when it is dropped, unless it has been used.
struct Unused(bool);

impl Drop for Unused {
    fn drop(&mut self) {
        assert!(self.0 || thread::panicking(), "unused");
    }
}

/// On one rank the run panics, and the program goes on there: the other one has an error.
fn panics_on_rank_0(network: impl for<'w> Fn(&'w World) -> Network<'w> + Sync) -> String {
    let (told, is_told) = mpsc::channel();
    let is_told = Mutex::new(is_told);
    let told_by = Mutex::new(told);
    let mut all = World::threads(2, |world| {
        let run = || network(&world).run(&Pool::new(1).unwrap());
        let ran = catch_unwind(AssertUnwindSafe(run));
        if world.rank() == 1 {
            let text = ran.unwrap().unwrap_err().to_string();
            told_by.lock().unwrap().send(text.clone()).unwrap();
            return text;
        }
        // Here the program goes on, and leaves the other rank alone.
        let told = is_told.lock().unwrap().recv_timeout(TOLD_MOST);
        drop_quietly(ran);
        told.expect("the other rank hears of it")
    });
    all.pop().unwrap()
}

#[test]
fn a_process_of_another_rank_that_panics_when_it_is_dropped_is_an_error_there() {
    watched(MOST, || {
        let text = panics_on_rank_0(|world| {
            let mut network = Network::new(world);
            let (out, input) = network.bounded::<u32>("numbers", 1);
            let unused = Unused(world.rank() == 1);
            network.process("sends", out, async move |mut out| {
                let _here = unused;
                out.send(1).await.unwrap();
            });
            network.process(
                "takes",
                input,
                async move |mut input| {
                    while input.recv().await.is_some() {}
                },
            );
            network.pin("sends", 1);
            network.pin("takes", 0);
            network
        });
        assert!(text.ends_with("unused"), "{text}");
    });
}

/// An error, or the payload of a panic, that panics when it is dropped.
#[derive(Debug)]
struct Explodes;

impl fmt::Display for Explodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it explodes")
    }
}

impl std::error::Error for Explodes {}

impl Drop for Explodes {
    fn drop(&mut self) {
        assert!(thread::panicking(), "it has exploded");
    }
}

#[test]
fn what_a_process_fails_with_may_panic_when_it_is_dropped() {
    watched(MOST, || {
        for is_panic in [true, false] {
            let text = panics_on_rank_0(|world| {
                let mut network = Network::new(world);
                let (out, input) = network.bounded::<u32>("numbers", 1);
                network.try_process("bad", out, async move |_out| {
                    if is_panic {
                        panic_any(Explodes);
                    }
                    Err(Explodes)
                });
                network.process("waits", input, async move |mut input| {
                    input.recv().await;
                    std::future::pending::<()>().await;
                });
                network.pin("bad", 0);
                network.pin("waits", 1);
                network
            });
            assert!(text.starts_with("rank 0: process `bad`"), "{text}");
        }
    });
}

/// A token that can be written once.
struct Once(u64);

static WAS_BAD: AtomicBool = AtomicBool::new(false);
static IS_BAD: AtomicBool = AtomicBool::new(false);

impl Serialize for Once {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match IS_BAD.load(SeqCst) {
            true => {
                WAS_BAD.store(true, SeqCst);
                Err(ser::Error::custom("once more"))
            }
            false => to.serialize_u64(self.0),
        }
    }
}

impl<'d> Deserialize<'d> for Once {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Once, D::Error> {
        u64::deserialize(from).map(Once)
    }
}

#[test]
fn no_checkpoint_is_kept_of_a_network_with_a_token_that_was_not_written() {
    let directory = directory("left-over");
    let latest = directory.join("latest");
    watched(MOST, || {
        World::threads(1, |world| {
            let mut network = Network::new(&world);
            network.checkpoints(Checkpoints::to(&directory).every(Duration::from_millis(20)));
            let (out, input) = network.bounded::<Once>("tokens", 8);
            network.movable("sends", out, 0, async |number, mut out: Out<Once>| {
                if number < 4 {
                    out.send(Once(number)).await.ok()?;
                } else {
                    pause().await;
                }
                Some((number + 1, out))
            });
            let latest = &latest;
            // It takes nothing: what lies before its port is written for each checkpoint, after the
            // others have been recorded.
            network.movable("keeps", input, 0_u64, async |steps, input: In<Once>| {
                thread::sleep(Duration::from_millis(20));
                pause().await;
                Some((steps + 1, input))
            });
            // Keeps the network from its end after the failure.
            network.movable("computes", (), 0_u64, async move |steps, ()| {
                IS_BAD.fetch_or(latest.exists(), SeqCst);
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_millis(3) {
                    if WAS_BAD.load(SeqCst) {
                        thread::sleep(Duration::from_millis(500));
                    }
                }
                pause().await;
                Some((steps + 1, ()))
            });
            let error = network.run(&Pool::new(2).unwrap()).unwrap_err();
            assert!(error.to_string().contains("cannot be written"), "{error}");
        });
    });
    IS_BAD.store(false, SeqCst);
    // What was kept can be read.
    watched(MOST, || {
        World::threads(1, |world| {
            let mut network = Network::new(&world);
            let kept = Checkpoints::to(&directory).every(Duration::from_secs(60));
            network.checkpoints(kept.resume(true));
            let (out, input) = network.bounded::<Once>("tokens", 8);
            network.movable("sends", out, 0_u64, async |_, _: Out<Once>| None);
            network.movable("keeps", input, 0_u64, async |steps, mut input: In<Once>| {
                input.recv().await?;
                Some((steps + 1, input))
            });
            network.movable("computes", (), 0_u64, async |_, ()| None);
            network.run(&Pool::new(1).unwrap()).unwrap();
        });
    });
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Sums numbers by a task of each step's own. At the tenth the run is cancelled, on the rank of
/// that process alone, while it is about to be recorded.
fn sums(directory: &Path, tokens: u64, is_cancelled: bool) -> Vec<Result<u64, NetworkError>> {
    World::threads(2, |world| {
        let sum = AtomicU64::new(0);
        let cancel = roving::Cancel::new();
        let mut network = Network::new(&world);
        let checkpoints = Checkpoints::to(directory).every(Duration::from_millis(1));
        network.checkpoints(checkpoints.clone().resume(true));
        let (out, input) = network.unbounded("numbers");
        network.movable("source", out, 0, async |number: u64, mut out| {
            match number < tokens {
                true => out.send(number).await.ok()?,
                false if is_cancelled => pause().await,
                false => return None,
            }
            Some((number + u64::from(number < tokens), out))
        });
        let (result, ends) = (&sum, &cancel);
        network.movable(
            "sum",
            input,
            Shown::new(0),
            move |Shown(sum), mut input: In<u64>| {
                let waits = is_cancelled && sum == (0..10).sum() && !checkpoints.is_there();
                async move {
                    if waits {
                        pause().await;
                        return Some((Shown(sum), input));
                    }
                    let number = input.recv().await?;
                    if number == 10 && is_cancelled {
                        // This process alone is missing in the next one.
                        while !Shown::is_next_begun(directory) {
                            thread::sleep(Duration::from_millis(1));
                        }
                        ends.cancel();
                    }
                    let add = AtomicU64::new(0);
                    roving::scope(|scope| scope.spawn(|_| add.store(number, SeqCst)));
                    let sum = sum + add.into_inner();
                    result.store(sum, SeqCst);
                    Some((Shown(sum), input))
                }
            },
        );
        network.pin("source", 0);
        network.pin("sum", 1);
        let pool = Pool::new(2).unwrap();
        let ran = cancel.run_partial(|| network.run(&pool)).unwrap();
        ran.map(|_| sum.into_inner())
    })
}

#[test]
fn a_step_that_was_cancelled_is_in_no_checkpoint() {
    for _ in 0..3 {
        let directory = directory("cancelled-steps");
        for ended in watched(MOST, || sums(&directory, 20, true)) {
            assert_eq!(ended, Err(NetworkError::Cancelled { rank: 1 }));
        }
        let ended = watched(MOST, || sums(&directory, 20, false));
        assert_eq!(ended[1], Ok(20 * 19 / 2));
    }
}
