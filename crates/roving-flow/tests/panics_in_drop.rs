//! Messages whose destructors panic.

#[path = "common/watched.rs"]
mod watched;

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use roving::{Pool, task};
use roving_flow::{Error, Network, Out};
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

/// Sends half of what it is to send, and panics, when it is dropped. Its port goes with that, some
/// time before who drops it hears of the panic.
struct Half(Out<u32>, Slow);

struct Slow;

impl Drop for Slow {
    fn drop(&mut self) {
        thread::sleep(Duration::from_millis(10));
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        self.0.try_send(1).unwrap();
        panic::resume_unwind(Box::new("half"));
    }
}

/// Adds the process that drops a message.
type Drops = fn(&mut Network<'static>, Half);

#[test]
fn half_a_stream_of_a_message_that_panics_is_not_the_whole() {
    let at_a_port_that_is_gone: Drops = |network, half| {
        let (mut out, mut input) = network.bounded("messages", 4);
        assert!(out.try_send(None).is_ok());
        assert!(input.try_recv().unwrap().is_none());
        drop(input);
        network.process("drops", (), async move |()| {
            assert!(out.try_send(Some(half)).is_ok());
            pending::<()>().await;
        });
    };
    let with_a_port_that_is_closed_late: Drops = |network, half| {
        let (mut out, input) = network.bounded("messages", 4);
        assert!(out.try_send(half).is_ok());
        network.try_process("drops", (), async move |()| {
            let _kept = out;
            drop(input);
            Ok::<(), Infallible>(())
        });
    };
    let with_its_body: Drops = |network, half| {
        network.process("drops", (), move |()| {
            let mut kept = Some(half);
            // It does not drop what it has before it ends.
            poll_fn(move |_| {
                assert!(kept.as_mut().is_some());
                Poll::Ready(())
            })
        });
    };
    watched(|| {
        for workers in 1..=3 {
            for drops in [
                at_a_port_that_is_gone,
                with_a_port_that_is_closed_late,
                with_its_body,
            ] {
                let has_ended = Arc::new(AtomicUsize::new(0));
                let of = Arc::clone(&has_ended);
                let mut network = Network::new();
                let (out, mut input) = network.bounded("numbers", 4);
                network.process("takes all", (), async move |()| {
                    while input.recv().await.is_some() {}
                    of.store(1, SeqCst);
                });
                drops(&mut network, Half(out, Slow));
                let error = network.run(&Pool::new(workers).unwrap()).unwrap_err();
                assert!(matches!(error, Error::Panicked { process, .. } if process == "drops"));
                assert_eq!(has_ended.load(SeqCst), 0, "that was no end");
            }
        }
    });
}

/// A network that runs while a thread unwinds.
struct RunsInDrop<'a>(&'a Pool, Option<Network<'a>>, &'a mut Option<Error>);

impl Drop for RunsInDrop<'_> {
    fn drop(&mut self) {
        assert!(thread::panicking());
        *self.2 = self.1.take().unwrap().run(self.0).err();
    }
}

/// Runs a network in a process, or on a thread, that unwinds. The workers may be on top of that.
fn while_it_unwinds(build: impl Fn(&mut Network<'_>) + Sync) -> Vec<Option<Error>> {
    let run = |workers| {
        let pool = Pool::new(workers).unwrap();
        let mut error = None;
        let mut network = Network::new();
        build(&mut network);
        let runs = RunsInDrop(&pool, Some(network), &mut error);
        let mut outer = Network::new();
        outer.process("unwinds", (), async move |()| {
            let unwinds = AssertUnwindSafe(|| {
                let _runs = runs;
                panic::resume_unwind(Box::new("caught"));
            });
            let caught: Result<(), _> = panic::catch_unwind(unwinds);
            assert!(caught.is_err());
        });
        outer.run(&pool).unwrap();
        error
    };
    (1..=2).map(run).collect()
}

#[test]
fn a_process_on_top_of_a_panic_ends_its_streams() {
    watched(|| {
        let errors = while_it_unwinds(|network| {
            let (mut out, mut input) = network.bounded::<u32>("numbers", 1);
            let (mut answers, mut answer) = network.bounded("answer", 1);
            network.process("sums", (), async move |()| {
                let mut sum = 0;
                while let Some(number) = input.recv().await {
                    sum += number;
                }
                answers.send(sum).await.unwrap();
            });
            network.process("asks", (), async move |()| {
                out.send(7).await.unwrap();
                drop(out);
                assert_eq!(task::block_on(answer.recv()), Some(7));
            });
        });
        assert!(errors.iter().all(Option::is_none), "{errors:?}");
    });
}

#[test]
fn what_a_message_panics_with_on_top_of_a_panic_is_told() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    watched(|| {
        let errors = while_it_unwinds(|network| {
            let (mut out, mut input) = network.bounded("messages", 4);
            let message = |panics| Message {
                panics,
                dropped: &DROPPED,
            };
            assert!(out.try_send(message(false)).is_ok());
            drop(input.try_recv());
            drop(input);
            let (mut other, others) = network.bounded::<u32>("others", 4);
            network.process("sends", (), async move |()| {
                let _kept = others;
                assert!(out.try_send(message(true)).is_ok());
                other.try_send(1).unwrap();
            });
        });
        let is_told = |error: &Option<Error>| matches!(error, Some(Error::Panicked { .. }));
        assert!(errors.iter().all(is_told), "{errors:?}");
    });
}
