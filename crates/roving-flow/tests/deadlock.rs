//! Deadlocks: those that a larger channel resolves, and those that nothing does.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use roving::Pool;
use roving_flow::{Error, In, Network, Operation, Out};

/// A process that sends a batch to another, which first wants one from elsewhere.
#[test]
fn a_full_channel_on_a_cycle_grows() {
    for workers in 1..=3 {
        let pool = Pool::new(workers).unwrap();
        let mut network = Network::new();
        let (to_b, from_a) = network.bounded::<u32>("a to b", 1);
        let (done, is_done) = network.bounded::<u32>("done", 1);
        network.process("a", (to_b, done), async |(mut to_b, mut done)| {
            for number in 0..100 {
                to_b.send(number).await.unwrap();
            }
            done.send(1).await.unwrap();
        });
        network.process("b", (from_a, is_done), async |(mut from_a, mut is_done)| {
            assert_eq!(is_done.recv().await, Some(1));
            for number in 0..100 {
                assert_eq!(from_a.recv().await, Some(number));
            }
        });
        let report = network.run(&pool).unwrap();
        let sizes: Vec<_> = report
            .growths
            .iter()
            .map(|one| (one.from, one.to))
            .collect();
        assert_eq!(
            sizes,
            [
                (1, 2),
                (2, 4),
                (4, 8),
                (8, 16),
                (16, 32),
                (32, 64),
                (64, 128)
            ]
        );
        assert_eq!(report.channel(0).capacity, Some(128));
        assert_eq!(report.channel(1).capacity, Some(1));
    }
}

/// The part that has no deadlock goes on for ever, unless the other one ends.
#[test]
fn a_local_deadlock_is_resolved_while_the_rest_runs() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    let (there, here) = network.bounded::<u32>("there", 1);
    let (back, forth) = network.bounded::<u32>("back", 1);
    let (stop, stopped) = network.bounded::<()>("stop", 1);
    let ports = (there, forth, stopped);
    network.process(
        "ping",
        ports,
        async |(mut there, mut forth, mut stopped)| {
            while stopped.try_recv().is_err() {
                there.send(1).await.unwrap();
                forth.recv().await.unwrap();
            }
        },
    );
    network.process("pong", (here, back), async |(mut here, mut back)| {
        while let Some(number) = here.recv().await {
            if back.send(number).await.is_err() {
                break;
            }
        }
    });
    let (to_b, from_a) = network.bounded::<u32>("a to b", 2);
    let (done, is_done) = network.bounded::<u32>("done", 1);
    network.process("a", (to_b, done), async |(mut to_b, mut done)| {
        for number in 0..10 {
            to_b.send(number).await.unwrap();
        }
        done.send(1).await.unwrap();
    });
    let ports = (from_a, is_done, stop);
    network.process("b", ports, async |(mut from_a, mut is_done, mut stop)| {
        is_done.recv().await;
        while from_a.recv().await.is_some() {}
        stop.send(()).await.unwrap();
    });
    let report = network.run(&pool).unwrap();
    assert_eq!(report.growths.len(), 3);
}

#[test]
fn a_true_deadlock_is_named_process_by_process() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    let count = 5;
    let (mut outs, mut ins) = (Vec::new(), Vec::new());
    for index in 0..count {
        let (out, input) = network.channel::<u8>(format_args!("from {index}"));
        outs.push(out);
        ins.push(input);
    }
    ins.rotate_right(1);
    for (index, ports) in outs.into_iter().zip(ins).enumerate() {
        network.process(
            format_args!("p{index}"),
            ports,
            async |(mut out, mut input)| {
                while let Some(token) = input.recv().await {
                    out.send(token).await.unwrap();
                }
            },
        );
    }
    // Two more that have nothing to do with it.
    let (out, input) = network.channel::<u8>("once");
    network.process("bystander", out, async |mut out| {
        out.send(1).await.unwrap();
    });
    network.process(
        "reader",
        input,
        async |mut input| {
            while input.recv().await.is_some() {}
        },
    );
    let error = network.run(&pool).unwrap_err();
    let Error::Deadlock { cycle } = &error else {
        panic!("{error}")
    };
    assert_eq!(cycle.len(), count);
    for (one, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
        assert_eq!(one.operation, Operation::Receive);
        assert_eq!(one.waits_for, next.process);
        assert_eq!(one.channel, format!("from {}", &next.process[1..]));
    }
}

#[test]
fn a_limit_holds_and_is_named() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    network.channel_limit(5);
    let (to_b, from_a) = network.bounded::<u32>("a to b", 1);
    let (done, is_done) = network.bounded::<u32>("done", 1);
    network.process("a", (to_b, done), async |(mut to_b, mut done)| {
        for number in 0..100 {
            to_b.send(number).await.unwrap();
        }
        done.send(1).await.unwrap();
    });
    network.process("b", (from_a, is_done), async |(mut from_a, mut is_done)| {
        is_done.recv().await;
        while from_a.recv().await.is_some() {}
    });
    let error = network.run(&pool).unwrap_err();
    let Error::Full { cycle, limit } = &error else {
        panic!("{error}")
    };
    assert_eq!((cycle.len(), *limit), (2, 5));
    let text = error.to_string();
    assert!(
        text.contains("`a` waits until `b` makes room in `a to b`, which holds 5"),
        "{text}"
    );
    assert!(
        text.contains("`b` waits for a message from `a` by `done`"),
        "{text}"
    );
}

#[test]
fn a_capacity_of_none_is_refused() {
    let mut network = Network::new();
    let _ports = network.bounded::<u32>("narrow", 0);
    let error = network.run(&Pool::new(1).unwrap()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("`narrow`: a capacity of 0 is not in 1..="),
        "{text}"
    );
    assert!(
        text.ends_with("give one that is, or call `unbounded`"),
        "{text}"
    );
}

/// A waker that left its process may wake it, so long as it is there: when another thread has
/// dropped the last one, unused or used, the process waits for its channels alone.
#[test]
fn a_waker_that_is_dropped_elsewhere_hides_no_deadlock() {
    for is_used in [false, true] {
        let pool = Pool::new(2).unwrap();
        let mut network = Network::new();
        let (out, input) = network.channel::<u32>("there");
        let (back, other) = network.channel::<u32>("back");
        let mut taker = Some(waker_taker(is_used));
        network.process(
            "one",
            (input, back),
            async move |(mut input, mut back): (In<u32>, Out<u32>)| {
                let mut receive = pin!(input.recv());
                poll_fn(|context| {
                    if let Some(taker) = taker.take() {
                        taker.send(context.waker().clone()).unwrap();
                    }
                    receive.as_mut().poll(context).map(drop)
                })
                .await;
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
        assert!(matches!(network.run(&pool), Err(Error::Deadlock { .. })));
    }
}

/// A thread that takes one waker, and drops it when the process has come to its wait.
fn waker_taker(is_used: bool) -> mpsc::Sender<Waker> {
    let (to, from) = mpsc::channel::<Waker>();
    thread::spawn(move || {
        let waker = from.recv().unwrap();
        thread::sleep(Duration::from_millis(20));
        if is_used {
            waker.wake_by_ref();
            thread::sleep(Duration::from_millis(20));
        }
        drop(waker);
    });
    to
}

/// It looks at other ports each time that it is polled, so it is not known which of the waits it
/// has given up.
#[test]
fn a_process_that_never_waits_for_the_same_as_before_is_suspended() {
    let mut network = Network::new();
    let [one, two, three] = ["one", "two", "three"].map(|name| network.bounded::<u32>(name, 1));
    let polls = Arc::new(AtomicUsize::new(0));
    let polled = Arc::clone(&polls);
    type Own = (Out<u32>, In<u32>);
    network.process(
        "looks here and there",
        (one, two, three),
        async move |(mut one, mut two, mut three): (Own, Own, Own)| {
            let looks = poll_fn(|context| {
                let other = match polled.fetch_add(1, SeqCst) % 2 {
                    0 => &mut two,
                    _ => &mut three,
                };
                for (_, input) in [&mut one, other] {
                    assert!(pin!(input.recv()).poll(context).is_pending());
                }
                Poll::<()>::Pending
            });
            looks.await;
        },
    );
    let ended = network.run(&Pool::new(1).unwrap());
    assert!(matches!(ended, Err(Error::Deadlock { .. })), "{ended:?}");
    assert!(polls.load(SeqCst) < 1000);
}
