//! Waits in a network that has failed, or was cancelled, for ports whose other end nobody closes.

#[path = "common/watched.rs"]
mod watched;

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use roving::{Pool, task};
use roving_flow::raw::{Inside, inside};
use roving_flow::{Error, In, Merge, Network, Out, SendError, TryRecvError, TrySendError};
use watched::watched;

/// Who has the other end of the port that a process waits for.
#[derive(Clone, Copy, PartialEq)]
enum Holder {
    Outside,
    Itself,
}

/// A process waits by `waits` within its turn, for a port that nobody closes. Meanwhile the network
/// fails, or is cancelled.
fn stops_meanwhile(holder: Holder, waits: impl Fn(In<u32>) + Copy + Send + 'static) {
    for (workers, fails) in [(1, false), (1, true), (2, false), (2, true)] {
        let mut network = Network::new();
        let (out, input) = network.bounded::<u32>("numbers", 1);
        let (begins, begun) = network.bounded::<()>("begins", 1);
        let canceller = network.canceller();
        let (outside, inside) = match holder {
            Holder::Outside => (Some(out), None),
            Holder::Itself => (None, Some(out)),
        };
        network.process("waits", begins, async move |mut begins: Out<()>| {
            begins.try_send(()).unwrap();
            let _kept = inside;
            waits(input);
        });
        network.process("ends it", begun, async move |mut begun: In<()>| {
            begun.recv().await;
            // The other one waits, as far as time can say so.
            roving::blocking(|| thread::sleep(Duration::from_millis(10)));
            assert!(!fails, "it fails");
            canceller.cancel();
        });
        let ended = network.run(&Pool::new(workers).unwrap());
        match fails {
            true => assert!(
                matches!(ended, Err(Error::Panicked { process, .. }) if process == "ends it")
            ),
            false => assert!(matches!(ended, Err(Error::Cancelled))),
        }
        drop(outside);
    }
}

#[test]
fn a_wait_for_a_port_whose_other_end_is_outside_ends_with_the_network() {
    watched(|| {
        stops_meanwhile(Holder::Outside, |mut input| {
            assert_eq!(task::block_on(input.recv()), None);
            // An end that was told stays told.
            assert_eq!(input.try_recv(), Err(TryRecvError::Closed));
            assert_eq!(task::block_on(input.recv()), None);
        });
    });
}

#[test]
fn a_wait_for_a_port_whose_other_end_the_process_has_ends_with_the_network() {
    watched(|| {
        stops_meanwhile(Holder::Itself, |mut input| {
            assert_eq!(task::block_on(input.recv()), None);
        });
    });
}

#[test]
fn a_wait_of_a_task_of_a_process_ends_with_the_network() {
    watched(|| {
        stops_meanwhile(Holder::Outside, |mut input| {
            task::scope(async |scope| {
                let waits = scope.spawn(async move { assert_eq!(input.recv().await, None) });
                waits.await;
            });
        });
        stops_meanwhile(Holder::Itself, |mut input| {
            roving::blocking(|| {
                let waits = move || assert_eq!(input.recv_blocking(), None);
                thread::spawn(waits).join().unwrap();
            });
        });
    });
}

#[test]
fn a_wait_for_any_of_several_ports_ends_with_the_network() {
    watched(|| {
        stops_meanwhile(Holder::Itself, |input| {
            let (other, inputs) = Network::new().channel("of another network");
            let mut merge = Merge::new([input, inputs]);
            drop(other);
            assert_eq!(task::block_on(merge.recv()), None);
        });
    });
}

#[test]
fn a_wait_for_room_ends_with_the_network() {
    watched(|| {
        for workers in 1..=2 {
            let mut network = Network::new();
            let (mut out, mut kept) = network.bounded("numbers", 1);
            let canceller = network.canceller();
            network.process("waits", (), async move |()| {
                out.try_send(1).unwrap();
                let cancels = thread::spawn(move || {
                    thread::sleep(Duration::from_millis(10));
                    canceller.cancel();
                });
                let hour = Duration::from_secs(3600);
                let sent = task::block_on(out.send_timeout(2, hour));
                assert!(matches!(sent, Err(TrySendError::Closed(2))), "{sent:?}");
                roving::blocking(|| cancels.join().unwrap());
                assert!(matches!(task::block_on(out.send(3)), Err(SendError(3))));
                out.try_send(4).unwrap_err();
            });
            let ended = network.run(&Pool::new(workers).unwrap());
            assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
            // What was sent is received all the same.
            assert_eq!(kept.recv_blocking(), Some(1));
            assert_eq!(kept.recv_blocking(), None);
        }
    });
}

#[test]
fn processes_that_wait_for_each_other_within_their_turns_end_with_the_network() {
    watched(|| {
        let mut network = Network::new();
        let (to_b, mut from_a) = network.bounded::<u32>("to b", 1);
        let (to_a, mut from_b) = network.bounded::<u32>("to a", 1);
        let canceller = network.canceller();
        let (begins, begun) = mpsc::channel();
        let b_begins = begins.clone();
        network.process("a", (), async move |()| {
            let _to_b = to_b;
            begins.send(()).unwrap();
            assert_eq!(task::block_on(from_b.recv()), None);
        });
        network.process("b", (), async move |()| {
            let _to_a = to_a;
            b_begins.send(()).unwrap();
            assert_eq!(task::block_on(from_a.recv()), None);
        });
        let cancels = thread::spawn(move || {
            assert_eq!(begun.iter().take(2).count(), 2);
            thread::sleep(Duration::from_millis(10));
            canceller.cancel();
        });
        let ended = network.run(&Pool::new(2).unwrap());
        assert!(matches!(ended, Err(Error::Cancelled)));
        cancels.join().unwrap();
    });
}

/// Two threads have both ports of a channel of a network that ends as `end` says.
fn outside_of(end: impl FnOnce(Network<'_>)) -> (Out<u32>, In<u32>) {
    let mut network = Network::new();
    let (mut out, input) = network.bounded("both outside", 1);
    out.try_send(7).unwrap();
    network.process("ends", (), async |()| {});
    end(network);
    (out, input)
}

#[test]
fn who_waits_outside_receives_what_was_sent_before_the_end() {
    watched(|| {
        let (mut out, mut input) = outside_of(|network| {
            network.canceller().cancel();
            network.run(&Pool::new(1).unwrap()).unwrap_err();
        });
        assert_eq!(input.recv_blocking(), Some(7));
        // While nobody has to wait, the channel is as it was.
        out.send_blocking(8).unwrap();
        assert_eq!(input.recv_blocking(), Some(8));
        assert_eq!(input.recv_blocking(), None);
        assert_eq!(out.send_blocking(9).unwrap_err().0, 9);
        assert_eq!(input.try_recv(), Err(TryRecvError::Closed));
        assert_eq!(input.recv_blocking(), None);
    });
}

#[test]
fn who_waits_outside_before_a_network_begins_hears_that_it_was_cancelled() {
    watched(|| {
        let mut network = Network::new();
        let (_out, mut input) = network.bounded::<u32>("both outside", 1);
        network.process("ends", (), async |()| {});
        let (begins, begun) = mpsc::channel();
        let waits = thread::spawn(move || {
            begins.send(()).unwrap();
            assert_eq!(input.recv_blocking(), None);
        });
        begun.recv().unwrap();
        thread::sleep(Duration::from_millis(10));
        network.canceller().cancel();
        network.run(&Pool::new(1).unwrap()).unwrap_err();
        waits.join().unwrap();
    });
}

/// It is dropped, or refused.
#[test]
fn who_waits_outside_hears_of_a_cancelled_network_that_never_begins() {
    watched(|| {
        for is_refused in [false, true] {
            let mut network = Network::new();
            let (_out, mut input) = network.bounded::<u32>("both outside", 1);
            let waits = thread::spawn(move || input.recv_blocking());
            thread::sleep(Duration::from_millis(10));
            network.canceller().cancel();
            if is_refused {
                let _ports = network.bounded::<u32>("without room", 0);
                let ended = network.run(&Pool::new(1).unwrap());
                assert!(matches!(ended, Err(Error::Invalid { .. })), "{ended:?}");
            } else {
                drop(network);
            }
            assert_eq!(waits.join().unwrap(), None, "{is_refused}");
        }
    });
}

/// Nor is one that was dropped before it ran.
#[test]
fn a_network_that_was_never_run_is_not_cancelled_for_who_has_its_ports() {
    watched(|| {
        let mut canceller = None;
        let (mut out, mut input) = outside_of(|network| canceller = Some(network.canceller()));
        canceller.unwrap().cancel();
        assert_eq!(input.recv_blocking(), Some(7));
        let waits = thread::spawn(move || input.recv_blocking());
        thread::sleep(Duration::from_millis(10));
        out.send_blocking(8).unwrap();
        assert_eq!(waits.join().unwrap(), Some(8));
    });
}

#[test]
fn a_network_that_has_ended_well_is_not_cancelled_for_who_has_its_ports() {
    watched(|| {
        let (mut out, mut input) = outside_of(|network| {
            let canceller = network.canceller();
            network.run(&Pool::new(1).unwrap()).unwrap();
            canceller.cancel();
        });
        assert_eq!(input.recv_blocking(), Some(7));
        thread::scope(|scope| {
            scope.spawn(move || (0..10_u32).for_each(|n| out.send_blocking(n).unwrap()));
            assert!(std::iter::from_fn(|| input.recv_blocking()).eq(0..10));
        });
    });
}

/// A waker of another executor, which looks at the network.
struct Looks(Inside, AtomicUsize);

impl Wake for Looks {
    fn wake(self: Arc<Self>) {
        self.0.look();
        self.1.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_waker_that_looks_at_the_network_is_woken_when_that_is_in_a_deadlock() {
    watched(|| {
        let mut network = Network::new();
        let (_open, mut outside) = network.bounded::<u32>("outside", 1);
        let ports = network.bounded::<u32>("to itself", 1);
        let looks = Arc::new(Looks(inside(&network), AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&looks));
        let mut context = Context::from_waker(&waker);
        assert!(pin!(outside.recv()).poll(&mut context).is_pending());
        network.process("stuck", ports, async |(_own, mut input)| {
            input.recv().await;
        });
        let ended = network.run(&Pool::new(1).unwrap());
        assert!(matches!(ended, Err(Error::Deadlock { .. })));
        assert_eq!(looks.1.load(SeqCst), 1);
        assert_eq!(pin!(outside.recv()).poll(&mut context), Poll::Ready(None));
    });
}
