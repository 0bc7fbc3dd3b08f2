//! Waits of limited length, where ends, deadlocks, cancellation and other workers meet them.

use std::future::poll_fn;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use roving::Pool;
use roving_flow::{Error, In, Network, Out, TryRecvError, TrySendError};

const SHORT: Duration = Duration::from_millis(2);
/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(600);

fn pools() -> impl Iterator<Item = Pool> {
    [1, 2, 4]
        .into_iter()
        .map(|workers| Pool::new(workers).unwrap())
}

#[test]
fn a_receiver_waits_as_long_as_it_says_and_loses_nothing() {
    for pool in pools() {
        let mut got = Vec::new();
        let mut empty = 0;
        let mut network = Network::new();
        let (mut out, input) = network.bounded("numbers", 1);
        let (found_none, has_found_none) = mpsc::channel();
        let sender = thread::spawn(move || {
            for number in 0..20 {
                // After a wait that came to nothing, however busy the machine is.
                has_found_none.recv().unwrap();
                out.send_blocking(number).unwrap();
            }
        });
        let (into, count) = (&mut got, &mut empty);
        network.process("sink", input, move |mut input: In<u32>| async move {
            loop {
                let began = Instant::now();
                match input.recv_timeout(SHORT / 4).await {
                    Ok(number) => into.push(number),
                    Err(TryRecvError::Empty) => {
                        assert!(began.elapsed() >= SHORT / 4);
                        *count += 1;
                        let _ = found_none.send(());
                    }
                    Err(error) => return assert_eq!(error, TryRecvError::Closed),
                }
            }
        });
        let report = network.run(&pool).unwrap();
        sender.join().unwrap();
        assert!(got.into_iter().eq(0..20));
        assert!(empty >= 20 && !report.deterministic);
    }
}

/// A thousand waits that come to nothing leave nothing behind: no timer, no thread.
#[test]
fn what_is_there_costs_no_wait() {
    let mut network = Network::new();
    let (out, input) = network.channel("numbers");
    network.source("source", out, 0..1000_u32);
    network.process("sink", input, |mut input: In<u32>| async move {
        for number in 0..1000 {
            assert_eq!(input.recv_timeout(LONG).await, Ok(number));
        }
        let never = input.recv_timeout(LONG).await;
        assert_eq!(never, Err(TryRecvError::Closed));
    });
    network.run(&Pool::new(2).unwrap()).unwrap();
}

#[test]
fn a_sender_gets_its_message_back_and_the_channel_does_not_grow() {
    for pool in pools() {
        let mut network = Network::new();
        let (out, input) = network.bounded("numbers", 2);
        let (go, may_go) = network.bounded("go", 1);
        // It waits for room while the receiver waits for it: time resolves that, not growth.
        network.process(
            "sender",
            (out, go),
            async |(mut out, mut go): (Out<u32>, Out<()>)| {
                let mut number = 0;
                while out.send_timeout(number, SHORT).await.is_ok() {
                    number += 1;
                }
                assert_eq!(number, 2);
                let back = out.send_timeout(number, SHORT).await;
                assert!(matches!(back, Err(TrySendError::Full(2))));
                go.send(()).await.unwrap();
            },
        );
        network.process(
            "receiver",
            (input, may_go),
            async |(mut input, mut may_go)| {
                may_go.recv().await;
                assert_eq!((input.recv().await, input.recv().await), (Some(0), Some(1)));
                assert_eq!(input.recv().await, None);
            },
        );
        let report = network.run(&pool).unwrap();
        assert!(report.growths.is_empty());
    }
}

/// After a wait that was given up, the process is not taken for one that waits there still: the
/// deadlock that it gets into is found.
#[test]
fn a_wait_that_was_given_up_hides_no_deadlock() {
    for pool in pools() {
        let mut network = Network::new();
        let (mut held, never) = network.channel::<u32>("never");
        let (out, input) = network.channel::<u32>("there");
        let (back, other) = network.channel::<u32>("back");
        network.process(
            "one",
            (never, input, back),
            async |(mut never, mut input, mut back): (In<u32>, In<u32>, Out<u32>)| {
                let late = never.recv_timeout(SHORT).await;
                assert_eq!(late, Err(TryRecvError::Empty));
                input.recv().await;
                let _ = back.send(1).await;
            },
        );
        network.process(
            "two",
            (other, out),
            async |(mut other, mut out): (In<u32>, Out<u32>)| {
                other.recv().await;
                let _ = out.send(1).await;
            },
        );
        let error = network.run(&pool).unwrap_err();
        let Error::Deadlock { cycle } = error else {
            panic!("{error}")
        };
        assert_eq!(cycle.len(), 2);
        assert!(
            cycle.iter().all(|wait| wait.channel != "never"),
            "{cycle:?}"
        );
        assert!(held.try_send(1).is_err());
    }
}

/// Here the time is over at once. The process is suspended all the same, once; then both waits are
/// one turn.
#[test]
fn a_wait_of_no_time_leaves_its_turn() {
    for pool in pools() {
        let mut network = Network::new();
        let (_held, never) = network.channel::<u32>("never");
        let (out, input) = network.channel::<u32>("to itself");
        network.process(
            "alone",
            (never, out, input),
            async |(mut never, _out, mut input): (In<u32>, Out<u32>, In<u32>)| {
                let late = never.recv_timeout(Duration::ZERO).await;
                assert_eq!(late, Err(TryRecvError::Empty));
                input.recv().await;
            },
        );
        let error = network.run(&pool).unwrap_err();
        assert!(matches!(error, Error::Deadlock { .. }), "{error}");
    }
}

/// One worker: who asks for what is there at once lets the other end go first, which makes it.
#[test]
fn waits_of_no_time_let_the_other_end_go_first() {
    const ENOUGH: u32 = 10_000;
    let pool = Pool::new(1).unwrap();
    let (mut got, mut tries) = (Vec::new(), [0, 0]);
    let [empty, full] = &mut tries;
    let mut network = Network::new();
    let (out, input) = network.bounded("numbers", 1);
    let into = &mut got;
    network.process("sink", input, async move |mut input: In<u32>| {
        loop {
            match input.recv_timeout(Duration::ZERO).await {
                Ok(number) => into.push(number),
                Err(TryRecvError::Empty) if *empty < ENOUGH => *empty += 1,
                Err(_) => return,
            }
        }
    });
    network.process("source", out, async move |mut out: Out<u32>| {
        for number in 0..20 {
            while let Err(TrySendError::Full(_)) = out.send_timeout(number, Duration::ZERO).await {
                *full += 1;
                assert!(*full < ENOUGH, "the sink never runs");
            }
        }
    });
    network.run(&pool).unwrap();
    assert!(tries[0] < ENOUGH, "the source never runs");
    assert!(got.into_iter().eq(0..20));
}

#[test]
fn a_cancelled_network_waits_no_longer() {
    for pool in pools() {
        let mut network = Network::new();
        let (out, input) = network.channel::<u32>("numbers");
        network.process(
            "sink",
            (input, out),
            async |(mut input, _out): (In<u32>, Out<u32>)| {
                let _ = input.recv_timeout(LONG).await;
            },
        );
        let canceller = network.canceller();
        let began = Instant::now();
        let ends = thread::spawn(move || {
            thread::sleep(SHORT);
            canceller.cancel();
        });
        assert!(matches!(network.run(&pool), Err(Error::Cancelled)));
        assert!(began.elapsed() < LONG);
        ends.join().unwrap();
    }
}

#[test]
fn a_thread_waits_for_a_limited_time() {
    let mut network = Network::new();
    let (mut ask, questions) = network.bounded::<u32>("questions", 1);
    let (out, mut answers) = network.bounded("answers", 1);
    network.process(
        "square",
        (questions, out),
        async |(mut questions, mut out)| {
            while let Some(number) = questions.recv().await {
                out.send(number * number).await.unwrap();
            }
        },
    );
    let client = thread::spawn(move || {
        assert_eq!(
            answers.recv_timeout_blocking(SHORT),
            Err(TryRecvError::Empty)
        );
        ask.send_timeout_blocking(7, LONG).unwrap();
        assert_eq!(answers.recv_timeout_blocking(LONG), Ok(49));
        // Nobody takes the answers: the fourth question finds a full channel in any case.
        let mut sent = 0;
        while ask.send_timeout_blocking(1, SHORT * 10).is_ok() {
            sent += 1;
        }
        assert!((1..=3).contains(&sent), "{sent}");
        drop(ask);
        while answers.recv_timeout_blocking(LONG).is_ok() {}
    });
    network.run(&Pool::new(1).unwrap()).unwrap();
    client.join().unwrap();
}

/// In a future of its own, beside another one: the limit is polled with another waker.
#[test]
fn a_limited_wait_is_a_future_like_others() {
    let mut network = Network::new();
    let (mut out, input) = network.channel::<u32>("numbers");
    let sender = thread::spawn(move || {
        thread::sleep(SHORT);
        out.send_blocking(5).unwrap();
    });
    network.process("sink", input, |mut input: In<u32>| async move {
        let mut waiting = Box::pin(input.recv_timeout(LONG));
        let mut polls = 0;
        let got = poll_fn(|context| {
            polls += 1;
            match waiting.as_mut().poll(context) {
                Poll::Ready(got) => Poll::Ready(got),
                Poll::Pending => Poll::Pending,
            }
        });
        assert_eq!(got.await, Ok(5));
        assert!(polls >= 1);
    });
    network.run(&Pool::new(2).unwrap()).unwrap();
    sender.join().unwrap();
}
