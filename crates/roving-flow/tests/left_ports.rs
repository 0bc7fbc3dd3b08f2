//! Ports that a panic drops where a process has its work done by others: in halves of joins, in
//! tasks of scopes, in tasks that it has spawned. They end no stream if that panic is what the
//! process fails with; and else they do.

#[path = "common/watched.rs"]
mod watched;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use roving::{Pool, task};
use roving_flow::{Error, In, Network, Out};
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
