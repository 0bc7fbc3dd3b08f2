//! Messages that are sent to a port that is gone, within the room that the sender has seen: they
//! are dropped while the sender still has its port.

#[path = "common/executor.rs"]
mod executor;
#[path = "common/watched.rs"]
mod watched;

use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use roving::{Cancel, CancelledError, Pool};
use roving_flow::{Error, In, Merge, Network, Out};
use watched::watched;

/// A request, with the port of its reply.
type Request = Out<u32>;

/// The channels of two requests, and the ports at which their replies come.
struct Requests {
    ports: [Request; 2],
    replies: [In<u32>; 2],
    out: Out<Request>,
    input: In<Request>,
}

impl Requests {
    fn new(network: &mut Network<'_>, capacity: Option<usize>) -> Requests {
        let (first, first_reply) = network.bounded("first reply", 1);
        let (second, second_reply) = network.bounded("second reply", 1);
        let (out, input) = match capacity {
            Some(capacity) => network.bounded("requests", capacity),
            None => network.unbounded("requests"),
        };
        Requests {
            ports: [first, second],
            replies: [first_reply, second_reply],
            out,
            input,
        }
    }
}

/// Takes one request, and closes its port before it says that there is no reply.
async fn serves_one(mut input: In<Request>) {
    let request = input.recv().await.unwrap();
    drop(input);
    drop(request);
}

fn on_pools(test: impl Fn(&Pool)) {
    for workers in 1..=2 {
        watched(|| test(&Pool::new(workers).unwrap()));
    }
}

#[test]
fn a_process_hears_that_nobody_will_reply() {
    on_pools(|pool| {
        for capacity in [Some(2), Some(8), None] {
            let mut network = Network::new();
            let requests = Requests::new(&mut network, capacity);
            network.process("serves one", requests.input, serves_one);
            let (ports, mut replies) = (requests.ports, requests.replies);
            network.process("requests", requests.out, async move |mut out| {
                for (port, reply) in ports.into_iter().zip(&mut replies) {
                    out.send(port).await.unwrap();
                    assert_eq!(reply.recv().await, None);
                }
            });
            network.run(pool).unwrap();
        }
    });
}

/// The port that is gone was one of several, which are dropped together.
#[test]
fn a_process_hears_that_nobody_of_a_merge_will_reply() {
    on_pools(|pool| {
        let mut network = Network::new();
        let requests = Requests::new(&mut network, Some(2));
        let (_silent, silence) = network.bounded("silence", 1);
        let merge = Merge::new([requests.input, silence]);
        network.process("serves one", merge, async |mut merge: Merge<Request>| {
            let request = merge.recv().await.unwrap();
            drop(merge);
            drop(request);
        });
        let (ports, mut replies) = (requests.ports, requests.replies);
        network.process("requests", requests.out, async move |mut out| {
            for (port, reply) in ports.into_iter().zip(&mut replies) {
                out.send(port).await.unwrap();
                assert_eq!(reply.recv().await, None);
            }
        });
        network.run(pool).unwrap();
    });
}

/// The process waits within its turn, by `waits`.
fn waits_within(waits: fn(&mut In<u32>) -> Option<u32>) {
    on_pools(|pool| waits_within_on(pool, waits));
}

fn waits_within_on(pool: &Pool, waits: fn(&mut In<u32>) -> Option<u32>) {
    let mut network = Network::new();
    let requests = Requests::new(&mut network, Some(2));
    network.process("serves one", requests.input, serves_one);
    let (ports, mut replies) = (requests.ports, requests.replies);
    network.process("requests", requests.out, async move |mut out| {
        for (port, reply) in ports.into_iter().zip(&mut replies) {
            out.send(port).await.unwrap();
            assert_eq!(waits(reply), None);
        }
    });
    network.run(pool).unwrap();
}

#[test]
fn a_process_that_waits_within_its_turn_hears_that_nobody_will_reply() {
    waits_within(|reply| roving::task::block_on(reply.recv()));
    waits_within(waits_for_a_thread);
}

/// An executor that is not Roving's takes the worker while it waits.
#[test]
fn a_process_that_waits_by_another_executor_hears_that_nobody_will_reply() {
    waits_within(|reply| roving::blocking(|| executor::block_on(reply.recv())));
    watched(|| {
        let pool = Pool::new(2).unwrap();
        waits_within_on(&pool, |reply| executor::block_on(reply.recv()));
    });
}

/// Waits in `blocking` for a thread, which waits for the reply.
fn waits_for_a_thread(reply: &mut In<u32>) -> Option<u32> {
    let on_a_thread = || reply.recv_blocking();
    roving::blocking(|| thread::scope(|scope| scope.spawn(on_a_thread).join().unwrap()))
}

/// Its own ports would be closed at the end of its turn only. It waits after it has sent, or sends
/// where it waits.
#[test]
fn a_process_that_may_fail_hears_that_nobody_will_reply() {
    on_pools(|pool| {
        for sends_within in [false, true] {
            let mut network = Network::new();
            let requests = Requests::new(&mut network, Some(2));
            network.process("serves one", requests.input, serves_one);
            let ([first, second], [mut first_reply, mut second_reply]) =
                (requests.ports, requests.replies);
            network.try_process("requests", requests.out, async move |mut out| {
                out.send(first).await.unwrap();
                assert_eq!(first_reply.recv().await, None);
                if sends_within {
                    roving::blocking(|| {
                        out.try_send(second).unwrap();
                        assert_eq!(waits_for_a_thread(&mut second_reply), None);
                    });
                } else {
                    out.send(second).await.unwrap();
                    assert_eq!(waits_for_a_thread(&mut second_reply), None);
                }
                Ok::<_, Infallible>(())
            });
            network.run(pool).unwrap();
        }
    });
}

/// Which of the two comes first, the message or the end of the port, differs.
#[test]
fn a_thread_outside_hears_that_nobody_will_reply() {
    on_pools(|pool| {
        for capacity in [Some(2), None] {
            for _ in 0..if cfg!(miri) { 5 } else { 200 } {
                let mut network = Network::new();
                let requests = Requests::new(&mut network, capacity);
                let mut input = requests.input;
                network.process("serves one", (), async move |()| {
                    drop(input.recv().await);
                });
                let (ports, mut replies, mut out) =
                    (requests.ports, requests.replies, requests.out);
                let asks = thread::spawn(move || {
                    for (port, reply) in ports.into_iter().zip(&mut replies) {
                        // It may have heard of the end already.
                        drop(out.send_blocking(port));
                        assert_eq!(reply.recv_blocking(), None);
                    }
                });
                network.run(pool).unwrap();
                asks.join().unwrap();
            }
        }
    });
}

/// There are two processes, of which any thread may drop what the other has sent.
#[test]
fn every_message_is_dropped_once_whoever_has_the_port() {
    on_pools(|pool| {
        for _ in 0..if cfg!(miri) { 5 } else { 200 } {
            let mut network = Network::new();
            let counted = Arc::new(());
            let [message, last] = [(); 2].map(|()| Arc::clone(&counted));
            let (mut out, mut input) = network.bounded("numbers", 4);
            let (hand, mut handed) = network.bounded("port", 1);
            let (alive, mut all_gone) = network.bounded("alive", 1);
            network.process("receives", (), async move |()| {
                input.recv().await;
            });
            network.process(
                "sends",
                hand,
                async move |mut hand: Out<(Out<_>, Out<u32>)>| {
                    for number in 0..3 {
                        // It may have heard of the end already.
                        drop(out.send((number, Arc::clone(&message))).await);
                    }
                    hand.send((out, alive)).await.unwrap();
                },
            );
            network.process("goes on", (), async move |()| {
                let (mut out, alive) = handed.recv().await.unwrap();
                drop(out.send((3, last)).await);
                drop(alive);
            });
            network.process("waits", (), async move |()| {
                assert_eq!(all_gone.recv().await, None);
            });
            network.run(pool).unwrap();
            assert_eq!(Arc::strong_count(&counted), 1);
        }
    });
}

/// The network is cancelled while one message lies at a port that is gone and another one at a port
/// that nobody reads.
#[test]
fn every_message_of_a_network_that_is_cancelled_is_dropped_once() {
    on_pools(|pool| {
        for round in 0..if cfg!(miri) { 5 } else { 200 } {
            let counted = Arc::new(());
            let token = Cancel::new();
            let canceller = token.clone();
            let outcome = token.run(|| {
                let mut network = Network::new();
                let (out, mut input) = network.bounded("messages", 4);
                let (unread_out, unread) = network.bounded("unread", 4);
                let message = Arc::clone(&counted);
                network.process("receives", (), async move |()| {
                    input.recv().await;
                });
                let (_never, silence) = network.bounded::<()>("silence", 1);
                let ports = ([out, unread_out], silence);
                network.process(
                    "sends",
                    ports,
                    async move |(outs, mut silence): ([Out<_>; 2], In<()>)| {
                        for mut out in outs {
                            for _ in 0..3 {
                                // It may have heard of the end already.
                                drop(out.send(Arc::clone(&message)).await);
                            }
                        }
                        silence.recv().await;
                    },
                );
                network.process("cancels", unread, async move |unread: In<_>| {
                    for _ in 0..round % 4 {
                        thread::yield_now();
                    }
                    canceller.cancel();
                    drop(unread);
                });
                network.run(pool)
            });
            assert!(matches!(
                outcome,
                Err(CancelledError) | Ok(Err(Error::Cancelled))
            ));
            assert_eq!(Arc::strong_count(&counted), 1);
        }
    });
}

/// Panics when it is dropped.
struct Panics(u32);

impl Drop for Panics {
    fn drop(&mut self) {
        resume_unwind(Box::new(self.0));
    }
}

/// Sends a message that panics when it is dropped to a port that is gone, and keeps its own port.
fn sends_what_panics(pool: &Pool, also_to_another: bool) -> Error {
    let mut network = Network::new();
    let (out, mut input) = network.bounded("messages", 2);
    let (gone, mut is_gone) = network.bounded::<()>("gone", 1);
    let (mut other, others) = network.bounded("others", 1);
    network.sink("takes others", others, |_: u32| {});
    network.process("drops its port", gone, async move |gone: Out<()>| {
        drop::<Option<Option<Panics>>>(input.recv().await);
        drop(input);
        drop(gone);
    });
    let (_never, mut silence) = network.bounded::<()>("silence", 1);
    network.process("sends", out, async move |mut out: Out<Option<Panics>>| {
        out.send(None).await.unwrap();
        assert_eq!(is_gone.recv().await, None);
        out.send(Some(Panics(7))).await.unwrap();
        if also_to_another {
            other.send(1).await.unwrap();
            other.send(2).await.unwrap();
        }
        silence.recv().await;
    });
    network.run(pool).unwrap_err()
}

#[test]
fn what_a_message_panics_with_its_sender_has_panicked_with() {
    on_pools(|pool| {
        for also_to_another in [false, true] {
            let error = sends_what_panics(pool, also_to_another);
            let Error::Panicked { process, payload } = error else {
                panic!("{error}")
            };
            assert_eq!(process, "sends");
            assert_eq!(payload.into_panic().downcast_ref(), Some(&7_u32));
        }
    });
}

/// Sends when it is dropped.
struct Sends(mpsc::Sender<()>);

impl Drop for Sends {
    fn drop(&mut self) {
        let _nobody_may_wait = self.0.send(());
    }
}

/// A network that is never run serves as its channels.
#[test]
fn messages_of_a_network_that_is_not_run_are_dropped() {
    watched(|| {
        let mut network = Network::new();
        let (mut out, mut input) = network.bounded("messages", 2);
        let (dropped, is_dropped) = mpsc::channel();
        out.try_send(Sends(dropped.clone())).unwrap();
        drop(input.try_recv());
        drop(input);
        is_dropped.recv().unwrap();
        out.try_send(Sends(dropped)).unwrap();
        is_dropped.recv().unwrap();
        assert!(out.try_send(Sends(mpsc::channel().0)).is_err());
    });
}

/// Says when its drop begins, and waits in it for the other one.
struct Waits(mpsc::Sender<()>, mpsc::Receiver<()>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.send(()).unwrap();
        self.1.recv().unwrap();
    }
}

/// While a message is being dropped, nothing is known: its drop might let others go on.
#[test]
fn a_deadlock_is_told_when_a_thread_outside_has_dropped_a_message() {
    on_pools(|pool| {
        let mut network = Network::new();
        let (mut out, mut input) = network.bounded("messages", 2);
        let (begins, begun) = mpsc::channel();
        let (go_on, goes_on) = mpsc::channel();
        let outside = thread::spawn(move || {
            out.try_send(None).unwrap();
            assert!(input.try_recv().unwrap().is_none());
            drop(input);
            out.try_send(Some(Waits(begins, goes_on))).unwrap();
            out
        });
        begun.recv().unwrap();
        for name in ["one", "another"] {
            let (out, input) = network.bounded::<()>(name, 1);
            network.process(name, (out, input), async |(_out, mut input)| {
                input.recv().await;
            });
        }
        let frees = thread::spawn(move || {
            // Rest comes before that, mostly: the test passes in any case.
            thread::sleep(Duration::from_millis(20));
            go_on.send(()).unwrap();
        });
        let error = network.run(pool).unwrap_err();
        assert!(matches!(error, Error::Deadlock { .. }), "{error}");
        frees.join().unwrap();
        drop(outside.join().unwrap());
    });
}

/// A future that is no process, under a lock that its waker wants.
struct Locked(Mutex<Option<In<u32>>>);

impl Wake for Locked {
    fn wake(self: Arc<Locked>) {
        drop(self.0.lock().unwrap());
    }
}

#[test]
fn who_waited_at_a_port_is_not_woken_by_its_drop() {
    watched(|| {
        let mut network = Network::new();
        let (out, mut input) = network.bounded("numbers", 1);
        let task = Arc::new(Locked(Mutex::new(None)));
        let waker = Waker::from(Arc::clone(&task));
        let mut context = Context::from_waker(&waker);
        assert!(input.poll_recv(&mut context).is_pending());
        *task.0.lock().unwrap() = Some(input);
        *task.0.lock().unwrap() = None;
        drop(waker);
        // The channel is there, and keeps no waker.
        assert_eq!(Arc::strong_count(&task), 1);
        drop(out);
    });
}

/// Takes longer to be dropped than to be made.
struct Slow;

impl Drop for Slow {
    fn drop(&mut self) {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Else the port would go on to drop what the other process sends meanwhile.
#[test]
fn a_port_is_dropped_beside_a_process_that_sends_for_ever() {
    watched(|| {
        for may_fail in [false, true] {
            let mut network = Network::new();
            let (out, input) = network.bounded("messages", 4);
            network.process(
                "sends",
                out,
                async |mut out: Out<Slow>| {
                    while out.send(Slow).await.is_ok() {}
                },
            );
            let body = async |mut input: In<Slow>| {
                drop(input.recv().await);
                drop(input);
                Ok::<_, Infallible>(())
            };
            match may_fail {
                true => network.try_process("has enough", input, body),
                false => network.process("has enough", input, async move |input| {
                    body(input).await.unwrap();
                }),
            }
            let report = network.run(&Pool::new(2).unwrap()).unwrap();
            let sent = report.channel(0).messages;
            assert!(sent < 100, "{sent} messages");
        }
    });
}

/// The ports of a future that is no process.
type OwnPorts = (Out<Option<Waits>>, In<u32>);

/// They are under a lock that its waker wants.
struct LockedPorts(Mutex<Option<OwnPorts>>);

impl Wake for LockedPorts {
    fn wake(self: Arc<LockedPorts>) {
        drop(self.0.lock().unwrap());
    }
}

/// It waits at another port, which a network in a deadlock ends.
#[test]
fn who_finds_a_deadlock_wakes_nobody_under_a_lock() {
    watched(|| {
        let mut network = Network::new();
        let (mut out, mut input) = network.bounded("messages", 2);
        let (_other, mut waits) = network.bounded::<u32>("numbers", 1);
        let task = Arc::new(LockedPorts(Mutex::new(None)));
        let waker = Waker::from(Arc::clone(&task));
        assert!(
            waits
                .poll_recv(&mut Context::from_waker(&waker))
                .is_pending()
        );
        out.try_send(None).unwrap();
        assert!(input.try_recv().unwrap().is_none());
        drop(input);
        *task.0.lock().unwrap() = Some((out, waits));
        let (out, input) = network.bounded::<()>("to itself", 1);
        network.process("stuck", (out, input), async |(_out, mut input)| {
            input.recv().await;
        });
        let (begins, begun) = mpsc::channel();
        let (go_on, goes_on) = mpsc::channel();
        let outside = thread::spawn(move || {
            let mut ports = task.0.lock().unwrap();
            let (out, _) = ports.as_mut().unwrap();
            out.try_send(Some(Waits(begins, goes_on))).unwrap();
        });
        begun.recv().unwrap();
        let frees = thread::spawn(move || {
            // Rest comes before that, mostly: the test passes in any case.
            thread::sleep(Duration::from_millis(20));
            go_on.send(()).unwrap();
        });
        let error = network.run(&Pool::new(1).unwrap()).unwrap_err();
        assert!(matches!(error, Error::Deadlock { .. }), "{error}");
        frees.join().unwrap();
        outside.join().unwrap();
    });
}
