//! Tests of the owner of a stack: which tasks it shows, and when it answers thieves that ask.

use super::line::{ALARM, set_current_line};
use super::owner::{Owner, Popped};
use super::slot::{self, Slot};
use super::{Showing, TaskStack};

/// Never called: these tests only move tasks.
///
/// # Safety
/// None.
unsafe extern "C-unwind" fn run_nothing(_: &Slot) -> slot::Further {
    slot::Further::Nothing
}

/// An owner that publishes seldom runs long tasks, so it may not look again for long: who asks gets
/// all.
#[test]
fn an_owner_at_leisure_answers_with_all_that_it_has() {
    let showing = Showing {
        slots: 16,
        unasked: 1,
        thieves: 2,
        wide: 2,
        least: 1,
        everything: false,
        watched: false,
    };
    let stack = TaskStack::new(showing);
    // SAFETY: this thread alone owns the stack, by this owner.
    let owner = unsafe { Owner::new(&stack) };
    owner.attach();
    for id in 0..16 {
        let pushed = owner.push_unjoined(run_nothing, id);
        pushed.expect("room").waive("nobody sleeps");
    }
    assert!(stack.public() < 15, "half of them is enough unasked");
    let _ = stack.want();
    owner.answer_alarm();
    let (popped, wake) = owner.pop(15);
    assert!(popped == Popped::Here && wake.told());
    assert_eq!(stack.public(), 15);
    set_current_line(&raw const ALARM);
}

/// Who asks an owner of a full stack that shows all it has gets no more, so the owner does not turn
/// to that with each spawn.
#[test]
fn a_full_stack_that_shows_all_is_plainly_full_though_somebody_asks() {
    let showing = Showing {
        slots: 4,
        everything: true,
        ..Showing::SMALL
    };
    let stack = TaskStack::new(showing);
    // SAFETY: this thread alone owns the stack, by this owner.
    let owner = unsafe { Owner::new(&stack) };
    owner.attach();
    let spawn = |id| match owner.push_unjoined(run_nothing, id) {
        Ok(wake) => wake.waive("nobody sleeps"),
        Err((_, wake)) => wake.waive("nobody sleeps"),
    };
    (0..4).for_each(spawn);
    for _ in 0..2 {
        // The first question is answered with all, the second cannot be.
        let _ = stack.want();
        spawn(4);
    }
    assert!(
        stack.is_wanted(),
        "a full stack that shows all has no answer"
    );
    assert_eq!(stack.public(), 4);
    assert!(stack.line.is_plainly_full());
    // What becomes private is shown to who has asked.
    assert_eq!(owner.pop_awake(3), Popped::Here);
    spawn(5);
    assert_eq!(stack.public(), 4);
    assert!(stack.line.is_plainly_full());
    set_current_line(&raw const ALARM);
}

/// Ten children a node, spawned before the first is run. Returns how many there are.
fn tree(owner: &Owner<'_>, levels: u32) -> u64 {
    if levels == 0 {
        return 0;
    }
    for child in 0..10 {
        let pushed = owner.push_unjoined(run_nothing, child);
        pushed.expect("room").waive("nobody sleeps");
    }
    let below = (0..10).map(|_| {
        if owner.pop_unjoined().is_none() {
            assert_eq!(owner.pop_awake(owner.top() - 1), Popped::Here);
        }
        tree(owner, levels - 1)
    });
    10 + below.sum::<u64>()
}

#[test]
fn the_split_line_seldom_moves_as_scopes_come_and_go() {
    let showing = Showing {
        slots: 100,
        ..Showing::SMALL
    };
    let stack = TaskStack::new(showing);
    // SAFETY: this thread alone owns the stack, by this owner.
    let owner = unsafe { Owner::new(&stack) };
    owner.attach();
    owner.answer_alarm();
    let (levels, times) = if cfg!(miri) { (3, 10) } else { (5, 40) };
    let tasks = tree(&owner, levels);
    let counters = stack.tally().read();
    let moves = counters.publications + counters.take_backs;
    assert!(
        moves > 0 && times * moves < tasks,
        "{moves} for {tasks} tasks"
    );
    set_current_line(&raw const ALARM);
}

/// Of a burst of spawns at least half are public, whatever has been taken back before.
#[test]
fn of_spawns_onto_an_empty_stack_half_is_public() {
    let showing = Showing {
        slots: 100,
        ..Showing::SMALL
    };
    let stack = TaskStack::new(showing);
    // SAFETY: this thread alone owns the stack, by this owner.
    let owner = unsafe { Owner::new(&stack) };
    owner.attach();
    owner.answer_alarm();
    for _ in 0..3 {
        for child in 0..90 {
            let pushed = owner.push_unjoined(run_nothing, child);
            pushed.expect("room").waive("nobody sleeps");
            assert!(2 * stack.public() >= owner.top());
        }
        while owner.top() > 0 {
            if owner.pop_unjoined().is_none() {
                assert_eq!(owner.pop_awake(owner.top() - 1), Popped::Here);
            }
        }
    }
    set_current_line(&raw const ALARM);
}
