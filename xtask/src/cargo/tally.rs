//! Counts the tests in what `cargo test` and `rustdoc --test` print.

use crate::cargo::tool::ToolOutput;
use crate::report::{CheckStep, TestCounts};

/// The tests of one binary, or of one crate's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestGroup {
    /// As cargo says: `unittests src/lib.rs (…)`, `tests/panics.rs (…)`, `Doc-tests roving`.
    pub(crate) name: String,
    pub(crate) counts: TestCounts,
    /// Left out by a name given on the command line.
    pub(crate) filtered: u64,
    /// Its line with the result was seen: the binary was not ended by a signal.
    pub(crate) ended: bool,
}

/// All that one call of cargo printed, in numbers.
#[derive(Debug, Default)]
pub(crate) struct CargoTally {
    pub(crate) groups: Vec<TestGroup>,
    pub(crate) failed: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

impl CargoTally {
    pub(crate) fn read(lines: &[String]) -> Self {
        let mut tally = CargoTally::default();
        for line in lines {
            let trimmed = line.trim();
            if let Some(name) = group_name(trimmed) {
                tally.groups.push(TestGroup {
                    name,
                    ..TestGroup::default()
                });
            } else if let Some((counts, filtered)) = result(trimmed) {
                if tally.groups.is_empty() {
                    tally.groups.push(TestGroup::default());
                }
                if let Some(group) = tally.groups.last_mut() {
                    group.counts.add(counts);
                    group.filtered += filtered;
                    group.ended = true;
                }
            } else if let Some(name) = trimmed.strip_suffix("... FAILED") {
                tally
                    .failed
                    .push(name.trim_start_matches("test ").trim().to_owned());
            } else if is_warning(line) {
                tally.warnings.push(line.clone());
            }
        }
        tally
    }

    pub(crate) fn sum(&self) -> TestCounts {
        let mut sum = TestCounts::default();
        for group in &self.groups {
            sum.add(group.counts);
        }
        sum
    }

    /// Puts everything that is wrong into the step: failures, aborts, warnings, empty binaries.
    pub(crate) fn judge(&self, seen: &ToolOutput, step: &mut CheckStep) {
        let sum = self.sum();
        step.counts.add(sum);
        if sum.failed > 0 {
            step.fail(format!("{} failed: {}", sum.failed, self.failed.join(", ")));
        }
        for group in self.groups.iter().filter(|group| !group.ended) {
            step.fail(format!(
                "{} ended without a result (signal, abort or exit)",
                group.name
            ));
        }
        if self.groups.is_empty() && seen.ok {
            step.fail("no test binary ran");
        }
        for group in self.groups.iter().filter(|group| group.is_empty()) {
            step.fail(format!("{} ran no test", group.name));
        }
        if let Some(first) = self.warnings.first() {
            step.fail(format!(
                "{} warnings; the first: {first}",
                self.warnings.len()
            ));
        }
        if !seen.ok && step.complaints.is_empty() {
            let error = seen.lines.iter().find(|line| line.starts_with("error"));
            step.fail(
                error
                    .cloned()
                    .unwrap_or_else(|| "ended with an error".into()),
            );
        }
    }
}

impl TestGroup {
    /// Ran nothing, ignored nothing.
    fn is_empty(&self) -> bool {
        self.ended && self.counts == TestCounts::default()
    }
}

fn group_name(line: &str) -> Option<String> {
    if let Some(rest) = line.strip_prefix("Running ") {
        let real = rest.starts_with("unittests ") || rest.starts_with("tests");
        return (real && rest.ends_with(')')).then(|| rest.to_owned());
    }
    line.starts_with("Doc-tests ").then(|| line.to_owned())
}

/// `test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.1s`
fn result(line: &str) -> Option<(TestCounts, u64)> {
    let rest = line.strip_prefix("test result: ")?;
    let number = |word: &str| {
        let before = &rest[..rest.find(&format!(" {word}"))?];
        before
            .rsplit(|c: char| !c.is_ascii_digit())
            .next()?
            .parse::<u64>()
            .ok()
    };
    let counts = TestCounts {
        passed: number("passed")?,
        failed: number("failed")?,
        skipped: number("ignored")?,
    };
    Some((counts, number("filtered out").unwrap_or(0)))
}

/// A warning of the compiler, of rustdoc or of cargo. What a build script says about a part that it
/// leaves out (`warning: roving-lab@0.1.0: …`) is not one.
pub(crate) fn is_warning(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("warning") else {
        return false;
    };
    let Some(rest) = rest.strip_prefix(':').or_else(|| rest.strip_prefix('[')) else {
        return false;
    };
    if rest.starts_with(" build failed") {
        return false; // the error itself stands elsewhere
    }
    let first = rest.split_whitespace().next().unwrap_or_default();
    !(first.contains('@') && first.ends_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(text: &str) -> CargoTally {
        CargoTally::read(&text.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    fn complaints(text: &str, ok: bool) -> Vec<String> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut step = CheckStep::default();
        CargoTally::read(&lines).judge(&ToolOutput { ok, lines }, &mut step);
        step.complaints.to_vec()
    }

    const GOOD: &str = "\
     Running unittests src/lib.rs (target/debug/deps/roving-1)
test a ... ok
test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.10s
     Running tests/panics.rs (target/debug/deps/panics-1)
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
   Doc-tests roving
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s";

    #[test]
    fn groups_are_summed() {
        let tally = tally(GOOD);
        assert_eq!(
            tally.sum(),
            TestCounts {
                passed: 18,
                failed: 0,
                skipped: 1
            }
        );
        assert_eq!(tally.groups.len(), 3);
        assert_eq!(tally.groups[0].filtered, 3);
        assert!(complaints(GOOD, true).is_empty());
    }

    #[test]
    fn a_binary_that_ran_nothing_is_named() {
        let text = "     Running tests/empty.rs (x)\n\
            test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0s";
        assert_eq!(complaints(text, true), ["tests/empty.rs (x) ran no test"]);
    }

    #[test]
    fn to_run_no_binary_is_a_failure() {
        let text = "    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.1s";
        assert_eq!(complaints(text, true), ["no test binary ran"]);
    }

    #[test]
    fn a_binary_that_was_killed_is_named() {
        let text = "     Running tests/abort.rs (x)\nrunning 1 test";
        assert!(complaints(text, false)[0].contains("without a result"));
    }

    #[test]
    fn failures_and_warnings_are_named() {
        let text = "warning: unused variable: `x`\n     Running tests/t.rs (x)\ntest a::b ... FAILED\n\
            test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0s";
        let found = complaints(text, false);
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("a::b") && found[1].contains("unused variable"));
    }

    #[test]
    fn an_error_before_any_test_is_kept() {
        assert_eq!(
            complaints("error[E0308]: mismatched types", false),
            ["error[E0308]: mismatched types"]
        );
    }

    #[test]
    fn build_scripts_may_say_what_they_leave_out() {
        assert!(!is_warning("warning: roving-lab@0.1.0: oneTBB is not here"));
        assert!(is_warning("warning: unused import: `x`"));
        assert!(is_warning("warning[E0001]: old"));
        assert!(!is_warning("warnings are denied"));
        assert!(!is_warning(
            "warning: build failed, waiting for other jobs to finish..."
        ));
    }
}
