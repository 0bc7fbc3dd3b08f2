//! Networks under loom: real processes, ports, looks for deadlocks and ends.

use std::cell::RefCell;
use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use loom::thread;

use super::loom_net::{Net, PREEMPTIONS, Task, Worker, end, give_in, give_out};
use super::merge::Merge;
use super::ports::{self, In, Out};
use crate::channel::shared::{NetworkFailure, Shared};
use crate::channel::words::{ChannelEnd, UNBOUNDED};
use crate::channel::{self, Handle, reopen_port};
use crate::deadlock;
use crate::machine::prim::{Arc, AtomicBool, AtomicUsize, DataCell, Ordering, explore_within};
use crate::process::Process;
use crate::process::poll::ProcessTurn;
use crate::state::names::NetworkPlan;
use crate::state::process_waker::{self, Tasks};

/// A thread that has stopped the network wakes a process, wherever that is.
#[test]
fn loom_who_wakes_a_process_sees_its_task() {
    explore_within(PREEMPTIONS, || {
        let processes = Arc::new((
            Tasks::new(),
            process_waker::TaskWaker::new(),
            process_waker::TaskWaker::new(),
        ));
        // Else the functions, which come with the first, would bring its task along.
        processes.1.set(&processes.0, &Task::leak().1);
        let there = Arc::clone(&processes);
        // The one that loom runs later: it lets loads see older values.
        let thread = thread::spawn(move || there.2.wake(&there.0));
        let (task, waker) = Task::leak();
        task.there.with_mut(|_| ());
        processes.2.set(&processes.0, &waker);
        thread.join().unwrap();
    });
}

/// A thread outside has claimed a process, which then ends by its other input, as its network does.
#[test]
fn loom_who_claims_a_process_may_wake_it_after_its_end() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (mut first, one) = net.channel(1);
        let (mut second, two) = net.channel(1);
        let shared = net.begin(1);
        let mut merge = Merge::new([one, two]);
        let mut worker = Worker::new(&shared, 0, async move {
            assert!(merge.recv().await.is_some());
        });
        let waits = worker.poll().is_pending();
        let thread = thread::spawn(move || {
            let _it_may_have_ended = first.try_send(1);
        });
        if waits {
            let _it_may_have_ended = second.try_send(2);
            worker.work();
        }
        assert!(end(&shared).is_none());
        drop((second, shared));
        thread.join().unwrap();
    });
}

#[test]
fn loom_no_outside_receiver_sleeps_for_ever() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (mut out, mut input) = net.channel(1);
        let shared = net.begin(1);
        let thread = thread::spawn(move || {
            assert_eq!(input.recv_blocking(), Some(7));
            assert_eq!(input.recv_blocking(), None);
        });
        let body = async move { out.send(7).await.unwrap() };
        Worker::new(&shared, 0, body).work();
        thread.join().unwrap();
        assert!(end(&shared).is_none());
    });
}

#[test]
fn loom_no_outside_sender_sleeps_for_ever() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (mut out, mut input) = net.channel(1);
        let shared = net.begin(1);
        out.try_send(1).unwrap();
        let thread = thread::spawn(move || out.send_blocking(2).unwrap());
        let body = async move {
            assert_eq!(input.recv().await, Some(1));
            assert_eq!(input.recv().await, Some(2));
        };
        Worker::new(&shared, 0, body).work();
        thread.join().unwrap();
        assert!(end(&shared).is_none());
    });
}

/// A process sends to a thread that is none of the network's, and ends by `ends`. It does not close
/// its port at its end, which would wake the receiver as well. Returns how the network ends.
fn sends_and(ends: fn()) -> Option<NetworkFailure> {
    let mut net = Net::new();
    let (mut out, mut input) = net.channel(1);
    let shared = net.begin(1);
    let thread = thread::spawn(move || assert_eq!(input.recv_blocking(), Some(7)));
    let lent = &mut out;
    let body = async move {
        lent.send(7).await.unwrap();
        ends();
    };
    Worker::new(&shared, 0, body).work();
    thread.join().unwrap();
    drop(out);
    end(&shared)
}

#[test]
fn loom_a_process_that_ends_has_woken_who_waits() {
    explore_within(PREEMPTIONS, || assert!(sends_and(|| ()).is_none()));
}

#[test]
fn loom_a_process_that_panics_has_woken_who_waits() {
    explore_within(PREEMPTIONS, || {
        let failure = sends_and(|| resume_unwind(Box::new("it fails")));
        assert!(matches!(failure, Some(NetworkFailure::Panicked(0, _))));
    });
}

#[test]
fn loom_a_process_that_waits_for_the_outside_has_woken_who_waits() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (mut out, mut input) = net.channel(1);
        let shared = net.begin(1);
        let thread = thread::spawn(move || assert_eq!(input.recv_blocking(), Some(7)));
        let mut is_first = true;
        let mut worker = Worker::new(&shared, 0, async move {
            out.send(7).await.unwrap();
            poll_fn(|_| match std::mem::take(&mut is_first) {
                true => Poll::Pending,
                false => Poll::Ready(()),
            })
            .await;
        });
        assert!(worker.poll().is_pending());
        thread.join().unwrap();
        assert!(worker.poll().is_ready());
        drop(worker);
        assert!(end(&shared).is_none());
    });
}

#[test]
fn loom_a_network_that_is_cancelled_ends() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (_outside, mut input) = net.channel::<u32>(1);
        let shared = net.begin(1);
        let canceller = Arc::clone(&shared);
        let thread = thread::spawn(move || canceller.stop(NetworkFailure::Cancelled));
        let body = async move { assert_eq!(input.recv().await, None) };
        Worker::new(&shared, 0, body).work();
        thread.join().unwrap();
        assert!(matches!(end(&shared), Some(NetworkFailure::Cancelled)));
    });
}

#[test]
fn loom_a_deadlock_is_found_by_who_closes_it() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (to_b, mut from_a) = net.channel::<u32>(1);
        let (to_a, mut from_b) = net.channel::<u32>(1);
        give_out(&to_b, 0);
        give_in(&from_b, 0);
        give_out(&to_a, 1);
        give_in(&from_a, 1);
        let shared = net.begin(2);
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let body = async move { drop((from_a.recv().await, to_a)) };
            Worker::new(&other, 1, body).work();
        });
        let body = async move { drop((from_b.recv().await, to_b)) };
        Worker::new(&shared, 0, body).work();
        thread.join().unwrap();
        let failure = end(&shared);
        assert!(matches!(failure, Some(NetworkFailure::Deadlock(cycle)) if cycle.len() == 2));
    });
}

/// One process wakes the other and ends; the other is polled and then waits for itself. Either may
/// be the last.
#[test]
fn loom_a_deadlock_is_found_by_who_waits_or_ends_last() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (mut to_b, mut from_a) = net.channel(1);
        let (to_itself, mut from_itself) = net.channel::<u32>(1);
        give_out(&to_b, 0);
        give_in(&from_a, 1);
        give_out(&to_itself, 1);
        give_in(&from_itself, 1);
        let shared = net.begin(2);
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let body = async move { to_b.send(7).await.unwrap() };
            Worker::new(&other, 0, body).work();
        });
        let body = async move {
            assert_eq!(from_a.recv().await, Some(7));
            drop((from_itself.recv().await, to_itself));
        };
        Worker::new(&shared, 1, body).work();
        thread.join().unwrap();
        assert!(matches!(end(&shared), Some(NetworkFailure::Deadlock(_))));
    });
}

/// A process has looked at a port, gives it away in the same turn to a thread that receives a seven
/// there, and waits for something else.
fn gives_away(processes: usize, receives: fn(&Arc<Shared>, In<u32>)) {
    explore_within(PREEMPTIONS, move || {
        let mut net = Net::new();
        let (mut seven, mut port) = net.channel(1);
        let (mut go_on, mut told) = net.channel(1);
        let shared = net.begin(processes);
        let there = Arc::clone(&shared);
        let mut thread = None;
        let receiver = &mut thread;
        let mut worker = Worker::new(&shared, 0, async move {
            let looks = poll_fn(|context| {
                assert!(pin!(port.recv()).poll(context).is_pending());
                Poll::Ready(())
            });
            looks.await;
            *receiver = Some(thread::spawn(move || receives(&there, port)));
            assert_eq!(told.recv().await, Some(1));
        });
        let waits = worker.poll().is_pending();
        go_on.try_send(1).unwrap();
        match waits {
            true => worker.work(),
            false => drop(worker),
        }
        seven.try_send(7).unwrap();
        thread.unwrap().join().unwrap();
        drop((seven, go_on));
        assert!(end(&shared).is_none());
    });
}

#[test]
fn loom_a_port_that_was_given_away_is_waited_at_by_who_has_it() {
    gives_away(2, |shared, mut port| {
        let body = async move { assert_eq!(port.recv().await, Some(7)) };
        Worker::new(shared, 1, body).work();
    });
}

#[test]
fn loom_a_port_that_was_given_outside_is_waited_at_there() {
    gives_away(1, |_, mut port| {
        // Not blocking: loom forgets that a thread is to be unparked when that yields.
        let (task, waker) = Task::leak();
        let mut context = Context::from_waker(&waker);
        let got = loop {
            match port.poll_recv(&mut context) {
                Poll::Ready(got) => break got,
                Poll::Pending => task.bell.wait(),
            }
        };
        assert_eq!(got, Some(7));
    });
}

/// The process sends, and waits by `wait` within its turn, which ends when who waits has gone on.
fn wait_within_a_turn(wait: fn(Out<u32>, In<u32>, thread::JoinHandle<()>)) {
    explore_within(PREEMPTIONS, move || {
        let mut net = Net::new();
        let (out, mut input) = net.channel(1);
        let (_silent, other) = net.channel::<u32>(1);
        let shared = net.begin(1);
        let thread = thread::spawn(move || assert_eq!(input.recv_blocking(), Some(7)));
        let body = async move { wait(out, other, thread) };
        Worker::new(&shared, 0, body).work();
        assert!(end(&shared).is_none());
    });
}

#[test]
fn loom_a_process_that_polls_by_an_executor_of_its_own_has_woken_who_waits() {
    wait_within_a_turn(|mut out, mut other, thread| {
        out.try_send(7).unwrap();
        let mut within = Context::from_waker(Waker::noop());
        assert!(pin!(other.recv()).poll(&mut within).is_pending());
        thread.join().unwrap();
    });
}

#[test]
fn loom_a_process_that_halts_has_woken_who_waits() {
    wait_within_a_turn(|mut out, _other, thread| {
        out.try_send(7).unwrap();
        let mut thread = Some(thread);
        ProcessTurn::halted(&mut || thread.take().unwrap().join().unwrap());
    });
}

#[test]
fn loom_a_halted_process_wakes_who_waits() {
    wait_within_a_turn(|mut out, _other, thread| {
        let mut thread = Some(thread);
        ProcessTurn::halted(&mut || {
            out.try_send(7).unwrap();
            thread.take().unwrap().join().unwrap();
        });
    });
}

#[test]
fn loom_a_process_beneath_the_work_of_others_has_woken_who_waits() {
    wait_within_a_turn(|mut out, _other, thread| {
        out.try_send(7).unwrap();
        let mut thread = Some(thread);
        ProcessTurn::apart(&mut || thread.take().unwrap().join().unwrap());
    });
}

/// While somebody waits for room, deadlocks are looked for when they form.
#[test]
fn loom_a_look_forgets_no_process_that_waits_for_room() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (mut out, mut input) = net.channel(1);
        out.try_send(1).unwrap();
        let shared = net.begin(2);
        // Ordering: Relaxed; before there are other threads.
        shared.writers.store(true, Ordering::Relaxed);
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || deadlock::look(&other));
        let body = async move { out.send(2).await.unwrap() };
        let mut worker = Worker::new(&shared, 0, body);
        assert!(worker.poll().is_pending());
        thread.join().unwrap();
        // Ordering: Relaxed; the other thread has been joined.
        assert!(shared.writers.load(Ordering::Relaxed));
        assert_eq!(input.take_silently().ok(), Some(1));
        assert!(worker.poll().is_ready());
        drop(worker);
        shared.end();
    });
}

/// Two wait for each other, as far as is known: the port of one is in the hands of a third, which
/// goes on, though its word says that it waits for an event. So it did before.
#[test]
fn loom_a_process_that_an_event_has_woken_may_have_any_port() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (mut numbers, mut of_numbers) = net.channel(1);
        let (mut answer, mut of_answer) = net.channel(1);
        give_out(&numbers, 0);
        give_in(&of_answer, 0);
        give_in(&of_numbers, 1);
        give_out(&answer, 1);
        let shared = net.begin(3);
        let mut first = Worker::new(&shared, 0, async move {
            assert_eq!(of_answer.recv().await, Some(1));
        });
        let mut second = Worker::new(&shared, 1, async move {
            let number = of_numbers.recv().await.unwrap();
            answer.send(number).await.unwrap();
        });
        let event = Rc::new(RefCell::new(None::<Waker>));
        let kept = Rc::clone(&event);
        let (one, other, of) = (&mut first, &mut second, Arc::clone(&shared));
        let mut third = Worker::new(&shared, 2, async move {
            let mut polls = 0..1;
            poll_fn(|context| {
                kept.replace(Some(context.waker().clone()));
                polls.next().map_or(Poll::Ready(()), |_| Poll::Pending)
            })
            .await;
            ProcessTurn::apart(&mut || {
                assert!(one.poll().is_pending() && other.poll().is_pending());
            });
            deadlock::look(&of);
            numbers.send(1).await.unwrap();
        });
        assert!(third.poll().is_pending());
        event.take().unwrap().wake();
        assert!(third.poll().is_ready());
        drop((event.take(), third));
        assert!(second.poll().is_ready() && first.poll().is_ready());
        drop((first, second));
        assert!(end(&shared).is_none());
    });
}

/// One sends twice where there is room for one message, and the other wants something else first.
#[test]
fn loom_a_full_channel_of_a_circle_grows() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (mut much, mut of_much) = net.channel(1);
        let (mut last, mut of_last) = net.channel(1);
        give_out(&much, 0);
        give_out(&last, 0);
        give_in(&of_much, 1);
        give_in(&of_last, 1);
        let shared = net.begin(2);
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let body = async move {
                assert_eq!(of_last.recv().await, Some(3));
                assert_eq!(of_much.recv().await, Some(1));
                assert_eq!(of_much.recv().await, Some(2));
            };
            Worker::new(&other, 1, body).work();
        });
        let body = async move {
            much.send(1).await.unwrap();
            much.send(2).await.unwrap();
            last.send(3).await.unwrap();
        };
        Worker::new(&shared, 0, body).work();
        thread.join().unwrap();
        assert!(end(&shared).is_none());
    });
}

/// It waits for itself, but a waker of it is outside: that is no deadlock, whenever the waker is
/// used.
#[test]
fn loom_a_process_with_a_waker_outside_is_in_no_deadlock() {
    explore_within(PREEMPTIONS, || {
        let mut net = Net::new();
        let (out, mut input) = net.channel::<u32>(1);
        give_out(&out, 0);
        give_in(&input, 0);
        let shared = net.begin(1);
        let is_told = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_told);
        let mut thread = None;
        let body = async {
            let _own = out;
            poll_fn(|context| {
                // Ordering: Acquire; whoever tells has done so before.
                if is_told.load(Ordering::Acquire) {
                    return Poll::Ready(());
                }
                if thread.is_none() {
                    let (waker, told) = (context.waker().clone(), Arc::clone(&told));
                    thread = Some(thread::spawn(move || {
                        // Ordering: Release; for the one above.
                        told.store(true, Ordering::Release);
                        waker.wake();
                    }));
                }
                assert!(pin!(input.recv()).poll(context).is_pending());
                Poll::Pending
            })
            .await;
        };
        let mut worker = Worker::new(&shared, 0, body);
        // The second time it is polled for something else.
        if worker.poll().is_pending() && worker.poll().is_pending() {
            worker.work();
        } else {
            drop(worker);
        }
        thread.unwrap().join().unwrap();
        assert!(end(&shared).is_none());
    });
}

/// Says when the channel that keeps it is freed.
struct Kept(DataCell<()>);

// SAFETY: it holds nothing, and loom watches who touches it when.
unsafe impl Sync for Kept {}

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.with_mut(|_| ());
    }
}

#[test]
fn loom_a_channel_is_freed_after_its_last_use() {
    explore_within(None, || {
        let mut net = Net::new();
        let (out, input) = net.channel::<u32>(1);
        let kept = Kept(DataCell::new(()));
        let hook = Box::new(move || kept.0.with(|_| ()));
        input.words().put_hook(ChannelEnd::Reader, hook);
        drop(input);
        let shared = net.begin(0);
        // It closes the channel, and calls the function.
        let thread = thread::spawn(move || drop(out));
        shared.end();
        drop(shared);
        thread.join().unwrap();
    });
}

#[test]
fn loom_the_last_port_takes_over_what_the_other_has_left() {
    explore_within(Some(3), || {
        let mut net = Net::new();
        let (mut out, mut input) = net.channel(UNBOUNDED);
        let shared = net.begin(0);
        let messages = [(); 2].map(|()| Kept(DataCell::new(())));
        let thread = thread::spawn(move || {
            for message in messages {
                let _nobody_may_want_it = out.try_send(message);
            }
        });
        drop(input.try_recv());
        drop(input);
        thread.join().unwrap();
        shared.end();
    });
}

/// Of the two ports of a channel one is dropped; who has kept the channel makes another one for
/// that end.
#[test]
fn loom_a_port_that_comes_back_goes_on_where_the_last_one_was() {
    explore_within(None, || {
        let mut net = Net::new();
        let (mut out, mut input) = net.channel(UNBOUNDED);
        (1..=3).for_each(|message| out.try_send(message).unwrap());
        let channel = net.channels[0].clone();
        channel.bridge();
        let shared = net.begin(0);
        let thread = thread::spawn(move || {
            // SAFETY: the handle keeps the channel, this thread alone does this, and makes one
            // port.
            if unsafe { reopen_port(&channel, ChannelEnd::Reader) } {
                let words = channel.channel();
                // SAFETY: the channel was opened for such messages; one of the two ports has its
                // reference, and the other one is forgotten.
                let (other, mut input) = unsafe { ports::pair::<i32>(words.cast()) };
                std::mem::forget(other);
                out.try_send(4).unwrap();
                assert!(matches!(input.take_silently(), Ok(4)));
            }
        });
        // As a process does that leaves for another place: what it has not read goes with it.
        (1..=3).for_each(|message| assert!(input.take_silently() == Ok(message)));
        drop(input);
        thread.join().unwrap();
        shared.end();
    });
}
