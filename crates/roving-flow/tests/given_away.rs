//! Ports that a process gives away, and waits of a process within its own turn.

#[path = "common/executor.rs"]
mod executor;
#[path = "common/watched.rs"]
mod watched;

use std::future::poll_fn;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use executor::block_on;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use roving::policy::Amount;
use roving::raw::waits::run_one;
use roving::{Arena, Pool, task};
use roving_flow::{Error, In, Network, Out, TryRecvError};
use watched::watched;

/// Polls for a message once, and gives the wait up, as a `select` does whose other arm is ready.
async fn look(port: &mut In<u32>) {
    poll_fn(|context| {
        assert!(pin!(port.recv()).poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

/// Adds a process that looks at a port and gives it away in the same turn, in which it waits for
/// something else. When it is told to go on, it sends these numbers to who has the port.
fn gives_away(
    network: &mut Network<'_>,
    hand_over: Out<In<u32>>,
    told: In<()>,
    numbers: RangeInclusive<u32>,
) {
    let (out, port) = network.bounded("numbers", 1);
    type Ports = (In<u32>, Out<In<u32>>, In<()>, Out<u32>);
    let body = async move |(mut port, mut hand_over, mut told, mut out): Ports| {
        look(&mut port).await;
        hand_over.send(port).await.unwrap();
        assert_eq!(told.recv().await, Some(()));
        for number in numbers {
            out.send(number).await.unwrap();
        }
    };
    network.process("first", (port, hand_over, told, out), body);
}

/// The second process waits at the port when that comes for which the first one waits.
#[test]
fn a_port_that_was_looked_at_and_given_away_in_one_turn_wakes_who_has_it() {
    watched(|| {
        for workers in 1..=2 {
            let pool = Pool::new(workers).unwrap();
            let mut network = Network::new();
            let (hand_over, ports) = network.bounded("ports", 1);
            let (go_on, told) = network.bounded("go on", 1);
            let (waits, waiting) = network.bounded("waits", 1);
            gives_away(&mut network, hand_over, told, 7..=7);
            network.process(
                "second",
                (ports, waits),
                async |(mut ports, mut waits): (In<In<u32>>, Out<()>)| {
                    let mut port = ports.recv().await.unwrap();
                    waits.send(()).await.unwrap();
                    assert_eq!(port.recv().await, Some(7));
                },
            );
            network.process(
                "third",
                (waiting, go_on),
                async |(mut waiting, mut go_on): (In<()>, Out<()>)| {
                    assert_eq!(waiting.recv().await, Some(()));
                    go_on.send(()).await.unwrap();
                },
            );
            network.run(&pool).unwrap();
        }
    });
}

/// The second process waits in a root of its own, on top of the only worker.
#[test]
fn a_port_that_was_looked_at_and_given_away_wakes_who_waits_in_a_root_of_its_own() {
    watched(|| {
        for workers in 1..=2 {
            let pool = Pool::new(workers).unwrap();
            let mut network = Network::new();
            let (hand_over, ports) = network.bounded("ports", 1);
            let (waits, told) = network.bounded("waits", 1);
            gives_away(&mut network, hand_over, told, 7..=8);
            network.process(
                "second",
                (ports, waits),
                async |(mut ports, mut waits): (In<In<u32>>, Out<()>)| {
                    let mut port = ports.recv().await.unwrap();
                    waits.send(()).await.unwrap();
                    task::block_on(async {
                        assert_eq!(port.recv().await, Some(7));
                        assert_eq!(port.recv().await, Some(8));
                    });
                },
            );
            network.run(&pool).unwrap();
        }
    });
}

/// A process looks at a port, and gives it in the same turn to a future of its own with a waker of
/// its own.
#[test]
fn a_port_that_was_looked_at_and_given_to_a_future_of_ones_own_wakes_that() {
    watched(|| {
        let pool = Pool::new(1).unwrap();
        let mut network = Network::new();
        let (mut out, input) = network.bounded("sevens", 1);
        network.process("waits", input, async |mut port: In<u32>| {
            look(&mut port).await;
            let mut all = FuturesUnordered::new();
            all.push(async move { port.recv().await });
            assert_eq!(all.next().await, Some(Some(7)));
        });
        network.process("sends", (), async move |()| {
            let mut is_first = true;
            poll_fn(|context| {
                context.waker().wake_by_ref();
                match std::mem::take(&mut is_first) {
                    true => Poll::Pending,
                    false => Poll::Ready(()),
                }
            })
            .await;
            out.send(7).await.unwrap();
        });
        network.run(&pool).unwrap();
    });
}

/// A task waits there, which is no process, and gives the port back: who waits for the process is
/// known to wait for it still, and what is full grows.
#[test]
fn a_port_that_a_task_has_used_and_given_back_is_its_processs_again() {
    watched(|| {
        let mut network = Network::new();
        let (many, numbers) = network.bounded("numbers", 1);
        let (few, others) = network.bounded("others", 1);
        network.process(
            "sends",
            (many, few),
            async |(mut many, mut few): (Out<u32>, Out<u32>)| {
                let sends = task::fork(async move {
                    for number in 0..100 {
                        many.send(number).await.unwrap();
                    }
                    many
                });
                let mut many = sends.await.await;
                few.send(1).await.unwrap();
                few.send(2).await.unwrap();
                many.send(100).await.unwrap();
            },
        );
        network.process(
            "receives",
            (numbers, others),
            async |(mut numbers, mut others): (In<u32>, In<u32>)| {
                for number in 0..=100 {
                    assert_eq!(numbers.recv().await, Some(number));
                }
                assert_eq!(others.recv().await, Some(1));
                assert_eq!(others.recv().await, Some(2));
            },
        );
        let report = network.run(&Pool::new(2).unwrap()).unwrap();
        assert_eq!(report.channel(0).producer, Some(0));
    });
}

/// Who has it may take its time: nobody else is known to.
#[test]
fn a_captured_port_that_a_task_or_a_thread_has_is_in_no_deadlock() {
    fn late(send: impl FnOnce()) {
        thread::sleep(Duration::from_millis(20));
        send();
    }
    type Hands = fn(Out<u32>);
    let to_a_task: Hands = |mut out| {
        drop(task::spawn(async move {
            roving::blocking(|| late(|| ()));
            out.send(7).await.unwrap();
        }));
    };
    let to_a_thread: Hands = |mut out| {
        thread::spawn(move || late(|| out.send_blocking(7).unwrap()));
    };
    watched(|| {
        for hands in [to_a_task, to_a_thread] {
            let mut network = Network::new();
            let (out, input) = network.bounded("numbers", 1);
            let (doubles, mut doubled) = network.bounded("doubled", 1);
            network.flat_map("doubles", input, doubles, |number: u32| Some(2 * number));
            network.process("first", (), async move |()| {
                hands(out);
                assert_eq!(doubled.recv().await, Some(14));
            });
            network.run(&Pool::new(2).unwrap()).unwrap();
        }
    });
}

/// Else the process would wait for ever, and with it the network for its end.
#[test]
fn a_process_that_waits_within_its_turn_ends_with_a_network_that_fails() {
    watched(|| {
        for workers in 1..=2 {
            let pool = Pool::new(workers).unwrap();
            let mut network = Network::new();
            let (out, mut input) = network.bounded::<u32>("numbers", 1);
            let (mut waits, waiting) = network.bounded("waits", 1);
            network.process("waits", (), async move |()| {
                task::block_on(async {
                    waits.send(()).await.unwrap();
                    assert_eq!(input.recv().await, None);
                });
            });
            network.process("fails", (out, waiting), async |(_out, mut waiting)| {
                assert_eq!(waiting.recv().await, Some(()));
                panic!("it fails");
            });
            let Err(Error::Panicked { process, .. }) = network.run(&pool) else {
                panic!("it must fail");
            };
            assert_eq!(process, "fails");
        }
    });
}

/// Else a thread outside that waits for a port of the second would wait for ever.
#[test]
fn a_process_that_panics_when_it_is_dropped_unbegun_keeps_no_other_from_it() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    watched(|| {
        let mut network = Network::new();
        let (bomb, (out, mut input)) = (Bomb, network.bounded::<u32>("numbers", 1));
        network.process("first", (), async move |()| drop(bomb));
        network.process("second", out, async |out| drop(out));
        let outside = thread::spawn(move || input.recv_blocking());
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(network)));
        assert_eq!(*dropped.unwrap_err().downcast::<&str>().unwrap(), "dropped");
        assert_eq!(outside.join().unwrap(), None);
    });
}

#[test]
fn a_process_that_waits_within_its_turn_ends_with_a_network_that_is_cancelled() {
    watched(|| {
        let mut network = Network::new();
        let (out, mut input) = network.bounded::<u32>("never", 1);
        let (mut waits, mut waiting) = network.bounded("waits", 1);
        network.process("waits", (), async move |()| {
            task::block_on(async {
                waits.send(()).await.unwrap();
                assert_eq!(input.recv().await, None);
            });
        });
        network.process("holds", out, async |_out| std::future::pending().await);
        let canceller = network.canceller();
        let cancels = thread::spawn(move || {
            waiting.recv_blocking();
            canceller.cancel();
        });
        let outcome = network.run(&Pool::new(2).unwrap());
        assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
        cancels.join().unwrap();
    });
}

/// It is not the process that panics, and what it has sent is whole.
fn drops_in_a_job(entered: Option<Pool>) {
    watched(|| {
        let pool = Pool::new(1).unwrap();
        let mut network = Network::new();
        let (mut out, mut input) = network.bounded("numbers", 1);
        network.process("first", (), async move |()| {
            let runs_a_job = || {
                let job = roving::spawn(move || {
                    out.try_send(7).unwrap();
                    panic!("with the port");
                });
                assert_eq!(run_one(false), Some(true));
                assert!(job.is_finished());
                assert_eq!(input.try_recv(), Ok(7));
                assert_eq!(input.try_recv(), Err(TryRecvError::Closed));
            };
            match entered {
                Some(entered) => entered.install(runs_a_job),
                None => runs_a_job(),
            }
        });
        network.run(&pool).unwrap();
    });
}

#[test]
fn a_port_that_a_job_on_top_of_a_process_drops_in_a_panic_is_closed_at_once() {
    drops_in_a_job(None);
    drops_in_a_job(Some(Pool::builder().caller_runs().build().unwrap()));
}

/// Closures of others are claimed with one that the process runs, and offered on above it.
#[test]
fn a_port_that_a_closure_of_others_drops_in_a_panic_is_closed_at_once() {
    watched(|| {
        let builder = Pool::builder().workers(1).steal(Amount::Fixed(4));
        let pool = builder.build().unwrap();
        let mut network = Network::new();
        let channels = (0..4).map(|_| network.bounded::<u32>("numbers", 1));
        let (outs, inputs): (Vec<_>, Vec<_>) = channels.collect::<Vec<_>>().into_iter().unzip();
        network.process("first", inputs, async move |mut inputs| {
            roving::scope(|_| {
                run_one(true);
            });
            for input in &mut inputs {
                assert_eq!(input.try_recv(), Err(TryRecvError::Closed));
            }
        });
        let panicked = pool.install(|| {
            catch_unwind(AssertUnwindSafe(|| {
                roving::scope(|scope| {
                    for out in outs {
                        scope.spawn(move |_| {
                            let _out = out;
                            panic!("with the port");
                        });
                    }
                    network.run(&pool).unwrap();
                });
            }))
        });
        let text = *panicked.unwrap_err().downcast::<&str>().unwrap();
        assert_eq!(text, "with the port");
    });
}

/// A process waits for a port by `waits`, within its turn, while the network fails.
fn waits_while_it_fails(
    pool: &Pool,
    waits: impl FnOnce(&mut (dyn FnMut() + Send), In<u32>) + Send + 'static,
) {
    let mut network = Network::new();
    let (out, input) = network.bounded::<u32>("numbers", 1);
    let (mut begins, waiting) = network.bounded("begins", 1);
    network.process("waits", (), async move |()| {
        waits(&mut || begins.try_send(()).unwrap(), input);
    });
    network.process("fails", (out, waiting), async |(_out, mut waiting)| {
        assert_eq!(waiting.recv().await, Some(()));
        panic!("it fails");
    });
    let Err(Error::Panicked { process, .. }) = network.run(pool) else {
        panic!("it must fail");
    };
    assert_eq!(process, "fails");
}

#[test]
fn a_process_that_waits_in_another_pool_ends_with_a_network_that_fails() {
    watched(|| {
        let callers = || Pool::builder().caller_runs().build().unwrap();
        let arena = Arena::new(2).unwrap();
        let share = |workers| arena.pool().workers(workers).build().unwrap();
        for (pool, entered) in [
            (Pool::new(1).unwrap(), callers()),
            (Pool::new(2).unwrap(), callers()),
            (share(2), share(1)),
        ] {
            waits_while_it_fails(&pool, move |begins, mut input| {
                entered.install(|| {
                    task::block_on(async {
                        begins();
                        assert_eq!(input.recv().await, None);
                    });
                });
            });
        }
    });
}

#[test]
fn a_process_that_waits_by_another_executor_ends_with_a_network_that_fails() {
    watched(|| {
        waits_while_it_fails(&Pool::new(2).unwrap(), |begins, mut input| {
            roving::blocking(|| {
                begins();
                assert_eq!(block_on(input.recv()), None);
            });
        });
    });
}

/// It waits before it makes its future.
#[test]
fn a_process_that_waits_before_it_begins_ends_with_a_network_that_fails() {
    watched(|| {
        let mut network = Network::new();
        let (out, mut input) = network.bounded::<u32>("numbers", 1);
        let (mut begins, mut waiting) = network.bounded("begins", 1);
        network.process("fails", out, async move |_out| {
            assert_eq!(waiting.recv().await, Some(()));
            panic!("it fails");
        });
        network.process("waits", (), move |()| {
            begins.try_send(()).unwrap();
            assert_eq!(block_on(input.recv()), None);
            async {}
        });
        assert!(network.run(&Pool::new(2).unwrap()).is_err());
    });
}
