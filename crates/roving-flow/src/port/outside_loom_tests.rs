//! Deadlocks that are found by who acts from outside of a network, and the end of who waits there,
//! under loom.

use std::task::{Context, Poll};

use loom::thread;

use super::loom_net::{Net, PREEMPTIONS, Task, Worker, end, give_in, give_out};
use super::ports::{In, Out};
use crate::channel::shared::NetworkFailure;
use crate::machine::prim::{Arc, explore_within};

/// A thread outside wakes a process, which goes on before the thread has counted that, and waits
/// for itself. Either may be the last to act.
#[test]
fn loom_a_deadlock_is_found_by_a_thread_outside_that_has_woken_who_waits() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (mut to_it, mut from_outside) = net.channel(1);
        let (to_itself, mut from_itself) = net.channel::<u32>(1);
        give_in(&from_outside, 0);
        give_out(&to_itself, 0);
        give_in(&from_itself, 0);
        let shared = net.begin(1);
        let thread = thread::spawn(move || {
            to_it.send_blocking(7).unwrap();
            to_it
        });
        let body = async move {
            assert_eq!(from_outside.recv().await, Some(7));
            drop((from_itself.recv().await, to_itself));
        };
        Worker::new(&shared, 0, body).work();
        // Its end would wake as well.
        drop(thread.join().unwrap());
        assert!(matches!(end(&shared), Some(NetworkFailure::Deadlock(_))));
    });
}

/// One process waits for itself. A thread outside does something that another one waits for, which
/// may see that by itself, and end before the thread has counted it as woken.
fn ends_beside_a_deadlock(
    preemptions: usize,
    outside: fn(Out<u32>) -> Option<Out<u32>>,
    got: Option<u32>,
) {
    explore_within(Some(preemptions), move || {
        let mut net = Net::new();
        let (to_it, mut from_outside) = net.channel(1);
        let (to_itself, mut from_itself) = net.channel::<u32>(1);
        give_in(&from_outside, 0);
        give_out(&to_itself, 1);
        give_in(&from_itself, 1);
        let shared = net.begin(2);
        let mut waits = Worker::new(&shared, 1, async move {
            drop((from_itself.recv().await, to_itself));
        });
        assert!(waits.poll().is_pending());
        let thread = thread::spawn(move || outside(to_it));
        let body = async move { assert_eq!(from_outside.recv().await, got) };
        Worker::new(&shared, 0, body).work();
        waits.work();
        // Its end would wake as well.
        drop(thread.join().unwrap());
        assert!(matches!(end(&shared), Some(NetworkFailure::Deadlock(_))));
    });
}

#[test]
fn loom_a_deadlock_is_found_by_a_thread_outside_that_has_closed_a_port() {
    let closes = |out| {
        drop(out);
        None
    };
    ends_beside_a_deadlock(3, closes, None);
}

#[test]
fn loom_a_deadlock_is_found_by_a_thread_outside_that_has_tried_to_send() {
    let sends = |mut out: Out<u32>| {
        let _it_may_have_ended = out.try_send(7);
        Some(out)
    };
    ends_beside_a_deadlock(3, sends, Some(7));
}

/// To the network, a process of another one is outside as well.
#[test]
fn loom_a_deadlock_is_found_by_a_process_of_another_network() {
    let sends = |mut out: Out<u32>| {
        let shared = Net::new().begin(1);
        let mut left = None;
        let sent = &mut left;
        let body = async move {
            let _it_may_have_ended = out.try_send(7);
            *sent = Some(out);
        };
        Worker::new(&shared, 0, body).work();
        assert!(end(&shared).is_none());
        left
    };
    ends_beside_a_deadlock(4, sends, Some(7));
}

/// Receives outside of processes, by a waker of another executor.
fn receive(input: &mut In<u32>) -> Option<u32> {
    let (task, waker) = Task::leak();
    let mut context = Context::from_waker(&waker);
    loop {
        match input.poll_recv(&mut context) {
            Poll::Ready(got) => return got,
            Poll::Pending => task.bell.wait(),
        }
    }
}

/// The other end is there all the time.
#[test]
fn loom_nobody_waits_outside_in_a_network_that_is_stopped() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (_open, mut input) = net.channel(1);
        let shared = net.begin(0);
        let canceller = Arc::clone(&shared);
        let thread = thread::spawn(move || canceller.stop(NetworkFailure::Cancelled));
        assert_eq!(receive(&mut input), None);
        thread.join().unwrap();
        assert!(matches!(end(&shared), Some(NetworkFailure::Cancelled)));
    });
}

/// It has been sent by a process without a fence.
#[test]
fn loom_what_was_sent_before_a_network_is_stopped_is_received() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (mut out, mut input) = net.channel(1);
        let shared = net.begin(1);
        let process = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let of = Arc::clone(&process);
            let body = async move {
                out.send(7).await.unwrap();
                of.stop(NetworkFailure::Cancelled);
            };
            Worker::new(&process, 0, body).work();
        });
        assert_eq!(receive(&mut input), Some(7));
        assert_eq!(receive(&mut input), None);
        thread.join().unwrap();
        assert!(matches!(end(&shared), Some(NetworkFailure::Cancelled)));
    });
}
