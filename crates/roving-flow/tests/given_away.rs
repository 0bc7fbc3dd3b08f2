//! Ports that a process gives away, and waits of a process within its own turn.

#[path = "common/watched.rs"]
mod watched;

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::thread;

use roving::{Pool, task};
use roving_flow::{Error, In, Network, Out};
use watched::watched;

/// Polls for a message once, and gives the wait up, as a `select` does whose other arm is ready.
async fn look(port: &mut In<u32>) {
    poll_fn(|context| {
        assert!(pin!(port.recv()).poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

/// It waits for something else in the turn in which it gives the port to another process, which
/// waits there when that comes.
#[test]
fn a_port_that_was_looked_at_and_given_away_in_one_turn_wakes_who_has_it() {
    watched(|| {
        for workers in 1..=2 {
            let pool = Pool::new(workers).unwrap();
            let mut network = Network::new();
            let (seven, port) = network.bounded("sevens", 1);
            let (hand_over, ports) = network.bounded("ports", 1);
            let (go_on, told) = network.bounded("go on", 1);
            let (waits, waiting) = network.bounded("waits", 1);
            type First = (In<u32>, Out<In<u32>>, In<()>, Out<u32>);
            network.process(
                "first",
                (port, hand_over, told, seven),
                async |(mut port, mut hand_over, mut told, mut seven): First| {
                    look(&mut port).await;
                    hand_over.send(port).await.unwrap();
                    assert_eq!(told.recv().await, Some(()));
                    seven.send(7).await.unwrap();
                },
            );
            network.process(
                "second",
                (ports, waits),
                async |(mut ports, mut waits): (In<In<u32>>, Out<()>)| {
                    let mut port = ports.recv().await.unwrap();
                    waits.send(()).await.unwrap();
                    assert_eq!(port.recv().await, Some(7));
                },
            );
            network.process(
                "third",
                (waiting, go_on),
                async |(mut waiting, mut go_on): (In<()>, Out<()>)| {
                    assert_eq!(waiting.recv().await, Some(()));
                    go_on.send(()).await.unwrap();
                },
            );
            network.run(&pool).unwrap();
        }
    });
}

/// Else the process would wait for ever, and with it the network for its end.
#[test]
fn a_process_that_waits_within_its_turn_ends_with_a_network_that_fails() {
    watched(|| {
        for workers in 1..=2 {
            let pool = Pool::new(workers).unwrap();
            let mut network = Network::new();
            let (out, mut input) = network.bounded::<u32>("numbers", 1);
            let (mut waits, waiting) = network.bounded("waits", 1);
            network.process("waits", (), async move |()| {
                task::block_on(async {
                    waits.send(()).await.unwrap();
                    let got = input.recv().await;
                    panic!("{got:?} is taken for the end of the stream");
                });
            });
            network.process("fails", (out, waiting), async |(_out, mut waiting)| {
                assert_eq!(waiting.recv().await, Some(()));
                panic!("it fails");
            });
            let Err(Error::Panicked { process, .. }) = network.run(&pool) else {
                panic!("it must fail");
            };
            assert_eq!(process, "fails");
        }
    });
}

/// Else a thread outside that waits for a port of the second would wait for ever.
#[test]
fn a_process_that_panics_when_it_is_dropped_unbegun_keeps_no_other_from_it() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    watched(|| {
        let mut network = Network::new();
        let (bomb, (out, mut input)) = (Bomb, network.bounded::<u32>("numbers", 1));
        network.process("first", (), async move |()| drop(bomb));
        network.process("second", out, async |out| drop(out));
        let outside = thread::spawn(move || input.recv_blocking());
        let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(network)));
        assert_eq!(*dropped.unwrap_err().downcast::<&str>().unwrap(), "dropped");
        assert_eq!(outside.join().unwrap(), None);
    });
}
