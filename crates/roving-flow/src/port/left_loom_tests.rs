//! Ports that a panic drops beside a turn of their process, under loom.

use std::panic::resume_unwind;

use loom::sync::Notify;
use loom::thread::{self, JoinHandle};

use super::loom_net::{Net, PREEMPTIONS, Task, Worker, end, give_out, panics_with};
use super::ports::In;
use crate::channel::shared::{NetworkFailure, Shared};
use crate::channel::words::ChannelEnd;
use crate::machine::prim::{Arc, explore_within};

/// As a process that has come to the end of a stream.
fn waits_for_no_doubt(shared: &Shared) {
    let (task, waker) = Task::leak();
    while shared.doubt.wait(&waker) {
        task.bell.wait();
    }
}

/// A thread with the process, which waits for the end of that channel.
fn waits_for_end(shared: &Arc<Shared>, mut answers: In<u32>) -> JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        let body = async move { assert_eq!(answers.recv().await, None) };
        Worker::new(&shared, 0, body).work();
    })
}

/// The process waits at a channel meanwhile, for the first time, and is told something when the end
/// of its stream is out of doubt.
#[test]
fn loom_a_stream_that_a_panic_has_ended_beside_its_process_comes_out_of_doubt() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (out, input) = net.channel::<u32>(1);
        let (answer, answers) = net.channel::<u32>(1);
        give_out(&out, 0);
        let shared = net.begin(1);
        let thread = waits_for_end(&shared, answers);
        drop(panics_with(out));
        waits_for_no_doubt(&shared);
        drop(answer);
        thread.join().unwrap();
        drop(input);
        assert!(end(&shared).is_none());
    });
}

#[test]
fn loom_a_stream_that_a_panic_has_ended_beside_the_end_of_its_process_is_in_no_doubt() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (out, input) = net.channel::<u32>(1);
        give_out(&out, 0);
        let shared = net.begin(1);
        let of = Arc::clone(&shared);
        let thread = thread::spawn(move || Worker::new(&of, 0, async {}).work());
        drop(panics_with(out));
        waits_for_no_doubt(&shared);
        thread.join().unwrap();
        drop(input);
        assert!(end(&shared).is_none());
    });
}

/// The other end of the stream is one that a function is called for: so the port is closed when the
/// process has heard of it, which is suspended for the first time meanwhile.
#[test]
fn loom_a_port_with_a_hook_that_a_panic_has_dropped_beside_its_process_is_closed() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (out, input) = net.channel::<u32>(1);
        let (answer, answers) = net.channel::<u32>(1);
        give_out(&out, 0);
        let bell = Arc::new(Notify::new());
        let of = Arc::clone(&bell);
        let hook = move || of.notify();
        input.words().put_hook(ChannelEnd::Reader, Box::new(hook));
        let shared = net.begin(1);
        let thread = waits_for_end(&shared, answers);
        drop(panics_with(out));
        while !input.words().sent().is_gone() {
            bell.wait();
        }
        drop(answer);
        thread.join().unwrap();
        drop(input);
        assert!(end(&shared).is_none());
    });
}

/// The process waits within its turn for who panics with its port, and fails with that.
#[test]
fn loom_half_a_stream_that_a_panic_has_ended_is_not_taken_for_the_whole() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (out, mut input) = net.channel::<u32>(1);
        give_out(&out, 0);
        let shared = net.begin(2);
        let failing = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let body = async move {
                let half = thread::spawn(move || drop(panics_with(out)));
                half.join().unwrap();
                resume_unwind(Box::new("with the port"));
            };
            Worker::new(&failing, 0, body).work();
        });
        let body = async move {
            while input.recv().await.is_some() {}
            panic!("that was no end");
        };
        Worker::new(&shared, 1, body).work();
        thread.join().unwrap();
        assert!(matches!(end(&shared), Some(NetworkFailure::Panicked(0, _))));
    });
}
