//! Programs of two or three threads whose executions are all explored.

use std::sync::Arc;

use loom::sync::Notify;
use loom::thread;

use super::barrier::Barrier;
use super::count::{Budget, Missing, OpenCount};
use super::dock::Dock;
use super::elsewhere::Elsewhere;
use super::gate::Gate;
use super::mail::Mail;
use super::mutex;
use super::turn::{PlaceState, PlaceTurn};
use crate::prim::{AtomicU32, DataCell, Ordering, explore_within};

/// Threads that lose their core against their will, so often at most.
pub(crate) const PREEMPTIONS: Option<usize> = Some(3);

/// A value that loom checks for races.
pub(crate) struct Value(DataCell<u32>);

// SAFETY: loom says if two threads use it at once.
unsafe impl Sync for Value {}

impl Value {
    pub(crate) fn new() -> Value {
        Value(DataCell::new(0))
    }

    pub(crate) fn set(&self, value: u32) {
        // SAFETY: loom says if another thread is here.
        self.0.with_mut(|at| unsafe { *at = value });
    }

    pub(crate) fn get(&self) -> u32 {
        // SAFETY: loom says if another thread writes it meanwhile.
        self.0.with(|at| unsafe { *at })
    }
}

pub(crate) fn beside(both: impl Fn(usize) + Send + Sync + 'static) {
    let both = Arc::new(both);
    let own = Arc::clone(&both);
    let other = thread::spawn(move || own(1));
    both(0);
    other.join().unwrap();
}

/// A barrier for two, whose threads sleep until the round has ended.
fn pass(barrier: &Barrier) {
    match barrier.arrive(2) {
        Some(round) => barrier.rounds.wait(|number| number != round),
        None => barrier.open(|| ()),
    }
}

#[test]
fn loom_who_passes_a_barrier_sees_what_all_did_before() {
    explore_within(PREEMPTIONS, || {
        let (barrier, values) = (Barrier::default(), [Value::new(), Value::new()]);
        beside(move |me| {
            for round in 1..=2 {
                values[me].set(round);
                pass(&barrier);
                assert_eq!(values[1 - me].get(), round);
                pass(&barrier);
            }
        });
    });
}

/// A thread at a barrier sleeps at the gate, and is to look for the first task.
#[test]
fn loom_the_first_task_wakes_who_sleeps_at_a_barrier() {
    explore_within(PREEMPTIONS, || {
        let (barrier, tasked) = (Barrier::default(), AtomicU32::new(0));
        beside(move |me| {
            // Ordering: Relaxed, both, as that of a team.
            if me == 0 {
                assert_eq!(barrier.arrive(2), Some(0));
                barrier.rounds.wait(|_| tasked.load(Ordering::Relaxed) == 1);
            } else {
                tasked.store(1, Ordering::Relaxed);
                barrier.rounds.ring();
            }
        });
    });
}

/// As an idle worker it sleeps elsewhere, where the last one to come wakes it.
#[test]
fn loom_the_end_of_a_barrier_wakes_who_is_parked() {
    explore_within(PREEMPTIONS, || {
        let (barrier, token) = (Barrier::default(), Notify::new());
        beside(move |_| match barrier.arrive(2) {
            None => barrier.open(|| token.notify()),
            Some(round) => {
                while barrier.rounds.number() == round {
                    barrier.rounds.asleep(|| {
                        if barrier.rounds.number() == round {
                            token.wait();
                        }
                    });
                }
            }
        });
    });
}

#[test]
fn loom_who_waits_at_a_gate_sees_what_was_done_before() {
    explore_within(PREEMPTIONS, || {
        let (gate, value) = (Gate::default(), Value::new());
        beside(move |me| {
            if me == 0 {
                gate.wait(|number| number == 1);
                assert_eq!(value.get(), 7);
            } else {
                value.set(7);
                gate.set(1);
            }
        });
    });
}

/// Two threads take turns at one gate.
#[test]
fn loom_nobody_sleeps_through_the_bell() {
    explore_within(PREEMPTIONS, || {
        let gate = Gate::default();
        beside(move |me| {
            for turn in 0..2 {
                let mine = 2 * turn + me as u64;
                gate.wait(|number| number == mine);
                gate.set(mine + 1);
            }
        });
    });
}

#[test]
fn loom_who_is_called_sees_the_region() {
    explore_within(PREEMPTIONS, || {
        let (dock, end) = (Dock::default(), Gate::default());
        let region = Value::new();
        beside(move |me| {
            for turn in 1..=2 {
                if me == 0 {
                    region.set(turn);
                    dock.call();
                    end.wait(|number| number == turn.into());
                } else {
                    dock.wait();
                    assert_eq!(region.get(), turn);
                    end.set(turn.into());
                    dock.come_back();
                }
            }
        });
    });
}

#[test]
fn loom_who_is_missed_has_done_all_in_its_last_region() {
    explore_within(PREEMPTIONS, || {
        let (dock, end) = (Dock::default(), Gate::default());
        let region = Value::new();
        beside(move |me| {
            if me == 0 {
                region.set(1);
                dock.call();
                end.wait(|number| number == 1);
                dock.miss();
                region.set(2);
            } else {
                dock.wait();
                end.set(1);
                // It is late to leave.
                assert_eq!(region.get(), 1);
                dock.come_back();
            }
        });
    });
}

#[test]
fn loom_one_thread_at_a_time_has_the_lock() {
    explore_within(PREEMPTIONS, || {
        let (word, value) = (AtomicU32::new(0), Value::new());
        beside(move |me| {
            for _ in 0..=me {
                mutex::lock(&word);
                value.set(value.get() + 1);
                mutex::unlock(&word);
            }
        });
    });
}

/// Two constructs have one place after each other.
#[test]
fn loom_a_place_is_set_up_once_and_used_again_when_all_have_left() {
    explore_within(PREEMPTIONS, || {
        let (turn, value) = (PlaceTurn::new(0), Value::new());
        beside(move |_| {
            for k in 0..2 {
                loop {
                    match turn.find(k) {
                        PlaceState::Ready => break,
                        PlaceState::Begun | PlaceState::Elsewhere => thread::yield_now(),
                        PlaceState::Free => {
                            assert_eq!(value.get(), 0);
                            value.set(k as u32 + 1);
                            turn.is_set_up(k);
                            break;
                        }
                    }
                }
                assert_eq!(value.get(), k as u32 + 1);
                if turn.leave(2) {
                    value.set(0);
                    assert!(turn.hand_on(k, k + 1));
                }
            }
        });
    });
}

/// As many constructs of one place, for which nobody waits: each is set up once, where both threads
/// find it, and the place is used again. Those that have no place are dropped when both have left
/// them, and nobody uses them then.
#[test]
fn loom_a_construct_is_in_its_place_or_elsewhere_for_all() {
    struct Place(PlaceTurn, Value);
    impl Drop for Place {
        fn drop(&mut self) {
            self.1.set(u32::MAX);
        }
    }
    fn come(Place(turn, value): &Place, k: u64) -> bool {
        loop {
            match turn.find(k) {
                PlaceState::Ready => break,
                PlaceState::Begun => thread::yield_now(),
                PlaceState::Elsewhere => return false,
                PlaceState::Free => {
                    assert_eq!(value.get(), 0);
                    value.set(k as u32 + 1);
                    turn.is_set_up(k);
                    break;
                }
            }
        }
        assert_eq!(value.get(), k as u32 + 1);
        true
    }
    explore_within(Some(2), || {
        let place = Place(PlaceTurn::new(0), Value::new());
        let elsewhere = Elsewhere::<Place>::default();
        beside(move |_| {
            for k in 0..3 {
                let mut share = &place;
                while !come(share, k) {
                    let make = || Place(PlaceTurn::new(k), Value::new());
                    // SAFETY: it stays until this thread has left it.
                    let found = elsewhere.find(k, &place.0, make);
                    share = found.map_or(&place, |found| unsafe { &*found });
                }
                if share.0.leave(2) {
                    share.1.set(0);
                    match std::ptr::eq(share, &raw const place) {
                        true => elsewhere.hand_on(&place.0, k, 1),
                        false => elsewhere.forget(k),
                    }
                }
            }
        });
    });
}

/// A task that an event frees is run by who waits for it, and its end is seen.
#[test]
fn loom_who_waits_for_tasks_runs_those_that_are_posted() {
    explore_within(PREEMPTIONS, || {
        let (mail, ran) = (Mail::<u32>::default(), Value::new());
        mail.enter();
        beside(move |me| {
            if me == 1 {
                mail.post(5);
                return;
            }
            while !mail.is_over() {
                match mail.take(|&item| item == 5) {
                    Some(item) => {
                        ran.set(item);
                        // SAFETY: it stays until the end of the test.
                        unsafe { Mail::leave(&raw const mail) };
                    }
                    None => mail.wait(|| mail.is_over() || mail.has(|&item| item == 5)),
                }
            }
            mail.close();
            assert_eq!(ran.get(), 5);
        });
    });
}

/// The last task ends elsewhere.
#[test]
fn loom_who_waits_for_tasks_sees_the_end_of_the_last() {
    explore_within(PREEMPTIONS, || {
        let (mail, ran) = (Mail::<u32>::default(), Value::new());
        mail.enter();
        beside(move |me| {
            if me == 1 {
                ran.set(5);
                // SAFETY: it stays until the end of the test.
                unsafe { Mail::leave(&raw const mail) };
            } else {
                while !mail.is_over() {
                    mail.wait(|| mail.is_over());
                }
                assert_eq!(ran.get(), 5);
            }
        });
    });
}

/// The end that a task waits for in the place of a call comes elsewhere. The task leaves the count,
/// and its thread goes on: nobody uses the mail any more by then.
#[test]
fn loom_who_waits_until_a_task_is_free_may_end_the_mail_after_it() {
    explore_within(PREEMPTIONS, || {
        let (mail, unmet, ran) = (Mail::<u32>::default(), OpenCount::of(2), Value::new());
        mail.enter();
        beside(move |me| {
            if me == 1 {
                // SAFETY: it stays until the end of the test.
                unsafe {
                    Mail::tell(&raw const mail, || {
                        ran.set(5);
                        unmet.leave()
                    })
                };
            } else {
                while !unmet.has_left(1) {
                    mail.wait(|| unmet.has_left(1));
                }
                // SAFETY: it stays until the end of the test.
                unsafe { Mail::leave(&raw const mail) };
                assert!(mail.is_over());
                mail.close();
                assert_eq!(ran.get(), 5);
            }
        });
    });
}

/// Both have counted something, and have done something for it before they say that it has ended.
/// The last of them sees what the other one did, and so does who finds that nothing is left.
#[test]
fn loom_the_last_of_a_count_sees_what_was_done_for_all() {
    explore_within(PREEMPTIONS, || {
        let (count, values) = (OpenCount::of(2), [Value::new(), Value::new()]);
        beside(move |me| {
            values[me].set(7);
            if count.leave() || count.has_left(0) {
                assert_eq!(values[1 - me].get(), 7);
            }
        });
    });
}

#[test]
fn loom_who_finds_a_count_over_sees_what_was_done_for_it() {
    explore_within(PREEMPTIONS, || {
        let (count, value) = (OpenCount::of(1), Value::new());
        beside(move |me| {
            if me == 0 {
                value.set(7);
                assert!(count.leave());
            } else if count.has_left(0) {
                assert_eq!(value.get(), 7);
            }
        });
    });
}

/// Two parts of one end come: the last one sees what was done before the other.
#[test]
fn loom_the_last_part_of_an_end_sees_the_others() {
    explore_within(PREEMPTIONS, || {
        let (missing, ends) = (Missing::new(0b11), Arc::new(AtomicU32::new(0)));
        let (values, ended) = ([Value::new(), Value::new()], Arc::clone(&ends));
        beside(move |me| {
            values[me].set(7);
            if missing.come(1 << me) {
                assert_eq!(values[1 - me].get(), 7);
                // Ordering: Relaxed; read when both have ended.
                ended.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Ordering: Relaxed; both have ended.
        assert_eq!(ends.load(Ordering::Relaxed), 1, "one is the last");
    });
}

/// One thread brings all parts of an end, and another one of them alone, late or not: it ends once.
#[test]
fn loom_a_part_that_comes_twice_ends_nothing() {
    explore_within(PREEMPTIONS, || {
        let (missing, ends) = (Missing::new(0b11), Arc::new(AtomicU32::new(0)));
        let ended = Arc::clone(&ends);
        beside(move |me| {
            if missing.come([0b11, 0b10][me]) {
                // Ordering: Relaxed; read when both have ended.
                ended.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Ordering: Relaxed; both have ended.
        assert_eq!(ends.load(Ordering::Relaxed), 1, "it ends once");
    });
}

/// Of a budget of three, both want two, and give them back: no more is given than there is, and in
/// the end all is there.
#[test]
fn loom_a_budget_is_kept() {
    explore_within(PREEMPTIONS, || {
        let budget = Arc::new((Budget::new(3), AtomicU32::new(0)));
        let shared = Arc::clone(&budget);
        beside(move |_| {
            let (budget, got) = &*shared;
            if budget.take(2) {
                // Ordering: Relaxed; read when both have ended.
                got.fetch_add(1, Ordering::Relaxed);
            }
        });
        let (budget, got) = &*budget;
        // Ordering: Relaxed; both have ended.
        assert_eq!(got.load(Ordering::Relaxed), 1, "one of the two has got it");
        assert!(!budget.take(2) && budget.take(1));
    });
    explore_within(PREEMPTIONS, || {
        let budget = Arc::new(Budget::new(3));
        let shared = Arc::clone(&budget);
        beside(move |_| {
            if shared.take(2) {
                shared.give_back(2);
            }
        });
        assert!(budget.take(3) && !budget.take(1));
    });
}

/// The bell is rung before the change: the sleeper may miss it.
#[cfg(roving_canary)]
#[test]
fn canary_who_rings_too_early_leaves_a_sleeper() {
    explore_within(PREEMPTIONS, || {
        let (gate, done) = (Gate::default(), AtomicU32::new(0));
        beside(move |me| {
            // Ordering: Relaxed, both; the gate orders what is done in its order.
            if me == 0 {
                gate.wait(|_| done.load(Ordering::Relaxed) == 1);
            } else {
                gate.ring();
                done.store(1, Ordering::Relaxed);
            }
        });
    });
}
