//! Networks that end, in each way there is, beside threads outside that send to them and receive
//! from them; and what is kept beyond the end: ports, wakers, handles. Each has one outcome, which
//! the page of [`Network`] states.

#[path = "common/watched.rs"]
mod watched;

use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Poll, Waker};
use std::thread;

use roving::Pool;
use roving_flow::{Error, In, Merge, Network, Out, Report, State, TryRecvError};
use watched::watched;

/// So often each end is tried.
const ROUNDS: u32 = if cfg!(miri) { 3 } else { 300 };

/// Both threads may claim the one process, and it ends with what comes first: the other thread is
/// then about to wake a process that has ended, in a network that may have returned.
#[test]
fn the_first_of_two_outside_senders_ends_the_network() {
    watched(|| {
        let pool = Pool::new(2).unwrap();
        for _ in 0..ROUNDS {
            let mut network = Network::new();
            let (first, one) = network.bounded("one", 1);
            let (second, two) = network.bounded("two", 1);
            let merge = Merge::new([one, two]);
            network.process("take one", merge, async |mut merge: Merge<u32>| {
                assert!(merge.recv().await.is_some());
            });
            thread::scope(|scope| {
                for mut out in [first, second] {
                    scope.spawn(move || {
                        let _its_end_is_a_matter_of_time = out.send_blocking(1);
                    });
                }
                network.run(&pool).unwrap();
            });
        }
    });
}

/// Ends a network, by the one process that can.
type Ending = fn(&mut Network<'_>, Out<u32>);

/// A network that echoes what a thread outside sends, until `ending` ends it.
fn beside_threads(pool: &Pool, ending: Ending) -> Result<Report, Error> {
    let mut network = Network::new();
    let (mut to, input) = network.bounded::<u32>("from outside", 1);
    let (out, mut from) = network.bounded::<u32>("to outside", 1);
    network.process("echo", (input, out), async |(mut input, mut out)| {
        while let Some(number) = input.recv().await {
            if out.send(number).await.is_err() {
                break;
            }
        }
        // Whoever is outside has gone; the other process ends the network.
        pending::<()>().await;
    });
    let (own, other) = network.bounded("ending", 1);
    network.process("keep", other, async |mut other| {
        let _nothing_comes: Option<u32> = other.recv().await;
    });
    ending(&mut network, own);
    thread::scope(|scope| {
        scope.spawn(move || while to.send_blocking(7).is_ok() {});
        scope.spawn(move || while from.recv_blocking().is_some() {});
        network.run(pool)
    })
}

#[test]
fn threads_outside_hear_of_an_error() {
    watched(|| {
        let pool = Pool::new(2).unwrap();
        for _ in 0..ROUNDS {
            let ended = beside_threads(&pool, |network, out| {
                network.try_process("fails", out, async |_out| Err::<(), _>("no"));
            });
            assert!(matches!(ended, Err(Error::Failed { process, .. }) if process == "fails"));
        }
    });
}

#[test]
fn threads_outside_hear_of_a_cancelled_network() {
    watched(|| {
        let pool = Pool::new(2).unwrap();
        for _ in 0..ROUNDS {
            let ended = beside_threads(&pool, |network, out| {
                let canceller = network.canceller();
                network.process("cancels", out, async move |_out| canceller.cancel());
            });
            assert!(matches!(ended, Err(Error::Cancelled)));
        }
    });
}

/// A process that computes goes on after the network was cancelled. What it panics with then is not
/// lost.
#[test]
fn a_panic_after_a_cancel_is_told() {
    watched(|| {
        let pool = Pool::new(2).unwrap();
        for in_drop in [false, true] {
            let mut network = Network::new();
            let canceller = network.canceller();
            network.process("late", (), async move |()| {
                let late = Late;
                canceller.cancel();
                if !in_drop {
                    std::mem::forget(late);
                    panic_any("late");
                }
                pending::<()>().await;
            });
            let Err(Error::Panicked { process, payload }) = network.run(&pool) else {
                panic!("the panic was lost");
            };
            assert_eq!(process, "late");
            assert_eq!(payload.into_panic().downcast_ref(), Some(&"late"));
        }
    });
}

struct Late;

impl Drop for Late {
    fn drop(&mut self) {
        panic_any("late");
    }
}

#[test]
fn threads_outside_hear_of_a_deadlock() {
    watched(|| {
        let pool = Pool::new(2).unwrap();
        for _ in 0..ROUNDS {
            let ended = beside_threads(&pool, |network, out| {
                let (to_itself, input) = network.bounded::<u32>("to itself", 1);
                let ports = (out, to_itself, input);
                network.process("stuck", ports, async |(_out, _own, mut input)| {
                    input.recv().await;
                });
            });
            assert!(matches!(ended, Err(Error::Deadlock { cycle }) if cycle.len() == 1));
        }
    });
}

#[test]
fn threads_outside_hear_of_a_network_that_never_runs() {
    watched(|| {
        for _ in 0..ROUNDS {
            let mut network = Network::new();
            let (mut to, input) = network.bounded::<u32>("from outside", 1);
            let (out, mut from) = network.bounded::<u32>("to outside", 1);
            network.process("echo", (input, out), async |_| {});
            thread::scope(|scope| {
                scope.spawn(move || while to.send_blocking(7).is_ok() {});
                scope.spawn(move || assert_eq!(from.recv_blocking(), None));
                drop(network);
            });
        }
    });
}

#[test]
fn ports_go_on_after_the_network_of_their_channel() {
    watched(|| {
        let pool = Pool::new(1).unwrap();
        let mut network = Network::new();
        let (mut out, mut input) = network.bounded("both outside", 1);
        let (filled, mut rest) = network.channel("the rest");
        let (mut unwanted, closed) = network.channel("nobody takes it");
        network.source("source", filled, 0..3_u32);
        network.process("leaves", closed, async |_: In<u32>| {});
        network.run(&pool).unwrap();
        drop(pool);
        // What was sent can still be received, then the channel is closed.
        for number in 0..3 {
            assert_eq!(rest.recv_blocking(), Some(number));
        }
        assert_eq!(rest.recv_blocking(), None);
        assert_eq!(unwanted.send_blocking(5).unwrap_err().0, 5);
        // Two threads that hold both ports of a channel go on with it.
        thread::scope(|scope| {
            scope.spawn(move || (0..10_u32).for_each(|n| out.send_blocking(n).unwrap()));
            assert!(std::iter::from_fn(|| input.recv_blocking()).eq(0..10));
        });
    });
}

#[test]
fn a_captured_port_joins_two_networks() {
    watched(|| {
        let pool = Pool::new(2).unwrap();
        for _ in 0..ROUNDS {
            let mut sum = 0;
            let (mut first, mut second) = (Network::new(), Network::new());
            let (mut out, input) = first.bounded::<u32>("from the second", 1);
            first.sink("add", input, |number| sum += number);
            second.process("count", (), async move |()| {
                for number in 0..10 {
                    out.send(number).await.unwrap();
                }
            });
            thread::scope(|scope| {
                scope.spawn(|| second.run(&pool).unwrap());
                first.run(&pool).unwrap();
            });
            assert_eq!(sum, 45);
        }
    });
}

#[test]
fn a_port_that_waits_in_another_network_hears_of_the_end_of_its_own() {
    watched(|| {
        let pool = Pool::new(2).unwrap();
        for _ in 0..ROUNDS {
            let (mut first, mut second) = (Network::new(), Network::new());
            let (out, mut input) = first.bounded::<u32>("to the second", 1);
            first.try_process("fails", out, async |_out| Err::<(), _>("no"));
            second.process("waits", (), async move |()| {
                assert_eq!(input.recv().await, None);
            });
            thread::scope(|scope| {
                scope.spawn(|| second.run(&pool).unwrap());
                assert!(first.run(&pool).is_err());
            });
        }
    });
}

#[test]
fn a_port_that_a_panic_outside_drops_is_closed() {
    watched(|| {
        let pool = Pool::new(1).unwrap();
        let mut got = Vec::new();
        let mut network = Network::new();
        let (mut out, input) = network.channel("numbers");
        network.collect_into("sink", input, &mut got);
        let outside = thread::spawn(move || {
            out.send_blocking(1).unwrap();
            panic!("a thread outside, whose panic is its own");
        });
        network.run(&pool).unwrap();
        assert!(outside.join().is_err());
        assert_eq!(got, [1]);
    });
}

#[test]
fn a_waker_that_is_kept_beyond_the_network_and_its_pool_does_nothing() {
    watched(|| {
        for _ in 0..ROUNDS.min(20) {
            let pool = Pool::new(2).unwrap();
            let mut network = Network::new();
            let (keep, kept) = mpsc::channel::<Waker>();
            let mut is_first = true;
            network.process("gives its waker away", (), async move |()| {
                poll_fn(|context| {
                    keep.send(context.waker().clone()).unwrap();
                    context.waker().wake_by_ref();
                    match std::mem::take(&mut is_first) {
                        true => Poll::Pending,
                        false => Poll::Ready(()),
                    }
                })
                .await;
            });
            network.run(&pool).unwrap();
            let wakers: Vec<Waker> = kept.iter().collect();
            assert_eq!(wakers.len(), 2);
            wakers[0].wake_by_ref();
            drop(pool);
            wakers.into_iter().for_each(Waker::wake);
        }
    });
}

#[test]
fn handles_that_are_kept_beyond_the_network_find_that_it_has_ended() {
    watched(|| {
        let pool = Pool::new(1).unwrap();
        let mut network = Network::new();
        let (out, input) = network.channel("numbers");
        network.source("source", out, 0..3);
        network.sink("sink", input, |_| {});
        let (live, canceller) = (network.live(), network.canceller());
        network.run(&pool).unwrap();
        drop(pool);
        canceller.cancel();
        let seen = live.snapshot();
        assert_eq!(seen.processes, [State::Ended; 2]);
        assert_eq!(seen.channels.len(), live.report().unwrap().channels().len());
        assert_eq!(live.process_name(1), Some("sink"));
    });
}

#[test]
fn a_process_that_would_block_its_worker_is_told() {
    watched(|| {
        let pool = Pool::new(2).unwrap();
        let mut network = Network::new();
        let (mut out, input) = network.channel("numbers");
        network.process("blocks", input, async |mut input: In<u32>| {
            input.recv_blocking();
        });
        // It would not even have to wait.
        out.try_send(1).unwrap();
        let error = network.run(&pool).unwrap_err().to_string();
        let named =
            "process `blocks` panicked: `recv_blocking` in a process would block its worker";
        assert!(error.starts_with(named), "{error}");

        let mut network = Network::new();
        let (out, mut input) = network.channel("numbers");
        network.process("blocks", out, async |mut out: Out<u32>| {
            let _never = out.send_blocking(1);
        });
        let error = network.run(&pool).unwrap_err().to_string();
        assert!(error.contains("`send_blocking` in a process"), "{error}");
        assert_eq!(input.try_recv(), Err(TryRecvError::Closed));
    });
}

#[test]
#[should_panic = "a send was polled after it had ended"]
fn a_send_that_is_polled_after_its_end_panics() {
    let (mut out, _input) = Network::new().channel("numbers");
    let mut sending = out.send(1);
    let mut context = std::task::Context::from_waker(Waker::noop());
    let mut poll = || std::pin::Pin::new(&mut sending).poll(&mut context);
    assert!(poll().is_ready());
    let _it_panics = poll();
}

/// The payload of a process that fails lies in what the network shares; a task that a process has
/// spawned panics out of the run besides.
#[test]
fn a_panic_out_of_a_run_leaves_nothing_of_the_network_behind() {
    let pool = Pool::new(2).unwrap();
    let held = Arc::new(());
    let given = Arc::clone(&held);
    let run = || {
        let mut network = Network::new();
        let (out, input) = network.bounded("a", 1);
        network.process("fails", out, async |mut out: Out<u32>| {
            drop(roving::task::spawn(async { panic!("a task beside") }));
            let _sent = out.send(1).await;
            panic_any(given);
        });
        network.process(
            "reads",
            input,
            async |mut input: In<u32>| {
                while input.recv().await.is_some() {}
            },
        );
        let _never = network.run(&pool);
    };
    let ran = catch_unwind(AssertUnwindSafe(run));
    assert!(ran.is_err(), "the panic of a task reaches who runs it");
    assert_eq!(Arc::strong_count(&held), 1);
}

/// Panics when it is dropped.
struct Panics;

impl Drop for Panics {
    fn drop(&mut self) {
        panic_any("a payload");
    }
}

/// The drop of the payload would be a second panic.
#[test]
fn a_panic_out_of_a_run_ends_that_of_a_payload() {
    let pool = Pool::new(2).unwrap();
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let mut network = Network::new();
        network.process("fails", (), async |()| {
            drop(roving::task::spawn(async { panic!("a task beside") }));
            panic_any(Panics);
        });
        let _never = network.run(&pool);
    }));
    assert!(ran.is_err(), "the panic of a task reaches who runs it");
}
