//! `skynet`: a tree of ten children a node whose leaves are numbered, and their sum. Nothing but
//! tasks, by joins that are nested in each other or by a scope for each node, so it shows what a
//! child costs where a node has several.

use std::sync::atomic::{AtomicU64, Ordering};

use roving::task::{Scope, Task};

use super::{Evidence, RunAnswer, Workload, parse_params};
use crate::forms::fork_join::{ForkJoin, Serial};
use crate::forms::tasks::BranchOrder;
use crate::io::input::{BadInput, whole_number};

/// Children of each node.
const CHILDREN: u64 = 10;
/// The most leaves, as a power of ten.
const LEVELS_MAX: u32 = 9;

/// How a node makes its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// Joins by halves.
    Joins,
    /// A scope into which it spawns all of them.
    Scope,
}

/// A tree of so many leaves.
#[derive(Debug)]
pub(crate) struct Skynet {
    leaves: u64,
    by: By,
    sum: u64,
}

/// The sum of the numbers from `first` on, as many as `leaves`.
fn by_joins<C: ForkJoin>(cx: &mut C, first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let leaves = leaves / CHILDREN;
    let child = |cx: &mut C, place: u64| by_joins(cx, first + place * leaves, leaves);
    let pair = |cx: &mut C, place: u64| add(cx, |cx| child(cx, place), |cx| child(cx, place + 1));
    add(
        cx,
        |cx| add(cx, |cx| pair(cx, 0), |cx| pair(cx, 2)),
        |cx| {
            let last = |cx: &mut C| add(cx, |cx| pair(cx, 6), |cx| pair(cx, 8));
            add(cx, |cx| pair(cx, 4), last)
        },
    )
}

#[inline(always)]
fn add<C, A, B>(cx: &mut C, a: A, b: B) -> u64
where
    C: ForkJoin,
    A: FnOnce(&mut C) -> u64 + Send,
    B: FnOnce(&mut C) -> u64 + Send,
{
    let (a, b) = cx.join(a, b);
    a + b
}

/// [`by_joins`], with the children of a node spawned one after the other.
fn by_scope<C: ForkJoin>(cx: &mut C, first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let leaves = leaves / CHILDREN;
    let sums = [const { AtomicU64::new(0) }; CHILDREN as usize];
    cx.spawn_all(CHILDREN as usize, &|cx: &mut C, place| {
        let sum = by_scope(cx, first + place as u64 * leaves, leaves);
        // Ordering: Relaxed; the end of the scope orders it before the read.
        sums[place].store(sum, Ordering::Relaxed);
    });
    sums.into_iter().map(AtomicU64::into_inner).sum()
}

/// [`by_joins`] as async tasks.
fn by_tasks<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    first: u64,
    leaves: u64,
) -> impl Task<u64> + 'scope {
    async move {
        if leaves == 1 {
            return first;
        }
        let leaves = leaves / CHILDREN;
        let mut others = [const { None }; CHILDREN as usize - 1];
        for (place, other) in others.iter_mut().enumerate() {
            let child = by_tasks::<O>(scope, first + place as u64 * leaves, leaves);
            *other = Some(O::branch(scope, child).await);
        }
        let last = first + (CHILDREN - 1) * leaves;
        let mut sum = scope.call(by_tasks::<O>(scope, last, leaves)).await;
        for newest in others.into_iter().rev().flatten() {
            sum += newest.await;
        }
        sum
    }
}

impl Workload for Skynet {
    const NAME: &'static str = "skynet";
    const ABOUT: &'static str = "a tree of ten children a node, the sum of its numbered leaves";
    const INPUTS: &'static [(&'static str, &'static str)] = &[
        ("1e6", "1,000,000 leaves, by joins"),
        ("1e8", "100,000,000 leaves, by joins"),
        ("1e6-scope", "1,000,000 leaves, by a scope for each node"),
        ("1e8-scope", "100,000,000 leaves, by a scope for each node"),
    ];
    const PARAMS: &'static str = "leaves=1 to 1e9, a power of ten, by=joins or scope";
    const ITEMS: &'static str = "leaves";
    const FIGURES: &'static [&'static str] = &["sum"];

    fn parse(input: &str) -> Result<Self, BadInput> {
        let named = match input {
            "1e6-scope" => "leaves=1e6,by=scope",
            "1e8-scope" => "leaves=1e8,by=scope",
            other => other,
        };
        let mut work = Skynet {
            leaves: 1_000_000,
            by: By::Joins,
            sum: 0,
        };
        for (key, value) in parse_params(Self::NAME, &["leaves", "by"], named)? {
            match (key, value) {
                ("by", "joins") => work.by = By::Joins,
                ("by", "scope") => work.by = By::Scope,
                ("by", _) => {
                    let allowed = "joins or scope";
                    return Err(BadInput::new("skynet by", value, allowed, "leave it out"));
                }
                _ => {
                    let powers = (0..=LEVELS_MAX).map(|level| CHILDREN.pow(level));
                    let leaves = whole_number(value)
                        .filter(|leaves| powers.into_iter().any(|power| power == *leaves));
                    let allowed = "a power of ten from 1 to 1e9";
                    let wrong = || BadInput::new("skynet leaves", value, allowed, "take 1e6");
                    work.leaves = leaves.ok_or_else(wrong)?;
                }
            }
        }
        Ok(work)
    }

    fn input(&self) -> String {
        match self.by {
            By::Joins => self.leaves.to_string(),
            By::Scope => format!("{},by=scope", self.leaves),
        }
    }

    fn run<C: ForkJoin>(&mut self, cx: &mut C) {
        self.sum = match self.by {
            By::Joins => by_joins(cx, 0, self.leaves),
            By::Scope => by_scope(cx, 0, self.leaves),
        };
    }

    fn task<'scope, O: BranchOrder>(
        &'scope mut self,
        scope: Scope<'scope>,
    ) -> impl Task<()> + 'scope {
        async move {
            self.sum = by_tasks::<O>(scope, 0, self.leaves).await;
        }
    }

    fn run_serial(&mut self) {
        // A scope without a runtime allocates for each child, which no speed-up should divide by.
        self.sum = by_joins(&mut Serial, 0, self.leaves);
    }

    fn answer(&self) -> RunAnswer {
        RunAnswer([self.sum, 0, 0])
    }

    fn expected(&self) -> Option<(RunAnswer, Evidence)> {
        let sum = self.leaves * (self.leaves - 1) / 2;
        Some((RunAnswer([sum, 0, 0]), Evidence::Definition))
    }

    fn items(&self, _: &RunAnswer) -> u64 {
        self.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::fork_join::{Counting, Roving};

    #[test]
    fn each_leaf_is_counted_once() {
        for (input, sum) in [("1", 0), ("10", 45), ("1e4", 49_995_000)] {
            for by in ["joins", "scope"] {
                let mut work = Skynet::parse(&format!("{input},by={by}")).unwrap();
                let mut counting = Counting::default();
                work.run(&mut counting);
                assert_eq!(work.answer(), RunAnswer([sum, 0, 0]), "{input} by {by}");
                let nodes = (work.leaves - 1) / 9;
                let tasks = if by == "joins" { 9 } else { 10 };
                assert_eq!(counting.spawns, nodes * tasks);
                work.sum = 1;
                work.run_serial();
                assert_eq!(Some((work.answer(), Evidence::Definition)), work.expected());
            }
        }
    }

    #[test]
    fn in_a_pool() {
        let pool = roving::Pool::builder().workers(3).build().unwrap();
        for input in ["1e4", "1e4,by=scope"] {
            let mut work = Skynet::parse(input).unwrap();
            pool.install(|| work.run(&mut Roving));
            assert_eq!(work.answer().0[0], 49_995_000, "{input}");
        }
    }

    #[test]
    fn wrong_words_are_named() {
        for (input, word) in [
            ("12", "`12`"),
            ("1e10", "`1e10`"),
            ("10,by=spawn", "`spawn`"),
            ("10,by", "`10,by`"),
        ] {
            let error = Skynet::parse(input).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
