//! Checkpoints of networks in which a consumer drops its port early, and its producer goes on in
//! another way when it learns of that: a run that resumes continues one run, and mixes no two.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use common::{directory, pause, watched};
use roving::Pool;
use roving_dist::{Checkpoints, Network, NetworkError, World};
use roving_flow::{In, Out};

/// Longer than any of these takes.
const MOST: Duration = Duration::from_secs(120);

/// The number with which the first consumer has enough.
const ENOUGH: u64 = 2000;
/// Numbers that may lie before it.
const WAITING: usize = 100;

/// The order of events in a run.
#[derive(Default)]
struct Order {
    /// The producer sends nothing more before it may know that its consumer is gone. Else it has
    /// sent a good many before that.
    is_late: bool,
    sent: AtomicU64,
    is_gone: AtomicBool,
    /// Numbers that have come to the second consumer.
    others: AtomicU64,
    /// One of these did not follow the one before.
    is_mixed: AtomicBool,
}

/// Adds a producer that sends numbers to a first consumer until that is gone, and the others to a
/// second one, for which these are in a row. The second one is in its first step until then.
fn numbers<'env>(network: &mut Network<'env>, checkpoints: &Checkpoints, order: &'env Order) {
    let (first_out, first) = network.bounded::<u64>("first", WAITING);
    let (second_out, second) = network.bounded::<u64>("second", 1);
    let ports = (first_out, second_out);
    network.movable("producer", ports, 0, move |at: u64, ports| async move {
        let (mut first, mut second): (Out<u64>, Out<u64>) = ports;
        while order.is_late && at == ENOUGH + 1 && !order.is_gone.load(SeqCst) {
            pause().await;
        }
        if first.send(at).await.is_err() {
            second.send(at).await.ok()?;
        }
        order.sent.store(at, SeqCst);
        Some((at + 1, (first, second)))
    });
    network.movable("first", Some(first), (), move |(), mut first| async move {
        pause().await;
        let Some(port) = &mut first else {
            return Some(((), first));
        };
        let number = port.recv().await?;
        if number == ENOUGH / 2 {
            // Time for a checkpoint to begin.
            thread::sleep(Duration::from_millis(200));
        }
        if number == ENOUGH {
            let is_early = || order.sent.load(SeqCst) < ENOUGH + WAITING as u64 / 4;
            while !order.is_late && is_early() {
                pause().await;
            }
            first = None;
            order.is_gone.store(true, SeqCst);
        }
        Some(((), first))
    });
    let (canceller, checkpoints) = (network.canceller(), checkpoints.clone());
    network.movable(
        "second",
        second,
        None,
        move |next: Option<u64>, mut second: In<u64>| {
            if order.others.load(SeqCst) > 2 && checkpoints.is_there() {
                canceller.cancel();
            }
            async move {
                let number = second.recv().await?;
                if next.is_some_and(|next| next != number) {
                    order.is_mixed.store(true, SeqCst);
                }
                order.others.fetch_add(1, SeqCst);
                // Slower than the producer, of which it is not ahead then.
                for _ in 0..20 {
                    pause().await;
                }
                Some((Some(number + 1), second))
            }
        },
    );
    network.pin("producer", 0);
}

/// A producer is recorded, learns that its consumer is gone, and sends to another process what it
/// would not have sent else, before that is recorded. A run that resumes may let it learn of that
/// at another moment.
#[test]
fn a_consumer_that_leaves_when_both_are_recorded_delays_the_cut_to_the_next() {
    watched(MOST, || {
        for ranks in [1, 2, 3] {
            let directory = directory("network-gone");
            let checkpoints = Checkpoints::to(&directory)
                .every(Duration::from_millis(1))
                .resume(true);
            for is_late in [false, true] {
                let order = Order {
                    is_late,
                    ..Order::default()
                };
                let ended = World::threads(ranks, |world| {
                    let mut network = Network::new(&world);
                    network.checkpoints(checkpoints.clone());
                    numbers(&mut network, &checkpoints, &order);
                    network.run(&Pool::new(1).unwrap()).map(drop)
                });
                let error = ended[0].clone().unwrap_err();
                assert!(matches!(error, NetworkError::Cancelled { .. }), "{error}");
                assert!(
                    !order.is_mixed.into_inner(),
                    "{ranks} ranks: the second consumer has had numbers of two runs"
                );
            }
        }
    });
}
