//! The children of a task that a thread runs while it waits for some of them: those alone that
//! these depend on. Another child may wait itself for what comes after the wait.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use super::node::LinkedTask;

/// Tasks that have not ended, and all that they depend on, by others or directly.
pub(crate) struct Predecessors {
    all: HashSet<*const LinkedTask>,
    /// Those that have not been seen to be over, the youngest first: what one depends on stands
    /// behind it.
    left: RefCell<Vec<Arc<LinkedTask>>>,
}

impl Predecessors {
    /// These, and what they depend on, out of their parent's children that are `open`, in the order
    /// in which they were spawned. The caller is the parent: nothing comes to that meanwhile.
    pub(crate) fn up_to(these: &[Arc<LinkedTask>], open: &[Arc<LinkedTask>]) -> Predecessors {
        let mut all: HashSet<_> = these.iter().map(Arc::as_ptr).collect();
        let mut left = Vec::new();
        for node in open.iter().rev() {
            if all.contains(&Arc::as_ptr(node)) || node.precedes(|next| all.contains(&next)) {
                all.insert(Arc::as_ptr(node));
                left.push(Arc::clone(node));
            }
        }
        let left = RefCell::new(left);
        Predecessors { all, left }
    }

    /// Whether that is one of them.
    pub(crate) fn have(&self, node: &LinkedTask) -> bool {
        self.all.contains(&std::ptr::from_ref(node))
    }

    /// The oldest that stands on a stack, and that nobody had begun just now.
    pub(crate) fn next(&self) -> Option<Arc<LinkedTask>> {
        let mut left = self.left.borrow_mut();
        while left.last().is_some_and(|node| node.is_over()) {
            left.pop();
        }
        left.iter().rfind(|node| node.can_begin()).cloned()
    }

    /// Whether one of them has run, and its event has not come.
    pub(crate) fn lack_an_event(&self) -> bool {
        let left = self.left.borrow();
        left.iter().any(|node| node.lacks_event_alone())
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::sync::mail::Mail;
    use crate::sync::rendezvous::Rendezvous;
    use crate::task::Heritage;
    use crate::task::body::{Block, TaskBody};
    use crate::task::node::Awaited;

    unsafe extern "C" fn nothing(_: *mut ()) {}

    #[test]
    fn those_are_found_that_a_task_depends_on_by_others_or_directly() {
        let (mail, meeting) = (Mail::default(), Rendezvous::new(None));
        let (heritage, family) = (Heritage::initial(), Arc::default());
        let after = |before: &[&Arc<LinkedTask>]| {
            // SAFETY: all of them stay until the end of the test.
            let node = unsafe { LinkedTask::new(&heritage, &family, (&mail, &meeting), false) };
            before.iter().for_each(|other| node.follow(other));
            let data = Block::copied(ptr::null_mut(), (0, 1), None);
            node.give(TaskBody {
                code: nothing,
                data,
            });
            node
        };
        let (first, other) = (after(&[]), after(&[]));
        let second = after(&[&first, &first]);
        let beside = after(&[&other]);
        let third = after(&[&second, &other]);
        let later = after(&[&third]);
        let open = [&first, &other, &second, &beside, &third, &later].map(Arc::clone);
        let found = Predecessors::up_to(&[Arc::clone(&third)], &open);
        let have = open.each_ref().map(|node| found.have(node));
        assert_eq!(have, [true, true, true, false, true, false]);
        // Nobody has pushed one, then a younger one, then the oldest.
        assert!(found.next().is_none());
        for node in [&beside, &other, &first] {
            node.stand();
        }
        let next = |expected| {
            found
                .next()
                .is_some_and(|node| Arc::ptr_eq(&node, expected))
        };
        assert!(next(&first));
        // It has begun, and then it is over.
        assert!(first.take().is_some() && next(&other));
        assert!(first.come(Awaited::Code).is_some() && next(&other));
        assert!(other.take().is_some() && found.next().is_none());
    }
}
