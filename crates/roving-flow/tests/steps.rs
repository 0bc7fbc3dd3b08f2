//! Filters, batches, broadcasts, pairs, and stages that fail or await, where ends, errors and
//! cancellation meet them.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use roving::{Cancel, Pool};
use roving_flow::{Error, In, Network, Out};

fn pools() -> impl Iterator<Item = Pool> {
    [1, 2, 4]
        .into_iter()
        .map(|workers| Pool::new(workers).unwrap())
}

/// Takes so many messages and drops its port.
fn take<T: Send + 'static>(network: &mut Network<'_>, count: usize, input: In<T>) {
    network.process("take", input, move |mut input: In<T>| async move {
        for _ in 0..count {
            input.recv().await;
        }
    });
}

#[test]
fn a_chain_of_all_steps_comes_to_what_iterators_come_to() {
    for pool in pools() {
        let (mut got, mut count) = (Vec::new(), 0);
        let mut network = Network::new();
        let (out, numbers) = network.bounded("numbers", 2);
        let (odd, odds) = network.bounded("odds", 1);
        let (twice, pairs) = network.bounded("twice", 3);
        let (packed, packs) = network.bounded("packed", 1);
        let (to_zip, zipped) = network.bounded("to zip", 1);
        let (to_count, counted) = network.bounded("to count", 1);
        let (joined, both) = network.bounded("both", 1);
        let (numbered, order) = network.bounded("order", 1);
        network.source("source", out, 0..1000_u32);
        network.filter("odd", numbers, odd, |number| number % 2 == 1);
        network.flat_map("twice", odds, twice, |number| [number, number]);
        network.batch("pack", 7, pairs, packed);
        network.broadcast("both", packs, [to_zip, to_count]);
        network.source("order", numbered, 0_usize..);
        network.zip("zip", order, zipped, joined);
        network.collect_into("sink", both, &mut got);
        network.sink("count", counted, |pack: Vec<u32>| count += pack.len());
        network.closed();
        network.run(&pool).unwrap();

        let all: Vec<u32> = (0..1000)
            .filter(|n| n % 2 == 1)
            .flat_map(|n| [n, n])
            .collect();
        let packs: Vec<_> = all.chunks(7).map(<[u32]>::to_vec).enumerate().collect();
        assert_eq!(got, packs);
        assert_eq!(count, all.len());
    }
}

#[test]
fn a_receiver_that_goes_ends_endless_steps() {
    for pool in pools() {
        for step in 0..5 {
            let mut network = Network::new();
            let (out, input) = network.channel("endless");
            network.source("source", out, 0_u64..);
            match step {
                0 => {
                    let (kept, rest) = network.bounded("kept", 1);
                    network.filter("step", input, kept, |_| true);
                    take(&mut network, 3, rest);
                }
                1 => {
                    let (made, rest) = network.bounded("made", 1);
                    network.flat_map("step", input, made, |n| n..);
                    take(&mut network, 3, rest);
                }
                2 => {
                    let (packed, rest) = network.bounded("packed", 1);
                    network.batch("step", 3, input, packed);
                    take(&mut network, 3, rest);
                }
                3 => {
                    let (one, rest) = network.bounded("one", 1);
                    let (other, others) = network.bounded("other", 1);
                    network.broadcast("step", input, [one, other]);
                    take(&mut network, 3, rest);
                    take(&mut network, 30, others);
                }
                _ => {
                    let (more, second) = network.bounded("more", 1);
                    let (paired, rest) = network.bounded("paired", 1);
                    network.source("second", more, 0_u64..);
                    network.zip("step", input, second, paired);
                    take(&mut network, 3, rest);
                }
            }
            network.run(&pool).unwrap();
        }
    }
}

/// The first error of a stage ends the network, whoever is busy elsewhere, and what was sent on
/// before it is a beginning of the right results.
#[test]
fn an_error_in_a_stage_ends_an_endless_network() {
    for pool in pools() {
        for k in [1, 3] {
            let got = Arc::new(Mutex::new(Vec::new()));
            let into = Arc::clone(&got);
            let mut network = Network::new();
            let (out, input) = network.channel("endless");
            let (done, results) = network.channel("results");
            network.source("source", out, 0_u32..);
            network.try_stage("half", k, input, done, |number| match number {
                0..100 => Ok(number / 2),
                _ => Err(format!("{number} is too much")),
            });
            network.sink("sink", results, move |number| {
                into.lock().unwrap().push(number)
            });
            let Err(Error::Failed { process, error }) = network.run(&pool) else {
                panic!("it goes on for ever otherwise");
            };
            assert!(process.starts_with("half/"), "{process}");
            assert!(error.to_string().ends_with(" is too much"), "{error}");
            let got = got.lock().unwrap();
            assert!(got.len() <= 100 && (0..).zip(&*got).all(|(n, half)| n / 2 == *half));
        }
    }
}

/// Futures of a stage that wait are dropped where the network is cancelled, each once.
#[test]
fn a_stage_that_awaits_is_cancelled_while_it_waits() {
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    for pool in pools() {
        let (cancel, begun) = (Cancel::new(), AtomicUsize::new(0));
        let dropped = Arc::new(AtomicUsize::new(0));
        let ended = cancel.run(|| {
            let mut network = Network::new();
            let (out, input) = network.channel("numbers");
            let (done, results) = network.channel("results");
            network.source("source", out, 0..10_u32);
            let (cancel, begun, dropped) = (&cancel, &begun, &dropped);
            network.stage_async("wait", 2, input, done, async move |_: u32| {
                let _counts = Counts(Arc::clone(dropped));
                if begun.fetch_add(1, SeqCst) == 1 {
                    cancel.cancel();
                }
                std::future::poll_fn(|_| Poll::<()>::Pending).await;
            });
            network.sink("sink", results, |()| unreachable!("none is over"));
            let outcome = network.run(&pool);
            assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
        });
        assert!(ended.is_err());
        let begun = begun.load(SeqCst);
        assert!((2..=2).contains(&begun), "{begun}");
        assert_eq!(dropped.load(SeqCst), begun);
    }
}

#[test]
fn a_panic_in_a_step_names_it() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    let (out, input) = network.channel("numbers");
    let (kept, rest) = network.channel("kept");
    network.source("source", out, 0..);
    network.filter("seven", input, kept, |number| {
        assert_ne!(*number, 7);
        true
    });
    network.sink("sink", rest, |_| {});
    let error = network.run(&pool).unwrap_err();
    assert!(
        matches!(&error, Error::Panicked { process, .. } if process == "seven"),
        "{error}"
    );
}

#[test]
fn batches_of_nothing_are_refused() {
    let mut network = Network::new();
    let (out, input): (Out<u32>, _) = network.channel("numbers");
    let (packed, packs) = network.channel("packs");
    network.source("source", out, 0..3);
    network.batch("pack", 0, input, packed);
    network.sink("sink", packs, |_| {});
    let error = network.run(&Pool::new(1).unwrap()).unwrap_err().to_string();
    assert!(
        error.contains("`pack` makes batches of 0 messages"),
        "{error}"
    );
}
