//! The handle that sees a network while it runs and after it has ended, in whatever way that was.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use roving::{Cancel, Pool};
use roving_flow::{Error, In, Network, Out, State, raw};

/// The way in which a process ends.
type End = Box<dyn Fn() -> Result<(), &'static str> + Send>;

/// A network in which `one` sends to `other`, which ends with three messages left in the channel.
fn with_a_rest<'n>(
    network: &mut Network<'n>,
    end: impl Fn() -> Result<(), &'static str> + Send + 'n,
) {
    let full = Arc::new(AtomicBool::new(false));
    let is_full = Arc::clone(&full);
    let (out, input) = network.bounded("bytes", 8);
    network.process("one", out, async move |mut out: Out<u8>| {
        for byte in 0..5 {
            out.send(byte).await.unwrap();
        }
        full.store(true, SeqCst);
    });
    network.try_process("other", input, async move |mut input: In<u8>| {
        while !is_full.load(SeqCst) {
            roving::task::call(async {}).await;
            std::thread::yield_now();
        }
        input.recv().await;
        input.recv().await;
        end()
    });
}

fn check_rest(live: &roving_flow::Live) {
    let report = live.report().expect("it has ended");
    let channel = report.channel(0);
    assert_eq!((channel.messages, channel.received), (5, 2));
    assert_eq!(live.queue("bytes").unwrap().to_string(), "3 of 8");
    assert_eq!(live.to_string(), "bytes: 3 of 8");
    assert_eq!(live.snapshot().processes, [State::Ended; 2]);
    let expected = "bytes: 5, holds 3 of 8";
    assert!(report.to_dot().contains(expected), "{}", report.to_dot());
    assert!(report.to_svg().contains(expected), "{}", report.to_svg());
}

#[test]
fn the_report_is_there_after_an_error_a_panic_and_a_cancel() {
    let pool = Pool::new(2).unwrap();
    let cancelled = Cancel::new();
    let ends: [(&str, End); 3] = [
        ("failed", Box::new(|| Err("not a number"))),
        ("panicked", Box::new(|| panic!("a bad byte"))),
        ("cancelled", {
            let token = cancelled.clone();
            Box::new(move || {
                token.cancel();
                Ok(())
            })
        }),
    ];
    for (name, end) in ends {
        let mut network = Network::new();
        with_a_rest(&mut network, end);
        let live = network.live();
        assert!(live.report().is_none(), "not before it has run");
        let outcome = cancelled.run_partial(|| network.run(&pool)).unwrap();
        match name {
            "failed" => assert!(matches!(outcome, Err(Error::Failed { .. }))),
            "panicked" => assert!(matches!(outcome, Err(Error::Panicked { .. }))),
            // It may have come to its end before it heard of the request.
            _ => assert!(matches!(outcome, Ok(_) | Err(Error::Cancelled))),
        }
        check_rest(&live);
    }
}

#[test]
fn the_picture_of_a_deadlock_shows_the_full_channel() {
    let mut network = Network::new();
    network.channel_limit(4);
    let (to_b, from_a) = network.bounded("full", 4);
    let (to_a, from_b) = network.bounded::<u8>("empty", 4);
    network.process("a", (to_b, from_b), async |ports: (Out<u8>, In<u8>)| {
        let (mut out, input) = ports;
        for byte in 0..9 {
            let _ = out.send(byte).await;
        }
        drop(input);
    });
    network.process("b", (to_a, from_a), async |ports: (Out<u8>, In<u8>)| {
        let (mut out, mut input) = ports;
        while out.send(1).await.is_ok() {}
        input.recv().await;
    });
    let live = network.live();
    let error = network.run(&Pool::new(1).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Full { .. }), "{error}");
    let dot = live.report().unwrap().to_dot();
    assert!(dot.contains("full: 4, holds 4 of 4"), "{dot}");
}

#[test]
fn a_network_that_came_to_its_end_keeps_its_last_figures() {
    let mut network = Network::new();
    let (out, input) = network.unbounded("numbers");
    network.source("source", out, 0..10);
    network.sink("sink", input, |_| {});
    let live = network.live();
    assert!(live.queue("numbers").is_none(), "it does not run yet");
    let report = network.run(&Pool::new(1).unwrap()).unwrap();
    let kept = live.report().unwrap();
    assert_eq!(kept.elapsed, report.elapsed);
    assert_eq!(live.queue("numbers").unwrap().to_string(), "0");
    assert_eq!(live.snapshot().channels[0].received, 10);
}

/// The picture before the start has all parts, those that no process holds, and what was sent into
/// them already.
#[test]
fn a_network_is_drawn_before_it_runs() {
    let mut network = Network::new();
    let (mut out, input) = network.bounded::<u32>("questions", 8);
    let (done, mut results) = network.channel("answers");
    network.stage("square", 2, input, done, |number| number * number);
    out.send_blocking(3).unwrap();
    let before = network.report();
    let names: Vec<String> = before
        .processes()
        .map(|process| process.name.to_string())
        .collect();
    assert_eq!(
        names,
        ["square/0", "square/1", "square/deal", "square/gather"]
    );
    assert_eq!(
        (before.channel(0).messages, before.channel(1).messages),
        (1, 0)
    );
    for picture in [before.to_dot(), before.to_svg()] {
        for name in ["outside", "questions", "answers", "square ×2"] {
            assert!(picture.contains(name), "{name}: {picture}");
        }
    }
    assert!(before.detailed().to_dot().contains("square/deal"));
    drop(out);
    let after = network.run(&Pool::new(2).unwrap()).unwrap();
    assert_eq!(results.recv_blocking(), Some(9));
    let names =
        |report: &roving_flow::Report| report.detailed().to_dot().matches("square/").count();
    assert_eq!(names(&after), names(&before));
}

/// The panic ends the process where it waits, at a channel that is freed with the network.
#[test]
fn a_process_that_a_panic_out_of_the_run_has_dropped_waits_no_more() {
    let mut network = Network::new();
    let (out, input) = network.bounded::<u8>("bytes", 1);
    network.process("waits", input, async |mut input: In<u8>| {
        input.recv().await;
    });
    raw::at_rest(&mut network, || panic::resume_unwind(Box::new("at rest")));
    let live = network.live();
    let ran = panic::catch_unwind(AssertUnwindSafe(|| network.run(&Pool::new(1).unwrap())));
    assert!(ran.is_err(), "the panic goes on");
    drop(out);
    assert_eq!(live.snapshot().processes, [State::Ended]);
}
