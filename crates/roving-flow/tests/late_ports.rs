//! Ports that a process drops before it waits within its turn, where it may yet fail.

#[path = "common/executor.rs"]
mod executor;
#[path = "common/watched.rs"]
mod watched;

use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use executor::block_on;
use roving::{Pool, task};
use roving_flow::{Error, In, Network, Out, TryRecvError};
use watched::watched;

/// Adds a process that may return an error.
fn may_fail(network: &mut Network<'_>, body: impl FnOnce() + Send + 'static) {
    network.try_process("may fail", (), async move |()| {
        body();
        Ok::<(), fmt::Error>(())
    });
}

/// On each number of workers.
fn on_pools(test: impl Fn(&Pool)) {
    watched(|| (1..=2).for_each(|workers| test(&Pool::new(workers).unwrap())));
}

/// Answers with the sum of a stream.
fn sums(network: &mut Network<'_>, input: In<u32>) -> In<u32> {
    let (answers, answer) = network.bounded("answer", 1);
    network.process(
        "sums",
        (input, answers),
        async |(mut input, mut answers): (In<u32>, Out<u32>)| {
            let mut sum = 0;
            while let Some(number) = input.recv().await {
                sum += number;
            }
            answers.send(sum).await.unwrap();
        },
    );
    answer
}

fn asks(pool: &Pool, waits: fn(&mut In<u32>) -> Option<u32>) {
    let mut network = Network::new();
    let (mut out, input) = network.bounded("numbers", 1);
    let mut answer = sums(&mut network, input);
    may_fail(&mut network, move || {
        out.try_send(7).unwrap();
        drop(out);
        assert_eq!(waits(&mut answer), Some(7));
    });
    network.run(pool).unwrap();
}

#[test]
fn a_process_that_may_fail_has_closed_its_port_when_it_waits_for_an_answer() {
    on_pools(|pool| asks(pool, |answer| task::block_on(answer.recv())));
}

#[test]
fn a_process_that_may_fail_has_closed_its_port_when_it_waits_by_another_executor() {
    on_pools(|pool| asks(pool, |answer| roving::blocking(|| block_on(answer.recv()))));
    // Without `blocking`, another worker has to be there.
    watched(|| asks(&Pool::new(2).unwrap(), |answer| block_on(answer.recv())));
}

/// Takes all of a stream.
async fn takes_all(mut input: In<u32>) {
    assert_eq!(input.recv().await, Some(7));
    assert_eq!(input.recv().await, None);
}

/// Both ends are in a process that may fail.
fn passes_to_itself(pool: &Pool, passes: fn(Out<u32>, In<u32>)) {
    let mut network = Network::new();
    let (out, input) = network.bounded("numbers", 1);
    may_fail(&mut network, move || passes(out, input));
    network.run(pool).unwrap();
}

#[test]
fn a_closure_of_a_process_that_may_fail_closes_its_port() {
    let passes = |mut out: Out<u32>, input| {
        let sends = move || out.try_send(7).unwrap();
        roving::join(sends, || task::block_on(takes_all(input)));
    };
    on_pools(|pool| passes_to_itself(pool, passes));
}

#[test]
fn a_task_of_a_process_that_may_fail_closes_its_port() {
    let passes = |mut out: Out<u32>, input| {
        task::scope(async |scope| {
            let sends = scope.spawn(async move { out.send(7).await.unwrap() });
            takes_all(input).await;
            sends.await;
        });
    };
    on_pools(|pool| passes_to_itself(pool, passes));
}

/// Another task of the process waits for what comes of the panic.
#[test]
fn a_task_of_a_process_that_panics_closes_its_port() {
    on_pools(|pool| {
        let mut network = Network::new();
        let (mut out, input) = network.bounded("numbers", 1);
        network.process("first", (), async move |()| {
            task::scope(async |scope| {
                let panics = scope.spawn(async move {
                    out.send(7).await.unwrap();
                    panic!("a task");
                });
                takes_all(input).await;
                let () = panics.await;
            });
        });
        let failed = network.run(pool).unwrap_err();
        assert!(matches!(failed, Error::Panicked { process, .. } if process == "first"));
    });
}

/// As `recv`, by asking again and again, and letting others run in between.
async fn asks_for(input: &mut In<u32>) -> Option<u32> {
    poll_fn(|context| match input.try_recv() {
        Ok(number) => Poll::Ready(Some(number)),
        Err(TryRecvError::Closed) => Poll::Ready(None),
        Err(TryRecvError::Empty | TryRecvError::Stopped) => {
            thread::yield_now();
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

/// A process drops its port in a panic, and waits for a task of its own before it goes on with
/// that, or ends well. Another one waits for the end, or asks for it.
fn waits_in_a_panic(pool: &Pool, fails: bool, asks: bool) {
    let mut network = Network::new();
    let (mut out, input) = network.bounded("numbers", 1);
    let (mut go_on, mut going_on) = network.bounded::<()>("go on", 1);
    let mut sum = 0;
    network.process("first", (), async move |()| {
        let scope = AssertUnwindSafe(|| {
            task::scope(async |scope| {
                scope.spawn(async move { assert_eq!(going_on.recv().await, Some(())) });
                out.try_send(7).unwrap();
                let _out = { out };
                panic!("with the port");
            });
        });
        let panicked = catch_unwind(scope);
        assert!(!fails && panicked.is_err(), "with the port");
    });
    network.process("second", (), async move |()| {
        // The first one waits, as far as time can say so.
        roving::blocking(|| thread::sleep(Duration::from_millis(20)));
        go_on.send(()).await.unwrap();
    });
    let of = &mut sum;
    network.process("third", input, async move |mut input: In<u32>| {
        while let Some(number) = match asks {
            true => asks_for(&mut input).await,
            false => input.recv().await,
        } {
            *of += number;
        }
        *of += 100;
    });
    let failed = network.run(pool).is_err();
    assert_eq!(failed, fails);
    match fails {
        true => assert!(sum < 100, "half a stream was taken for the whole"),
        false => assert_eq!(sum, 107),
    }
}

#[test]
fn a_process_that_waits_in_a_panic_ends_no_stream() {
    on_pools(|pool| waits_in_a_panic(pool, true, false));
}

#[test]
fn a_process_that_waits_in_a_panic_and_goes_on_ends_its_stream() {
    on_pools(|pool| waits_in_a_panic(pool, false, false));
}

#[test]
fn half_a_stream_is_not_the_whole_for_who_asks() {
    on_pools(|pool| {
        for fails in [false, true] {
            waits_in_a_panic(pool, fails, true);
        }
        let mut network = Network::new();
        let (mut out, mut input) = network.bounded("numbers", 1);
        network.try_process("fails", (), async move |()| {
            out.send(7).await.unwrap();
            Err::<(), fmt::Error>(fmt::Error)
        });
        let mut has_ended = false;
        let of = &mut has_ended;
        network.process("asks", (), async move |()| {
            while asks_for(&mut input).await.is_some() {}
            *of = true;
        });
        network.run(pool).unwrap_err();
        assert!(!has_ended, "half a stream was taken for the whole");
    });
}

/// A process that waits for nothing is dropped nowhere: it ends when it hears that.
#[test]
fn who_asks_without_any_wait_hears_that_the_network_has_stopped() {
    let mut heard = Vec::new();
    let mut network = Network::new();
    let (mut out, mut input) = network.bounded("numbers", 1);
    let (asks, is_asking) = mpsc::channel();
    network.try_process("fails", (), async move |()| {
        roving::blocking(|| is_asking.recv().unwrap());
        out.send(7).await.unwrap();
        Err::<(), fmt::Error>(fmt::Error)
    });
    let of = &mut heard;
    network.process("asks", (), async move |()| {
        asks.send(()).unwrap();
        while !matches!(of.last(), Some(Err(_))) {
            match input.try_recv() {
                Err(TryRecvError::Empty) => thread::yield_now(),
                other => of.push(other),
            }
        }
    });
    network.run(&Pool::new(2).unwrap()).unwrap_err();
    assert_eq!(heard, [Ok(7), Err(TryRecvError::Stopped)]);
}

/// Adds a process that sends the port of a reply, says so, and waits for the end of the replies.
/// Returns the port of its request, and calls `has_it` when the end is there.
fn requests(
    network: &mut Network<'_>,
    keeps_port: bool,
    has_it: impl FnOnce() + Send + 'static,
) -> (In<Out<u32>>, In<()>) {
    let (requests, request) = network.bounded("requests", 1);
    let (reply, mut replies) = network.bounded("replies", 1);
    let (sends, is_sent) = network.bounded("is sent", 1);
    type Ports = (Out<Out<u32>>, Out<()>);
    let body = async move |(mut requests, mut sends): Ports| {
        requests.send(reply).await.unwrap();
        let _kept = keeps_port.then_some(requests);
        sends.send(()).await.unwrap();
        assert_eq!(replies.recv().await, None);
        has_it();
    };
    network.process("requests", (requests, sends), body);
    (request, is_sent)
}

#[test]
fn a_process_that_may_fail_drops_what_it_has_not_received() {
    on_pools(|pool| {
        let mut network = Network::new();
        let ports = requests(&mut network, true, || ());
        network.try_process("may fail", ports, async |(request, mut is_sent)| {
            is_sent.recv().await;
            drop(request);
            Ok::<(), fmt::Error>(())
        });
        network.run(pool).unwrap();
    });
}

#[test]
fn a_process_drops_what_a_port_has_not_received_that_a_panic_has_dropped() {
    on_pools(|pool| {
        let mut network = Network::new();
        let ports = requests(&mut network, true, || ());
        network.process("catches", ports, async |(request, mut is_sent)| {
            is_sent.recv().await;
            let panics = AssertUnwindSafe(move || {
                let _request = request;
                resume_unwind(Box::new("with the port"));
            });
            catch_unwind(panics).unwrap_err();
        });
        network.run(pool).unwrap();
    });
}

/// The port of the reply is dropped with the request, and that within the turn, too.
#[test]
fn ports_in_messages_that_a_process_drops_are_closed_when_it_waits() {
    for keeps_port in [false, true] {
        on_pools(|pool| {
            let mut network = Network::new();
            let (tells, told) = mpsc::channel();
            let ports = requests(&mut network, keeps_port, move || tells.send(()).unwrap());
            let body = async move |(request, mut is_sent): (In<Out<u32>>, In<()>)| {
                is_sent.recv().await;
                drop(request);
                roving::blocking(|| told.recv().unwrap());
                Ok::<(), fmt::Error>(())
            };
            network.try_process("may fail", ports, body);
            network.run(pool).unwrap();
        });
    }
}

/// Waits in its drop for an answer.
struct Asks(In<u32>);

impl Drop for Asks {
    fn drop(&mut self) {
        assert_eq!(task::block_on(self.0.recv()), Some(7));
    }
}

/// The stream of the answer was in doubt. At the end of the turn, it is so no more.
#[test]
fn a_message_before_a_port_that_is_closed_late_waits_for_no_doubt() {
    on_pools(|pool| {
        let mut network = Network::new();
        let (mut out, input) = network.bounded("numbers", 1);
        let answer = sums(&mut network, input);
        let (mut messages, unread) = network.bounded("messages", 1);
        assert!(messages.try_send(Asks(answer)).is_ok());
        let (mut sevens, seven) = network.bounded("seven", 1);
        sevens.try_send(7).unwrap();
        may_fail(&mut network, move || {
            out.try_send(7).unwrap();
            let panics = AssertUnwindSafe(move || {
                let _waits = Asks(seven);
                let _out = out;
                resume_unwind(Box::new("with the port"));
            });
            let caught: Result<(), _> = catch_unwind(panics);
            assert!(caught.is_err());
            drop((unread, messages));
        });
        network.run(pool).unwrap();
    });
}

/// A message that was sent to a port that is gone is dropped after ports are closed that the same
/// turn closes late.
#[test]
fn a_message_to_a_port_that_is_gone_waits_for_ports_that_are_closed_late() {
    on_pools(|pool| {
        let mut network = Network::new();
        let (mut out, input) = network.bounded("numbers", 1);
        let answer = sums(&mut network, input);
        let (mut messages, mut gone) = network.bounded("messages", 2);
        assert!(messages.try_send(None).is_ok() && gone.try_recv().is_ok());
        drop(gone);
        may_fail(&mut network, move || {
            out.try_send(7).unwrap();
            assert!(messages.try_send(Some(Asks(answer))).is_ok());
            drop(out);
        });
        network.run(pool).unwrap();
    });
}
