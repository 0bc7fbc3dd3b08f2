//! Classes of priority, and queues that are served in their order with ageing.

use std::collections::VecDeque;

/// A class of priority: of a pool among the shares of an [`Arena`](crate::Arena), and of a job
/// among those of one pool ([`Pool::spawn_with`](crate::Pool::spawn_with)).
///
/// A higher class is begun first. A lower one is not starved: of any ten that are begun in a row
/// while something of it waits, one is of it (it is next when it has been passed over 8 times, or 9
/// if the other lower class is due as well). Within a class it is first in, first out. Nothing that
/// runs is interrupted.
///
/// ```
/// use roving::Priority;
///
/// assert!(Priority::High > Priority::Normal && Priority::Normal > Priority::Low);
/// assert_eq!(Priority::default(), Priority::Normal);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Begun when nothing higher waits, or when it has been passed over often enough.
    Low,
    /// The class of all work that was given no other.
    #[default]
    Normal,
    /// Begun before the others.
    High,
}

/// All of them, the lowest first: each at its own number.
pub(crate) const CLASSES: [Priority; 3] = [Priority::Low, Priority::Normal, Priority::High];

/// How often in a row a class that waits is passed over before it is served.
pub(crate) const PASSED_MAX: u32 = 8;

/// A queue for each class, and one for what goes before all of them.
pub(crate) struct Ranked<T> {
    urgent: VecDeque<T>,
    /// By `Priority as usize`.
    queues: [VecDeque<T>; CLASSES.len()],
    /// How often in a row each was passed over while something waited in it.
    passed: [u32; CLASSES.len()],
}

impl<T> Ranked<T> {
    pub(crate) const fn new() -> Ranked<T> {
        Ranked {
            urgent: VecDeque::new(),
            queues: [const { VecDeque::new() }; CLASSES.len()],
            passed: [0; CLASSES.len()],
        }
    }

    pub(crate) fn push(&mut self, class: Priority, item: T) {
        self.queues[class as usize].push_back(item);
    }

    /// It goes before all that has a class. For what somebody waits for who may hold up others.
    pub(crate) fn push_urgent(&mut self, item: T) {
        self.urgent.push_back(item);
    }

    /// Makes the first of that class which is meant urgent, if there is one.
    pub(crate) fn urge(&mut self, class: Priority, is_meant: impl Fn(&T) -> bool) {
        let queue = &mut self.queues[class as usize];
        let found = queue.iter().position(is_meant);
        self.urgent.extend(found.and_then(|at| queue.remove(at)));
    }

    /// Takes out what is meant, by class; the rest stays in its order.
    pub(crate) fn take_where(&mut self, is_meant: impl Fn(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        for queue in self.queues.iter_mut().chain([&mut self.urgent]) {
            let (meant, rest): (VecDeque<T>, _) = queue.drain(..).partition(&is_meant);
            taken.extend(meant);
            *queue = rest;
        }
        taken
    }

    /// Takes out one that is meant, if it is the newest or the oldest of its class.
    pub(crate) fn take_at_an_end(&mut self, is_meant: impl Fn(&T) -> bool) -> Option<T> {
        self.queues.iter_mut().find_map(|queue| {
            if queue.back().is_some_and(&is_meant) {
                return queue.pop_back();
            }
            match queue.front().is_some_and(&is_meant) {
                true => queue.pop_front(),
                false => None,
            }
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.urgent.len() + self.queues.iter().map(VecDeque::len).sum::<usize>()
    }

    pub(crate) fn has_urgent(&self) -> bool {
        !self.urgent.is_empty()
    }

    pub(crate) fn has(&self, class: Priority) -> bool {
        !self.queues[class as usize].is_empty()
    }

    /// The oldest of the highest class, or of one that was passed over too often; with the class,
    /// unless it was urgent.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(T, Option<Priority>)> {
        if let Some(item) = self.urgent.pop_front() {
            return Some((item, None));
        }
        let (class, is_alone) = self.turn()?;
        for other in CLASSES {
            if !is_alone && other != class && self.has(other) {
                self.passed[other as usize] += 1;
            }
        }
        self.passed[class as usize] = 0;
        let item = self.queues[class as usize].pop_front()?;
        Some((item, Some(class)))
    }

    /// Whose turn it is, and whether nobody else waits.
    fn turn(&self) -> Option<(Priority, bool)> {
        let (mut found, mut longest, mut waiting) = (None, 0, 0);
        for class in CLASSES {
            if self.has(class) {
                waiting += 1;
                // Who has not waited long enough counts as if it had not waited.
                let passed = self.passed[class as usize];
                let waited = if passed < PASSED_MAX { 0 } else { passed };
                // The highest, unless a lower one has waited longer.
                if waited > longest || longest == 0 {
                    (found, longest) = (Some(class), waited);
                }
            }
        }
        Some((found?, waiting == 1))
    }

    /// The oldest of what is not below that class; no class ages by it.
    pub(crate) fn pop_not_below(&mut self, least: Priority) -> Option<(T, Option<Priority>)> {
        if let Some(item) = self.urgent.pop_front() {
            return Some((item, None));
        }
        let mut highest_first = CLASSES.into_iter().rev();
        highest_first.find_map(|class| match class >= least {
            true => Some((self.queues[class as usize].pop_front()?, Some(class))),
            false => None,
        })
    }

    /// Whether that would find one.
    pub(crate) fn has_not_below(&self, least: Priority) -> bool {
        let mut classes = CLASSES.into_iter();
        self.has_urgent() || classes.any(|class| class >= least && self.has(class))
    }
}

#[cfg(test)]
mod tests {
    use super::{PASSED_MAX, Priority, Ranked};

    fn order(ranked: &mut Ranked<u32>) -> Vec<u32> {
        std::iter::from_fn(|| ranked.pop().map(|(item, _)| item)).collect()
    }

    #[test]
    fn higher_classes_come_first_and_each_is_first_in_first_out() {
        let mut ranked = Ranked::new();
        ranked.push(Priority::Low, 5);
        ranked.push(Priority::Normal, 3);
        ranked.push(Priority::High, 1);
        ranked.push(Priority::Normal, 4);
        ranked.push(Priority::High, 2);
        ranked.push_urgent(0);
        assert_eq!(ranked.len(), 6);
        assert_eq!(order(&mut ranked), [0, 1, 2, 3, 4, 5]);
        assert_eq!(ranked.len(), 0);
    }

    #[test]
    fn who_waits_is_passed_over_so_often_and_no_more() {
        let mut ranked = Ranked::new();
        ranked.push(Priority::Low, 1000);
        (0..20).for_each(|n| ranked.push(Priority::High, n));
        let order = order(&mut ranked);
        assert_eq!(order[PASSED_MAX as usize], 1000);
    }

    /// The bound that the documentation states, with both higher classes never empty.
    #[test]
    fn neither_of_two_lower_classes_starves() {
        let mut ranked = Ranked::new();
        let mut since = [0; 3];
        for class in [Priority::Low, Priority::Normal, Priority::High] {
            ranked.push(class, class);
        }
        for _ in 0..if cfg!(miri) { 100 } else { 10_000 } {
            let (class, _) = ranked.pop().unwrap();
            ranked.push(class, class);
            since.iter_mut().for_each(|waited| *waited += 1);
            since[class as usize] = 0;
            assert!(
                since.iter().all(|&waited| waited <= PASSED_MAX + 1),
                "{since:?}"
            );
        }
    }

    #[test]
    fn what_is_meant_is_taken_out_and_the_rest_keeps_its_order() {
        let mut ranked = Ranked::new();
        for (class, n) in [
            (Priority::Low, 4),
            (Priority::High, 1),
            (Priority::Normal, 2),
        ] {
            ranked.push(class, n);
            ranked.push(class, n + 10);
        }
        ranked.push_urgent(0);
        let mut taken = ranked.take_where(|n| *n > 10);
        taken.sort_unstable();
        assert_eq!(taken, [11, 12, 14]);
        assert_eq!(ranked.take_at_an_end(|&n| n > 10), None);
        (0..3).for_each(|n| ranked.push(Priority::Low, n + 20));
        let mut at_an_end = || ranked.take_at_an_end(|&n| n != 20);
        assert_eq!([(); 5].map(|()| at_an_end()), [22, 21, 4, 2, 1].map(Some));
        assert_eq!(order(&mut ranked), [0, 20]);
    }

    #[test]
    fn who_waits_takes_nothing_below_its_class() {
        let mut ranked = Ranked::new();
        ranked.push(Priority::Low, 1);
        ranked.push(Priority::Normal, 2);
        assert_eq!(ranked.pop_not_below(Priority::High), None);
        let normal = ranked.pop_not_below(Priority::Normal);
        assert_eq!(normal, Some((2, Some(Priority::Normal))));
        assert_eq!(ranked.pop_not_below(Priority::Normal), None);
        ranked.urge(Priority::Low, |&n| n == 7);
        assert!(!ranked.has_urgent());
        ranked.urge(Priority::Low, |&n| n == 1);
        assert_eq!(ranked.pop_not_below(Priority::High), Some((1, None)));
    }
}
