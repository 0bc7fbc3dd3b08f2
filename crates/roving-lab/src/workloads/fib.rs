//! `fib`: the n-th Fibonacci number by two recursive calls, without a cut-off. Nothing but calls,
//! so it shows what a `join` costs.

use std::hint::black_box;
use std::time::Instant;

use roving::task::{Scope, Task};

use super::{Evidence, RunAnswer, Workload, parse_params};
use crate::forms::fork_join::{ForkJoin, Serial, SerialCalls};
use crate::forms::tasks::BranchOrder;
use crate::io::figures::seconds;
use crate::io::input::{BadInput, number_in};
use crate::timing::times::Times;

/// How the closures of a join capture the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// `move`: it goes into the task.
    Value,
    /// As closures do that say nothing: it stays in the frame of who joins.
    Reference,
}

/// fib(n).
#[derive(Debug)]
pub(crate) struct FibNumber {
    n: u32,
    by: By,
    value: u64,
}

/// `fib(n)`, each call a join, down to n < 2.
pub(crate) fn fib<C: ForkJoin>(cx: &mut C, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    // By value: by reference it has to live in memory.
    let (a, b) = cx.join(move |cx| fib(cx, n - 1), move |cx| fib(cx, n - 2));
    a + b
}

/// [`fib`], with closures that say nothing of how they capture.
fn fib_by_reference<C: ForkJoin>(cx: &mut C, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = cx.join(
        |cx| fib_by_reference(cx, n - 1),
        |cx| fib_by_reference(cx, n - 2),
    );
    a + b
}

/// Computes a Fibonacci number as async tasks.
fn fib_task<'scope, O: BranchOrder>(scope: Scope<'scope>, n: u32) -> impl Task<u64> + 'scope {
    async move {
        if n < 2 {
            return u64::from(n);
        }
        let a = O::branch(scope, fib_task::<O>(scope, n - 1)).await;
        let b = scope.call(fib_task::<O>(scope, n - 2)).await;
        a.await + b
    }
}

/// Computes a Fibonacci number by n additions.
fn by_addition(n: u32) -> u64 {
    (0..n)
        .fold((0u64, 1u64), |(a, b), _| (b, a.wrapping_add(b)))
        .0
}

impl FibNumber {
    /// Which number.
    pub(crate) fn number(&self) -> u8 {
        self.n as u8
    }

    /// LLVM's own form of the recursion: it turns one of the two calls into a loop. Beside the
    /// serial baseline, which makes both calls.
    pub(crate) fn run_looped(&mut self) {
        self.value = fib(&mut Serial, black_box(self.n));
    }
}

impl Workload for FibNumber {
    const NAME: &'static str = "fib";
    const ABOUT: &'static str = "Fibonacci number by two recursive calls, no cut-off";
    const INPUTS: &'static [(&'static str, &'static str)] = &[
        ("40", "165,580,140 joins"),
        (
            "40,by=reference",
            "the same, with closures that capture by reference",
        ),
        ("35", "14,930,351 joins, as in WORMS' paper"),
        ("25", "121,392 joins"),
    ];
    const PARAMS: &'static str = "n=0 to 60, by=value or reference";
    const ITEMS: &'static str = "calls";
    const FIGURES: &'static [&'static str] = &["value"];
    const SERIAL: &'static str = "the same code with plain calls, both really made";

    fn parse(input: &str) -> Result<Self, BadInput> {
        let remedy = "90 days of work lie above; take fib 40";
        let mut work = FibNumber {
            n: 40,
            by: By::Value,
            value: 0,
        };
        for (key, value) in parse_params(Self::NAME, &["n", "by"], input)? {
            match (key, value) {
                ("by", "value") => work.by = By::Value,
                ("by", "reference") => work.by = By::Reference,
                ("by", _) => {
                    let allowed = "value or reference";
                    return Err(BadInput::new("fib by", value, allowed, "leave it out"));
                }
                _ => work.n = number_in("fib input", value, 0..=60, remedy)? as u32,
            }
        }
        Ok(work)
    }

    fn input(&self) -> String {
        match self.by {
            By::Value => self.n.to_string(),
            By::Reference => format!("{},by=reference", self.n),
        }
    }

    #[inline(never)]
    fn run<C: ForkJoin>(&mut self, cx: &mut C) {
        self.value = match self.by {
            By::Value => fib(cx, black_box(self.n)),
            By::Reference => fib_by_reference(cx, black_box(self.n)),
        };
    }

    fn task<'scope, O: BranchOrder>(
        &'scope mut self,
        scope: Scope<'scope>,
    ) -> impl Task<()> + 'scope {
        async move { self.value = fib_task::<O>(scope, black_box(self.n)).await }
    }

    fn run_serial(&mut self) {
        self.run(&mut SerialCalls);
    }

    fn answer(&self) -> RunAnswer {
        RunAnswer([self.value, 0, 0])
    }

    fn expected(&self) -> Option<(RunAnswer, Evidence)> {
        Some((RunAnswer([by_addition(self.n), 0, 0]), Evidence::Definition))
    }

    fn notes(&mut self) -> Vec<(&'static str, String)> {
        let mut times = Times::default();
        for _ in 0..3 {
            let start = Instant::now();
            self.run_looped();
            times.push(start.elapsed());
        }
        let time = seconds(times.median());
        vec![(
            "looped serial",
            format!("{time} in LLVM's own form, one call made a loop"),
        )]
    }

    fn items(&self, _: &RunAnswer) -> u64 {
        // One call for fib(0) and fib(1); else one more than its two calls make together.
        2 * by_addition(self.n + 1) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::fork_join::Counting;

    #[test]
    fn captures_make_no_difference_to_values_and_joins() {
        let mut work = FibNumber::parse("20,by=reference").unwrap();
        assert_eq!(work.input(), "20,by=reference");
        let mut cx = Counting::default();
        work.run(&mut cx);
        assert_eq!((work.value, 2 * cx.spawns + 1), (6765, 21_891));
        assert_eq!(FibNumber::parse("n=20,by=value").unwrap().input(), "20");
        let error = FibNumber::parse("20,by=hand").unwrap_err().to_string();
        assert!(error.contains("`hand`"), "{error}");
    }

    #[test]
    fn values_and_joins() {
        for (n, value) in [(0, 0), (1, 1), (2, 1), (10, 55), (20, 6765)] {
            let mut work = FibNumber::parse(&n.to_string()).unwrap();
            let mut cx = Counting::default();
            work.run(&mut cx);
            assert_eq!(work.answer(), RunAnswer([value, 0, 0]));
            assert_eq!(work.expected(), Some((work.answer(), Evidence::Definition)));
            assert_eq!(
                2 * cx.spawns + 1,
                work.items(&work.answer()),
                "calls of fib({n})"
            );
            work.run_serial();
            assert_eq!(work.answer().0[0], value);
            work.run_looped();
            assert_eq!(work.answer().0[0], value);
        }
    }

    #[test]
    fn inputs_out_of_range_are_named() {
        for bad in ["61", "-1", "x", ""] {
            let error = FibNumber::parse(bad).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{bad}`")) && error.contains("from 0 to 60"),
                "{error}"
            );
        }
    }
}
