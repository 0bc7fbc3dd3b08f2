//! Ports that a panic drops where a process has its work done by others: in halves of joins, in
//! tasks of scopes, in tasks that it has spawned. They end no stream if that panic is what the
//! process fails with; and else they do.

#[path = "common/watched.rs"]
mod watched;

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use roving::{Pool, task};
use roving_flow::{Error, In, Network, Out, raw};
use watched::watched;

/// So long a panic gives a reader that takes half of a stream for the whole.
const WHILE: Duration = Duration::from_millis(if cfg!(miri) { 1 } else { 30 });

/// Whether a process has come to the end of its stream.
#[derive(Clone, Default)]
struct Ended(Arc<AtomicBool>);

impl Ended {
    fn get(&self) -> bool {
        self.0.load(SeqCst)
    }

    /// Returns when that is so, or it has not been for a while.
    fn wait(&self) {
        let begun = Instant::now();
        while !self.get() && begun.elapsed() < WHILE {
            thread::yield_now();
        }
    }
}

/// Waits when it is dropped, after a port that was made later.
struct WaitsInDrop(Ended);

impl Drop for WaitsInDrop {
    fn drop(&mut self) {
        self.0.wait();
    }
}

/// A process has two messages to send, and panics with its port after the first.
fn panics(out: Out<u32>, ended: &Ended) {
    let _waits = WaitsInDrop(ended.clone());
    let mut out = out;
    out.send_blocking(1).unwrap();
    panic!("half");
}

/// Is a task that does so.
async fn panics_as_task(out: Out<u32>, ended: Ended) {
    let _waits = WaitsInDrop(ended);
    let mut out = out;
    out.send(1).await.unwrap();
    panic!("half");
}

/// Calls that as a half of a join that another worker runs, and waits for what comes of it.
fn in_a_half(out: Out<u32>, ended: &Ended) {
    let has_begun = AtomicBool::new(false);
    roving::join(
        || {
            while !has_begun.load(SeqCst) {
                thread::yield_now();
            }
            ended.wait();
        },
        || {
            has_begun.store(true, SeqCst);
            panics(out, ended);
        },
    );
}

/// A network whose first process has its port dropped by `body`, and another one that reads to the
/// end of the stream. Returns whether that one has come to it.
fn runs<Fut>(body: impl FnOnce(Out<u32>, Ended) -> Fut + Send) -> (Result<(), Error>, bool)
where
    Fut: Future<Output = ()> + Send,
{
    let ended = Ended::default();
    let mut network = Network::new();
    let (out, input) = network.channel("numbers");
    let (of, to) = (ended.clone(), ended.clone());
    network.process("sends half", out, async move |out| body(out, of).await);
    network.process("reads", input, async move |mut input: In<u32>| {
        while input.recv().await.is_some() {}
        to.0.store(true, SeqCst);
    });
    let result = network.run(&Pool::new(3).unwrap());
    (result.map(drop), ended.get())
}

fn is_no_end<Fut>(body: impl FnOnce(Out<u32>, Ended) -> Fut + Send + 'static)
where
    Fut: Future<Output = ()> + Send,
{
    watched(|| {
        let (result, has_ended) = runs(body);
        let error = result.unwrap_err();
        assert!(matches!(&error, Error::Panicked { process, .. } if process == "sends half"));
        assert!(!has_ended, "half a stream was taken for the whole");
    });
}

fn is_an_end<Fut>(body: impl FnOnce(Out<u32>, Ended) -> Fut + Send + 'static)
where
    Fut: Future<Output = ()> + Send,
{
    watched(|| {
        let (result, has_ended) = runs(body);
        result.unwrap();
        assert!(has_ended);
    });
}

#[test]
fn a_half_of_a_join_that_panics_ends_no_stream() {
    is_no_end(async |out, ended| in_a_half(out, &ended));
}

#[test]
fn a_half_of_a_join_whose_panic_is_caught_ends_a_stream() {
    is_an_end(async |out, ended| {
        catch_unwind(AssertUnwindSafe(|| in_a_half(out, &ended))).unwrap_err();
    });
}

#[test]
fn a_task_of_a_scope_that_panics_ends_no_stream() {
    is_no_end(async |out, ended| {
        let has_begun = AtomicBool::new(false);
        roving::scope(|scope| {
            let (has_begun, of) = (&has_begun, ended.clone());
            scope.spawn(move |_| {
                has_begun.store(true, SeqCst);
                panics(out, &of);
            });
            while !has_begun.load(SeqCst) {
                thread::yield_now();
            }
            ended.wait();
        });
    });
}

#[test]
fn an_async_task_that_panics_ends_no_stream() {
    is_no_end(async |out, ended| task::spawn(panics_as_task(out, ended)).await);
}

#[test]
fn a_called_task_that_panics_ends_no_stream() {
    is_no_end(async |out, ended| task::call(panics_as_task(out, ended)).await);
}

#[test]
fn a_forked_task_that_panics_ends_no_stream() {
    is_no_end(async |out, ended| {
        let forked = task::fork(panics_as_task(out, ended)).await;
        forked.await;
    });
}

#[test]
fn a_detached_task_that_panics_ends_no_stream() {
    is_no_end(async |out, ended| roving::spawn(move || panics(out, &ended)).await.unwrap());
}

/// Of its second task the process hears first.
#[test]
fn a_process_that_hears_of_another_task_first_ends_no_stream() {
    is_no_end(async |out, ended| {
        let panics = task::spawn(panics_as_task(out, ended));
        task::spawn(async {}).await;
        panics.await;
    });
}

#[test]
fn a_detached_task_whose_panic_is_caught_ends_a_stream() {
    is_an_end(async |out, ended| {
        let error = roving::spawn(move || panics(out, &ended)).await;
        error.unwrap_err();
    });
}

/// The task that has panicked is not what the process waits for: that waits for the end.
#[test]
fn a_process_that_waits_for_the_reader_ends_its_stream() {
    watched(|| {
        let mut network = Network::new();
        let (out, mut numbers) = network.channel("numbers");
        let (answer, input): (Out<u32>, In<u32>) = network.channel("answer");
        network.process(
            "sends half",
            (out, input),
            async |(out, mut input): (Out<u32>, In<u32>)| {
                let panicked = roving::spawn(move || panics(out, &Ended::default()));
                assert_eq!((input.recv().await, input.recv().await), (Some(1), None));
                panicked.await.unwrap_err();
            },
        );
        network.process("answers", (), async move |()| {
            let mut answer = answer;
            while let Some(number) = numbers.recv().await {
                answer.send(number).await.unwrap();
            }
        });
        network.run(&Pool::new(3).unwrap()).unwrap();
    });
}

/// It has ended before its task panics, which is somebody else's then.
#[test]
fn a_task_that_outlives_its_process_ends_a_stream() {
    is_an_end(async |out, ended| {
        let begins = Ended::default();
        let waits = begins.clone();
        drop(roving::spawn(move || {
            waits.0.store(true, SeqCst);
            thread::sleep(WHILE);
            panics(out, &ended);
        }));
        while !begins.get() {
            thread::yield_now();
        }
    });
}

/// It waits for other tasks, one after the other, and never for the one that has panicked.
#[test]
fn a_process_that_goes_on_and_on_ends_its_stream() {
    watched(|| {
        let ended = Ended::default();
        let (of, to) = (ended.clone(), ended.clone());
        let mut network = Network::new();
        let (out, input) = network.channel("numbers");
        network.process("sends half", out, async move |out| {
            let panicked = roving::spawn(move || panics(out, &Ended::default()));
            while !of.get() {
                roving::spawn(thread::yield_now).await.unwrap();
            }
            panicked.await.unwrap_err();
        });
        network.process("reads", input, async move |mut input: In<u32>| {
            while input.recv().await.is_some() {}
            to.0.store(true, SeqCst);
        });
        network.run(&Pool::new(3).unwrap()).unwrap();
    });
}

/// The process waits for something that never comes, and not for the task that has panicked.
#[test]
fn a_network_whose_stream_is_in_doubt_is_cancelled() {
    watched(|| {
        let mut network = Network::new();
        let (out, input) = network.channel("numbers");
        network.process("sends half", out, async |out| {
            drop(roving::spawn(move || panics(out, &Ended::default())));
            std::future::pending::<()>().await;
        });
        let canceller = network.canceller();
        network.process("reads", input, async move |mut input: In<u32>| {
            assert_eq!(input.recv().await, Some(1));
            let cancels = roving::spawn(move || {
                thread::sleep(WHILE);
                canceller.cancel();
            });
            assert_eq!(input.recv().await, None);
            cancels.await.unwrap();
        });
        let error = network.run(&Pool::new(3).unwrap()).unwrap_err();
        assert!(matches!(error, Error::Cancelled));
    });
}

/// It has no body that could hear of the panic of its thread: it panics itself. Nothing is kept, as
/// a search for leaks finds.
#[test]
fn a_process_that_panics_before_it_begins_ends_no_stream() {
    watched(|| {
        let ended = Ended::default();
        let to = ended.clone();
        let mut network = Network::new();
        let (out, input) = network.channel("numbers");
        network.process("never begins", out, |out| {
            let thread = thread::spawn(move || panics(out, &Ended::default()));
            let payload = thread.join().unwrap_err();
            if !payload.is::<u32>() {
                std::panic::resume_unwind(payload);
            }
            async {}
        });
        network.process("reads", input, async move |mut input: In<u32>| {
            while input.recv().await.is_some() {}
            to.0.store(true, SeqCst);
        });
        let error = network.run(&Pool::new(3).unwrap()).unwrap_err();
        assert!(matches!(&error, Error::Panicked { process, .. } if process == "never begins"));
        assert!(!ended.get());
    });
}

/// Calls a function when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// The doubt is its own, and the other stream has nothing to do with it.
#[test]
fn a_process_whose_stream_is_in_doubt_comes_to_the_end_of_another() {
    watched(|| {
        let mut network = Network::new();
        let (out, input) = network.channel("numbers");
        let (other, mut others) = network.channel::<u32>("others");
        drop(other);
        network.process("sends half", out, async move |out| {
            let panicked = roving::spawn(move || panics(out, &Ended::default())).await;
            panicked.unwrap_err();
            assert_eq!(others.recv().await, None);
        });
        network.sink("reads", input, |_| {});
        network.run(&Pool::new(3).unwrap()).unwrap();
    });
}

#[test]
fn two_processes_whose_streams_are_in_doubt_come_to_their_ends() {
    watched(|| {
        let mut network = Network::new();
        let (one, from_one) = network.channel("from one");
        let (other, from_other) = network.channel("from the other");
        for (name, out, input) in [("one", one, from_other), ("other", other, from_one)] {
            network.process(
                name,
                (out, input),
                async |(out, mut input): (_, In<u32>)| {
                    let left = Ended::default();
                    let of = left.clone();
                    drop(roving::spawn(move || {
                        let _left = OnDrop(|| of.0.store(true, SeqCst));
                        panics(out, &Ended::default());
                    }));
                    while !left.get() {
                        thread::yield_now();
                    }
                    while input.recv().await.is_some() {}
                },
            );
        }
        network.run(&Pool::new(4).unwrap()).unwrap();
    });
}

/// The task has given the process's waker up, and woken it, when that has ended its second turn: at
/// the end of that, a message is dropped which nobody receives.
#[test]
fn a_process_that_its_task_has_just_woken_ends_no_stream() {
    type Message = OnDrop<Box<dyn FnMut() + Send>>;
    watched(|| {
        let ended = Ended::default();
        let to = ended.clone();
        let mut network = Network::new();
        let (out, input) = network.channel("numbers");
        let (silent, never) = network.channel::<u32>("never");
        let (gone, no_reader) = network.channel::<Message>("gone");
        let ports = (out, never, gone, no_reader);
        network.process(
            "sends half",
            ports,
            async move |(out, mut never, mut gone, no_reader)| {
                let nothing: Message = OnDrop(Box::new(|| ()));
                assert!(gone.send(nothing).await.is_ok());
                drop(no_reader);
                let (left, go) = (Ended::default(), Ended::default());
                let (leaves, goes) = (left.clone(), go.clone());
                let mut task = pin!(roving::spawn(move || {
                    let _goes = OnDrop(|| {
                        leaves.0.store(true, SeqCst);
                        while !goes.get() {
                            thread::yield_now();
                        }
                    });
                    panics(out, &Ended::default());
                }));
                let mut polls = 0;
                poll_fn(|context| {
                    polls += 1;
                    while polls == 1 && !left.get() {
                        thread::yield_now();
                    }
                    if polls == 2 {
                        let go = go.clone();
                        let message: Message = OnDrop(Box::new(move || {
                            go.0.store(true, SeqCst);
                            thread::sleep(WHILE);
                        }));
                        assert!(pin!(gone.send(message)).poll(context).is_ready());
                    } else {
                        ended.wait();
                    }
                    assert!(never.poll_recv(context).is_pending());
                    task.as_mut().poll(context)
                })
                .await
                .unwrap();
            },
        );
        network.process("reads", input, async move |mut input: In<u32>| {
            while input.recv().await.is_some() {}
            to.0.store(true, SeqCst);
            panic!("half a stream was taken for the whole");
        });
        network.process("is silent", silent, async |_silent| {
            std::future::pending().await
        });
        let error = network.run(&Pool::new(4).unwrap()).unwrap_err();
        assert!(matches!(&error, Error::Panicked { process, .. } if process == "sends half"));
    });
}

/// A channel whose consumer is elsewhere, and that is told on: who makes no process closes it.
#[test]
fn a_port_that_is_told_on_is_closed_where_its_process_never_begins() {
    watched(|| {
        let held = Arc::new(());
        let mut network = Network::new();
        let (out, input, mut bridge) = raw::bridged::<u32>(&mut network, "to elsewhere", None);
        drop(input);
        let egress = bridge.egress().unwrap();
        let of = Arc::clone(&held);
        egress.hook(move || drop(Arc::clone(&of)));
        network.process("never begins", out, |out| {
            let has_begun = AtomicBool::new(false);
            roving::join(
                || {
                    while !has_begun.load(SeqCst) {
                        thread::yield_now();
                    }
                },
                || {
                    let _out = out;
                    has_begun.store(true, SeqCst);
                    panic!("half");
                },
            );
            async {}
        });
        let error = network.run(&Pool::new(3).unwrap()).unwrap_err();
        assert!(matches!(&error, Error::Panicked { process, .. } if process == "never begins"));
        assert!(egress.sent().1, "the port is closed");
        drop((egress, bridge));
        assert_eq!(Arc::strong_count(&held), 1, "the channel is freed");
    });
}

#[test]
fn a_port_that_is_told_on_is_closed_before_all_have_ended() {
    watched(|| {
        let mut network = Network::new();
        let (out, input, mut bridge) = raw::bridged::<u32>(&mut network, "to elsewhere", None);
        drop(input);
        let egress = bridge.egress().unwrap();
        let inside = raw::inside(&network);
        let is_late = Arc::new(AtomicBool::new(false));
        let late = Arc::clone(&is_late);
        egress.hook(move || late.store(inside.is_over(), SeqCst));
        network.process("sends nothing", out, async |out: Out<u32>| {
            let panics = move || {
                let _out = out;
                panic!("half");
            };
            roving::spawn(panics).await.unwrap_err();
        });
        network.run(&Pool::new(2).unwrap()).unwrap();
        assert!(egress.sent().1 && !is_late.load(SeqCst));
    });
}

/// Nothing in the network panics. It is run in a destructor, by the thread that unwinds; and a
/// process waits, for something that is no channel, for what its reader does at the end.
#[test]
fn a_task_on_top_of_a_panic_ends_its_streams() {
    struct RunsInDrop(Pool);
    impl Drop for RunsInDrop {
        fn drop(&mut self) {
            let mut network = Network::new();
            let (out, input) = network.channel::<u32>("numbers");
            let mut event = Network::new();
            let (answer, mut answers) = event.channel::<u32>("answer");
            network.process("sends", out, async move |mut out| {
                drop(task::spawn(async move { out.send(1).await.unwrap() }));
                assert_eq!(answers.recv().await, None);
            });
            network.process("reads", input, async move |mut input: In<u32>| {
                while input.recv().await.is_some() {}
                drop(answer);
            });
            network.run(&self.0).unwrap();
        }
    }
    watched(|| {
        let runs = RunsInDrop(Pool::builder().caller_runs().build().unwrap());
        let unwinds = AssertUnwindSafe(|| {
            let _runs = runs;
            panic!("elsewhere");
        });
        catch_unwind(unwinds).unwrap_err();
    });
}

/// The process does not ask what its task has panicked with. It waits, for something that is no
/// channel of the network, for what comes of the end of another stream.
#[test]
fn a_stream_beside_one_in_doubt_comes_to_its_end() {
    watched(|| {
        let mut event = Network::new();
        let (answer, mut answers) = event.channel::<u32>("answer");
        let left = Ended::default();
        let leaves = left.clone();
        let mut network = Network::new();
        let (out, input) = network.channel("numbers");
        let (other, mut others) = network.channel::<u32>("others");
        network.process("sends half", out, async move |out| {
            drop(roving::spawn(move || {
                let _leaves = OnDrop(|| leaves.0.store(true, SeqCst));
                panics(out, &Ended::default());
            }));
            assert_eq!(answers.recv().await, None);
        });
        network.process("sends others", other, async move |other| {
            while !left.get() {
                thread::yield_now();
            }
            drop(other);
        });
        network.sink("reads", input, |_| {});
        network.process("reads others", (), async move |()| {
            assert_eq!(others.recv().await, None);
            drop(answer);
        });
        network.run(&Pool::new(4).unwrap()).unwrap();
    });
}
