//! How many tasks are followed by others.

/// So many of the last tasks that a device has ended are remembered.
const ENDS: usize = 16;

/// How many tasks come to a device for each that it ends.
///
/// Tasks that are each followed by another are never there all at once, so the queue of a device
/// that works for a minute may be as short as that of one that is done in a moment.
#[derive(Default)]
pub(super) struct Replaced {
    /// Tasks that have come, less those that workers took.
    came: i64,
    /// How many had come at each of the last ends, the oldest of which is overwritten next.
    at_end: [i64; ENDS],
    pub(super) ended: usize,
}

impl Replaced {
    /// A task came.
    pub(super) fn came(&mut self) {
        self.came += 1;
    }

    /// A worker took one, or nobody wants it any more.
    pub(super) fn left(&mut self) {
        self.came -= 1;
    }

    /// The device has ended one.
    pub(super) fn ended(&mut self) {
        self.at_end[self.ended % ENDS] = self.came;
        self.ended += 1;
    }

    /// Which part of the last tasks that ended, as many as are there, was replaced by others; none
    /// while fewer have ended. So those that all came at once replace nothing.
    pub(super) fn share(&self, there: usize) -> f64 {
        let there = there.clamp(1, ENDS);
        if self.ended < there {
            return 0.0;
        }
        let before = self.at_end[(self.ended - there) % ENDS];
        ((self.came - before) as f64 / there as f64).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_follow_others_replace_them() {
        let mut replaced = Replaced::default();
        (0..8).for_each(|_| replaced.came());
        assert_eq!(replaced.share(8), 0.0);
        for _ in 0..8 {
            replaced.ended();
            replaced.came();
            assert_eq!(replaced.share(8) == 1.0, replaced.ended == 8);
        }
        // None follows any more.
        for there in (0..8).rev() {
            replaced.ended();
            assert!(replaced.share(there) <= 1.0);
        }
        assert_eq!(replaced.share(1), 0.0);
    }

    #[test]
    fn tasks_that_came_at_once_are_not_replaced() {
        let mut replaced = Replaced::default();
        (0..100).for_each(|_| replaced.came());
        for there in (0..100).rev() {
            replaced.ended();
            assert_eq!(replaced.share(there), 0.0);
        }
    }

    #[test]
    fn tasks_that_workers_take_replace_nothing() {
        let mut replaced = Replaced::default();
        replaced.ended();
        (0..5).for_each(|_| replaced.came());
        (0..5).for_each(|_| replaced.left());
        assert_eq!(replaced.share(1), 0.0);
    }
}
