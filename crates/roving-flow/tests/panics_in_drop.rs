//! Messages whose destructors panic.

#[path = "common/watched.rs"]
mod watched;

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use roving::Pool;
use roving_flow::{Error, Network};
use watched::watched;

/// Panics when it is dropped, if it is the one.
struct Message<'a> {
    panics: bool,
    dropped: &'a AtomicUsize,
}

impl Drop for Message<'_> {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, SeqCst);
        if self.panics {
            panic::resume_unwind(Box::new("a message"));
        }
    }
}

/// The port that drops them is gone all the same: who sends hears of it, and the other messages are
/// dropped too.
#[test]
fn a_port_whose_messages_panic_is_closed_all_the_same() {
    watched(|| {
        let (made, dropped) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut network = Network::new();
        let (out, input) = network.bounded("messages", 4);
        network.process("source", out, async |mut out| {
            loop {
                let message = Message {
                    panics: made.fetch_add(1, SeqCst) == 1,
                    dropped: &dropped,
                };
                if out.send(message).await.is_err() {
                    break;
                }
            }
        });
        thread::scope(|threads| {
            threads.spawn(|| {
                while made.load(SeqCst) < 5 {
                    thread::yield_now();
                }
                let caught = panic::catch_unwind(AssertUnwindSafe(|| drop(input)));
                assert!(caught.is_err(), "the panic goes on");
            });
            network.run(&Pool::new(1).unwrap()).unwrap();
        });
        assert_eq!(made.load(SeqCst), dropped.load(SeqCst));
    });
}

/// Messages that lie in a channel when both ends are gone.
#[test]
fn the_messages_beside_one_that_panics_are_dropped() {
    watched(|| {
        for panics in 0..6 {
            let (made, dropped) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let mut network = Network::new();
            let (out, input) = network.bounded("messages", 8);
            network.process("source", out, async |mut out| {
                for _ in 0..6 {
                    let message = Message {
                        panics: made.fetch_add(1, SeqCst) == panics,
                        dropped: &dropped,
                    };
                    let _ = out.send(message).await;
                }
            });
            network.process("sink", input, async |mut input| drop(input.recv().await));
            let result = network.run(&Pool::new(1).unwrap());
            let heard = matches!(&result, Err(Error::Panicked { .. }));
            assert!(heard || made.load(SeqCst) <= panics, "{result:?}");
            assert_eq!(made.load(SeqCst), dropped.load(SeqCst), "message {panics}");
        }
    });
}

/// Ports that are closed when it is known whether their process has failed.
#[test]
fn ports_beside_one_whose_messages_panic_are_closed() {
    watched(|| {
        for fails in [false, true] {
            let dropped = AtomicUsize::new(0);
            let mut network = Network::new();
            let (out, input) = network.bounded("messages", 4);
            let (ready, is_ready) = network.channel("ready");
            network.process("source", (out, ready), async |(mut out, mut ready)| {
                for panics in [true, false] {
                    let message = Message {
                        panics,
                        dropped: &dropped,
                    };
                    assert!(out.send(message).await.is_ok());
                }
                drop(out);
                ready.send(()).await.unwrap();
            });
            let (beside, rest) = network.channel::<u8>("beside");
            let ports = (input, is_ready, beside);
            network.try_process(
                "fails",
                ports,
                async move |(_input, mut is_ready, _beside)| {
                    is_ready.recv().await;
                    if fails { Err("an error") } else { Ok(()) }
                },
            );
            network.sink("sink", rest, |_| {});
            let result = network.run(&Pool::new(1).unwrap());
            match &result {
                Err(Error::Failed { .. }) => assert!(fails),
                Err(Error::Panicked { .. }) => {}
                _ => panic!("{result:?}"),
            }
            assert_eq!(dropped.into_inner(), 2);
        }
    });
}
