//! Ports that are dropped, moved, or held outside; merging; groups and stages.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use futures_util::{StreamExt, future, select};
use roving::Pool;
use roving_flow::{Error, In, Merge, Network, Out, SendError, State, TryRecvError, TrySendError};

/// Counts how many of it are alive.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>) -> Counted {
        alive.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(alive))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Under Miri, all takes longer.
const PATIENCE: Duration = Duration::from_secs(if cfg!(miri) { 3600 } else { 60 });

/// Fails instead of hanging.
fn within_a_minute<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || drop(done.send(f())));
    match is_done.recv_timeout(PATIENCE) {
        Ok(result) => result,
        Err(error) => panic!("it hangs, or has panicked: {error}"),
    }
}

#[test]
fn every_message_is_dropped_once_whoever_leaves_first() {
    let pool = Pool::new(2).unwrap();
    let alive = Arc::new(AtomicUsize::new(0));
    for taken in [0, 1, 5, 100] {
        let mut network = Network::new();
        let (out, input) = network.unbounded("all");
        let own = &alive;
        network.process("send", out, |mut out: Out<Counted>| async move {
            for _ in 0..50 {
                if out.send(Counted::new(own)).await.is_err() {
                    return;
                }
            }
        });
        network.process("receive", input, |mut input: In<Counted>| async move {
            for _ in 0..taken {
                if input.recv().await.is_none() {
                    return;
                }
            }
        });
        network.run(&pool).unwrap();
        assert_eq!(alive.load(Ordering::Relaxed), 0, "{taken} taken");
    }
    // Nor is one lost in a network that never runs.
    let mut network = Network::new();
    let (mut out, input) = network.unbounded("never");
    out.try_send(Counted::new(&alive)).unwrap();
    network.sink("sink", input, drop);
    drop(network);
    drop(out);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn who_sends_hears_that_nobody_receives() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    let (out, input) = network.bounded("narrow", 1);
    network.process("send", out, async |mut out| {
        let mut sent = 0;
        while out.send(sent).await.is_ok() {
            sent += 1;
        }
        let Err(SendError(back)) = out.send(77).await else {
            panic!("the channel is closed");
        };
        assert_eq!(back, 77);
    });
    network.process("leave", input, async |mut input| {
        assert_eq!(input.recv().await, Some(0));
    });
    network.run(&pool).unwrap();
}

#[test]
fn trying_does_not_wait_and_is_told() {
    let mut network = Network::new();
    let (out, input) = network.bounded("one", 1);
    network.process("both", (out, input), async |(mut out, mut input)| {
        assert_eq!(input.try_recv(), Err(TryRecvError::Empty));
        out.try_send(1).unwrap();
        assert!(matches!(out.try_send(2), Err(TrySendError::Full(2))));
        drop(out);
        assert_eq!(input.try_recv(), Ok(1));
        assert_eq!(input.try_recv(), Err(TryRecvError::Closed));
    });
    let report = network.run(&Pool::new(1).unwrap()).unwrap();
    assert!(!report.deterministic);
}

#[test]
fn a_port_can_be_sent_to_another_process() {
    for workers in 1..=3 {
        let mut got = Vec::new();
        let mut network = Network::new();
        let (numbers, input) = network.bounded::<u32>("numbers", 2);
        let (ports, given) = network.bounded::<In<u32>>("ports", 1);
        network.source("source", numbers, 0..100);
        network.process("first", (input, ports), async |(mut input, mut ports)| {
            for number in 0..10 {
                assert_eq!(input.recv().await, Some(number));
            }
            ports.send(input).await.unwrap();
        });
        let into = &mut got;
        network.process("second", given, |mut given: In<In<u32>>| async move {
            let mut input = given.recv().await.unwrap();
            while let Some(number) = input.recv().await {
                into.push(number);
            }
        });
        network.run(&Pool::new(workers).unwrap()).unwrap();
        assert!(got.into_iter().eq(10..100));
    }
}

#[test]
fn a_deadlock_by_way_of_a_merge_is_found() {
    let pool = Pool::new(2).unwrap();
    // `merge` waits for either of two, both of which wait for it.
    let mut network = Network::new();
    let (to_merge_1, from_1) = network.bounded::<u32>("1 to merge", 1);
    let (to_merge_2, from_2) = network.bounded::<u32>("2 to merge", 1);
    let (to_1, in_1) = network.bounded::<u32>("merge to 1", 1);
    let (to_2, in_2) = network.bounded::<u32>("merge to 2", 1);
    for (name, ports) in [("1", (in_1, to_merge_1)), ("2", (in_2, to_merge_2))] {
        network.process(name, ports, async |(mut input, mut out)| {
            while let Some(number) = input.recv().await {
                if out.send(number).await.is_err() {
                    return;
                }
            }
        });
    }
    let ports = (Merge::new([from_1, from_2]), to_1, to_2);
    network.process("merge", ports, async |(mut merge, mut to_1, mut to_2)| {
        while let Some((_, number)) = merge.recv().await {
            let _ = to_1.send(number).await;
            let _ = to_2.send(number).await;
        }
    });
    let Err(Error::Deadlock { cycle }) = network.run(&pool) else {
        panic!("it is one");
    };
    assert!(cycle.iter().any(|one| one.process == "merge"));
}

#[test]
fn whoever_waits_for_the_outside_is_in_no_deadlock() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    let (out, input) = network.bounded::<u32>("by way of a thread", 1);
    let (mut from_outside, inside) = network.bounded::<u32>("from outside", 1);
    let slot = Arc::new(Mutex::new((None, None::<Waker>)));
    let filled = Arc::clone(&slot);
    let ended = poll_fn(move |context| {
        let mut slot = slot.lock().unwrap();
        slot.1 = Some(context.waker().clone());
        slot.0.map_or(Poll::Pending, Poll::Ready)
    });
    // One waits for a future from elsewhere, one for that, and one for a port that a thread holds.
    network.process("waits", out, |mut out| async move {
        let number = ended.await;
        out.send(number).await.unwrap();
    });
    network.process("next", input, async |mut input| {
        assert_eq!(input.recv().await, Some(5));
    });
    network.process("inside", inside, async |mut inside| {
        assert_eq!(inside.recv().await, Some(6));
    });
    let live = network.live();
    let thread = std::thread::spawn(move || {
        while !live.snapshot().processes.contains(&State::Outside) {
            std::thread::yield_now();
        }
        let mut slot = filled.lock().unwrap();
        slot.0 = Some(5);
        slot.1.take().unwrap().wake();
        from_outside.send_blocking(6).unwrap();
    });
    network.run(&pool).unwrap();
    thread.join().unwrap();
}

#[test]
fn inputs_are_streams_and_can_be_selected() {
    let mut network = Network::new();
    let (out, input) = network.channel("numbers");
    let (letters, letter) = network.channel("letters");
    network.source("numbers", out, 0..10_u32);
    network.source("letters", letters, 'a'..='e');
    network.process("select", (input, letter), async |(numbers, letters)| {
        let (mut numbers, mut letters) = (numbers.map(|number| number * 2).fuse(), letters.fuse());
        let (mut sum, mut text) = (0, String::new());
        loop {
            select! {
                number = numbers.select_next_some() => sum += number,
                letter = letters.select_next_some() => text.push(letter),
                complete => break,
            }
        }
        assert_eq!((sum, text.as_str()), (90, "abcde"));
    });
    network.run(&Pool::new(2).unwrap()).unwrap();
}

#[test]
fn stages_of_any_size_keep_the_order_or_every_message() {
    let pool = Pool::new(3).unwrap();
    let messages = if cfg!(miri) { 20 } else { 1000 };
    for k in [1, 2, 5] {
        let (mut ordered, mut unordered) = (Vec::new(), Vec::new());
        let mut network = Network::new();
        let (out, input) = network.bounded::<u64>("numbers", 3);
        let (squared, squares) = network.bounded("squares", 2);
        let (all, some) = network.bounded("all", 1);
        network.source("source", out, 0..messages);
        network.stage("ordered", k, input, squared, |number| {
            std::hint::black_box((0..number % 64).sum::<u64>());
            number * number
        });
        let (copy, copied) = network.bounded("copy", 3);
        network.process(
            "copy",
            (squares, all, copy),
            async |(mut from, mut a, mut b)| {
                while let Some(number) = from.recv().await {
                    a.send(number).await.unwrap();
                    b.send(number).await.unwrap();
                }
            },
        );
        let (rooted, roots) = network.bounded("roots", 2);
        network.stage_unordered("unordered", k, some, rooted, |square: u64| square.isqrt());
        network.collect_into("in order", copied, &mut ordered);
        network.collect_into("in any order", roots, &mut unordered);
        let report = network.run(&pool).unwrap();
        assert!(
            ordered
                .into_iter()
                .eq((0..messages).map(|number| number * number))
        );
        unordered.sort_unstable();
        assert!(unordered.into_iter().eq(0..messages));
        let names: Vec<_> = report.processes().map(|one| one.name.to_string()).collect();
        assert!(
            names.contains(&"ordered/deal".to_owned()) && names.contains(&"unordered/0".to_owned())
        );
    }
    let mut network = Network::new();
    let (out, input) = network.channel::<u32>("numbers");
    let (to, _from) = network.channel::<u32>("none");
    network.source("source", out, 0..10);
    network.stage("empty", 0, input, to, |number| number);
    let error = network.run(&pool).unwrap_err().to_string();
    assert!(
        error.contains("empty: a stage of 0 processes") && error.contains("at least 1"),
        "{error}"
    );
}

#[test]
fn a_network_can_run_inside_a_process_of_another() {
    let pool = Pool::new(2).unwrap();
    let mut outer = Network::new();
    let (out, input) = outer.channel("sums");
    let pool_of_inner = &pool;
    outer.process("with another inside", out, |mut out| async move {
        let mut sum = 0_u64;
        let mut inner = Network::new();
        let (numbers, input) = inner.bounded("numbers", 2);
        inner.source("source", numbers, 0..100);
        inner.sink("sink", input, |number: u64| sum += number);
        inner.run(pool_of_inner).unwrap();
        out.send(sum).await.unwrap();
    });
    outer.sink("sink", input, |sum| assert_eq!(sum, 4950));
    outer.run(&pool).unwrap();
}

#[test]
fn a_process_that_may_fail_can_run_another_network() {
    let ran = within_a_minute(|| {
        let pool = Pool::new(2).unwrap();
        let mut outer = Network::new();
        let (out, input) = outer.channel("sums");
        let pool_of_inner = &pool;
        outer.try_process("with another inside", out, |mut out| async move {
            let mut inner = Network::new();
            let (mut numbers, mut input) = inner.bounded("numbers", 4);
            let sum = Arc::new(AtomicUsize::new(0));
            let adds = Arc::clone(&sum);
            // Held outside, and dropped within the poll that runs the other network.
            for number in 0..4 {
                numbers.try_send(number).unwrap();
            }
            drop(numbers);
            inner.process("sink", (), move |()| async move {
                while let Some(number) = input.recv().await {
                    adds.fetch_add(number, Ordering::Relaxed);
                }
            });
            inner
                .run(pool_of_inner)
                .map_err(|error| error.to_string())?;
            out.send(sum.load(Ordering::Relaxed)).await.unwrap();
            Ok::<(), String>(())
        });
        outer.sink("sink", input, |sum| assert_eq!(sum, 6));
        outer.run(&pool).map(drop)
    });
    ran.unwrap();
}

#[test]
fn a_port_of_another_network_is_refused() {
    let mut one = Network::new();
    let mut other = Network::new();
    let (out, _input) = one.channel::<u32>("numbers");
    other.source("source", out, 0..3);
    let error = other.run(&Pool::new(1).unwrap()).unwrap_err().to_string();
    assert!(
        error.contains("`source` has a port of another network"),
        "{error}"
    );
}

#[test]
fn a_network_that_was_cancelled_does_not_run() {
    let mut network = Network::new();
    let (out, input) = network.channel::<u32>("numbers");
    network.source(
        "source",
        out,
        (0..10).inspect(|_| panic!("nobody asks for it")),
    );
    network.sink("sink", input, |_| {});
    network.canceller().cancel();
    let result = network.run(&Pool::new(2).unwrap());
    assert!(matches!(result, Err(Error::Cancelled)));
}

#[test]
fn a_body_that_panics_before_its_first_poll_is_named() {
    let mut network = Network::new();
    let (out, input) = network.channel::<u32>("numbers");
    network.process("bad", out, |_out| -> std::future::Ready<()> {
        panic!("at once")
    });
    network.sink("sink", input, |_| {});
    let result = network.run(&Pool::new(2).unwrap());
    assert!(matches!(result, Err(Error::Panicked { process, .. }) if process == "bad"));
}

#[test]
fn accounts_add_up() {
    const MESSAGES: u64 = if cfg!(miri) { 100 } else { 5000 };
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    network.accounting(true);
    let (out, input) = network.bounded("numbers", 4);
    let (twice, doubled) = network.bounded("doubled", 4);
    network.source("source", out, 0..MESSAGES);
    network.process("double", (input, twice), async |(mut input, mut out)| {
        while let Some(number) = input.recv().await {
            out.send(2 * number).await.unwrap();
        }
    });
    network.sink("sink", doubled, |_| {});
    let report = network.run(&pool).unwrap();
    for channel in report.channels() {
        let account = channel.account.unwrap();
        assert_eq!(account.local + account.remote, MESSAGES);
        assert_eq!(
            (channel.messages, channel.received, channel.bytes),
            (MESSAGES, MESSAGES, 8 * MESSAGES)
        );
    }
    for process in report.processes() {
        let account = process.account.unwrap();
        assert!(account.switches > 0 && account.migrations < account.switches);
        assert!(account.busy <= report.elapsed);
    }
}

/// A merge looks at an input that a thread outside has before it finds a message. The process does
/// not wait there when it then waits for room: nothing but a larger channel lets it go on.
#[test]
fn a_merge_waits_at_no_input_when_it_has_a_message() {
    within_a_minute(|| {
        let mut network = Network::new();
        let (_control, control) = network.channel("control");
        let (out, data) = network.channel("data");
        let (batch, input) = network.bounded("batch", 1);
        let (go, may_go) = network.channel::<()>("go");
        network.source("source", out, 0..10);
        let ports = (Merge::new([control, data]), batch, go);
        network.process("merge", ports, async |(mut merge, mut batch, mut go)| {
            for _ in 0..10 {
                let (_, number): (_, u32) = merge.recv().await.unwrap();
                batch.send(number).await.unwrap();
            }
            go.send(()).await.unwrap();
        });
        network.process("sink", (may_go, input), async |(mut may_go, mut input)| {
            may_go.recv().await.unwrap();
            let mut count = 0;
            while input.recv().await.is_some() {
                count += 1;
            }
            assert_eq!(count, 10);
        });
        let report = network.run(&Pool::new(2).unwrap()).unwrap();
        assert!(!report.growths.is_empty());
    });
}

/// As a merge, a `select` gives up the wait at one input when there is a message at another. In two
/// turns: where the process waits for room, it waits for nothing else.
#[test]
fn a_select_waits_at_no_input_when_it_has_a_message() {
    within_a_minute(|| {
        let mut network = Network::new();
        let (_control, control) = network.channel("control");
        let (out, data) = network.channel("data");
        let (batch, input) = network.bounded("batch", 1);
        let (go, may_go) = network.channel("go");
        network.source("source", out, 0..10);
        type Selects = (In<u32>, In<u32>, Out<u32>, Out<()>);
        let body = async |(mut control, mut data, mut batch, mut go): Selects| {
            for _ in 0..10 {
                let (control, data) = (pin!(control.recv()), pin!(data.recv()));
                let number = future::select(control, data).await.factor_first().0;
                batch.send(number.unwrap()).await.unwrap();
            }
            go.send(()).await.unwrap();
        };
        network.process("select", (control, data, batch, go), body);
        network.process("sink", (may_go, input), async |(mut may_go, mut input)| {
            assert_eq!(may_go.recv().await, Some(()));
            for _ in 0..10 {
                assert!(input.recv().await.is_some());
            }
            assert_eq!(input.recv().await, None);
        });
        let report = network.run(&Pool::new(2).unwrap()).unwrap();
        assert!(!report.growths.is_empty());
    });
}

/// It waits at two inputs, and then for room, having given up a third. Channels that are made one
/// after the other lie at equal distances, so the sum of these two is that of the other two.
#[test]
fn a_select_at_other_ports_than_before_waits_at_no_input_that_it_gave_up() {
    within_a_minute(|| {
        let mut network = Network::new();
        let mut channels: Vec<_> = (0..40).map(|_| network.bounded::<u32>("", 1)).collect();
        let [(batch, input), (mut to_c, c), (mut to_b, b), (_silent, a)] =
            std::array::from_fn(|_| channels.remove(36));
        let (go, may_go) = network.channel("go");
        let (tick, mut ticks) = network.channel("tick");
        type Selects = (In<u32>, In<u32>, In<u32>, Out<u32>, Out<()>, Out<()>);
        let body = async |(mut a, mut b, mut c, mut batch, mut go, mut tick): Selects| {
            assert_eq!(c.recv().await, Some(1));
            batch.send(1).await.unwrap();
            tick.send(()).await.unwrap();
            future::select(pin!(b.recv()), pin!(c.recv())).await;
            future::select(pin!(a.recv()), future::ready(())).await;
            batch.send(2).await.unwrap();
            go.send(()).await.unwrap();
        };
        network.process("select", (a, b, c, batch, go, tick), body);
        network.process("source", (), async move |()| {
            to_c.send(1).await.unwrap();
            assert_eq!(ticks.recv().await, Some(()));
            to_b.send(1).await.unwrap();
            ticks.recv().await;
        });
        network.process("sink", (may_go, input), async |(mut may_go, mut input)| {
            assert_eq!(may_go.recv().await, Some(()));
            assert_eq!((input.recv().await, input.recv().await), (Some(1), Some(2)));
        });
        let report = network.run(&Pool::new(1).unwrap()).unwrap();
        assert!(!report.growths.is_empty());
    });
}

/// A waker that panics when it is dropped.
struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Bomb>) {}
}

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a bomb");
    }
}

/// It was left with a channel before a process got the port, and goes with the channel.
#[test]
fn a_waker_that_was_left_behind_may_panic_when_it_is_dropped() {
    within_a_minute(|| {
        let mut network = Network::new();
        let mut outs = Vec::new();
        for number in 0..2 {
            let (out, mut input) = network.channel::<u8>(number);
            let waker = Waker::from(Arc::new(Bomb));
            let mut context = Context::from_waker(&waker);
            assert!(input.poll_recv(&mut context).is_pending());
            network.process(number, input, async |mut input| {
                assert_eq!(input.recv().await, None);
            });
            outs.push(out);
        }
        let ends = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            drop(outs);
        });
        network.run(&Pool::new(2).unwrap()).unwrap();
        ends.join().unwrap();
    });
}
