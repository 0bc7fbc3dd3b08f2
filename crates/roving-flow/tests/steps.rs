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
        error.starts_with("`pack` makes batches of 0 messages"),
        "{error}"
    );
}

#[test]
fn several_sources_take_turns_and_any_may_end_first() {
    for pool in pools() {
        let mut got = Vec::new();
        let mut network = Network::new();
        let (out, numbers) = network.bounded("numbers", 1);
        network.sources("read", out, [0..5, 10..10, 20..22, 30..31]);
        network.collect_into("sink", numbers, &mut got);
        network.closed();
        let report = network.run(&pool).unwrap();
        assert_eq!(got, [0, 20, 30, 1, 21, 2, 3, 4]);
        assert!(report.deterministic);
    }
}

#[test]
fn several_sources_that_do_not_wait_for_each_other() {
    // An iterator that blocks its worker needs another.
    for pool in pools().filter(|pool| pool.workers() > 1) {
        let (asks, asked) = std::sync::mpsc::channel::<u32>();
        let mut got = Vec::new();
        let mut network = Network::new();
        let (out, numbers) = network.bounded("numbers", 1);
        // The first has nothing until the second has been heard.
        let slow: Box<dyn Iterator<Item = u32> + Send> = Box::new(asked.into_iter().take(1));
        let quick = Box::new((0..100_u32).chain(std::iter::once(500)));
        network.sources_unordered("read", out, [quick as Box<_>, slow]);
        let into = &mut got;
        network.sink("sink", numbers, move |number| {
            into.push(number);
            if number == 99 {
                asks.send(1000).unwrap();
            }
        });
        let report = network.run(&pool).unwrap();
        got.retain(|number| *number != 1000);
        assert!(got.into_iter().eq((0..100).chain([500])));
        assert!(!report.deterministic);
    }
}

#[test]
fn sources_end_when_nobody_wants_their_items() {
    for pool in pools() {
        for unordered in [false, true] {
            let mut network = Network::new();
            let (out, numbers) = network.bounded("numbers", 1);
            match unordered {
                true => network.sources_unordered("read", out, [0_u64.., 5..]),
                false => network.sources("read", out, [0_u64.., 5..]),
            }
            take(&mut network, 3, numbers);
            network.run(&pool).unwrap();
        }
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u32>("nothing");
        network.sources("read", out, [0..0; 0]);
        network.sink("sink", numbers, |_| unreachable!());
        network.run(&pool).unwrap();
    }
}

/// Stages in groups, beside plain processes, with an opening: one node each, no inner channel.
#[test]
fn a_stage_is_one_thing_in_pictures_and_counts() {
    let build = |network: &mut Network<'_>, held: &mut Option<Out<u32>>| {
        let (out, numbers) = network.channel("numbers");
        let (doubled, doubles) = network.channel("doubles");
        let (late, shown) = network.channel("shown");
        let (extra, extras) = network.channel("extras");
        network.sources("count", out, [0..50_u32, 50..100]);
        network.group("inner", |network| {
            network.stage("double", 3, numbers, doubled, |number| number * 2);
            network.stage_unordered("show", 2, doubles, late, |number: u32| number + 1);
        });
        network.sink("sink", shown, |_| {});
        network.sink("extra", extras, |_| {});
        *held = Some(extra);
    };
    let mut held = None;
    let mut network = Network::new();
    network.accounting(true);
    build(&mut network, &mut held);
    let before = network.report();
    let live = network.live();
    drop(held);
    let report = network.run(&Pool::new(2).unwrap()).unwrap();

    let names: Vec<String> = report.stages().map(|stage| stage.to_string()).collect();
    assert_eq!(names, ["count ×2", "inner/double ×3", "inner/show ×2"]);
    for picture in [
        before.to_dot(),
        report.to_dot(),
        before.to_svg(),
        report.to_svg(),
    ] {
        for name in &names {
            assert_eq!(picture.matches(name.as_str()).count(), 1, "{picture}");
        }
        for hidden in ["deal", "gather", "double/0", "to 1", "from 0", "/order"] {
            assert!(!picture.contains(hidden), "{hidden}: {picture}");
        }
        for shown in ["numbers", "doubles", "shown", "sink"] {
            assert!(picture.contains(shown), "{shown}: {picture}");
        }
    }
    // Four processes and stages stand in a row, and `extra` by itself.
    let dot = report.to_dot();
    for edge in ["p0 -> p1", "p1 -> p2", "p2 -> p3"] {
        assert!(dot.contains(edge), "{edge}: {dot}");
    }
    let whole = report.detailed().to_dot();
    for inner in ["inner/double/deal", "inner/show/gather", "count/from 1: 50"] {
        assert!(whole.contains(inner), "{inner}: {whole}");
    }
    for stage in report.stages() {
        let all: std::time::Duration = stage
            .processes
            .map(|process| report.process(process).account.unwrap().busy)
            .sum();
        assert_eq!(stage.account.unwrap().busy, all);
    }
    let text = live.to_string();
    let lines: Vec<&str> = text.lines().collect();
    let shown = ["numbers", "doubles", "shown", "extras"].map(|name| format!("{name}: 0 of 64"));
    assert_eq!(lines, shown);
}
