//! Channels of which one end is elsewhere, and what a network says of itself to whoever sees to the
//! other end.
#![cfg(not(loom))]

use std::fmt;
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use roving::Pool;
use roving_flow::raw::{self, DueWaker, Egress, Side, Verdict, each_port, stuck, verdicts};
use roving_flow::{Error, In, Merge, Network, Out, TryRecvError, TrySendError};

/// Counts how often it is called.
fn counted() -> (Arc<AtomicUsize>, impl Fn() + Send + Sync + 'static) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    (count, move || {
        counted.fetch_add(1, Ordering::SeqCst);
    })
}

fn pool() -> Pool {
    Pool::new(1).unwrap()
}

#[test]
fn what_was_taken_out_still_counts_until_the_consumer_has_it() {
    let mut network = Network::new();
    let (mut out, input, mut bridge) = raw::bridged::<u32>(&mut network, "numbers", Some(2));
    assert!(bridge.egress().is_none(), "there is a consumer");
    drop(input);
    let mut egress = bridge.egress().unwrap();
    out.try_send(1).unwrap();
    assert_eq!(egress.take(), Ok(1));
    out.try_send(2).unwrap();
    assert_eq!(egress.take(), Ok(2));
    assert_eq!(egress.take(), Err(TryRecvError::Empty));
    assert!(matches!(out.try_send(3), Err(TrySendError::Full(3))));
    egress.taken_there(1).wake();
    out.try_send(3).unwrap();
    assert!(matches!(out.try_send(4), Err(TrySendError::Full(4))));
    egress.grow(4).wake();
    out.try_send(4).unwrap();
    out.try_send(5).unwrap();
    assert!(matches!(out.try_send(6), Err(TrySendError::Full(6))));
    assert_eq!((egress.sent(), egress.capacity()), ((5, false), Some(4)));
    drop(out);
    assert_eq!([(); 3].map(|()| egress.take()), [Ok(3), Ok(4), Ok(5)]);
    assert_eq!(egress.take(), Err(TryRecvError::Closed));
}

#[test]
fn a_producer_that_comes_back_goes_on_counting_and_forgets_the_room_that_it_saw() {
    let mut network = Network::new();
    let (mut out, input, mut bridge) = raw::bridged::<u32>(&mut network, "numbers", Some(4));
    drop(input);
    let mut egress = bridge.egress().unwrap();
    // It sees room for four.
    out.try_send(1).unwrap();
    assert_eq!(egress.take(), Ok(1));
    assert_eq!((egress.sent(), egress.known_taken()), ((1, false), 0));
    raw::forget_room(&mut out);
    // Elsewhere it has sent nine more, and the consumer has taken seven in all.
    egress.resume(10, 7, Some(4)).wake();
    assert_eq!((egress.sent(), egress.known_taken()), ((10, false), 7));
    out.try_send(11).unwrap();
    assert!(matches!(out.try_send(12), Err(TrySendError::Full(12))));
    assert_eq!(egress.take(), Ok(11));
    assert!(matches!(out.try_send(12), Err(TrySendError::Full(12))));
    egress.taken_there(8).wake();
    out.try_send(12).unwrap();
    // The channel has grown elsewhere.
    raw::forget_room(&mut out);
    assert_eq!(egress.take(), Ok(12));
    egress.resume(20, 20, Some(6)).wake();
    assert_eq!(egress.capacity(), Some(6));
    (21..27).for_each(|number| out.try_send(number).unwrap());
    assert!(matches!(out.try_send(27), Err(TrySendError::Full(27))));
}

#[test]
fn a_producer_that_comes_back_sends_no_more_than_there_is_room_for_now() {
    let mut network = Network::new();
    let (mut out, input, mut bridge) = raw::bridged::<u32>(&mut network, "numbers", Some(8));
    drop(input);
    let mut egress = bridge.egress().unwrap();
    // The channel's memory has grown to its capacity, so the ninth message sees room for more.
    (0..8).for_each(|number| out.try_send(number).unwrap());
    (0..8).for_each(|number| assert_eq!(egress.take(), Ok(number)));
    egress.taken_there(8).wake();
    out.try_send(8).unwrap();
    assert_eq!(egress.take(), Ok(8));
    raw::forget_room(&mut out);
    // Elsewhere it has sent seven more, and the consumer has taken ten of all.
    egress.resume(16, 10, Some(8)).wake();
    out.try_send(16).unwrap();
    out.try_send(17).unwrap();
    assert!(matches!(out.try_send(18), Err(TrySendError::Full(18))));
    assert_eq!([(); 2].map(|()| egress.take()), [Ok(16), Ok(17)]);
}

#[test]
fn what_a_consumer_has_not_read_goes_with_it_and_it_goes_on_counting() {
    let mut network = Network::new();
    let (out, mut input, mut bridge) = raw::bridged::<u32>(&mut network, "numbers", Some(4));
    drop(out);
    let mut ingress = bridge.ingress().unwrap();
    let (count, hook) = counted();
    (1..=3).for_each(|number| ingress.give(number).unwrap().wake());
    assert_eq!(input.try_recv(), Ok(1));
    ingress.hook(hook);
    let called = count.load(Ordering::SeqCst);
    let left = [(); 3].map(|()| raw::take_unread(&mut input));
    assert_eq!(left, [Some(2), Some(3), None]);
    assert_eq!(count.load(Ordering::SeqCst), called, "nobody is told");
    ingress.resume(9);
    assert_eq!(ingress.taken(), (9, false));
    ingress.give(10).unwrap().wake();
    assert_eq!(input.try_recv(), Ok(10));
    assert_eq!(ingress.taken(), (10, false));
}

/// Counts how often it wakes.
#[derive(Default)]
struct CountsWakes(AtomicUsize);

impl Wake for CountsWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Another executor polls both ends: whoever gives a message or room wakes it when he likes, and at
/// the latest when he drops what he was given; once, however often it was due.
#[test]
fn a_waker_of_another_executor_wakes_when_it_is_dropped_by_who_has_claimed_it() {
    let mut network = Network::new();
    let counts = Arc::new(CountsWakes::default());
    let waker = Waker::from(Arc::clone(&counts));
    let context = &mut Context::from_waker(&waker);
    let woken = || counts.0.swap(0, Ordering::SeqCst);

    let (out, mut input, mut bridge) = raw::bridged::<u32>(&mut network, "here", Some(4));
    drop(out);
    let mut ingress = bridge.ingress().unwrap();
    assert!(input.poll_recv(context).is_pending());
    let due = [1, 2].map(|number| ingress.give(number).unwrap());
    assert_eq!(woken(), 0, "there may be a lock");
    drop(due);
    assert_eq!(woken(), 1);

    let (mut out, input, mut bridge) = raw::bridged::<u32>(&mut network, "there", Some(1));
    drop(input);
    let mut egress = bridge.egress().unwrap();
    out.try_send(1).unwrap();
    assert_eq!(egress.take(), Ok(1));
    type Gives = fn(&mut Egress<u32>) -> DueWaker;
    let gives: [(u32, Gives); 4] = [
        (2, |egress| egress.taken_there(1)),
        (3, |egress| egress.grow(2)),
        (4, |egress| egress.resume(3, 2, Some(2))),
        (5, |egress| egress.taken_there(4)),
    ];
    for (number, give) in gives {
        assert!(out.poll_ready(context).is_pending());
        let due = (give(&mut egress), egress.reopen());
        assert_eq!(woken(), 0, "there may be a lock");
        drop(due);
        assert_eq!(woken(), 1);
        out.try_send(number).unwrap();
        assert_eq!(egress.take(), Ok(number));
    }
    assert!(out.poll_ready(context).is_ready());
}

#[test]
fn the_hook_of_an_egress_is_called_in_the_place_of_the_producer() {
    let mut network = Network::new();
    let (mut out, input, mut bridge) = raw::bridged::<u32>(&mut network, "numbers", None);
    drop(input);
    let mut egress = bridge.egress().unwrap();
    let (count, hook) = counted();
    let called = || count.load(Ordering::SeqCst);
    out.try_send(1).unwrap();
    egress.hook(hook);
    assert_eq!(called(), 0, "what was there before is not told");
    assert_eq!(egress.take(), Ok(1));
    assert_eq!(called(), 0, "what is taken here neither");
    (2..5).for_each(|number| out.try_send(number).unwrap());
    assert_eq!(called(), 3, "each time");
    (2..5).for_each(|number| assert_eq!(egress.take(), Ok(number)));
    drop(out);
    assert_eq!(called(), 4);
    assert_eq!(egress.take(), Err(TryRecvError::Closed));
    drop(egress);
    assert!(bridge.egress().is_none(), "both ends are gone");
}

#[test]
fn an_ingress_gives_any_number_and_hears_what_is_taken() {
    let mut network = Network::new();
    let (out, mut input, mut bridge) = raw::bridged::<u32>(&mut network, "numbers", Some(1));
    assert!(bridge.ingress().is_none(), "there is a producer");
    assert!(!bridge.is_gone(Side::Producer));
    drop(out);
    assert!(bridge.is_gone(Side::Producer));
    let mut ingress = bridge.ingress().unwrap();
    assert!(!bridge.is_gone(Side::Producer));
    (0..100).for_each(|number| ingress.give(number).unwrap().wake());
    let (count, hook) = counted();
    ingress.hook(hook);
    for taken in 0..2 {
        assert_eq!(input.try_recv(), Ok(taken));
        let called = count.load(Ordering::SeqCst) as u64;
        assert_eq!(
            (called, ingress.taken()),
            (taken as u64 + 1, (called, false))
        );
    }
    drop(input);
    assert!(count.load(Ordering::SeqCst) > 2 && ingress.taken().1);
    assert_eq!(ingress.give(7).map(DueWaker::wake), Err(7));
}

#[test]
fn ports_say_which_channel_they_are_of() {
    let mut network = Network::new();
    let (a, b) = network.channel::<u8>("0");
    let (c, d) = network.channel::<u8>("1");
    let (other, _) = Network::new().channel::<u8>("0");
    let (mut seen, mut networks) = (Vec::new(), Vec::new());
    each_port(&(vec![d], (a, Some(b)), c, other), |channel, side, at| {
        seen.push((channel, side));
        networks.push(at);
    });
    assert_eq!(networks[..4], [raw::address_of(&network); 4]);
    assert_ne!(networks[4], networks[0]);
    let (producer, consumer) = (Side::Producer, Side::Consumer);
    assert_eq!(
        seen,
        [
            (1, consumer),
            (0, producer),
            (0, consumer),
            (1, producer),
            (0, producer)
        ]
    );
}

#[test]
fn a_network_at_rest_says_so_and_what_it_waits_for() {
    let told = Arc::new(AtomicUsize::new(0));
    let mut network = Network::new();
    let (out, input, mut bridge) = raw::bridged::<u32>(&mut network, "from elsewhere", None);
    drop(out);
    let ingress = Mutex::new(bridge.ingress());
    let inside = raw::inside(&network);
    let rests = Arc::clone(&told);
    raw::at_rest(&mut network, move || {
        rests.fetch_add(1, Ordering::SeqCst);
    });
    network.process("waits", input, async |mut input| {
        assert_eq!(input.recv().await, Some(5));
        assert_eq!(input.recv().await, None);
    });
    let seen = Arc::clone(&told);
    let begun = inside.clone();
    raw::beside(&mut network, async move {
        // The process has been suspended by the time this is polled for the last time.
        std::future::poll_fn(|context| {
            let waits = begun.waits();
            if seen.load(Ordering::SeqCst) == 0 {
                context.waker().wake_by_ref();
                return std::task::Poll::Pending;
            }
            assert_eq!((waits.len(), begun.is_over()), (1, false));
            assert_eq!((waits[0].side, waits[0].target), (Side::Consumer, None));
            let mut ingress = ingress.lock().unwrap().take().unwrap();
            ingress.give(5).unwrap().wake();
            std::task::Poll::Ready(())
        })
        .await;
    });
    network.run(&pool()).unwrap();
    assert!(inside.is_over() && inside.waits().is_empty());
    assert!(
        told.load(Ordering::SeqCst) >= 2,
        "once at rest, and once at the end"
    );
}

#[test]
fn a_circle_that_was_put_together_elsewhere_is_judged() {
    let wait = |process: usize, channel, side, target, capacity| roving_flow::raw::Waiting {
        process,
        channel,
        side,
        target,
        capacity,
        sent: 0,
        taken: 0,
    };
    let (reads, writes) = (Side::Consumer, Side::Producer);
    let waits = [
        wait(3, 0, reads, Some(5), Some(9)),
        wait(5, 1, writes, Some(3), Some(4)),
        wait(7, 2, reads, None, None),
        wait(8, 3, reads, Some(7), None),
    ];
    let found = stuck(&waits);
    assert_eq!(found, waits[..2]);
    let grow = Verdict::Grow {
        channel: 1,
        from: 4,
        to: 8,
    };
    assert_eq!(verdicts(&found, None), [grow]);
    let cycle = vec![(3, 0, reads), (5, 1, writes)];
    assert_eq!(verdicts(&found, Some(4)), [Verdict::Full(cycle, 4)]);
    // However large it becomes, it stays one with a bound.
    let large = [waits[0], wait(5, 1, writes, Some(3), Some(3 << 30))];
    let grow = Verdict::Grow {
        channel: 1,
        from: 3 << 30,
        to: u32::MAX as usize - 1,
    };
    assert_eq!(verdicts(&large, None), [grow]);
    // As large as can be: it does not grow.
    let most = u32::MAX as usize - 1;
    let largest = [waits[0], wait(5, 1, writes, Some(3), Some(most))];
    let [Verdict::Full(cycle, _)] = &verdicts(&largest, None)[..] else {
        panic!("it grows");
    };
    assert_eq!(cycle[..], [(3, 0, reads), (5, 1, writes)]);
}

#[test]
fn a_process_that_was_woken_is_in_no_deadlock() {
    let pool = pool();
    let mut network = Network::new();
    let inside = raw::inside(&network);
    let (a, from_a) = network.bounded::<u32>("a", 4);
    let (b, from_b) = network.bounded::<u32>("b", 4);
    let (c, from_c) = network.bounded::<u32>("c", 4);
    network.process(
        "any",
        (Merge::new([from_a, from_b]), c),
        async |(mut any, mut c): (Merge<u32>, Out<_>)| {
            while let Some((_, number)) = any.recv().await {
                if c.send(number).await.is_err() {
                    break;
                }
            }
        },
    );
    network.process(
        "behind",
        (from_c, b),
        async |(mut from_c, mut b): (In<u32>, Out<u32>)| {
            while let Some(number) = from_c.recv().await {
                if number > 0 {
                    b.send(number - 1).await.unwrap();
                }
            }
        },
    );
    network.process("looks", a, async move |mut a| {
        // The others come first, and are suspended.
        let mut turns = 0;
        std::future::poll_fn(|context| {
            turns += 1;
            context.waker().wake_by_ref();
            match turns {
                10 => std::task::Poll::Ready(()),
                _ => std::task::Poll::Pending,
            }
        })
        .await;
        a.send(0).await.unwrap();
        // "any" is woken, and has not run: there is one worker.
        inside.look();
        assert!(!inside.is_stopped());
        std::future::pending::<()>().await;
    });
    let canceller = network.canceller();
    raw::beside(&mut network, async move {
        let mut turns = 0;
        std::future::poll_fn(|context| {
            turns += 1;
            context.waker().wake_by_ref();
            match turns {
                100 => std::task::Poll::Ready(()),
                _ => std::task::Poll::Pending,
            }
        })
        .await;
        canceller.cancel();
    });
    let error = network.run(&pool).unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error}");
}

/// Calls a function when it is dropped.
struct AtEnd<F: FnMut()>(F);

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn a_port_that_a_panic_has_dropped_is_closed_later() {
    let mut network = Network::new();
    let (out, input) = network.channel::<u32>("numbers");
    let input = Arc::new(Mutex::new(input));
    let seen = Arc::new(Mutex::new(None));
    {
        let (input, seen) = (Arc::clone(&input), Arc::clone(&seen));
        network.process("fails", out, async move |out| {
            // Dropped after the port.
            let _at_end = AtEnd(|| *seen.lock().unwrap() = Some(input.lock().unwrap().try_recv()));
            let _out = out;
            panic!("no more");
        });
        let error = network.run(&pool()).unwrap_err();
        assert!(matches!(error, Error::Panicked { .. }), "{error}");
    }
    assert_eq!(*seen.lock().unwrap(), Some(Err(TryRecvError::Empty)));
    assert_eq!(input.lock().unwrap().try_recv(), Err(TryRecvError::Closed));
}

#[test]
fn a_port_that_a_panic_before_the_process_has_dropped_is_closed_later() {
    let mut network = Network::new();
    let (out, input) = network.channel::<u32>("numbers");
    let input = Arc::new(Mutex::new(input));
    let seen = Arc::new(Mutex::new(None));
    let inside = raw::inside(&network);
    {
        let (input, seen) = (Arc::clone(&input), Arc::clone(&seen));
        network.process("fails", out, move |out| -> std::future::Ready<()> {
            // Dropped after the port.
            let _at_end = AtEnd(|| *seen.lock().unwrap() = Some(input.lock().unwrap().try_recv()));
            let _out = out;
            panic!("at once");
        });
        let error = network.run(&pool()).unwrap_err();
        assert!(matches!(error, Error::Panicked { .. }), "{error}");
    }
    assert_eq!(*seen.lock().unwrap(), Some(Err(TryRecvError::Empty)));
    assert_eq!(input.lock().unwrap().try_recv(), Err(TryRecvError::Closed));
    assert!(inside.is_over());
}

#[test]
fn a_port_of_a_process_that_fails_is_closed_later() {
    let mut network = Network::new();
    let (out, input) = network.channel::<u32>("numbers");
    let input = Arc::new(Mutex::new(input));
    let seen = Arc::new(Mutex::new(None));
    {
        let (input, seen) = (Arc::clone(&input), Arc::clone(&seen));
        network.try_process("fails", out, async move |out| {
            let _at_end = AtEnd(|| *seen.lock().unwrap() = Some(input.lock().unwrap().try_recv()));
            let _out = out;
            Err("no more")
        });
        let error = network.run(&pool()).unwrap_err();
        assert!(matches!(error, Error::Failed { .. }), "{error}");
    }
    assert_eq!(*seen.lock().unwrap(), Some(Err(TryRecvError::Empty)));
    assert_eq!(input.lock().unwrap().try_recv(), Err(TryRecvError::Closed));
}

/// To another rank, a closed port would be the end of a whole stream.
#[test]
fn a_port_with_a_hook_that_a_panic_has_dropped_is_closed_when_the_turn_ends() {
    let mut network = Network::new();
    let (out, input, mut bridge) = raw::bridged::<u32>(&mut network, "numbers", Some(2));
    drop(input);
    let egress = bridge.egress().unwrap();
    egress.hook(|| ());
    let egress = Arc::new(Mutex::new(egress));
    let within = Arc::clone(&egress);
    network.process("waits", out, async move |out: Out<u32>| {
        let panics = panic::AssertUnwindSafe(move || {
            let _out = out;
            panic!("with the port");
        });
        assert!(panic::catch_unwind(panics).is_err());
        let taken = roving::blocking(|| within.lock().unwrap().take());
        assert_eq!(taken, Err(TryRecvError::Empty));
    });
    network.run(&pool()).unwrap();
    let taken = egress.lock().unwrap().take();
    assert_eq!(taken, Err(TryRecvError::Closed));
}

/// An error that asks the network for its failure when it is to say what it is.
#[derive(Debug)]
struct Asks(raw::Inside);

impl std::error::Error for Asks {}

impl fmt::Display for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {}", self.0.failed_so_far().iter().count())
    }
}

#[test]
fn the_text_of_an_error_is_made_under_no_lock() {
    let seen = Mutex::new(None);
    let mut network = Network::new();
    let (out, input) = network.channel::<u32>("numbers");
    let inside = raw::inside(&network);
    let asks = Asks(inside.clone());
    let see = &seen;
    let told = AtEnd(move || *see.lock().unwrap() = inside.failed_so_far());
    network.process("waits", input, async move |mut input| {
        let _told = told;
        input.recv().await;
    });
    network.try_process("fails", out, async move |_out| Err(asks));
    assert!(matches!(network.run(&pool()), Err(Error::Failed { .. })));
    let seen = seen.into_inner().unwrap().unwrap().to_string();
    assert!(seen.ends_with("after 0"), "{seen}");
}
