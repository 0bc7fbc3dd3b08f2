//! Tests of the owner of a stack: which tasks it shows, and when it answers thieves that ask.

use super::line::{ALARM, set_current_line};
use super::owner::{Owner, Popped};
use super::slot::{self, Slot};
use super::{Showing, TaskStack};

/// Never called: these tests only move tasks.
///
/// # Safety
/// None.
pub(super) unsafe extern "C-unwind" fn run_nothing(_: &Slot) -> slot::Further {
    slot::Further::Nothing
}

/// Calls `f` with the owner of such a stack, which is the calling thread's meanwhile.
pub(super) fn owning<R>(showing: Showing, f: impl FnOnce(&Owner<'_>) -> R) -> R {
    let stack = TaskStack::new(showing);
    // SAFETY: this thread alone owns the stack, by this owner.
    let owner = unsafe { Owner::new(&stack) };
    owner.attach();
    let result = f(&owner);
    set_current_line(&raw const ALARM);
    result
}

/// Of a hundred slots.
fn of_hundred() -> Showing {
    Showing {
        slots: 100,
        ..Showing::SMALL
    }
}

/// Whether there was room.
fn spawn(owner: &Owner<'_>) -> bool {
    let pushed = owner.push_unjoined(run_nothing, 0_u64);
    let has_room = pushed.is_ok();
    let wake = pushed.unwrap_or_else(|(_, wake)| wake);
    wake.waive("nobody sleeps");
    has_room
}

/// Takes back the newest spawned task.
fn drain_one(owner: &Owner<'_>) {
    if owner.pop_unjoined().is_none() {
        assert_eq!(owner.pop_awake(owner.top() - 1), Popped::Here);
    }
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
    owning(showing, |owner| {
        assert!((0..16).all(|_| spawn(owner)));
        let stack = owner.stack();
        assert!(stack.public() < 15, "half of them is enough unasked");
        let _ = stack.want();
        owner.answer_alarm();
        let (popped, wake) = owner.pop(15);
        assert!(popped == Popped::Here && wake.told());
        assert_eq!(stack.public(), 15);
    });
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
    owning(showing, |owner| {
        let stack = owner.stack();
        assert!((0..4).all(|_| spawn(owner)));
        for _ in 0..2 {
            // The first question is answered with all, the second cannot be.
            let _ = stack.want();
            assert!(!spawn(owner));
        }
        assert!(
            stack.is_wanted(),
            "a full stack that shows all has no answer"
        );
        assert_eq!(stack.public(), 4);
        assert!(stack.line.is_plainly_full());
        // What becomes private is shown to who has asked.
        drain_one(owner);
        assert!(spawn(owner));
        assert_eq!(stack.public(), 4);
        assert!(stack.line.is_plainly_full());
    });
}

/// Ten children a node, spawned before the first is run. Returns how many there are.
fn tree(owner: &Owner<'_>, levels: u32) -> u64 {
    if levels == 0 {
        return 0;
    }
    assert!((0..10).all(|_| spawn(owner)));
    let below = (0..10).map(|_| {
        drain_one(owner);
        tree(owner, levels - 1)
    });
    10 + below.sum::<u64>()
}

#[test]
fn the_split_line_seldom_moves_as_scopes_come_and_go() {
    owning(of_hundred(), |owner| {
        owner.answer_alarm();
        let (levels, times) = if cfg!(miri) { (3, 10) } else { (5, 40) };
        let tasks = tree(owner, levels);
        let counters = owner.stack().tally().read();
        let moves = counters.publications + counters.take_backs;
        assert!(
            moves > 0 && times * moves < tasks,
            "{moves} for {tasks} tasks"
        );
    });
}

/// Of a burst of spawns at least half are public, whatever has been taken back before.
#[test]
fn of_spawns_onto_an_empty_stack_half_is_public() {
    owning(of_hundred(), |owner| {
        owner.answer_alarm();
        for _ in 0..3 {
            for _ in 0..90 {
                assert!(spawn(owner));
                assert!(2 * owner.stack().public() >= owner.top());
            }
            while owner.top() > 0 {
                drain_one(owner);
            }
        }
    });
}
