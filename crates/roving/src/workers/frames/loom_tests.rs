//! Every transition of the words of frames, explored by loom.
//!
//! The frames here are as bare as can be: the two words, and cells that stand for what they guard.
//! `mutants.txt` lists for each ordering the test here that fails when it is weakened.

use std::sync::Arc;

use loom::thread;

use super::child_end::{Awaiting, End, Ending, Retracted};
use super::open_count::Open;
use super::waker_word::{Life, Suspension};
use crate::machine::prim::{AtomicUsize, DataCell, Ordering, explore};
use crate::stack::owner::{Owner, Popped};
use crate::stack::slot::{Further, Slot};
use crate::stack::slot_state::Phase;
use crate::stack::thief::Claim;
use crate::stack::{Showing, TaskStack};

/// A child's frame, and which wakers were called.
struct Child {
    end: End,
    outcome: DataCell<u64>,
    awaiter: DataCell<u64>,
    /// The sum of the wakers that were called.
    woken: AtomicUsize,
    /// How often the frame was taken apart, by whoever came last.
    disposed: AtomicUsize,
}

const OUTCOME: u64 = 7;

impl Child {
    fn new() -> Arc<Child> {
        Arc::new(Child {
            end: End::new(),
            outcome: DataCell::new(0),
            awaiter: DataCell::new(0),
            woken: AtomicUsize::new(0),
            disposed: AtomicUsize::new(0),
        })
    }

    /// Models a worker whose child's future has ended.
    fn finish(&self) {
        // SAFETY: nobody looks at the outcome before the end is told; loom checks that.
        self.outcome.with_mut(|at| unsafe { *at = OUTCOME });
        self.tell();
    }

    /// Models a worker that ends the child and is about to resume the parent, which asked for it;
    /// true if it has ended the child without a read-modify-write.
    fn finish_beside_the_parent(&self) -> bool {
        // SAFETY: nobody looks at the outcome before the end is told; loom checks that.
        self.outcome.with_mut(|at| unsafe { *at = OUTCOME });
        let is_alone = self.end.is_untouched();
        match is_alone {
            true => self.end.end_alone(),
            false => self.tell(),
        }
        is_alone
    }

    /// Models a thread that drops the future by which the child was asked for; true if the frame
    /// was that thread's to dispose of.
    fn drop_elsewhere(&self) -> bool {
        let is_ended = self.end.detach().told();
        if is_ended {
            self.dispose();
        }
        is_ended
    }

    /// The child was disposed of once; or not, if its worker ended it alone and overwrote what
    /// `drop_elsewhere` had left.
    fn assert_disposed(&self, was_alone: bool, was_dropped_late: bool) {
        let is_overwritten = was_alone && !was_dropped_late;
        // Ordering: Relaxed; all threads have been joined.
        let disposed = self.disposed.load(Ordering::Relaxed);
        assert_eq!(disposed, usize::from(!is_overwritten));
    }

    fn tell(&self) {
        let mut awaiter = 0;
        loop {
            match self.end.end() {
                // SAFETY: `end` says that the waker is the caller's.
                Ending::TakeAwaiter => awaiter = self.awaiter.with_mut(|at| unsafe { *at }),
                Ending::HandedOver => break,
                Ending::Abandoned => {
                    self.dispose();
                    break;
                }
            }
        }
        // Ordering: Relaxed; read after both threads have been joined.
        self.woken.fetch_add(awaiter as usize, Ordering::Relaxed);
    }

    /// Models a handle that takes the outcome of an ended child.
    fn take(&self) -> u64 {
        // SAFETY: the child has ended; loom checks that the frame is this thread's.
        self.awaiter.with_mut(|at| unsafe { *at = 0 });
        // SAFETY: the child has ended, so the outcome is this thread's; loom checks that.
        self.outcome
            .with_mut(|at| unsafe { std::mem::take(&mut *at) })
    }

    fn dispose(&self) {
        assert_eq!(self.take(), OUTCOME);
        // Ordering: Relaxed; read after both threads have been joined.
        self.disposed.fetch_add(1, Ordering::Relaxed);
    }

    fn leave(&self, waker: u64) -> Awaiting {
        // SAFETY: none is there, and the word says that nobody looks; loom checks that.
        self.awaiter.with_mut(|at| unsafe { *at = waker });
        self.end.leave_awaiter()
    }

    fn woken(&self) -> usize {
        // Ordering: Relaxed; read after both threads have been joined.
        self.woken.load(Ordering::Relaxed)
    }
}

/// Runs a child's end on another thread, and something else here meanwhile.
fn beside_its_end<R>(here: impl FnOnce(&Child) -> R) -> (Arc<Child>, R) {
    let child = Child::new();
    let other = {
        let child = Arc::clone(&child);
        thread::spawn(move || child.finish())
    };
    let result = here(&child);
    other.join().unwrap();
    (child, result)
}

#[test]
fn loom_outcome_reaches_the_handle() {
    explore(|| {
        let (child, outcome) = beside_its_end(|child| {
            if child.end.is_ended() {
                return Some(child.take());
            }
            match child.leave(1) {
                Awaiting::Left => None,
                Awaiting::Ended => Some(child.take()),
            }
        });
        match outcome {
            Some(outcome) => assert_eq!((outcome, child.woken()), (OUTCOME, 0)),
            None => {
                assert_eq!(child.woken(), 1, "the awaiter is woken");
                assert!(child.end.is_ended());
            }
        }
    });
}

/// The woken parent asks again, while the worker may still be about to tell the end.
#[test]
fn loom_handle_that_looks_sees_the_outcome() {
    explore(|| {
        let (_, outcome) = beside_its_end(|child| {
            while !child.end.is_ended() {
                thread::yield_now();
            }
            child.take()
        });
        assert_eq!(outcome, OUTCOME);
    });
}

/// Who sees that a child was ended alone has its outcome, wherever it was ended.
#[test]
fn loom_who_sees_a_child_ended_alone_has_its_outcome() {
    explore(|| {
        let child = Child::new();
        let worker = {
            let child = Arc::clone(&child);
            thread::spawn(move || assert!(child.finish_beside_the_parent()))
        };
        while !child.end.is_ended_alone() {
            thread::yield_now();
        }
        assert_eq!(child.take(), OUTCOME);
        worker.join().unwrap();
    });
}

/// Another waker takes the place of the first.
#[test]
fn loom_awaiter_is_replaced() {
    explore(|| {
        let (child, outcome) = beside_its_end(|child| {
            if child.leave(1) == Awaiting::Ended {
                return Some(child.take());
            }
            match child.end.retract_awaiter() {
                Retracted::Back => match child.leave(10) {
                    Awaiting::Left => None,
                    Awaiting::Ended => Some(child.take()),
                },
                Retracted::None => unreachable!("left"),
                // The worker has taken it, and calls it.
                Retracted::BeingWoken | Retracted::Ended => None,
            }
        });
        match outcome {
            Some(outcome) => assert_eq!((outcome, child.woken()), (OUTCOME, 0)),
            None => assert!([1, 10].contains(&child.woken()), "the last one, once"),
        }
    });
}

#[test]
fn loom_detached_child_is_disposed_of_once() {
    explore(|| {
        let (child, ()) = beside_its_end(|child| {
            // SAFETY: none is there, and the word says that nobody looks; loom checks that.
            child.awaiter.with_mut(|at| unsafe { *at = 0 });
            child.end.detach().pay(|| child.dispose());
        });
        // Ordering: Relaxed; both threads have been joined.
        assert_eq!(child.disposed.load(Ordering::Relaxed), 1);
    });
}

/// A detached child that was awaited before, with a waker left behind: the waker may be called, or
/// not.
#[test]
fn loom_detached_child_that_was_awaited() {
    explore(|| {
        let (child, ()) = beside_its_end(|child| {
            let _ = child.leave(1);
            child.end.detach().pay(|| child.dispose());
        });
        // Ordering: Relaxed; both threads have been joined.
        assert_eq!(child.disposed.load(Ordering::Relaxed), 1);
        assert!(child.woken() <= 1);
    });
}

/// A frame that is polled by whoever it is handed to.
struct Polled {
    life: Life,
    /// A value that one poll leaves in the frame for the next.
    inside: DataCell<u64>,
    /// A value that the waker's owner writes before it wakes.
    message: DataCell<u64>,
    polls: AtomicUsize,
}

impl Polled {
    fn new() -> Arc<Polled> {
        let frame = Polled {
            life: Life::new(),
            inside: DataCell::new(0),
            message: DataCell::new(0),
            polls: AtomicUsize::new(0),
        };
        frame.life.share();
        Arc::new(frame)
    }

    /// A poll that finds the message, once the frame has been woken for it.
    fn poll_again(&self) {
        self.life.resume();
        // SAFETY: the frame is this thread's; loom checks that.
        let (before, message) = (
            self.inside.with_mut(|at| unsafe { *at }),
            self.message.with(|at| unsafe { *at }),
        );
        assert_eq!((before, message), (1, 2));
        // Ordering: Relaxed; read after both threads have been joined.
        self.polls.fetch_add(1, Ordering::Relaxed);
    }

    /// Models a thread that wakes the frame; it polls the frame itself if the frame is handed to
    /// it.
    fn wake(&self) {
        // SAFETY: nobody looks at the message before the frame is woken; loom checks that.
        self.message.with_mut(|at| unsafe { *at = 2 });
        self.life.wake().pay(|| self.poll_again());
    }
}

#[test]
fn loom_woken_frame_is_polled_once_and_sees_why() {
    explore(|| {
        let frame = Polled::new();
        let waker = {
            let frame = Arc::clone(&frame);
            thread::spawn(move || frame.wake())
        };
        // SAFETY: the frame is this thread's until it is suspended; loom checks that.
        frame.inside.with_mut(|at| unsafe { *at = 1 });
        match frame.life.suspend() {
            Suspension::Suspended => {}
            Suspension::Again => frame.poll_again(),
        }
        waker.join().unwrap();
        // Ordering: Relaxed; both threads have been joined.
        assert_eq!(frame.polls.load(Ordering::Relaxed), 1);
    });
}

/// A thread that says something and wakes the frame for it: what is said, and whether the frame was
/// handed to that thread.
fn woken_for_a_word(frame: &Arc<Polled>) -> (Arc<AtomicUsize>, thread::JoinHandle<bool>) {
    let word = Arc::new(AtomicUsize::new(0));
    let (frame, said) = (Arc::clone(frame), Arc::clone(&word));
    let waker = thread::spawn(move || {
        // Ordering: Relaxed; the wake-up is to make it seen.
        said.store(1, Ordering::Relaxed);
        frame.life.wake().told()
    });
    (word, waker)
}

/// A continuation on a stack is woken: the poll that comes anyway sees why, or there is another.
#[test]
fn loom_woken_continuation_sees_why() {
    explore(|| {
        let frame = Polled::new();
        let (said, waker) = woken_for_a_word(&frame);
        frame.life.schedule();
        frame.life.resume();
        // Ordering: Relaxed, as above.
        let seen = said.load(Ordering::Relaxed) == 1;
        let again = frame.life.suspend() == Suspension::Again;
        let passed_on = waker.join().unwrap();
        assert!(seen || again || passed_on, "a wake-up is lost");
        assert!(!(again && passed_on), "one poll for one wake-up");
    });
}

/// Woken once more before it is polled: that poll sees why, or there is another.
#[test]
fn loom_frame_woken_twice_sees_why() {
    explore(|| {
        let frame = Polled::new();
        assert_eq!(frame.life.suspend(), Suspension::Suspended);
        let (said, waker) = woken_for_a_word(&frame);
        if !frame.life.wake().told() {
            // It is the other's to poll, who sees what it has said itself.
            assert!(waker.join().unwrap(), "nobody polls it");
            return;
        }
        frame.life.resume();
        // Ordering: Relaxed, as above.
        let mut seen = said.load(Ordering::Relaxed) == 1;
        if frame.life.suspend() == Suspension::Again {
            frame.life.resume();
            // Ordering: Relaxed, as above.
            seen = said.load(Ordering::Relaxed) == 1;
            assert!(seen, "polled again in vain");
        }
        assert!(waker.join().unwrap() || seen, "a wake-up is lost");
    });
}

/// Ended while it is woken: whoever is last finds nothing to do.
#[test]
fn loom_ended_frame_is_not_polled() {
    explore(|| {
        let frame = Polled::new();
        let waker = {
            let frame = Arc::clone(&frame);
            thread::spawn(move || assert!(!frame.life.wake().told()))
        };
        frame.life.over();
        waker.join().unwrap();
        assert!(!frame.life.wake().told());
    });
}

#[test]
fn loom_last_reference_frees() {
    explore(|| {
        let frame = Polled::new();
        // A second waker, and the frame itself: three references.
        frame.life.share();
        let give_up = |frame: &Polled| {
            // SAFETY: the memory is there while this reference is; loom checks that.
            let _ = frame.inside.with(|at| unsafe { *at });
            frame.life.drop_reference().pay(|| {
                // SAFETY: it was the last reference; loom checks that.
                frame.inside.with_mut(|at| unsafe { *at += 1 });
                // Ordering: Relaxed; read after all threads have been joined.
                frame.polls.fetch_add(1, Ordering::Relaxed);
            });
        };
        let others: Vec<_> = (0..2)
            .map(|_| {
                let frame = Arc::clone(&frame);
                thread::spawn(move || give_up(&frame))
            })
            .collect();
        give_up(&frame);
        others.into_iter().for_each(|other| other.join().unwrap());
        // Ordering: Relaxed; all threads have been joined.
        assert_eq!(frame.polls.load(Ordering::Relaxed), 1, "freed once");
    });
}

/// The lent waker is cloned by two threads at once, and used by one: the frame counts itself once.
#[test]
fn loom_first_wakers_count_the_frame_once() {
    explore(|| {
        let life = Arc::new(Life::new());
        let others: Vec<_> = (0..2)
            .map(|wakes| {
                let life = Arc::clone(&life);
                thread::spawn(move || {
                    if wakes == 1 {
                        assert!(!life.wake().told(), "it is being polled");
                    }
                    life.share();
                    assert!(!life.drop_reference().told(), "the frame holds one");
                })
            })
            .collect();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(life.is_shared());
        assert_eq!(life.suspend(), Suspension::Again);
        life.over();
        assert!(life.release().told(), "the frame's own was the last");
    });
}

#[test]
fn loom_root_is_over_after_all() {
    explore(|| {
        let root = Arc::new((Open::new(), DataCell::new(0_u64)));
        root.0.add();
        let others: Vec<_> = (0..2)
            .map(|number| {
                let root = Arc::clone(&root);
                thread::spawn(move || {
                    if number == 0 {
                        // SAFETY: only this thread writes before the root is over; loom checks.
                        root.1.with_mut(|at| unsafe { *at = 5 });
                    }
                    let _ = root.0.sub(1, || ());
                })
            })
            .collect();
        while !root.0.is_over() {
            thread::yield_now();
        }
        // SAFETY: the root is over; loom checks that this comes after the write.
        assert_eq!(root.1.with_mut(|at| unsafe { *at }), 5);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// A [`super::Call`] was polled once, and is dropped on another thread while the child ends: its
/// caller waits for it alone.
#[test]
fn loom_call_that_is_dropped_elsewhere() {
    explore(|| {
        let child = Child::new();
        let dropper = {
            let child = Arc::clone(&child);
            thread::spawn(move || child.drop_elsewhere())
        };
        let was_alone = child.finish_beside_the_parent();
        let was_late = dropper.join().unwrap();
        child.assert_disposed(was_alone, was_late);
    });
}

/// A [`super::Fork`] was polled once, and is dropped on another thread while the child ends, and
/// the parent's continuation is stolen or not.
#[test]
fn loom_fork_that_is_dropped_elsewhere() {
    explore(|| {
        let stack = Arc::new(small_stack());
        // SAFETY: the only owner.
        let owner = unsafe { Owner::new(&*stack) };
        owner.attach();
        let child = Child::new();
        let (_, wake) = owner.push(not_run, 3_u64).expect("room");
        wake.waive("nobody sleeps");
        let thief = {
            let stack = Arc::clone(&stack);
            thread::spawn(move || {
                let Claim::Won { index, remind, .. } = stack.claim(0, |_| 1) else {
                    return false;
                };
                remind.waive("the owner has no more to show");
                let slot = stack.slot(index);
                slot.begin(1, 0);
                // SAFETY: begun by this thread.
                assert_eq!(unsafe { slot.take::<u64>() }, 3);
                slot.finish().waive("the owner looks by itself");
                true
            })
        };
        let dropper = {
            let child = Arc::clone(&child);
            thread::spawn(move || child.drop_elsewhere())
        };
        owner.answer_alarm();
        let is_here = owner.pop_awake(0) == Popped::Here;
        let mut was_alone = false;
        if is_here {
            was_alone = child.finish_beside_the_parent();
        } else {
            child.finish();
            while stack.slot(0).state().phase() != Phase::Done {
                thread::yield_now();
            }
            owner.retire(0);
        }
        assert_ne!(
            thief.join().unwrap(),
            is_here,
            "one of the two has the parent"
        );
        let was_late = dropper.join().unwrap();
        child.assert_disposed(was_alone, was_late);
    });
}

fn small_stack() -> TaskStack {
    TaskStack::new(Showing::SMALL)
}

/// The tests take frames out of slots themselves.
unsafe extern "C-unwind" fn not_run(_: &Slot) -> Further {
    unreachable!("tests take payloads out themselves");
}

/// A parent's continuation is stolen, or not, while its child ends: in each case exactly one side
/// goes on with the parent, and finds the outcome or is woken for it.
#[test]
fn loom_steal_of_the_parent_beside_the_end_of_its_child() {
    explore(|| {
        let stack = Arc::new(small_stack());
        // SAFETY: the only owner.
        let owner = unsafe { Owner::new(&*stack) };
        owner.attach();
        let child = Child::new();
        let (_, wake) = owner.push(not_run, 3_u64).expect("room");
        wake.waive("nobody sleeps");
        let thief = {
            let (stack, child) = (Arc::clone(&stack), Arc::clone(&child));
            thread::spawn(move || {
                let Claim::Won { index, remind, .. } = stack.claim(0, |_| 1) else {
                    return None;
                };
                remind.waive("the owner has no more to show");
                let slot = stack.slot(index);
                slot.begin(1, 0);
                // SAFETY: begun by this thread.
                assert_eq!(unsafe { slot.take::<u64>() }, 3);
                slot.finish().waive("the owner looks by itself");
                // The parent goes on here, and awaits the child.
                Some(match child.leave(1) {
                    Awaiting::Left => None,
                    Awaiting::Ended => Some(child.take()),
                })
            })
        };
        owner.answer_alarm();
        let here = owner.pop_awake(0) == Popped::Here;
        if here {
            // SAFETY: nobody looks: the parent is here.
            child.outcome.with_mut(|at| unsafe { *at = OUTCOME });
            assert!(child.end.is_untouched());
            child.end.end_alone();
            assert!(child.end.is_ended());
            assert_eq!(child.take(), OUTCOME);
        } else {
            child.finish();
            while stack.slot(0).state().phase() != Phase::Done {
                thread::yield_now();
            }
            owner.retire(0);
        }
        match thief.join().unwrap() {
            None => assert!(here, "one of the two has the parent"),
            Some(None) => assert!(!here && child.woken() == 1),
            Some(Some(outcome)) => assert!(!here && outcome == OUTCOME && child.woken() == 0),
        }
    });
}
