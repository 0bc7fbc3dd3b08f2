//! The lookup of a thief, beside an owner that enters and leaves contexts, explored by loom.

use std::ptr;
use std::sync::Arc;

use loom::thread;

use super::segments::Segments;
use crate::prim::{AtomicUsize, Ordering, explore};

fn word(number: usize) -> *mut () {
    ptr::without_provenance_mut(number)
}

/// A stack of which slot 1 is claimed: the owner publishes it by a release, the thief acquires
/// that.
struct Stack {
    segments: Segments,
    published: AtomicUsize,
}

/// A context segment that is written anew while a thief reads it still gives the thief the context
/// of its task: the segment above it began below that task.
#[test]
fn loom_a_thief_finds_the_context_of_its_task() {
    explore(|| {
        let stack = Arc::new(Stack {
            segments: Segments::new(),
            published: AtomicUsize::new(0),
        });
        let thief = {
            let stack = Arc::clone(&stack);
            thread::spawn(move || {
                // Ordering: Acquire, in the place of a claim's. Pairs with [publish].
                let published = stack.published.load(Ordering::Acquire);
                (published == 1).then(|| stack.segments.covering(1))
            })
        };
        let segments = &stack.segments;
        let outer = segments.open(0, word(7));
        // In the same place as the one below, and below the task's slot.
        let old = segments.open(1, word(8));
        segments.close(old);
        // Ordering: Release, in the place of a publication's. Pairs with [publish].
        stack.published.store(1, Ordering::Release);
        let above = segments.open(2, word(9));
        let further = segments.open(3, word(10));
        segments.close(further);
        segments.close(above);
        let found = thief.join().unwrap();
        assert!(found.is_none_or(|found| ptr::eq(found, word(7))));
        segments.close(outer);
    });
}
