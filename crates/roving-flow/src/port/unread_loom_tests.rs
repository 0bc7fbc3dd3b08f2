//! Messages to a port that is gone, under loom.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use loom::sync::Notify;
use loom::thread::{self, JoinHandle};

use super::loom_net::{Net, PREEMPTIONS, Task, Worker, drops_unread, end};
use super::ports::{In, Out};
use crate::channel::words::UNBOUNDED;
use crate::machine::prim::{Arc, AtomicUsize, DataCell, Ordering, explore_within};
use crate::process::poll::ProcessTurn;

/// A message that counts how often it is dropped.
struct Counted(Arc<AtomicUsize>, DataCell<()>);

impl Counted {
    fn new() -> (Counted, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        (Counted(Arc::clone(&count), DataCell::new(())), count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.with_mut(|_| ());
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A message is sent while another thread drops the port, at which somebody may have waited.
/// Its sender has its port still when it is dropped.
fn is_dropped_beside(waits: impl Fn(&mut In<Counted>) + Sync + Send + 'static) {
    explore_within(None, move || {
        let mut net = Net::new();
        let (mut out, mut input) = net.channel(UNBOUNDED);
        let shared = net.begin(0);
        let (message, count) = Counted::new();
        waits(&mut input);
        let thread = thread::spawn(move || {
            let _nobody_may_want_it = out.try_send(message);
            out
        });
        drop(input);
        let out = thread.join().unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 1);
        drop(out);
        shared.end();
    });
}

#[test]
fn loom_a_message_to_a_port_that_is_gone_is_dropped() {
    is_dropped_beside(|_| ());
}

/// The message was seen to wake a receiver, whose port another thread drops.
#[test]
fn loom_a_message_that_wakes_who_has_lost_its_port_is_dropped() {
    is_dropped_beside(|input| {
        let mut context = Context::from_waker(Waker::noop());
        assert!(input.poll_recv(&mut context).is_pending());
    });
}

/// The thread that has sent it, and goes on to drop the sender's port, may do so, or the other one.
#[test]
fn loom_a_message_to_a_port_that_is_gone_is_dropped_once() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (mut out, input) = net.channel(UNBOUNDED);
        let channel = net.channels[0].clone();
        let shared = net.begin(0);
        let (message, count) = Counted::new();
        let thread = thread::spawn(move || {
            drop(out.put_silently(message));
            drops_unread(&channel);
            drop(out);
        });
        drop(input);
        thread.join().unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 1);
        shared.end();
    });
}

/// A process waits for the reply to what it has sent to a port that another thread drops.
#[test]
fn loom_a_process_does_not_wait_for_a_reply_that_nobody_gives() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (mut out, input) = net.channel(1);
        let (reply, mut replies) = net.channel::<u32>(1);
        let shared = net.begin(1);
        let thread = thread::spawn(move || drop(input));
        let lent = &mut out;
        let body = async move {
            drop(lent.send(reply).await);
            assert_eq!(replies.recv().await, None);
        };
        Worker::new(&shared, 0, body).work();
        thread.join().unwrap();
        drop(out);
        assert!(end(&shared).is_none());
    });
}

/// Waits in its drop.
struct Waits(Arc<Notify>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.wait();
    }
}

/// A thread that waits for room, and tells of it.
fn tells_of_room(mut numbers: Out<u32>, has_room: Arc<Notify>) -> JoinHandle<()> {
    thread::spawn(move || {
        let (task, waker) = Task::leak();
        let mut context = Context::from_waker(&waker);
        while numbers.poll_ready(&mut context).is_pending() {
            task.bell.wait();
        }
        has_room.notify();
    })
}

/// A message waits in its drop for a thread, which waits for the room that its sender has made.
#[test]
fn loom_who_waits_for_room_is_woken_before_a_message_is_dropped() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (mut numbers, mut taken) = net.channel(1);
        let (mut out, input) = net.channel(1);
        let shared = net.begin(1);
        numbers.try_send(1).unwrap();
        let context = &mut Context::from_waker(Waker::noop());
        assert!(out.poll_ready(context).is_ready());
        let has_room = Arc::new(Notify::new());
        let message = Waits(Arc::clone(&has_room));
        drop(input);
        let thread = tells_of_room(numbers, has_room);
        let (lent_out, lent_in) = (&mut out, &mut taken);
        let body = async move {
            assert_eq!(lent_in.try_recv(), Ok(1));
            assert!(lent_out.try_send(message).is_ok());
        };
        Worker::new(&shared, 0, body).work();
        thread.join().unwrap();
        drop((out, taken));
        assert!(end(&shared).is_none());
    });
}

/// The message lies before a port that is closed at the end of the turn.
#[test]
fn loom_who_waits_for_room_is_woken_before_a_port_is_closed_late() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (mut numbers, mut taken) = net.channel(1);
        let (mut out, input) = net.channel(1);
        let shared = net.begin(1);
        numbers.try_send(1).unwrap();
        let has_room = Arc::new(Notify::new());
        assert!(out.try_send(Waits(Arc::clone(&has_room))).is_ok());
        let thread = tells_of_room(numbers, has_room);
        let lent = &mut taken;
        let body = async move {
            assert_eq!(lent.try_recv(), Ok(1));
            let mut input = Some(input);
            poll_fn(|_| ProcessTurn::closing_late(|| Poll::Ready(drop(input.take())))).await;
        };
        Worker::new(&shared, 0, body).work();
        thread.join().unwrap();
        drop((out, taken));
        assert!(end(&shared).is_none());
    });
}
