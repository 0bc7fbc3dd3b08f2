//! A timed piece of work, and the shapes that most workloads have.

use std::fmt;

/// How large a workload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// As it is measured.
    Full,
    /// Small enough for a test.
    Quick,
}

impl Scale {
    /// One of two sizes.
    pub(crate) fn size(self, full: usize, quick: usize) -> usize {
        match self {
            Scale::Full => full,
            Scale::Quick => quick,
        }
    }
}

/// Something that can be run again and again, and knows its right answer.
pub(crate) trait Work: Send {
    /// Makes the input of so many runs. Not timed.
    fn prepare(&mut self, runs: usize);
    /// One run; `run` counts them from 0. Timed.
    fn run(&mut self, run: usize);
    /// Whether all runs since [`Work::prepare`] found the right answer. Not timed.
    fn check(&self) -> Result<(), String>;
}

/// Work that reads its input and makes a value.
struct Value<I, T> {
    input: I,
    parallel: fn(&I) -> T,
    expected: T,
    found: Vec<T>,
    same: fn(&T, &T) -> bool,
}

/// Runs `parallel` on `input`. What `serial` makes of it, once, is the right answer.
pub(crate) fn value<I, T>(input: I, serial: fn(&I) -> T, parallel: fn(&I) -> T) -> Box<dyn Work>
where
    I: Send + 'static,
    T: PartialEq + Send + 'static,
{
    nearly(input, serial, parallel, |a, b| a == b)
}

/// As [`value`], for answers that may differ a little.
pub(crate) fn nearly<I, T>(
    input: I,
    serial: fn(&I) -> T,
    parallel: fn(&I) -> T,
    same: fn(&T, &T) -> bool,
) -> Box<dyn Work>
where
    I: Send + 'static,
    T: Send + 'static,
{
    let expected = serial(&input);
    Box::new(Value {
        input,
        parallel,
        expected,
        found: Vec::new(),
        same,
    })
}

impl<I: Send, T: Send> Work for Value<I, T> {
    fn prepare(&mut self, runs: usize) {
        self.found.clear();
        self.found.reserve(runs);
    }

    fn run(&mut self, _: usize) {
        self.found.push((self.parallel)(&self.input));
    }

    fn check(&self) -> Result<(), String> {
        let right = |found: &T| (self.same)(found, &self.expected);
        match self.found.iter().position(|found| !right(found)) {
            None => Ok(()),
            Some(run) => Err(format!("run {run} differs from the serial run")),
        }
    }
}

/// Work that changes a list in place. Each run has a list of its own.
struct InPlace<T> {
    len: usize,
    fill: fn(usize) -> Vec<T>,
    change: fn(&mut Vec<T>),
    right: fn(&[T], &[T]) -> Result<(), String>,
    lists: Vec<Vec<T>>,
}

/// Runs `change` on what `fill(len)` gives. `right` is told the list after the change and before
/// it.
pub(crate) fn in_place<T: Send + 'static>(
    len: usize,
    fill: fn(usize) -> Vec<T>,
    change: fn(&mut Vec<T>),
    right: fn(&[T], &[T]) -> Result<(), String>,
) -> Box<dyn Work> {
    Box::new(InPlace {
        len,
        fill,
        change,
        right,
        lists: Vec::new(),
    })
}

impl<T: Send> Work for InPlace<T> {
    fn prepare(&mut self, runs: usize) {
        self.lists.clear();
        self.lists.extend((0..runs).map(|_| (self.fill)(self.len)));
    }

    fn run(&mut self, run: usize) {
        (self.change)(&mut self.lists[run]);
    }

    fn check(&self) -> Result<(), String> {
        let before = (self.fill)(self.len);
        let each = self.lists.iter();
        each.into_iter()
            .try_for_each(|list| (self.right)(list, &before))
    }
}

/// Sorted, and the same numbers as before, by a sum in which the order does not count.
pub(crate) fn sorted_numbers(after: &[u64], before: &[u64]) -> Result<(), String> {
    if let Some(pair) = after.windows(2).find(|pair| pair[0] > pair[1]) {
        return Err(format!("{} stands before {}", pair[0], pair[1]));
    }
    let sum = |list: &[u64]| {
        let mixed = list.iter().map(|n| (n ^ (n >> 31)).wrapping_mul(n | 1));
        mixed.fold(list.len() as u64, u64::wrapping_add)
    };
    let same = sum(after) == sum(before);
    same.then_some(())
        .ok_or_else(|| "other numbers than before".to_owned())
}

/// Sorted, and the same items as before.
pub(crate) fn sorted<T: Ord + fmt::Debug>(after: &[T], before: &[T]) -> Result<(), String> {
    if let Some(pair) = after.windows(2).find(|pair| pair[0] > pair[1]) {
        return Err(format!("{:?} stands before {:?}", pair[0], pair[1]));
    }
    let mut before: Vec<&T> = before.iter().collect();
    before.sort();
    let same = after.len() == before.len() && after.iter().eq(before);
    same.then_some(())
        .ok_or_else(|| "other items than before".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn once(mut work: Box<dyn Work>) -> Result<(), String> {
        work.prepare(2);
        work.run(0);
        work.run(1);
        work.check()
    }

    #[test]
    fn right_and_wrong_values_are_told_apart() {
        assert_eq!(once(value(3, |n| n + 1, |n| n + 1)), Ok(()));
        let wrong = once(value(3, |n| n + 1, |n| n + 2));
        assert_eq!(wrong.unwrap_err(), "run 0 differs from the serial run");
        let near = nearly(1.0, |n| *n, |n| n + 0.1, |a, b| f64::abs(a - b) < 0.2);
        assert_eq!(once(near), Ok(()));
    }

    #[test]
    fn right_and_wrong_orders_are_told_apart() {
        let down = |len| (0..len).rev().collect::<Vec<usize>>();
        assert_eq!(once(in_place(9, down, |list| list.sort(), sorted)), Ok(()));
        let not = once(in_place(9, down, |_| (), sorted));
        assert_eq!(not.unwrap_err(), "8 stands before 7");
        let others = once(in_place(9, down, |list| list.fill(1), sorted));
        assert_eq!(others.unwrap_err(), "other items than before");
        assert_eq!(sorted_numbers(&[1, 2, 9], &[9, 1, 2]), Ok(()));
        assert!(sorted_numbers(&[2, 1, 9], &[9, 1, 2]).is_err());
        assert!(sorted_numbers(&[1, 2, 8], &[9, 1, 2]).is_err());
    }
}
