//! The report of the checks: a table at the end, and the line with the counts.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::Result;

/// Tests counted by one check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCounts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl TestCounts {
    pub(crate) fn add(&mut self, other: TestCounts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// One check while it runs: its tests, and why it failed or was left out.
#[derive(Debug, Default)]
pub(crate) struct CheckStep {
    pub(crate) counts: TestCounts,
    pub(crate) complaints: Vec<String>,
    pub(crate) skips: Vec<String>,
    /// It was not run, since it has passed on the same files: how many tests, and when.
    pub(crate) kept: Option<(u64, String)>,
}

impl CheckStep {
    /// The check fails, with this reason.
    pub(crate) fn fail(&mut self, reason: impl Into<String>) {
        self.complaints.push(reason.into());
    }

    /// A part of the check is left out, with this reason. It counts as one skipped test.
    pub(crate) fn skip(&mut self, reason: impl Into<String>) {
        self.skips.push(reason.into());
    }

    /// The check need not run: so many tests passed then, and nothing that it reads has changed.
    pub(crate) fn keep(&mut self, passed: u64, when: &str) {
        self.kept = Some((passed, when.to_owned()));
    }

    /// Its tests. A check that failed without a failed test counts as one failed test.
    fn judged(&self) -> TestCounts {
        let mut counts = self.counts;
        if counts.failed == 0 && !self.complaints.is_empty() {
            counts.failed = 1;
        }
        counts
    }

    /// In one word.
    fn outcome(&self) -> &'static str {
        match (self.complaints.is_empty(), self.skips.is_empty()) {
            _ if self.kept.is_some() => "kept",
            (false, _) => "FAILED",
            (true, false) if self.counts == TestCounts::default() => "skipped",
            (true, _) => "ok",
        }
    }
}

/// One check that has ended.
#[derive(Debug)]
pub(crate) struct EndedStep {
    pub(crate) name: String,
    pub(crate) took: Duration,
    /// Seconds of processors that its programs used, where the system tells.
    pub(crate) used: Option<f64>,
    pub(crate) step: CheckStep,
}

/// All checks of one call.
pub(crate) struct CheckReport {
    started: Instant,
    used: Option<f64>,
    lines: Vec<EndedStep>,
}

/// Seconds of processors that the programs used that this one has started and seen end. Linux
/// counts them in hundredths, as the 16th and 17th word about a process.
pub(crate) fn used() -> Option<f64> {
    used_in(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

fn used_in(stat: &str) -> Option<f64> {
    hundredths(stat, 13, 2)
}

/// Whether a child has ended, which nobody has waited for; then with the seconds of processors that
/// it used, and all that it has waited for itself. Nothing where the system does not tell.
pub(crate) fn ended(child: u32) -> Option<(bool, f64)> {
    ended_in(&std::fs::read_to_string(format!("/proc/{child}/stat")).ok()?)
}

fn ended_in(stat: &str) -> Option<(bool, f64)> {
    let is_over = after_name(stat)?.starts_with('Z');
    // The 14th word and the three after it: its own time, and that of the others.
    Some((is_over, hundredths(stat, 11, 4)?))
}

/// The rest after the name, which is the second word and may hold anything between its brackets.
fn after_name(stat: &str) -> Option<&str> {
    Some(stat.rsplit_once(')')?.1.trim_start())
}

/// The sum of so many words, in seconds.
fn hundredths(stat: &str, skipped: usize, count: usize) -> Option<f64> {
    let words = after_name(stat)?.split_whitespace();
    let words = words.skip(skipped).take(count);
    let times: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
    (times.len() == count).then(|| times.iter().sum::<f64>() / 100.0)
}

pub(crate) fn since(before: Option<f64>) -> Option<f64> {
    Some(used()? - before?)
}

/// The second of a pair of times, as a field of the table.
fn shown(used: Option<f64>) -> String {
    used.map(|used| format!("{used:7.1} s of processors"))
        .unwrap_or_default()
}

impl CheckReport {
    pub(crate) fn new() -> Self {
        CheckReport {
            started: Instant::now(),
            used: used(),
            lines: Vec::new(),
        }
    }

    /// Runs one check. An error inside it fails this check and no other.
    pub(crate) fn step(&mut self, name: &str, check: impl FnOnce(&mut CheckStep) -> Result<()>) {
        println!("\n== {name}");
        let (started, before) = (Instant::now(), used());
        let mut step = CheckStep::default();
        if let Err(message) = check(&mut step) {
            step.fail(message);
        }
        for reason in &step.complaints {
            println!("{name} FAILED: {reason}");
        }
        for reason in &step.skips {
            println!("{name} skipped: {reason}");
        }
        if let Some((passed, when)) = &step.kept {
            println!(
                "{name} is not run: it passed on {when} ({passed} tests), and none of the files \
                      and tools that it uses has changed; `--anew` runs it"
            );
        }
        self.lines.push(EndedStep {
            name: name.to_owned(),
            took: started.elapsed(),
            used: since(before),
            step,
        });
    }

    /// The checks that have ended.
    pub(crate) fn lines(&self) -> &[EndedStep] {
        &self.lines
    }

    /// Adds checks that another process has run.
    pub(crate) fn hear(&mut self, lines: Vec<EndedStep>) {
        self.lines.extend(lines);
    }

    /// The sum, in which a part that was left out is a skipped test.
    pub(crate) fn sum(&self) -> TestCounts {
        let mut sum = TestCounts::default();
        for line in &self.lines {
            let mut counts = line.step.judged();
            counts.skipped += line.step.skips.len() as u64;
            sum.add(counts);
        }
        sum
    }

    /// Prints the table and the counts; `true` when nothing failed.
    pub(crate) fn finish(&self) -> bool {
        let sum = self.sum();
        println!("\n{}", self.table());
        let steps = self.lines.iter().map(|line| &line.step);
        let kept: u64 = steps.filter_map(|step| Some(step.kept.as_ref()?.0)).sum();
        let besides = match kept {
            0 => String::new(),
            _ => {
                format!("; {kept} kept: they passed before, and nothing that they read has changed")
            }
        };
        println!(
            "{} passed, {} failed, {} skipped{besides}",
            sum.passed, sum.failed, sum.skipped
        );
        sum.failed == 0
    }

    /// The last check in one line, to be kept: outcome, tests that passed, failed and were ignored,
    /// parts left out, seconds.
    pub(crate) fn last(&self) -> String {
        let Some(EndedStep { took, step, .. }) = self.lines.last() else {
            return String::new();
        };
        let TestCounts {
            passed,
            failed,
            skipped,
        } = step.judged();
        format!(
            "{},{passed},{failed},{skipped},{},{:.1}",
            step.outcome(),
            step.skips.len(),
            took.as_secs_f64()
        )
    }

    fn table(&self) -> String {
        let mut table = String::new();
        for line in &self.lines {
            let EndedStep {
                name,
                took,
                used,
                step,
            } = line;
            let verdict = step.outcome();
            let seconds = took.as_secs_f64();
            let _ = write!(table, "{verdict:8}{name:14}{seconds:7.1} s{}", shown(*used));
            if step.counts != TestCounts::default() {
                let TestCounts {
                    passed,
                    failed,
                    skipped,
                } = step.counts;
                let _ = write!(
                    table,
                    "  {passed} passed, {failed} failed, {skipped} ignored"
                );
            }
            if let Some((passed, when)) = &step.kept {
                let _ = write!(
                    table,
                    "  {passed} passed on {when}, nothing has changed since"
                );
            }
            for reason in step.complaints.iter().chain(&step.skips) {
                let _ = write!(
                    table,
                    "\n{:8}  {}",
                    "",
                    reason.lines().next().unwrap_or_default()
                );
            }
            table.push('\n');
        }
        let _ = write!(
            table,
            "{:8}{:14}{:7.1} s{}",
            "",
            "in all",
            self.started.elapsed().as_secs_f64(),
            shown(since(self.used))
        );
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_without_failed_tests_counts_as_one() {
        let mut report = CheckReport::new();
        report.step("fmt", |step| {
            step.fail("not formatted");
            step.fail("twice");
            Ok(())
        });
        report.step("broken", |_| Err("no such program".into()));
        assert_eq!(
            report.sum(),
            TestCounts {
                passed: 0,
                failed: 2,
                skipped: 0
            }
        );
    }

    #[test]
    fn time_of_processors_is_read() {
        let stat = "7 (a) b) c) S 1 2 3 4 5 6 7 8 9 10 900 100 250 50 20 0";
        assert_eq!(used_in(stat), Some(3.0));
        assert_eq!(used_in("7 (a"), None);
        assert_eq!(ended_in(stat), Some((false, 13.0)));
        assert_eq!(ended_in(&stat.replace(" S ", " Z ")), Some((true, 13.0)));
        assert_eq!(ended_in("7 (a) Z 1 2"), None);
    }

    #[test]
    fn tests_and_skips_are_summed() {
        let mut report = CheckReport::new();
        report.step("test", |step| {
            step.counts = TestCounts {
                passed: 7,
                failed: 1,
                skipped: 2,
            };
            step.fail("1 test failed");
            Ok(())
        });
        report.step("deny", |step| {
            step.skip("cargo-deny is not installed");
            Ok(())
        });
        assert_eq!(
            report.sum(),
            TestCounts {
                passed: 7,
                failed: 1,
                skipped: 3
            }
        );
        assert!(report.table().contains("skipped deny"));
        assert!(report.last().starts_with("skipped,0,0,0,1,"));
    }
}
