//! Ends of streams by processes that fail, or may, under loom.

use std::future::poll_fn;
use std::io;
use std::panic::resume_unwind;
use std::task::Poll;

use loom::thread;

use super::loom_net::{Net, PREEMPTIONS, Worker, end, panics_with};
use crate::channel::shared::NetworkFailure;
use crate::machine::prim::{Arc, explore_within};
use crate::process::poll::ProcessTurn;

/// The process that fails has sent half of what it was to send.
#[test]
fn loom_half_a_stream_is_not_taken_for_the_whole() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (mut out, mut input) = net.channel(1);
        let shared = net.begin(2);
        let failing = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let of = Arc::clone(&failing);
            let body = async move {
                out.send(1).await.unwrap();
                let mut out = Some(out);
                poll_fn(|_| ProcessTurn::closing_late(|| Poll::Ready(drop(out.take())))).await;
                of.stop(NetworkFailure::returned(0, io::Error::other("half").into()));
            };
            Worker::new(&failing, 0, body).work();
        });
        let body = async move {
            while input.recv().await.is_some() {}
            panic!("that was no end");
        };
        Worker::new(&shared, 1, body).work();
        thread.join().unwrap();
        assert!(matches!(end(&shared), Some(NetworkFailure::Failed(0, ..))));
    });
}

/// A process waits within its turn, in which a panic has dropped its port, and fails if it is to.
/// Returns whether another one has come to the end of the stream.
fn closes_in_doubt(fails: bool) -> (Option<NetworkFailure>, bool) {
    let mut net = Net::new();
    let (mut out, mut input) = net.channel(1);
    let shared = net.begin(2);
    let doubting = Arc::clone(&shared);
    let thread = thread::spawn(move || {
        let body = async move {
            out.send(1).await.unwrap();
            let payload = panics_with(out);
            ProcessTurn::halted(&mut || ());
            if fails {
                resume_unwind(payload);
            }
        };
        Worker::new(&doubting, 0, body).work();
    });
    let mut has_ended = false;
    let of = &mut has_ended;
    let body = async move {
        while input.recv().await.is_some() {}
        *of = true;
    };
    Worker::new(&shared, 1, body).work();
    thread.join().unwrap();
    (end(&shared), has_ended)
}

#[test]
fn loom_an_end_in_doubt_is_none_if_the_process_fails() {
    explore_within(PREEMPTIONS, || {
        let (failure, has_ended) = closes_in_doubt(true);
        assert!(matches!(failure, Some(NetworkFailure::Panicked(0, _))));
        assert!(!has_ended, "that was no end");
    });
}

#[test]
fn loom_an_end_in_doubt_is_told_to_who_waits_for_it() {
    explore_within(PREEMPTIONS, || {
        let (failure, has_ended) = closes_in_doubt(false);
        assert!(failure.is_none() && has_ended);
    });
}
