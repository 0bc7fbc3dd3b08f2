//! The row about instructions: what a join that nobody steals costs beyond the call it replaces,
//! counted by callgrind. Counts do not depend on what else the machine does.

use std::process::Command;

use super::probe::Probe;
use super::record::{Bound::AtMost, RowRecord};
use crate::io::input::CommandFailure;

/// Two sizes: their difference has no start and no end of a process in it.
const SIZES: [u64; 2] = [18, 23];

/// Instructions per join of `fib`, on a pool that is the calling thread alone.
pub(super) fn instructions() -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let mut beyond = [0.0; 2];
    for (place, n) in SIZES.into_iter().enumerate() {
        let mut counts = [0.0; 2];
        for (kind, joins) in [true, false].into_iter().enumerate() {
            match count(&Probe::Fib { joins, n })? {
                Ok(instructions) => counts[kind] = instructions,
                Err(why) => {
                    record.absent.push(why);
                    return Ok(record);
                }
            }
            let name = if joins { "joins" } else { "calls" };
            record.single(
                &format!("fib({n}) by {name}, whole process"),
                "instructions",
                counts[kind],
            );
        }
        beyond[place] = counts[0] - counts[1];
    }
    let value = (beyond[1] - beyond[0]) / (joins(SIZES[1]) - joins(SIZES[0]));
    let what = "instructions per join that nobody steals, beyond the serial call";
    record.claim(what, "instructions", value, AtMost(14.0), AtMost(9.0));
    Ok(record)
}

/// How many joins `fib(n)` makes: one for each call with n of 2 or more.
fn joins(n: u64) -> f64 {
    let (mut one, mut next) = (0.0, 1.0);
    for _ in 0..=n {
        (one, next) = (next, one + next);
    }
    one - 1.0
}

/// The instructions of a whole process, or why they cannot be counted.
fn count(probe: &Probe) -> Result<Result<f64, String>, CommandFailure> {
    let exe = std::env::current_exe().map_err(|error| CommandFailure::Run(error.to_string()))?;
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(exe)
        .arg("probe")
        .args(probe.words())
        .output();
    let Ok(output) = run else {
        return Ok(Err(
            "valgrind was not found: install it to count instructions".into(),
        ));
    };
    let said = String::from_utf8_lossy(&output.stderr);
    collected(&said).map(Ok).ok_or_else(|| {
        let last = said.lines().last().unwrap_or_default();
        CommandFailure::Run(format!("callgrind counted nothing: {last}"))
    })
}

/// The number in callgrind's line `==1234== Collected : 5678`.
fn collected(said: &str) -> Option<f64> {
    let line = said
        .lines()
        .find_map(|line| line.split_once("Collected :"))?
        .1;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::fork_join::Counting;
    use crate::workloads::WorkloadJob;

    #[test]
    fn joins_are_counted_right() {
        for n in [2, 3, 10, 20] {
            let mut counting = Counting::default();
            WorkloadJob::parse("fib", Some(&n.to_string()))
                .unwrap()
                .run(&mut counting);
            assert_eq!(joins(n), counting.spawns as f64, "fib({n})");
        }
    }

    #[test]
    fn the_count_is_read() {
        let said = "==7== Events    : Ir\n==7== Collected : 2345678\n==7==\n";
        assert_eq!(collected(said), Some(2_345_678.0));
        assert_eq!(collected("==7== no such tool"), None);
    }
}
