//! Ports that a process was given and hands on in a message: who has them is not known, and
//! deadlocks beside processes that go on, who may have any port.

#[path = "common/watched.rs"]
mod watched;

use std::future::{pending, poll_fn};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use roving::Pool;
use roving_flow::{Error, In, Merge, Network, Out};
use watched::watched;

/// The process that has the port does something before it uses it.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    Computes,
    Yields,
    /// It is in a deadlock itself, which a larger channel resolves, and which is found at rest.
    SendsBatch,
}

/// Adds two processes, of which one has waited for room when the channel is closed.
fn waits_for_room(network: &mut Network<'_>) -> In<u32> {
    let (out, input) = network.bounded("full", 1);
    let (last, has_waited) = network.bounded("last", 1);
    network.process(
        "fills",
        (out, last),
        async |(mut out, mut last): (Out<u32>, Out<u32>)| {
            for number in 0..10 {
                out.send(number).await.unwrap();
            }
            last.send(10).await.unwrap();
        },
    );
    network.sink("empties", input, |_| {});
    has_waited
}

async fn yields() {
    for _ in 0..1000 {
        let mut has_yielded = false;
        poll_fn(|context| {
            if std::mem::replace(&mut has_yielded, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

/// A process hands its port to another, and waits for what comes of it.
fn hands_on(meanwhile: Meanwhile) -> Network<'static> {
    let mut network = Network::new();
    let (out, input) = network.bounded("numbers", 1);
    let (doubles, doubled) = network.bounded("doubled", 1);
    network.flat_map("doubles", input, doubles, |number: u32| Some(2 * number));
    let has_waited = waits_for_room(&mut network);
    let (hand, handed) = network.bounded("ports", 1);
    let (batch, batches) = network.bounded("batch", 1);
    let (go, may_go) = network.bounded("go", 1);
    let (silent, silence) = network.bounded("silent", 1);
    type Ports = (In<Out<u32>>, Out<u32>, [Out<u32>; 2]);
    network.process(
        "has it",
        (handed, batch, [go, silent]),
        async move |(mut handed, mut batch, [mut go, _silent]): Ports| {
            let mut out = handed.recv().await.unwrap();
            match meanwhile {
                Meanwhile::Computes => thread::sleep(Duration::from_millis(20)),
                Meanwhile::Yields => yields().await,
                Meanwhile::SendsBatch => {
                    thread::sleep(Duration::from_millis(20));
                    for number in 0..5 {
                        batch.send(number).await.unwrap();
                    }
                }
            }
            go.send(1).await.unwrap();
            out.send(7).await.unwrap();
        },
    );
    network.process(
        "first waits",
        (batches, Merge::new([may_go, silence])),
        async |(mut batches, mut may_go): (In<u32>, Merge<u32>)| {
            assert_eq!(may_go.recv().await, Some((0, 1)));
            while batches.recv().await.is_some() {}
        },
    );
    type First = (Out<u32>, In<u32>, Out<Out<u32>>, In<u32>);
    network.process(
        "hands on",
        (out, doubled, hand, has_waited),
        async move |(out, mut doubled, mut hand, mut has_waited): First| {
            assert_eq!(has_waited.recv().await, Some(10));
            hand.send(out).await.unwrap();
            assert_eq!(doubled.recv().await, Some(14));
        },
    );
    network
}

#[test]
fn a_port_that_was_handed_on_is_in_no_deadlock_while_who_has_it_goes_on() {
    watched(|| {
        for workers in 1..=2 {
            let pool = Pool::new(workers).unwrap();
            for meanwhile in [
                Meanwhile::Computes,
                Meanwhile::Yields,
                Meanwhile::SendsBatch,
            ] {
                let ended = hands_on(meanwhile).run(&pool);
                assert!(ended.is_ok(), "{meanwhile:?}, {workers}: {ended:?}");
            }
        }
    });
}

/// Adds two processes that wait for each other when the channel is closed.
fn waits_in_a_circle(network: &mut Network<'_>, begin: In<u32>, is_full: bool) {
    // More than may lie there.
    let sent = if is_full { 3 } else { 0 };
    let (there, here) = network.bounded("there", 1);
    let (back, forth) = network.bounded("back", 1);
    type One = (Out<u32>, In<u32>, In<u32>);
    network.process(
        "one",
        (there, forth, begin),
        async move |(mut there, mut forth, mut begin): One| {
            while begin.recv().await.is_some() {}
            for _ in 0..sent {
                there.send(1).await.unwrap();
            }
            forth.recv().await;
        },
    );
    type Two = (Out<u32>, In<u32>);
    network.process(
        "two",
        (back, here),
        async move |(mut back, mut here): Two| {
            for _ in 0..sent {
                back.send(1).await.unwrap();
            }
            here.recv().await;
        },
    );
}

/// The rest of a network in which some wait for each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rest {
    Ended,
    Works,
    WaitsForTheOutside,
}

#[test]
fn a_deadlock_beside_others_is_told_when_they_have_come_to_rest() {
    watched(|| {
        for workers in 1..=2 {
            let pool = Pool::new(workers).unwrap();
            for rest in [Rest::Ended, Rest::Works, Rest::WaitsForTheOutside] {
                for is_full in [false, true] {
                    let mut network = Network::new();
                    network.channel_limit(2);
                    let has_waited = waits_for_room(&mut network);
                    waits_in_a_circle(&mut network, has_waited, is_full);
                    let (out, input) = network.bounded::<u32>("work", 1);
                    network.process("works", out, async move |mut out: Out<u32>| {
                        let count = if rest == Rest::Works { 20 } else { 0 };
                        for number in 0..count {
                            thread::sleep(Duration::from_millis(1));
                            out.send(number).await.unwrap();
                        }
                        if rest == Rest::WaitsForTheOutside {
                            pending::<()>().await;
                        }
                    });
                    let live = network.live();
                    network.sink("is done", input, |_| {});
                    let error = network.run(&pool).unwrap_err();
                    let is_told = match is_full {
                        false => matches!(error, Error::Deadlock { .. }),
                        true => matches!(error, Error::Full { .. }),
                    };
                    assert!(is_told, "{rest:?}, {workers}, {is_full}: {error}");
                    if rest == Rest::Works {
                        let snapshot = live.snapshot();
                        let work = snapshot.channels.last().unwrap();
                        assert_eq!(work.received, 20, "{workers}, {is_full}");
                    }
                }
            }
        }
    });
}
