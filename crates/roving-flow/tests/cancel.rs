//! Networks that belong to a token, and what their processes inherit.

#[path = "common/watched.rs"]
mod watched;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use roving::{Cancel, CancelledError, Pool, context};
use roving_flow::{Error, In, Network, Out, Placement};
use watched::watched;

/// A pipeline without end. Each number that is under way holds an `Arc` of `held`.
fn endless<'env>(network: &mut Network<'env>, held: &Arc<()>, got: &'env AtomicUsize) {
    let (mut out, input) = network.channel("numbers");
    let held = Arc::clone(held);
    network.process("source", (), async move |()| {
        while out.send(Arc::clone(&held)).await.is_ok() {}
    });
    let (more, last) = network.channel("more");
    let ports = (input, more);
    network.process(
        "pass",
        ports,
        async |(mut input, mut out): (In<_>, Out<_>)| {
            while let Some(message) = input.recv().await {
                if out.send(message).await.is_err() {
                    break;
                }
            }
        },
    );
    network.sink("sink", last, move |_| {
        got.fetch_add(1, SeqCst);
    });
}

#[test]
fn a_network_ends_with_its_token_wherever_it_is() {
    watched(|| {
        for workers in 1..=4 {
            let pool = Pool::new(workers).unwrap();
            for round in 0..if cfg!(miri) { 3 } else { 40 } {
                let (held, got) = (Arc::new(()), AtomicUsize::new(0));
                let token = Cancel::new();
                let below = token.child();
                let outcome = thread::scope(|threads| {
                    threads.spawn(|| {
                        while got.load(SeqCst) < round * 20 {
                            thread::yield_now();
                        }
                        token.cancel();
                    });
                    below.run(|| {
                        let mut network = Network::new();
                        if round % 2 == 1 {
                            network.placement(Placement::partitioned());
                        }
                        endless(&mut network, &held, &got);
                        network.run(&pool)
                    })
                });
                // Either before it began or while it ran; nothing else is named.
                assert!(matches!(
                    outcome,
                    Err(CancelledError) | Ok(Err(Error::Cancelled))
                ));
                assert_eq!(Arc::strong_count(&held), 1, "nothing is left of it");
            }
        }
    });
}

#[test]
fn processes_that_wait_for_ever_are_woken_by_a_deadline() {
    watched(|| {
        let pool = Pool::new(2).unwrap();
        let token = Cancel::after(Duration::from_millis(2));
        let outcome = token.run(|| {
            let mut network = Network::new();
            network.process("outside", (), async |()| pending().await);
            let (out, input) = network.channel::<u8>("never");
            network.process("holder", out, async |out: Out<u8>| {
                pending::<()>().await;
                drop(out);
            });
            network.sink("waits", input, |_| {});
            network.run(&pool)
        });
        assert!(matches!(
            outcome,
            Err(CancelledError) | Ok(Err(Error::Cancelled))
        ));
        assert!(token.is_cancelled());
    });
}

/// Processes await what is dropped because of the token; that is no failure of theirs.
#[test]
fn no_process_is_named_when_what_it_awaits_is_cancelled() {
    watched(|| {
        let pool = Pool::new(3).unwrap();
        for round in 0..if cfg!(miri) { 4 } else { 60 } {
            let token = Cancel::new();
            let stops = token.clone();
            let outcome = token.run_partial(|| {
                let mut network = Network::new();
                for name in ["unwinds", "also unwinds"] {
                    network.process(name, (), async |()| {
                        loop {
                            let child = roving::task::spawn(async {});
                            child.await;
                            let child = roving::task::fork(async {}).await;
                            child.await;
                        }
                    });
                }
                network.try_process("returns", (), async |()| {
                    loop {
                        roving::task::spawn(async {}).or_cancelled().await?;
                    }
                    #[expect(unreachable_code, reason = "says what the error is")]
                    Ok::<(), CancelledError>(())
                });
                network.process("stops", (), async move |()| {
                    for _ in 0..round {
                        roving::task::call(async {}).await;
                    }
                    stops.cancel();
                });
                network.run(&pool)
            });
            assert!(matches!(outcome, Ok(Err(Error::Cancelled))), "{outcome:?}");
        }
    });
}

#[test]
fn processes_inherit_the_context_of_the_run() {
    watched(|| {
        for placement in [Placement::Stealing, Placement::partitioned()] {
            let pool = Pool::new(3).unwrap();
            let mut seen = Vec::new();
            let mut network = Network::new();
            network.placement(placement);
            let results = network.channel("results");
            let (out, input) = network.channel("numbers");
            network.source("source", out, 0..100);
            let ports = (input, results.0);
            network.process(
                "look",
                ports,
                async |(mut input, mut out): (In<i32>, Out<_>)| {
                    while input.recv().await.is_some() {
                        let both = roving::join(context::get::<u8>, context::get::<u8>);
                        out.send(both).await.unwrap();
                    }
                },
            );
            network.collect_into("sink", results.1, &mut seen);
            context::with(7_u8, || network.run(&pool)).unwrap();
            assert_eq!(seen, vec![(Some(7), Some(7)); 100]);
            assert_eq!(pool.install(context::get::<u8>), None);
        }
    });
}

#[test]
fn a_network_that_has_ended_is_not_concerned() {
    let pool = Pool::new(1).unwrap();
    let token = Cancel::new();
    let report = token.run(|| Network::new().run(&pool)).unwrap();
    token.cancel();
    assert!(report.is_ok());
    let refused = token.run(|| Network::new().run(&pool));
    assert!(matches!(refused, Err(CancelledError)));
}

/// Who moves the messages of a network is to see it end, as the processes are.
#[test]
fn what_runs_beside_a_cancelled_network_begins() {
    watched(|| {
        for workers in [1, 3] {
            let pool = Pool::new(workers).unwrap();
            let begun = AtomicUsize::new(0);
            let token = Cancel::new();
            let outcome = token.run_partial(|| {
                let mut network = Network::new();
                network.process("waits", (), async |()| pending().await);
                roving_flow::raw::beside(&mut network, async {
                    begun.fetch_add(1, SeqCst);
                });
                token.cancel();
                network.run(&pool)
            });
            assert!(matches!(outcome, Ok(Err(Error::Cancelled))));
            assert_eq!(begun.into_inner(), 1);
        }
    });
}
