//! Events that end a network while others of its ranks could go on, or wait, for ever.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use common::watched;
use roving::Pool;
use roving_dist::{Network, NetworkError, World};
use roving_flow::Out;

/// Whoever takes longer hangs.
const MOST: Duration = Duration::from_secs(120);
/// How late the other ranks may hear of an end.
const TOLD_MOST: Duration = Duration::from_secs(30);

/// A token that fails at thirty, when it is written or when it is read.
mod thirty {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

    pub(super) struct Unwritable(pub(super) u64);

    impl Serialize for Unwritable {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            match self.0 {
                30 => Err(ser::Error::custom("thirty")),
                number => to.serialize_u64(number),
            }
        }
    }

    impl<'d> Deserialize<'d> for Unwritable {
        fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Unwritable, D::Error> {
            u64::deserialize(from).map(Unwritable)
        }
    }

    /// Thirty panics where it was sent, and is another number where it comes.
    #[derive(Serialize)]
    pub(super) struct Undroppable(pub(super) u64);

    impl<'d> Deserialize<'d> for Undroppable {
        fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Undroppable, D::Error> {
            u64::deserialize(from).map(|number| Undroppable(number + 1000))
        }
    }

    impl Drop for Undroppable {
        fn drop(&mut self) {
            assert!(self.0 != 30, "thirty");
        }
    }

    #[derive(Serialize)]
    pub(super) struct Unreadable(pub(super) u64);

    impl<'d> Deserialize<'d> for Unreadable {
        fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Unreadable, D::Error> {
            match u64::deserialize(from)? {
                30 => Err(de::Error::custom("thirty")),
                number => Ok(Unreadable(number)),
            }
        }
    }
}

/// Runs an endless source on one rank, its sink on the next one, and a rank that only waits; gives
/// the errors of all.
fn endless<T>(from: usize, token: fn(u64) -> T) -> Vec<NetworkError>
where
    T: serde::Serialize + serde::de::DeserializeOwned + Send + 'static,
{
    World::threads(3, |world| {
        let mut network = Network::new(&world);
        let (out, input) = network.bounded("tokens", 4);
        let (end, ended) = network.bounded::<()>("end", 1);
        network.source("source", out, (0..).map(token));
        network.process("sink", (input, end), async |(mut input, end)| {
            while input.recv().await.is_some() {}
            let _it_never_says_anything: Out<()> = end;
        });
        network.process("waits", ended, async |mut ended| {
            ended.recv().await;
        });
        for (name, after) in [("source", 0), ("sink", 1), ("waits", 2)] {
            network.pin(name, (from + after) % 3);
        }
        network.run(&Pool::new(1).unwrap()).unwrap_err()
    })
}

#[test]
fn a_token_that_cannot_be_written_ends_all_ranks() {
    watched(MOST, || {
        for from in 0..3 {
            for error in endless(from, thirty::Unwritable) {
                let text = error.to_string();
                let right = format!("rank {from}: a token of channel `tokens`: cannot be written");
                assert!(text.starts_with(&right), "{text}");
            }
        }
    });
}

#[test]
fn a_token_that_panics_when_it_is_dropped_ends_all_ranks() {
    watched(MOST, || {
        for from in 0..3 {
            for error in endless(from, thirty::Undroppable) {
                let text = error.to_string();
                let right = format!(
                    "rank {from}: a token of channel `tokens`: panicked when it was dropped: thirty"
                );
                assert_eq!(text, right);
            }
        }
    });
}

#[test]
fn a_token_that_cannot_be_read_ends_all_ranks() {
    watched(MOST, || {
        for from in 0..3 {
            for error in endless(from, thirty::Unreadable) {
                let (text, rank) = (error.to_string(), (from + 1) % 3);
                let right = format!("rank {rank}: a token of channel `tokens`: is read in another");
                assert!(text.starts_with(&right), "{text}");
            }
        }
    });
}

#[test]
fn a_panic_before_there_is_a_process_is_every_ranks_error() {
    watched(MOST, || {
        for bad in 0..2 {
            let errors = World::threads(2, |world| {
                let mut network = Network::new(&world);
                let (out, input) = network.bounded::<u64>("numbers", 2);
                network.process("bad", out, |_out| -> std::future::Ready<()> {
                    panic!("at once")
                });
                network.process("sink", input, async |mut input| {
                    while input.recv().await.is_some() {}
                    panic!("half of a stream was taken for the whole");
                });
                network.pin("bad", bad);
                network.pin("sink", 1 - bad);
                network.run(&Pool::new(2).unwrap()).unwrap_err()
            });
            let right = NetworkError::Panicked {
                rank: bad,
                process: "bad".into(),
                message: "at once".into(),
            };
            assert_eq!(errors, vec![right; 2]);
        }
    });
}

/// A task that a process has forked panics: the panic leaves the run, and the program may go on on
/// that rank.
#[test]
fn a_panic_out_of_a_run_is_an_error_on_the_other_ranks() {
    watched(MOST, || {
        for bad in 0..2 {
            let (told, is_told) = mpsc::channel();
            let is_told = Mutex::new(is_told);
            World::threads(2, |world| {
                let mut network = Network::new(&world);
                let (out, input) = network.bounded::<u64>("numbers", 2);
                network.process("bad", out, async move |mut out| {
                    drop(roving::task::fork(async { panic!("a forked one") }).await);
                    out.send(1).await.unwrap();
                });
                network.sink("sink", input, |_| {});
                network.pin("bad", bad);
                network.pin("sink", 1 - bad);
                let run = || network.run(&Pool::new(1).unwrap());
                let ran = catch_unwind(AssertUnwindSafe(run));
                if world.rank() != bad {
                    told.send(ran.unwrap().unwrap_err().to_string()).unwrap();
                    return;
                }
                let payload = ran.unwrap_err().downcast::<&str>().unwrap();
                assert_eq!(*payload, "a forked one");
                // Here the program goes on, and leaves the other rank alone.
                let text = is_told.lock().unwrap().recv_timeout(TOLD_MOST);
                let right = "a task of a network panicked: a forked one";
                assert!(text.unwrap().ends_with(right));
            });
        }
    });
}

/// Alone, a rank can run another network after it.
#[test]
fn a_panic_out_of_a_run_leaves_a_world_of_one_rank_in_use() {
    World::threads(1, |world| {
        for is_bad in [true, false] {
            let mut network = Network::new(&world);
            network.process("any", (), async move |()| {
                roving::task::fork(async move { assert!(!is_bad, "on purpose") }).await;
            });
            let run = || network.run(&Pool::new(1).unwrap()).is_ok();
            assert_eq!(
                catch_unwind(AssertUnwindSafe(run)).ok(),
                (!is_bad).then_some(true)
            );
        }
    });
}

/// Says so when it is dropped.
struct Says<'a>(&'a AtomicBool);

impl Drop for Says<'_> {
    fn drop(&mut self) {
        // Ordering: Relaxed; nothing is handed over.
        self.0.store(true, Ordering::Relaxed);
    }
}

/// On one rank a process fails while another computes until the other rank has ended; gives the
/// errors of all.
fn while_another_computes(is_panic: bool) -> Vec<NetworkError> {
    let has_ended = AtomicBool::new(false);
    World::threads(2, |world| {
        let mut network = Network::new(&world);
        let (out, input) = network.bounded::<u64>("numbers", 2);
        let has_ended = &has_ended;
        network.try_process("bad", out, async move |_out| {
            assert!(!is_panic, "on purpose");
            Err("on purpose")
        });
        network.process("computes", (), async move |()| {
            // Ordering: Relaxed; nothing is handed over.
            while !has_ended.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        });
        // The process may end before its body begins: it has this from the start.
        let says = (world.rank() == 1).then(|| Says(has_ended));
        network.process("waits", input, async move |mut input| {
            let _says = says;
            while input.recv().await.is_some() {}
            panic!("half of a stream was taken for the whole");
        });
        for (name, rank) in [("bad", 0), ("computes", 0), ("waits", 1)] {
            network.pin(name, rank);
        }
        network.run(&Pool::new(2).unwrap()).unwrap_err()
    })
}

#[test]
fn a_failure_ends_other_ranks_while_its_own_one_still_computes() {
    watched(MOST, || {
        for is_panic in [true, false] {
            let (rank, process, message) = (0, "bad".to_owned(), "on purpose".to_owned());
            let right = match is_panic {
                true => NetworkError::Panicked {
                    rank,
                    process,
                    message,
                },
                false => NetworkError::Failed {
                    rank,
                    process,
                    message,
                },
            };
            assert_eq!(while_another_computes(is_panic), vec![right; 2]);
        }
    });
}
