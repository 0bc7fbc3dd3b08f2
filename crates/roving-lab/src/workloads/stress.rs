//! `stress`: Wool's test of load balancing. A tree of joins with small leaves, done again and
//! again: each repetition must hand out its work anew, so it shows how fast work is shared.

use std::hint::black_box;
use std::time::{Duration, Instant};

use roving::task::{Scope, Task};

use super::{RunAnswer, Workload, parse_params};
use crate::forms::fork_join::{ForkJoin, Serial};
use crate::forms::tasks::BranchOrder;
use crate::io::input::{BadInput, number_in, whole_number};

/// The work of one leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LeafWork {
    /// So many turns of a loop.
    Turns(u64),
    /// As many turns as take so many nanoseconds here.
    Nanos(u64),
}

/// `repeats` times a tree of joins of `depth`, with loops as leaves.
#[derive(Debug)]
pub(crate) struct Stress {
    depth: u32,
    leaf: LeafWork,
    repeats: u64,
    turns: u64,
    sum: u64,
}

/// One leaf: `turns` steps of a chain that cannot be shortened.
#[inline(never)]
pub(crate) fn leaf(turns: u64) -> u64 {
    let mut value = black_box(turns);
    for _ in 0..turns {
        value = value
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        // Else the compiler takes many steps at once.
        value = black_box(value);
    }
    value
}

/// A tree of joins whose leaves take so many turns.
pub(crate) fn tree<C: ForkJoin>(cx: &mut C, depth: u32, turns: u64) -> u64 {
    if depth == 0 {
        return leaf(turns);
    }
    let (a, b) = cx.join(
        |cx| tree(cx, depth - 1, turns),
        |cx| tree(cx, depth - 1, turns),
    );
    a.wrapping_add(b)
}

/// Runs the tree as async tasks.
fn tree_task<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    depth: u32,
    turns: u64,
) -> impl Task<u64> + 'scope {
    async move {
        if depth == 0 {
            return leaf(turns);
        }
        let a = O::branch(scope, tree_task::<O>(scope, depth - 1, turns)).await;
        let b = scope.call(tree_task::<O>(scope, depth - 1, turns)).await;
        a.await.wrapping_add(b)
    }
}

/// How many turns of a leaf take `nanos` on this machine, now: by the fastest of some trials.
pub(crate) fn calibrated(nanos: u64) -> u64 {
    const TRIAL: u64 = 200_000;
    let best = (0..7).map(|_| {
        let start = Instant::now();
        black_box(leaf(TRIAL));
        start.elapsed()
    });
    let best = best.min().unwrap_or(Duration::from_micros(1)).as_secs_f64();
    ((nanos as f64 * 1e-9 * TRIAL as f64 / best).round() as u64).max(1)
}

impl LeafWork {
    /// `4us`, `1500ns`, `2ms`, or a number of turns.
    pub(crate) fn parse(text: &str) -> Option<LeafWork> {
        for (unit, nanos) in [("ns", 1), ("us", 1_000), ("µs", 1_000), ("ms", 1_000_000)] {
            if let Some(number) = text.strip_suffix(unit) {
                let nanos = whole_number(number.trim())?.checked_mul(nanos)?;
                return (1..=1_000_000_000)
                    .contains(&nanos)
                    .then_some(LeafWork::Nanos(nanos));
            }
        }
        whole_number(text)
            .filter(|turns| *turns <= 1_000_000_000)
            .map(LeafWork::Turns)
    }

    /// The text that [`LeafWork::parse`] reads.
    pub(crate) fn text(self) -> String {
        match self {
            LeafWork::Turns(turns) => turns.to_string(),
            LeafWork::Nanos(nanos) if nanos % 1000 == 0 => format!("{}us", nanos / 1000),
            LeafWork::Nanos(nanos) => format!("{nanos}ns"),
        }
    }
}

impl Stress {
    /// The depth of the tree, the turns of a leaf, and how often the tree is done.
    pub(crate) fn shape(&self) -> (u32, u64, u64) {
        (self.depth, self.turns, self.repeats)
    }

    fn leaves(&self) -> u64 {
        (1 << self.depth) * self.repeats
    }
}

impl Workload for Stress {
    const NAME: &'static str = "stress";
    const ABOUT: &'static str =
        "Wool's load balancing test: a small tree of joins, again and again";
    const INPUTS: &'static [(&'static str, &'static str)] = &[
        ("4us", "one join of two leaves of 4 µs, 10,000 times"),
        ("1us", "leaves of 1 µs, 40,000 times"),
        ("16us", "leaves of 16 µs, 3,000 times"),
        ("64us", "leaves of 64 µs, 1,000 times"),
        ("wide", "depth 8, 256 leaves of 1 µs, 1,000 times"),
    ];
    const PARAMS: &'static str = "leaf=TIME (1ns to 1s) or turns of a loop (0 to 1e9), depth=0 to 24, \
                                  repeats=1 to 1e9";
    const ITEMS: &'static str = "leaves";
    const FIGURES: &'static [&'static str] = &["checksum"];

    fn parse(input: &str) -> Result<Self, BadInput> {
        let named = match input {
            "1us" => "leaf=1us,repeats=40000",
            "4us" => "leaf=4us,repeats=10000",
            "16us" => "leaf=16us,repeats=3000",
            "64us" => "leaf=64us,repeats=1000",
            "wide" => "leaf=1us,depth=8,repeats=1000",
            other => other,
        };
        let mut work = Stress {
            depth: 1,
            leaf: LeafWork::Nanos(4000),
            repeats: 10_000,
            turns: 0,
            sum: 0,
        };
        for (key, value) in parse_params(Self::NAME, &["leaf", "depth", "repeats"], named)? {
            match key {
                "leaf" => {
                    work.leaf = LeafWork::parse(value).ok_or_else(|| {
                        let allowed = "1ns to 1s, or 0 to 1e9 turns of a loop";
                        BadInput::new("stress leaf", value, allowed, "write 4us, or 1000")
                    })?;
                }
                "depth" => {
                    let remedy = "write depth=1 for one join of two leaves";
                    work.depth = number_in("stress depth", value, 0..=24, remedy)? as u32;
                }
                _ => {
                    let remedy = "write repeats=1000";
                    work.repeats = number_in("stress repeats", value, 1..=1_000_000_000, remedy)?;
                }
            }
        }
        work.turns = match work.leaf {
            LeafWork::Turns(turns) => turns,
            LeafWork::Nanos(nanos) => calibrated(nanos),
        };
        Ok(work)
    }

    fn input(&self) -> String {
        let leaf = self.leaf.text();
        format!("leaf={leaf},depth={},repeats={}", self.depth, self.repeats)
    }

    fn run<C: ForkJoin>(&mut self, cx: &mut C) {
        let (depth, turns) = (black_box(self.depth), self.turns);
        let trees = (0..self.repeats).map(|_| tree(cx, depth, turns));
        self.sum = trees.fold(0, u64::wrapping_add);
    }

    fn task<'scope, O: BranchOrder>(
        &'scope mut self,
        scope: Scope<'scope>,
    ) -> impl Task<()> + 'scope {
        async move {
            let (depth, turns) = (black_box(self.depth), self.turns);
            let mut sum = 0u64;
            for _ in 0..self.repeats {
                sum = sum.wrapping_add(scope.call(tree_task::<O>(scope, depth, turns)).await);
            }
            self.sum = sum;
        }
    }

    fn run_serial(&mut self) {
        self.run(&mut Serial);
    }

    fn answer(&self) -> RunAnswer {
        RunAnswer([self.sum, 0, 0])
    }

    fn notes(&mut self) -> Vec<(&'static str, String)> {
        vec![(
            "leaf",
            format!("{} turns of a loop", crate::io::input::grouped(self.turns)),
        )]
    }

    fn items(&self, _: &RunAnswer) -> u64 {
        self.leaves()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::fork_join::Counting;

    #[test]
    fn leaves_and_joins_are_as_many_as_asked_for() {
        let mut work = Stress::parse("leaf=3,depth=4,repeats=5").unwrap();
        let mut cx = Counting::default();
        work.run(&mut cx);
        assert_eq!((cx.spawns, work.items(&work.answer())), (15 * 5, 16 * 5));
        assert_eq!(work.answer().0[0], leaf(3).wrapping_mul(80));
        assert_ne!(leaf(3), leaf(4));
    }

    #[test]
    fn a_leaf_in_microseconds_takes_about_as_long() {
        // Others may have the core while it is calibrated, so there is more than one attempt.
        let mut attempts = (0..20).map(|_| {
            let turns = calibrated(1_000_000);
            let start = Instant::now();
            black_box(leaf(turns));
            start.elapsed()
        });
        let enough = Duration::from_micros(500);
        assert!(
            attempts.any(|time| time > enough),
            "always shorter than {enough:?}"
        );
    }

    #[test]
    fn every_name_is_an_input_and_inputs_are_read_back() {
        for (name, _) in Stress::INPUTS {
            let work = Stress::parse(name).unwrap();
            let again = Stress::parse(&work.input()).unwrap();
            assert_eq!(
                (work.depth, work.leaf, work.repeats),
                (again.depth, again.leaf, again.repeats)
            );
        }
        assert_eq!(Stress::parse("700").unwrap().shape(), (1, 700, 10_000));
    }

    #[test]
    fn bad_parameters_are_named() {
        for (input, named) in [
            ("leaf=4s", "`4s`"),
            ("0us", "`0us`"),
            ("depth=25", "`25`"),
            ("repeats=0", "`0`"),
            ("size=3", "`size`"),
            ("depth=1,depth=2", "`depth`"),
            ("4us,7", "`4us,7`"),
        ] {
            let error = Stress::parse(input).unwrap_err().to_string();
            assert!(error.contains(named) && !error.contains('\n'), "{error}");
        }
    }
}
