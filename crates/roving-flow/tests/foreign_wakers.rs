//! Wakers that are somebody else's, and do as they like.

#[path = "common/watched.rs"]
mod watched;

use std::hint;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::thread;

use roving::Pool;
use roving_flow::{In, Network, Out, State, raw};
use watched::watched;

/// Panics when it wakes.
#[derive(Default)]
struct Boom {
    has_woken: AtomicBool,
}

impl Wake for Boom {
    fn wake(self: Arc<Self>) {
        self.has_woken.store(true, SeqCst);
        panic::resume_unwind(Box::new("a waker"));
    }
}

/// Waits for a message with such a waker.
fn wait_with(boom: &Arc<Boom>, input: &mut In<u32>) {
    let waker = Waker::from(Arc::clone(boom));
    let polled = input.poll_recv(&mut Context::from_waker(&waker));
    assert!(polled.is_pending(), "{polled:?}");
}

fn wait_for(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        match cfg!(miri) {
            true => thread::yield_now(),
            false => hint::spin_loop(),
        }
    }
}

/// A process sends when nobody waits, so that it looks again when it is suspended or has ended; and
/// just then somebody with that waker begins to wait.
fn with_a_wake_up_that_is_owed(is_suspended: bool) {
    let (waits, kept, boom) = (AtomicBool::new(false), Mutex::new(None), Arc::default());
    let mut network = Network::new();
    let (out, mut taken) = network.bounded::<u32>("taken", 4);
    let (never, input) = network.bounded::<u32>("never", 1);
    let live = network.live();
    network.process("sends", (out, input), async |(mut out, mut input)| {
        out.send(1).await.unwrap();
        // In the same poll: the wake-up is owed.
        wait_for(&waits);
        if is_suspended {
            input.recv().await;
        }
        // Its drop would wake as well.
        *kept.lock().unwrap() = Some(out);
    });
    let ran = thread::scope(|threads| {
        threads.spawn(|| {
            while taken.try_recv().is_err() {
                thread::yield_now();
            }
            wait_with(&boom, &mut taken);
            waits.store(true, SeqCst);
            wait_for(&boom.has_woken);
            drop(never);
        });
        panic::catch_unwind(AssertUnwindSafe(|| network.run(&Pool::new(1).unwrap())))
    });
    drop((taken, kept));
    assert_eq!(live.snapshot().processes, [State::Ended]);
    ran.expect("the panic is the waker's").unwrap();
}

/// The channel that the process waits at is freed with its network.
#[test]
fn a_waker_that_panics_ends_no_process_that_is_being_suspended() {
    watched(|| with_a_wake_up_that_is_owed(true));
}

#[test]
fn a_waker_that_panics_ends_no_run_at_the_end_of_a_process() {
    watched(|| with_a_wake_up_that_is_owed(false));
}

#[test]
fn a_waker_that_panics_fails_nobody_who_sends_or_closes_a_port() {
    for sends in [true, false] {
        let mut network = Network::new();
        let (mut out, mut input) = network.bounded("numbers", 1);
        let [outside, inside] = [(); 2].map(|()| Arc::new(Boom::default()));
        wait_with(&outside, &mut input);
        out.try_send(1).unwrap();
        assert!(outside.has_woken.load(SeqCst));
        assert_eq!(input.try_recv(), Ok(1));
        wait_with(&inside, &mut input);
        network.process("one", out, async |mut out: Out<u32>| {
            if sends {
                out.send(2).await.unwrap();
            }
        });
        network.run(&Pool::new(1).unwrap()).unwrap();
        assert!(inside.has_woken.load(SeqCst));
    }
}

/// Holds the sending port of the channel that it waits at.
struct Holds {
    _out: Mutex<Out<u32>>,
}

impl Wake for Holds {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Holds {
    fn drop(&mut self) {
        panic::resume_unwind(Box::new("a waker that is dropped"));
    }
}

/// Its drop closes the port, which wakes whoever waits, and then panics.
#[test]
fn a_waker_is_dropped_where_it_may_use_the_channel() {
    watched(|| {
        let (out, mut input) = Network::new().bounded::<u32>("numbers", 1);
        let _out = Mutex::new(out);
        let holds = Waker::from(Arc::new(Holds { _out }));
        let polled = input.poll_recv(&mut Context::from_waker(&holds));
        assert!(polled.is_pending(), "{polled:?}");
        drop(panic::catch_unwind(AssertUnwindSafe(|| drop(holds))));
        let polled = input.poll_recv(&mut Context::from_waker(Waker::noop()));
        assert_eq!(polled, Poll::Ready(None));
    });
}

/// A waker that sends when it is cloned. It wakes nobody.
static SENDS: RawWakerVTable = RawWakerVTable::new(
    |at| {
        // SAFETY: the test keeps the port for longer than the waker.
        let out = unsafe { &*at.cast::<Mutex<Out<u32>>>() };
        out.lock().unwrap().try_send(7).unwrap();
        RawWaker::new(at, Waker::noop().vtable())
    },
    |_| {},
    |_| {},
    |_| {},
);

#[test]
fn a_waker_is_cloned_where_it_may_use_the_channel() {
    watched(|| {
        let (out, mut input) = Network::new().bounded::<u32>("numbers", 1);
        let out = Mutex::new(out);
        let noop = &mut Context::from_waker(Waker::noop());
        assert!(input.poll_recv(noop).is_pending());
        let at: *const Mutex<Out<u32>> = &out;
        // SAFETY: the functions keep the contract of wakers; the port outlives the waker.
        let sends = unsafe { Waker::from_raw(RawWaker::new(at.cast(), &SENDS)) };
        let polled = input.poll_recv(&mut Context::from_waker(&sends));
        assert_eq!(polled, Poll::Ready(Some(7)));
    });
}

/// Ends its network, and waits until it has ended.
struct Ends {
    go: Mutex<Option<Out<u32>>>,
    is_over: Arc<AtomicBool>,
}

impl Wake for Ends {
    fn wake(self: Arc<Self>) {
        drop(self.go.lock().unwrap().take());
        wait_for(&self.is_over);
    }
}

#[test]
fn a_waker_is_woken_where_its_network_may_end_when_a_channel_grows() {
    watched(|| {
        let mut network = Network::new();
        let (mut out, input) = network.bounded::<u32>("grows", 1);
        let (go, may_go) = network.bounded::<u32>("go", 1);
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Waker::from(Arc::new(Ends {
            go: Mutex::new(Some(go)),
            is_over: Arc::clone(&is_over),
        }));
        out.try_send(1).unwrap();
        assert!(out.poll_ready(&mut Context::from_waker(&ends)).is_pending());
        let (inside, begun) = (raw::inside(&network), AtomicBool::new(false));
        network.process("one", (input, may_go), async |(_input, mut may_go)| {
            begun.store(true, SeqCst);
            may_go.recv().await;
        });
        thread::scope(|threads| {
            threads.spawn(|| {
                wait_for(&begun);
                inside.grow(0, 1, 2);
            });
            network.run(&Pool::new(1).unwrap()).unwrap();
            is_over.store(true, SeqCst);
        });
    });
}
