//! Words that the threads of a loop share, explored by loom.

use super::doacross::Doacross;
use super::next::NextIteration;
use crate::prim::{AtomicU32, Ordering, explore_within};
use crate::sync::gate::Gate;
use crate::sync::loom_tests::{PREEMPTIONS, Value, beside};

/// Two threads take parts of a loop until nothing is left: loom says if two have one iteration.
fn each_has_its_own(take: fn(&NextIteration, u64) -> Option<(u64, u64)>) {
    explore_within(PREEMPTIONS, move || {
        let all = std::sync::Arc::new((
            NextIteration::default(),
            [(); 5].map(|()| Value::new()),
            AtomicU32::new(0),
        ));
        let shared = std::sync::Arc::clone(&all);
        beside(move |_| {
            let (next, iterations, given) = &*shared;
            while let Some((from, to)) = take(next, 5) {
                for iteration in from..to {
                    iterations[iteration as usize].set(1);
                    // Ordering: Relaxed; read when both have ended.
                    given.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        // Ordering: Relaxed; both have ended.
        assert_eq!(all.2.load(Ordering::Relaxed), 5);
    });
}

#[test]
fn loom_counted_iterations_are_given_once() {
    each_has_its_own(|next, count| next.add(2, count));
}

#[test]
fn loom_iterations_are_given_once() {
    each_has_its_own(|next, count| next.take(count, |rest| rest.div_ceil(2)));
}

/// An iteration waits for another one, and sees what that has done.
#[test]
fn loom_who_waits_for_an_iteration_sees_what_it_did() {
    explore_within(PREEMPTIONS, || {
        let (doacross, gate) = (Doacross::new(&[1, 2]), Gate::default());
        let values = [Value::new(), Value::new()];
        beside(move |me| {
            for inner in 0..2 {
                if me == 0 {
                    values[inner].set(7);
                    doacross.post(&gate, &[0, inner as i64]);
                } else {
                    doacross.wait(&gate, &[0, inner as i64]);
                    assert_eq!(values[inner].get(), 7);
                }
            }
        });
    });
}
