//! Every transition of the shared words, explored by loom.
//!
//! `mutants.txt` lists for each ordering the test here that fails when it is weakened.

use std::sync::Arc;

use loom::thread;

use super::owner::{Owner, Popped};
use super::slot::{Further, Slot};
use super::slot_state::Phase;
use super::task_word::Unpark;
use super::thief::Claim;
use super::{Showing, TaskStack};
use crate::machine::duty::Due;
use crate::machine::latch::Latch;
use crate::machine::prim::{DataCell, explore, explore_within};

/// The holder index that tests give to the thief that starts a task.
const THIEF: usize = 1;

fn stack(slots: usize, unasked: usize) -> Arc<TaskStack> {
    Arc::new(TaskStack::new(Showing {
        slots,
        unasked,
        thieves: unasked,
        wide: unasked,
        ..Showing::SMALL
    }))
}

/// The owner of a stack; each test makes one, on one thread.
pub(crate) fn owner(stack: &TaskStack) -> Owner<'_> {
    // SAFETY: the tests make one owner a stack.
    let owner = unsafe { Owner::new(stack) };
    owner.attach();
    owner
}

/// The tests call no task through its slot: they take the payload out themselves.
pub(crate) unsafe extern "C-unwind" fn not_run(_: &Slot) -> Further {
    unreachable!("tests take payloads out themselves");
}

fn push(owner: &Owner<'_>, payload: u64) -> bool {
    owner.push(not_run, payload).expect("room").1.told()
}

/// Claims up to `amount` tasks and returns where, and how many.
fn claim(stack: &TaskStack, amount: usize) -> Option<(usize, usize)> {
    match stack.claim(0, |_| amount) {
        Claim::Won {
            index,
            count,
            remind,
            ..
        } => {
            remind.pay(|| stack.raise_alarm());
            Some((index, count))
        }
        Claim::Empty | Claim::Busy => None,
    }
}

/// Runs a task the way its thief does, once begun: what it got is the result.
fn run_begun(slot: &Slot) -> u64 {
    let (payload, ended) = run_and_finish(slot);
    ended.waive("the owner looks by itself");
    payload
}

/// Runs the task and finishes it; returns its payload.
pub(crate) fn run_and_finish(slot: &Slot) -> (u64, Due<Unpark>) {
    let payload = take(slot);
    // SAFETY: begun, so the payload is this thread's until `finish`.
    unsafe { slot.put(payload + 100) };
    (payload, slot.finish())
}

/// The payload of a task that the caller has to itself.
pub(crate) fn take(slot: &Slot) -> u64 {
    // SAFETY: the tests take what they have popped, begun, or found done; loom checks that.
    unsafe { slot.take::<u64>() }
}

/// Something that one thread makes and others use then; loom checks that they have seen it made.
pub(crate) struct Made(DataCell<()>);

// SAFETY: loom checks each access.
unsafe impl Sync for Made {}
// SAFETY: there is nothing in it.
unsafe impl Send for Made {}

impl Made {
    pub(crate) fn new() -> Made {
        Made(DataCell::new(()))
    }

    pub(crate) fn make(&self) {
        self.0.with_mut(|_| ());
    }

    pub(crate) fn see(&self) {
        self.0.with(|_| ());
    }
}

/// A thief, from claim to end: which task it ran.
fn steal(stack: &TaskStack) -> Option<u64> {
    let (index, _) = claim(stack, 1)?;
    stack.slot(index).begin(THIEF, 0);
    Some(run_begun(stack.slot(index)))
}

/// Pops the newest task, which a join would have pushed: its payload here, or its result there.
fn pop(owner: &Owner<'_>) -> u64 {
    let index = owner.top() - 1;
    owner.answer_alarm();
    let slot = owner.stack().slot(index);
    if owner.pop_awake(index) == Popped::Away {
        loop {
            match slot.state().phase() {
                Phase::Done => break owner.retire(index),
                Phase::Offered if slot.take_back() => break owner.release(index),
                _ => thread::yield_now(),
            }
        }
    }
    take(slot)
}

#[test]
fn loom_claim_sees_payload() {
    explore(|| {
        let shared = stack(2, 1);
        let thief = {
            let stack = Arc::clone(&shared);
            thread::spawn(move || steal(&stack))
        };
        let owner = owner(&shared);
        push(&owner, 7);
        let stolen = thief.join().unwrap();
        assert!(stolen.is_none_or(|payload| payload == 7));
    });
}

#[test]
fn loom_result_reaches_owner() {
    explore(|| {
        let shared = stack(2, 1);
        let owner = owner(&shared);
        push(&owner, 7);
        let thief = {
            let stack = Arc::clone(&shared);
            thread::spawn(move || steal(&stack))
        };
        let value = pop(&owner);
        match thief.join().unwrap() {
            Some(7) => assert_eq!(value, 107),
            None => assert_eq!(value, 7),
            other => panic!("the thief got {other:?}"),
        }
    });
}

/// One claims both tasks and offers the newer one; the owner takes that back and pushes into the
/// same slot; and who comes too late with the offer must not touch it.
#[test]
fn loom_late_thief_does_no_harm() {
    explore(|| {
        let shared = stack(2, 2);
        let owner = owner(&shared);
        push(&owner, 1);
        push(&owner, 2);
        let thief = {
            let stack = Arc::clone(&shared);
            thread::spawn(move || {
                let (index, count) = claim(&stack, 2)?;
                if count == 1 {
                    stack.slot(index).begin(THIEF, 0);
                    return Some(run_begun(stack.slot(index)));
                }
                let offers = [stack.slot(0).offer(), stack.slot(1).offer()];
                let newer = stack.slot(1);
                newer
                    .begin_offered(offers[1], THIEF, 0)
                    .then(|| run_begun(newer))
            })
        };
        let second = pop(&owner);
        push(&owner, 3);
        let third = pop(&owner);
        let first = pop(&owner);
        let stolen = thief.join().unwrap();
        for (value, task) in [(first, 1), (second, 2), (third, 3)] {
            assert_eq!(
                value,
                if stolen == Some(task) {
                    task + 100
                } else {
                    task
                }
            );
        }
    });
}

/// A thief offers the newer of two claimed tasks; the owner takes it back and puts the next task
/// into the same slot; a second thief claims that and offers it, too. The first offer, which is
/// stale now, begins nothing: whoever holds it has not seen what is in the slot.
#[test]
fn loom_a_stale_offer_begins_nothing() {
    explore(|| {
        let shared = stack(2, 2);
        let owner = owner(&shared);
        push(&owner, 1);
        push(&owner, 2);
        assert_eq!(claim(&shared, 2), Some((0, 2)));
        shared.slot(0).begin(THIEF, 0);
        let stale = shared.slot(1).offer();
        let late = {
            let stack = Arc::clone(&shared);
            thread::spawn(move || {
                let slot = stack.slot(1);
                slot.begin_offered(stale, THIEF, 0).then(|| run_begun(slot))
            })
        };
        let second = pop(&owner);
        push(&owner, 3);
        assert_eq!(claim(&shared, 1), Some((1, 1)));
        let fresh = shared.slot(1).offer();
        let begins = shared.slot(1).begin_offered(fresh, THIEF + 1, 0);
        assert!(begins, "nobody else has the offer of the third task");
        assert_eq!(run_begun(shared.slot(1)), 3);
        assert_eq!(pop(&owner), 103);
        let stolen = late.join().unwrap();
        assert!(stolen.is_none_or(|payload| payload == 2), "{stolen:?}");
        assert_eq!(second, if stolen.is_some() { 102 } else { 2 });
        run_begun(shared.slot(0));
        assert_eq!(pop(&owner), 101);
    });
}

/// Two thieves and the owner: each task runs once.
#[test]
fn loom_each_task_runs_once() {
    explore_within(Some(3), || {
        let shared = stack(2, 2);
        let owner = owner(&shared);
        push(&owner, 1);
        push(&owner, 2);
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let stack = Arc::clone(&shared);
                thread::spawn(move || steal(&stack))
            })
            .collect();
        let values = [pop(&owner), pop(&owner)];
        let stolen: Vec<u64> = thieves
            .into_iter()
            .filter_map(|t| t.join().unwrap())
            .collect();
        for (value, task) in values.into_iter().zip([2, 1]) {
            let times = stolen.iter().filter(|&&payload| payload == task).count();
            assert_eq!(value, task + 100 * times as u64, "{stolen:?}");
            assert!(times <= 1);
        }
        assert!(stolen.iter().all(|payload| [1, 2].contains(payload)));
    });
}

/// A private task becomes public because a thief wants it, without another push: the alarm is
/// seen at the next pop, and what it asks for is answered there.
#[test]
fn loom_want_is_answered() {
    explore(|| {
        let shared = stack(3, 0);
        let owner = owner(&shared);
        for payload in 1..=3 {
            push(&owner, payload);
        }
        let thief = {
            let stack = Arc::clone(&shared);
            thread::spawn(move || stack.want())
        };
        let third = pop(&owner);
        let public = thief.join().unwrap();
        assert_eq!((third, public), (3, 0));
        // The flag came before the pop's change of the span, or it is still up and the alarm with
        // it: the next pop at the latest publishes.
        let published = shared.public() > 0;
        assert!(published || shared.is_wanted());
        let second = pop(&owner);
        assert!(second == 2 && (published || shared.public() == 1));
        assert_eq!(pop(&owner), 1);
    });
}

/// Pushes as a fork does that is not fast.
fn push_as_fork_does(owner: &Owner<'_>, payload: u64) {
    if !owner.push_alone(not_run, payload) {
        push(owner, payload);
    }
}

/// Pops as the end of a child does that is not fast.
fn pop_as_end_of_child_does(owner: &Owner<'_>) -> u64 {
    match owner.pop_alone() {
        // SAFETY: popped, with the payload still inside.
        Some(slot) => unsafe { (*slot).take::<u64>() },
        None => pop(owner),
    }
}

/// Of the tasks of a loop, of which each comes alone, a thief gets one or none.
#[test]
fn loom_a_task_that_stands_alone_has_one_taker() {
    explore(|| {
        let shared = stack(1, 1);
        let owner = owner(&shared);
        push(&owner, 1);
        assert_eq!(pop(&owner), 1);
        let thief = {
            let stack = Arc::clone(&shared);
            thread::spawn(move || steal(&stack))
        };
        assert!(owner.push_alone(not_run, 2_u64), "nobody has asked");
        let second = pop_as_end_of_child_does(&owner);
        push_as_fork_does(&owner, 3);
        let third = pop_as_end_of_child_does(&owner);
        let stolen = thief.join().unwrap();
        for (value, task) in [(second, 2), (third, 3)] {
            let times = u64::from(stolen == Some(task));
            assert_eq!(value, task + 100 * times, "{stolen:?}");
        }
    });
}

/// Who asks while tasks come alone sees one, or is answered by the next that is pushed after that.
#[test]
fn loom_a_task_that_comes_alone_does_not_hide_who_asks() {
    explore(|| {
        let shared = stack(2, 1);
        let owner = owner(&shared);
        push(&owner, 1);
        assert_eq!(pop(&owner), 1);
        let thief = {
            let stack = Arc::clone(&shared);
            thread::spawn(move || stack.want())
        };
        push_as_fork_does(&owner, 2);
        assert_eq!(pop_as_end_of_child_does(&owner), 2);
        thief.join().unwrap();
        push_as_fork_does(&owner, 3);
        assert!(!shared.is_wanted(), "it is answered");
        assert_eq!(shared.public(), 1);
    });
}

/// The owner of a stolen task parks, its thief wakes it.
#[test]
fn loom_waiter_is_woken() {
    explore(|| {
        let shared = stack(2, 1);
        let owner = owner(&shared);
        push(&owner, 7);
        assert_eq!(claim(&shared, 1), Some((0, 1)));
        shared.slot(0).begin(THIEF, 0);
        let waiter = thread::current();
        let thief = {
            let stack = Arc::clone(&shared);
            thread::spawn(move || {
                stack.slot(0).finish().pay(|| waiter.unpark());
            })
        };
        let slot = shared.slot(0);
        let state = slot.state();
        if !state.is_done() && slot.announce_waiter(state) {
            while !slot.state().is_done() {
                thread::park();
            }
        }
        assert_eq!(owner.pop_awake(0), Popped::Away);
        owner.retire(0);
        thief.join().unwrap();
    });
}

/// Who sees that a thief holds its task sees that thief's own stack as it was at that moment, and
/// takes no older run there for one that is going on.
fn leapfrogger_sees_no_older_run<C>(claimed: fn(&Slot) -> C, begin: fn(&Slot, C, usize))
where
    C: 'static,
{
    explore(move || {
        let (mine, its) = (stack(2, 1), stack(2, 1));
        let me = owner(&mine);
        push(&me, 7);
        let thief = {
            let (mine, its) = (Arc::clone(&mine), Arc::clone(&its));
            thread::spawn(move || {
                let it = owner(&its);
                assert_eq!(claim(&mine, 1), Some((0, 1)));
                let claimed = claimed(mine.slot(0));
                // An older run in the thief's stack, begun and ended.
                push(&it, 1);
                assert_eq!(steal(&its), Some(1));
                assert_eq!(pop(&it), 101);
                begin(mine.slot(0), claimed, it.top());
            })
        };
        // Looks again after a yield: loom tries no order in which a thread's read and write of one
        // word both come before another thread's only read of it.
        while mine.slot(0).state().phase()
            != (Phase::Started {
                holder: THIEF,
                base: 0,
            })
        {
            thread::yield_now();
        }
        assert_eq!(its.slot(0).state().phase(), Phase::Ready, "an older run");
        thief.join().unwrap();
    });
}

#[test]
fn loom_leapfrogger_sees_no_older_run() {
    leapfrogger_sees_no_older_run(|_| (), |slot, (), base| slot.begin(THIEF, base));
}

#[test]
fn loom_leapfrogger_sees_no_older_run_of_an_offer() {
    leapfrogger_sees_no_older_run(
        |slot: &Slot| slot.offer(),
        |slot, offered, base| {
            assert!(slot.begin_offered(offered, THIEF, base));
        },
    );
}

/// The fast pop of a spawned task never takes one that a thief has, and takes no notice of an alarm
/// that it may miss: the slow one does.
#[test]
fn loom_stolen_and_drained() {
    explore(|| {
        let shared = stack(4, 1);
        let owner = owner(&shared);
        for id in 1..=3_u64 {
            let pushed = owner.push_unjoined(not_run, id);
            pushed.expect("room").waive("nobody sleeps");
        }
        let thief = {
            let stack = Arc::clone(&shared);
            thread::spawn(move || steal(&stack))
        };
        let mut popped = Vec::new();
        for newest in (1..=3).rev() {
            match owner.pop_unjoined() {
                // SAFETY: popped, with the payload still inside.
                Some(slot) => popped.push(unsafe { (*slot).take::<u64>() }),
                None => popped.push(pop(&owner)),
            }
            let is_mine = popped.last() == Some(&newest);
            assert!(is_mine || popped.last() == Some(&(100 + newest)));
        }
        let stolen = thief.join().unwrap();
        assert_eq!(
            popped.iter().filter(|id| **id > 100).count(),
            usize::from(stolen.is_some())
        );
    });
}

/// A join's slot with an unjoined task above it never takes the fast path of a pop, whichever
/// thread steals meanwhile.
#[test]
fn loom_stolen_and_unjoined_together() {
    explore(|| {
        let shared = stack(3, 2);
        let owner = owner(&shared);
        push(&owner, 1);
        let pushed = owner.push_unjoined(not_run, 2_u64);
        pushed.expect("room").waive("nobody sleeps");
        let thief = {
            let stack = Arc::clone(&shared);
            thread::spawn(move || steal(&stack))
        };
        assert_eq!(pop(&owner), 2, "the older one is stolen first");
        let first = pop(&owner);
        let stolen = thief.join().unwrap();
        assert_eq!(first, if stolen.is_some() { 101 } else { 1 });
    });
}

#[test]
fn loom_latch_hands_over() {
    explore(|| {
        struct Frame {
            latch: Latch,
            data: loom::cell::UnsafeCell<u64>,
        }
        // SAFETY: the latch says who may touch the data.
        unsafe impl Sync for Frame {}
        // SAFETY: the data is handed from thread to thread by the latch alone.
        unsafe impl Send for Frame {}
        let frame = Arc::new(Frame {
            latch: Latch::new(2),
            data: loom::cell::UnsafeCell::new(0),
        });
        // One leaves something, another may be the last: in loom an unpark alone orders the
        // waiter after its caller, but not after the first of the two.
        let others = [Some(5), None].map(|left| {
            let frame = Arc::clone(&frame);
            thread::spawn(move || {
                if let Some(left) = left {
                    // SAFETY: the waiter looks only after the count is down.
                    frame.data.with_mut(|data| unsafe { *data = left });
                }
                // SAFETY: alive, and two calls for a count of two.
                unsafe { Latch::count_down(&frame.latch) };
            })
        });
        while !frame.latch.is_over() {
            thread::yield_now();
        }
        // SAFETY: the count is down.
        assert_eq!(frame.data.with(|data| unsafe { *data }), 5);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// A thief looks at what the newer of two claimed tasks would run, and offers it on; the owner
/// takes it back, and puts the next task into the same slot.
#[test]
fn loom_thief_has_looked_before_it_offers() {
    explore(|| {
        let shared = stack(2, 2);
        let owner = owner(&shared);
        push(&owner, 1);
        push(&owner, 2);
        let thief = {
            let stack = Arc::clone(&shared);
            thread::spawn(move || {
                let Some((index, count)) = claim(&stack, 2) else {
                    return;
                };
                stack.slot(index).begin(THIEF, 0);
                if count == 2 {
                    let newer = stack.slot(index + 1);
                    let _ = newer.will_run(not_run);
                    let _ = newer.offer();
                }
                run_begun(stack.slot(index));
            })
        };
        assert_eq!(pop(&owner), 2, "nobody begins what is offered");
        push(&owner, 3);
        assert_eq!(pop(&owner), 3);
        thief.join().unwrap();
    });
}

#[test]
fn loom_latch_wakes_its_waiter() {
    explore(|| {
        let latch = Arc::new(Latch::new(2));
        let others: Vec<_> = (0..2)
            .map(|_| {
                let latch = Arc::clone(&latch);
                // SAFETY: alive, and two calls for a count of two.
                thread::spawn(move || unsafe { Latch::count_down(&*latch) })
            })
            .collect();
        latch.wait();
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// Must fail: two threads touch the same data with nothing between them. If it passes, the model
/// checker is not on, and the other tests say nothing.
#[cfg(roving_canary)]
#[test]
fn loom_canary_must_fail() {
    explore(|| {
        let shared = stack(2, 1);
        let owner = owner(&shared);
        push(&owner, 7);
        let thief = {
            let stack = Arc::clone(&shared);
            // SAFETY: none; that is the point.
            thread::spawn(move || unsafe { stack.slot(0).put(8_u64) })
        };
        // SAFETY: none; that is the point.
        let _ = unsafe { owner.stack().slot(0).take::<u64>() };
        thief.join().unwrap();
    });
}
