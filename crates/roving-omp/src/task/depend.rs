//! `depend`: which children of a task come after which.

use std::collections::HashMap;
use std::sync::Arc;

use super::node::LinkedTask;
use crate::sync::count::OpenCount;

/// How a task depends on a place in memory, by number as in C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DependenceKind {
    In,
    /// `out` and `inout`; and `mutexinoutset`, whose tasks come here in the order in which they
    /// were spawned.
    Out,
    /// `inoutset`: as `out`, but its tasks among each other as `in`.
    Set,
}

impl DependenceKind {
    fn from_number(number: usize) -> DependenceKind {
        match number {
            1 => DependenceKind::In,
            5 => DependenceKind::Set,
            _ => DependenceKind::Out,
        }
    }
}

/// Reads a list of dependences, as a compiler passes it.
///
/// The old form is the number of places, that of those which are written, and the places, the
/// written ones first. The new form begins with 0; then come four numbers: of places, of those that
/// are written, of `mutexinoutset`, of those that are read; then the places in that order, and
/// behind them objects of two words: a place, and its kind. All memory is the place 0.
///
/// # Safety
/// The list is as a compiler made it.
pub(crate) unsafe fn read(list: *const *const usize) -> Vec<(usize, DependenceKind)> {
    let word = |index: usize| {
        // SAFETY: in the list, by its own numbers.
        unsafe { *list.add(index) as usize }
    };
    if word(0) != 0 {
        let (all, written) = (word(0), word(1));
        let kind = |index| {
            if index < written {
                DependenceKind::Out
            } else {
                DependenceKind::In
            }
        };
        return (0..all)
            .map(|index| (word(2 + index), kind(index)))
            .collect();
    }
    let (all, out, mutex, read) = (word(1), word(2), word(3), word(4));
    let named = out + mutex + read;
    let of = |index: usize| {
        let place = word(5 + index);
        if index < out + mutex {
            (place, DependenceKind::Out)
        } else if index < named {
            (place, DependenceKind::In)
        } else {
            let object = place as *const usize;
            // SAFETY: an object of two words, by the list's numbers.
            let (place, kind) = unsafe { (*object, *object.add(1)) };
            (place, DependenceKind::from_number(kind))
        }
    };
    (0..all).map(of).collect()
}

/// Who has used a place last.
#[derive(Default)]
struct LastUsers {
    /// The last that has written, or the last set.
    writers: Vec<Arc<LinkedTask>>,
    is_set: bool,
    /// Those before a set.
    before: Vec<Arc<LinkedTask>>,
    /// Those that have read since.
    readers: Vec<Arc<LinkedTask>>,
}

/// Adds a node. Where there is no room, those that are over go first; so there are never more than
/// two times as many as were not over at some time.
fn add(list: &mut Vec<Arc<LinkedTask>>, node: &Arc<LinkedTask>) {
    if list.len() == list.capacity() {
        list.retain(|other| !other.is_over());
        list.reserve(list.len().max(LEAST));
    }
    list.push(Arc::clone(node));
}

/// So few are kept without a look at whether they are over.
const LEAST: usize = 4;

impl LastUsers {
    fn enter(&mut self, node: &Arc<LinkedTask>, kind: DependenceKind) {
        match kind {
            DependenceKind::In => {
                self.writers.iter().for_each(|writer| node.follow(writer));
                add(&mut self.readers, node);
            }
            DependenceKind::Set if self.is_set && self.readers.is_empty() => {
                self.before.iter().for_each(|other| node.follow(other));
                add(&mut self.writers, node);
            }
            DependenceKind::Out | DependenceKind::Set => {
                let mut before = std::mem::take(&mut self.readers);
                before.append(&mut self.writers);
                before.iter().for_each(|other| node.follow(other));
                self.writers.push(Arc::clone(node));
                self.is_set = kind == DependenceKind::Set;
                self.before = if self.is_set { before } else { Vec::new() };
            }
        }
    }
}

impl LastUsers {
    /// Whether all of them are over.
    fn are_over(&self) -> bool {
        let mut all = self.writers.iter().chain(&self.before).chain(&self.readers);
        all.all(|node| node.is_over())
    }

    /// One that is named first after those tasks that depend on all places.
    fn after(all: &[Arc<LinkedTask>]) -> LastUsers {
        LastUsers {
            writers: all.to_vec(),
            ..LastUsers::default()
        }
    }
}

/// `omp_all_memory`, as compilers since GCC 13 pass it.
const ALL_MEMORY: usize = 0;

/// A task's children that others depend on, or that wait for events.
#[derive(Default)]
pub(crate) struct Children {
    places: HashMap<usize, LastUsers>,
    /// With so many places, those go whose users are over.
    most_places: usize,
    /// The last that depends on all memory, if there is one.
    all: Vec<Arc<LinkedTask>>,
    /// Those that may not have ended, as they were spawned.
    pub(super) open: Vec<Arc<LinkedTask>>,
    /// Counted children that have not ended.
    pub(crate) counted: Arc<OpenCount>,
}

impl Children {
    /// The node is one more, and comes after those that the list says.
    pub(crate) fn enter(&mut self, node: &Arc<LinkedTask>, list: &[(usize, DependenceKind)]) {
        add(&mut self.open, node);
        if list.iter().any(|&(place, _)| place == ALL_MEMORY) {
            // After all children that depend on something, and before all that will.
            for (_, mut place) in self.places.drain() {
                place.enter(node, DependenceKind::Out);
            }
            self.all.iter().for_each(|other| node.follow(other));
            self.all = vec![Arc::clone(node)];
            return;
        }
        let mut list = list.to_vec();
        // A place that is named twice counts as written if it is in one of them.
        list.sort_by_key(|&(place, kind)| (place, kind == DependenceKind::In));
        list.dedup_by_key(|&mut (place, _)| place);
        if self.places.len() >= self.most_places {
            self.places.retain(|_, users| !users.are_over());
            self.most_places = 2 * self.places.len().max(LEAST);
        }
        for (place, kind) in list {
            let first = || LastUsers::after(&self.all);
            let place = self.places.entry(place).or_insert_with(first);
            place.enter(node, kind);
        }
    }

    /// All of them have ended: nothing is to come after one of them.
    pub(crate) fn forget(&mut self) {
        self.places.clear();
        self.all.clear();
        self.open.clear();
    }

    /// Whether all that were counted have ended.
    pub(crate) fn are_over(&self) -> bool {
        self.counted.has_left(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::mail::Mail;
    use crate::sync::rendezvous::Rendezvous;
    use crate::task::Heritage;
    use crate::task::node::Awaited;

    #[test]
    fn both_forms_of_lists_are_read() {
        let place = |number: usize| number as *const usize;
        let old = [place(3), place(1), place(80), place(81), place(82)];
        // SAFETY: the old form.
        let read_old = unsafe { read(old.as_ptr()) };
        assert_eq!(
            read_old,
            [
                (80, DependenceKind::Out),
                (81, DependenceKind::In),
                (82, DependenceKind::In)
            ]
        );
        let object = [99_usize, 5];
        let new = [
            place(0),
            place(4),
            place(1),
            place(1),
            place(1),
            place(80),
            place(81),
            place(82),
            object.as_ptr(),
        ];
        // SAFETY: the new form.
        let read_new = unsafe { read(new.as_ptr()) };
        let expected = [
            (80, DependenceKind::Out),
            (81, DependenceKind::Out),
            (82, DependenceKind::In),
            (99, DependenceKind::Set),
        ];
        assert_eq!(read_new, expected);
    }

    /// Enters so many nodes that depend on these places, each of which ends before the next one
    /// comes; returns for how many users and for how many places there is room.
    fn kept_after(nodes: usize, list: impl Fn(usize) -> (usize, DependenceKind)) -> (usize, usize) {
        let (mail, meeting) = (Mail::default(), Rendezvous::new(None));
        let heritage = Heritage::initial();
        let (family, mut children) = (Arc::default(), Children::default());
        for index in 0..nodes {
            // SAFETY: all of them stay until the end of the test.
            let node = unsafe { LinkedTask::new(&heritage, &family, (&mail, &meeting), false) };
            children.enter(&node, &[list(index)]);
            assert!(node.is_free() && node.come(Awaited::Code).is_some());
        }
        let users = children.places.values();
        let room = |users: &LastUsers| {
            let lists = [&users.writers, &users.before, &users.readers];
            lists.map(Vec::capacity).iter().sum()
        };
        let most = users.map(room).max().unwrap_or(0);
        let places = children.places.len();
        children.forget();
        assert!(children.places.is_empty());
        (most, places)
    }

    #[test]
    fn those_that_are_over_are_not_kept() {
        for kind in [DependenceKind::In, DependenceKind::Out, DependenceKind::Set] {
            let (users, places) = kept_after(1000, |_| (80, kind));
            assert!(users <= 16 && places == 1, "{kind:?}: {users}");
            let (users, places) = kept_after(1000, |index| (80 + index, kind));
            assert!(users <= 16 && places <= 16, "{kind:?}: {users}, {places}");
        }
    }
}
