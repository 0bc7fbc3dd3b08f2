//! Channels under loom: every interleaving of two threads, and what a weak machine may reorder.

use std::ops::Deref;
use std::ptr::NonNull;
use std::task::{Poll, Waker};

use loom::sync::Arc;
use loom::thread;

use super::shared::{NetworkFailure, Shared};
use super::statement::Statement;
use super::window::Window;
use super::words::{ChannelEnd, Claim, Resumed, UNBOUNDED};
use super::{Channel, Empty, Full, open};
use crate::machine::prim::{DataCell, Woken, explore};
use crate::state::process_word::AtomicWord;
use crate::state::thread_counts::{Line, are_quiet};

/// A channel of which no port is dropped.
struct Open(NonNull<Channel<Box<u32>>>);

// SAFETY: a channel is.
unsafe impl Send for Open {}
// SAFETY: a channel is.
unsafe impl Sync for Open {}

impl Deref for Open {
    type Target = Channel<Box<u32>>;

    fn deref(&self) -> &Channel<Box<u32>> {
        // SAFETY: freed in `drop` alone.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: made by `open`, and cleared.
        unsafe { Channel::free(self.0) };
    }
}

/// The process that has both ends.
const HOLDER: u32 = 0;
const CLAIMED: Claim = Claim::Process(HOLDER);

fn channel(capacity: u32) -> Arc<Open> {
    let channel = Open(open(&Arc::new(Shared::new()), 0, capacity));
    channel.words.set_process(ChannelEnd::Reader, HOLDER);
    channel.words.set_process(ChannelEnd::Writer, HOLDER);
    Arc::new(channel)
}

fn push(channel: &Channel<Box<u32>>, message: u32) -> bool {
    // SAFETY: one thread of each test sends.
    unsafe {
        let room = channel.has_room().is_ok();
        if room {
            channel.push(Box::new(message));
        }
        room
    }
}

fn pop(channel: &Channel<Box<u32>>) -> Result<u32, Empty> {
    // SAFETY: one thread of each test receives.
    unsafe { channel.pop() }.map(|message| *message)
}

/// Models a port after it has sent or taken a message, when it has no other wake-up to pay.
fn tell(channel: &Channel<Box<u32>>, end: ChannelEnd) -> bool {
    let words = &channel.words;
    let waits = words.is_waiting(end) || words.is_waiting_after_all(end);
    waits && words.claim(end, 0) == CLAIMED
}

fn clear(channel: &Channel<Box<u32>>) {
    // SAFETY: the other thread has been joined.
    let panicked = unsafe { channel.clear() };
    assert!(panicked.is_none());
}

#[test]
fn loom_messages_arrive_in_order_through_growing_rings() {
    explore(|| {
        let channel = channel(UNBOUNDED);
        let receiver = Arc::clone(&channel);
        // The receiver is the one that loom runs later: it lets loads see older values, but does
        // not always run a thread earlier for the sake of a load.
        let thread = thread::spawn(move || {
            let mut next = 0;
            while let Ok(message) = pop(&receiver) {
                assert_eq!(message, next);
                next += 1;
            }
            next
        });
        // For loom, the first ring has one slot.
        (0..3).for_each(|message| assert!(push(&channel, message)));
        let mut next = thread.join().unwrap();
        while let Ok(message) = pop(&channel) {
            assert_eq!(message, next);
            next += 1;
        }
        assert_eq!(next, 3);
        clear(&channel);
    });
}

#[test]
fn loom_slot_is_used_again_when_it_is_empty() {
    explore(|| {
        let channel = channel(1);
        assert!(push(&channel, 1));
        let sender = Arc::clone(&channel);
        let thread = thread::spawn(move || push(&sender, 2));
        assert_eq!(pop(&channel), Ok(1));
        let second = thread.join().unwrap();
        assert_eq!(pop(&channel), if second { Ok(2) } else { Err(Empty::Yet) });
        clear(&channel);
    });
}

#[test]
fn loom_no_reader_sleeps_on_a_message() {
    explore(|| {
        let channel = channel(2);
        let sender = Arc::clone(&channel);
        let thread = thread::spawn(move || {
            assert!(push(&sender, 1));
            tell(&sender, ChannelEnd::Reader)
        });
        let waits = pop(&channel).is_err() && channel.words.wait(ChannelEnd::Reader, HOLDER);
        let was_woken = thread.join().unwrap();
        assert!(was_woken || !waits);
        clear(&channel);
    });
}

#[test]
fn loom_no_writer_sleeps_on_room() {
    explore(|| {
        let channel = channel(1);
        assert!(push(&channel, 1));
        let receiver = Arc::clone(&channel);
        let thread = thread::spawn(move || {
            assert_eq!(pop(&receiver), Ok(1));
            tell(&receiver, ChannelEnd::Writer)
        });
        // SAFETY: this thread sends.
        let full = unsafe { channel.has_room() } == Err(Full::Yet);
        let waits = full && channel.words.wait(ChannelEnd::Writer, HOLDER);
        let was_woken = thread.join().unwrap();
        assert!(was_woken || !waits);
        clear(&channel);
    });
}

#[test]
fn loom_no_writer_sleeps_on_a_channel_that_grew() {
    explore(|| {
        let channel = channel(1);
        assert!(push(&channel, 1));
        let other = Arc::clone(&channel);
        let thread = thread::spawn(move || {
            other.words.set_capacity(2);
            other.words.claim(ChannelEnd::Writer, 0) == CLAIMED
        });
        // SAFETY: this thread sends.
        let full = unsafe { channel.has_room() } == Err(Full::Yet);
        let waits = full && channel.words.wait(ChannelEnd::Writer, HOLDER);
        let was_woken = thread.join().unwrap();
        assert!(was_woken || !waits);
        clear(&channel);
    });
}

/// A message is taken out at the producer's end by a thread beside the producer, which finds less
/// room in the middle of that than before or after.
#[test]
fn loom_no_writer_sleeps_because_a_message_was_taken_out_beside_it() {
    explore(|| {
        let channel = channel(2);
        assert!(push(&channel, 1));
        let other = Arc::clone(&channel);
        let thread = thread::spawn(move || {
            let window = Window::new(2);
            window.lower(&other.words);
            assert_eq!(pop(&other), Ok(1));
            window.reopen(&other.words);
            other.words.claim(ChannelEnd::Writer, 0) == CLAIMED
        });
        // SAFETY: this thread sends. For loom, the first ring has one slot, so that it looks for
        // room.
        let full = unsafe { channel.has_room() } == Err(Full::Yet);
        let waits = full && channel.words.wait(ChannelEnd::Writer, HOLDER);
        let was_woken = thread.join().unwrap();
        assert!(was_woken || !waits);
        assert!(push(&channel, 2), "of two, one is under way");
        // SAFETY: this thread alone sends.
        assert_eq!(unsafe { channel.has_room() }, Err(Full::Yet));
        assert_eq!(pop(&channel), Ok(2));
        clear(&channel);
    });
}

#[test]
fn loom_no_reader_sleeps_on_a_closed_channel() {
    explore(|| {
        let channel = channel(1);
        let sender = Arc::clone(&channel);
        let thread = thread::spawn(move || {
            assert!(push(&sender, 1));
            sender.words.leave(ChannelEnd::Writer);
            sender.words.claim(ChannelEnd::Reader, 0) == CLAIMED
        });
        let mut got = pop(&channel);
        if got.is_ok() {
            got = pop(&channel);
        }
        let waits = got == Err(Empty::Yet) && channel.words.wait(ChannelEnd::Reader, HOLDER);
        let was_woken = thread.join().unwrap();
        assert!(was_woken || !waits);
        clear(&channel);
    });
}

#[test]
fn loom_end_of_a_channel_comes_after_its_messages() {
    explore(|| {
        let channel = channel(1);
        let receiver = Arc::clone(&channel);
        let thread = thread::spawn(move || {
            let first = pop(&receiver);
            match first {
                Err(Empty::Ended) => panic!("a message is lost"),
                Err(Empty::Yet) => None,
                Ok(message) => Some(message),
            }
        });
        let note = push(&channel, 5);
        channel.words.leave(ChannelEnd::Writer);
        let got = thread.join().unwrap();
        assert!(note && matches!(got, None | Some(5)));
        assert_eq!(
            pop(&channel),
            if got.is_some() {
                Err(Empty::Ended)
            } else {
                Ok(5)
            }
        );
        clear(&channel);
    });
}

#[test]
fn loom_who_claims_a_waker_sees_it() {
    explore(|| {
        let channel = channel(1);
        let slot = Arc::new(DataCell::new(0));
        let (receiver, written) = (Arc::clone(&channel), Arc::clone(&slot));
        let thread = thread::spawn(move || {
            // SAFETY: not read before this thread says that it waits.
            written.with_mut(|slot| unsafe { *slot = 7 });
            receiver.words.wait_elsewhere(ChannelEnd::Reader) == Some(Poll::Pending)
        });
        if channel.words.claim(ChannelEnd::Reader, 0) == Claim::Elsewhere {
            // SAFETY: the waiter has written it before it said that it waits.
            assert_eq!(slot.with(|slot| unsafe { *slot }), 7);
        }
        assert!(thread.join().unwrap());
        clear(&channel);
    });
}

#[test]
fn loom_who_is_told_of_a_stopped_network_has_seen_what_was_sent_before() {
    explore(|| {
        let channel = channel(1);
        let sender = Arc::clone(&channel);
        let sends = thread::spawn(move || {
            assert!(push(&sender, 1));
            sender.words.shared().stop(NetworkFailure::Cancelled);
        });
        let waits = channel.words.put_waker(ChannelEnd::Reader, Waker::noop());
        assert_ne!(waits, Poll::Ready(true));
        sends.join().unwrap();
        clear(&channel);
    });
}

/// Another thread takes the reader's first waker, for nothing: a producer that meets that claim
/// looks again, since the reader may wait again without having seen the message.
#[test]
fn loom_no_reader_of_another_executor_sleeps_on_a_message() {
    explore(|| {
        let channel = channel(1);
        let (sender, other) = (Arc::clone(&channel), Arc::clone(&channel));
        let sends = thread::spawn(move || {
            assert!(push(&sender, 1));
            sender.words.tell_or_owe(ChannelEnd::Reader).wake();
        });
        let wakes = thread::spawn(move || other.words.wake_now(ChannelEnd::Reader));
        let mut waits = None;
        // With a waker of its own each time that it is polled.
        for _ in 0..2 {
            let woken = std::sync::Arc::new(Woken::default());
            let waker = Waker::from(std::sync::Arc::clone(&woken));
            let puts = || channel.words.put_waker(ChannelEnd::Reader, &waker);
            let is_pending = pop(&channel).is_err() && puts().is_pending();
            waits = is_pending.then_some(woken);
            if waits.as_ref().is_none_or(|woken| woken.times() == 0) {
                break;
            }
        }
        sends.join().unwrap();
        let _was_there = wakes.join().unwrap();
        assert!(waits.is_none_or(|woken| woken.times() > 0));
        clear(&channel);
    });
}

#[test]
fn loom_who_finds_a_hook_sees_it() {
    explore(|| {
        let channel = channel(UNBOUNDED);
        let slot = Arc::new(DataCell::new(0));
        let (receiver, written) = (Arc::clone(&channel), Arc::clone(&slot));
        let thread = thread::spawn(move || {
            // SAFETY: not read before this thread says that it is there.
            written.with_mut(|slot| unsafe { *slot = 7 });
            receiver.words.hook_is_there(ChannelEnd::Reader);
            receiver.words.is_ready(ChannelEnd::Reader)
        });
        assert!(push(&channel, 1));
        let words = &channel.words;
        let is_there =
            words.is_waiting(ChannelEnd::Reader) || words.is_waiting_after_all(ChannelEnd::Reader);
        let is_called = is_there && words.claim(ChannelEnd::Reader, 0) == Claim::Hook;
        if is_called {
            // SAFETY: who put the hook there has written it before.
            assert_eq!(slot.with(|slot| unsafe { *slot }), 7);
        }
        let is_seen = thread.join().unwrap();
        assert!(is_called || is_seen, "nobody takes the message out");
        clear(&channel);
    });
}

#[test]
fn loom_who_claims_sees_what_the_waiter_wrote() {
    explore(|| {
        let channel = channel(1);
        let note = Arc::new(DataCell::new(0));
        let (sender, read) = (Arc::clone(&channel), Arc::clone(&note));
        let thread = thread::spawn(move || {
            // SAFETY: the waiter has written it before it said that it waits.
            let look = || read.with(|note| unsafe { *note });
            match sender.words.claim(ChannelEnd::Reader, 0) {
                Claim::Process(_) => Some(look()),
                _ => None,
            }
        });
        // SAFETY: not read before this thread says that it waits.
        note.with_mut(|note| unsafe { *note = 7 });
        assert!(channel.words.wait(ChannelEnd::Reader, HOLDER));
        assert!(matches!(thread.join().unwrap(), None | Some(7)));
        clear(&channel);
    });
}

#[test]
fn loom_of_two_claims_one_holds() {
    explore(|| {
        let channel = channel(1);
        assert!(push(&channel, 1));
        assert!(channel.words.wait(ChannelEnd::Writer, HOLDER));
        let other = Arc::clone(&channel);
        let thread = thread::spawn(move || other.words.claim(ChannelEnd::Writer, 1) == CLAIMED);
        let here = channel.words.claim(ChannelEnd::Writer, 2) == CLAIMED;
        let there = thread.join().unwrap();
        assert!(here != there);
        clear(&channel);
    });
}

/// Else a process that waits with reason would seem to have what it waits for, or the reverse.
#[test]
fn loom_who_sees_a_wait_sees_the_counts_before_it() {
    explore(|| {
        let channel = channel(1);
        assert!(push(&channel, 1));
        let looked_at = Arc::clone(&channel);
        let thread = thread::spawn(move || {
            let words = &looked_at.words;
            assert!(
                !words.is_process_due(ChannelEnd::Reader, HOLDER),
                "nothing is there"
            );
            if words.is_process_waiting(ChannelEnd::Reader, HOLDER) {
                assert_eq!(words.taken().number(), 1);
            }
        });
        assert_eq!(pop(&channel), Ok(1));
        assert!(channel.words.wait(ChannelEnd::Reader, HOLDER));
        thread.join().unwrap();
        clear(&channel);
    });
}

/// Else one of the waits would be missed by which such a process may go on.
#[test]
fn loom_who_sees_that_a_process_waits_for_any_sees_all_its_waits() {
    explore(|| {
        let (one, two) = (channel(1), channel(1));
        let word = Arc::new(AtomicWord::new());
        let looked_at = (Arc::clone(&one), Arc::clone(&two), Arc::clone(&word));
        let thread = thread::spawn(move || {
            let (one, two, word) = looked_at;
            if word.get() == Statement::Many {
                assert!(one.words.is_process_waiting(ChannelEnd::Reader, HOLDER));
                assert!(two.words.is_process_waiting(ChannelEnd::Reader, HOLDER));
            }
        });
        assert!(
            one.words.wait(ChannelEnd::Reader, HOLDER)
                && two.words.wait(ChannelEnd::Reader, HOLDER)
        );
        word.set(Statement::Many);
        thread.join().unwrap();
        clear(&one);
        clear(&two);
    });
}

/// Such a process was woken at one of two channels, and is about to wait no more at the other.
#[test]
fn loom_who_looks_twice_sees_that_a_process_runs() {
    explore(|| {
        let (one, two) = (channel(1), channel(1));
        let word = Arc::new(AtomicWord::new());
        assert!(
            one.words.wait(ChannelEnd::Reader, HOLDER)
                && two.words.wait(ChannelEnd::Reader, HOLDER)
        );
        word.set(Statement::Many);
        assert_eq!(one.words.claim(ChannelEnd::Reader, 0), CLAIMED);
        let looked_at = (Arc::clone(&one), Arc::clone(&two), Arc::clone(&word));
        let thread = thread::spawn(move || {
            let (one, two, word) = looked_at;
            let waits_at_two_alone = || {
                let waits = word.get() == Statement::Many;
                waits
                    && !one.words.is_process_due(ChannelEnd::Reader, HOLDER)
                    && two.words.is_process_waiting(ChannelEnd::Reader, HOLDER)
            };
            assert!(!(waits_at_two_alone() && waits_at_two_alone()));
        });
        word.set(Statement::Runs);
        assert_eq!(
            one.words.resume(ChannelEnd::Reader, HOLDER),
            Resumed::Claimed(0)
        );
        let _whatever_it_was = two.words.resume(ChannelEnd::Reader, HOLDER);
        thread.join().unwrap();
        clear(&one);
        clear(&two);
    });
}

#[test]
fn loom_last_thread_that_becomes_quiet_knows() {
    explore(|| {
        let lines = Arc::new([Line::new(0, false), Line::new(1, false)]);
        lines.iter().for_each(Line::enter);
        let ends = |lines: &[Line; 2], own: usize| {
            lines[own].leave();
            are_quiet(lines.iter())
        };
        let there = Arc::clone(&lines);
        let thread = thread::spawn(move || ends(&there, 1));
        let here = ends(&lines, 0);
        assert!(thread.join().unwrap() || here);
    });
}

/// One thread wakes a process and is suspended; another polls that process.
#[test]
fn loom_quiet_is_seen_after_a_process_was_polled_elsewhere() {
    explore(|| {
        let lines = Arc::new([Line::new(0, false), Line::new(1, false)]);
        lines[0].enter();
        lines[0].woke();
        let there = Arc::clone(&lines);
        let thread = thread::spawn(move || {
            there[1].enter();
            there[1].started(&there[0]);
            there[1].leave();
            are_quiet(there.iter())
        });
        lines[0].leave();
        crate::machine::prim::fence(crate::machine::prim::Ordering::SeqCst);
        let here = lines[0].is_quiet() && are_quiet(lines.iter());
        assert!(thread.join().unwrap() || here);
    });
}

/// Reads a slot that nobody has published: only a model checker sees what is wrong. A thread that
/// polls no process wakes one, which has seen the message by itself and ends before the thread has
/// counted that. Then it is for that thread to see that nothing goes on any more.
#[test]
fn loom_quiet_is_seen_by_who_wakes_from_outside_a_process_that_has_ended() {
    explore(|| {
        let lines = Arc::new([Line::new(0, false), Line::new(1, false)]);
        let channel = channel(2);
        lines[1].enter();
        let (there, sender) = (Arc::clone(&lines), Arc::clone(&channel));
        let thread = thread::spawn(move || {
            assert!(push(&sender, 1));
            if tell(&sender, ChannelEnd::Reader) {
                there[0].woke();
            }
            there[0].has_to_ask() && are_quiet(there.iter())
        });
        let words = &channel.words;
        let mut is_woken = false;
        let mut is_quiet = false;
        if pop(&channel).is_err() {
            lines[1].leave();
            if words.wait(ChannelEnd::Reader, HOLDER) {
                // It is suspended: who has woken it, or who polls it then, asks.
                is_woken = true;
            } else {
                lines[1].enter();
                if let Resumed::Claimed(by) = words.resume(ChannelEnd::Reader, HOLDER) {
                    lines[1].started(&lines[by as usize]);
                }
                assert_eq!(pop(&channel), Ok(1));
            }
        }
        if !is_woken {
            lines[1].leave();
            is_quiet = are_quiet(lines.iter());
        }
        let asked = thread.join().unwrap();
        assert!(is_woken || is_quiet || asked);
        while pop(&channel).is_ok() {}
        clear(&channel);
    });
}

#[cfg(roving_canary)]
#[test]
fn canary_slot_read_without_publication() {
    explore(|| {
        let note = Arc::new(DataCell::new(0));
        let written = Arc::clone(&note);
        // SAFETY: there is a race, which is what loom is to find.
        let thread = thread::spawn(move || written.with_mut(|note| unsafe { *note = 1 }));
        // SAFETY: the read races with the write of the other thread, which is what loom is to find.
        note.with(|note| unsafe { *note });
        thread.join().unwrap();
    });
}
