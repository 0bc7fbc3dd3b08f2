//! Measurements that need a process for each run: start, memory, the CPU of nothing, and a program
//! that may hang.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use super::ratio::{Ratio, note};
use crate::bench::Scale;
use crate::bench::record::{Bound::AtMost, RowRecord};
use crate::rivals::drop_in::PROGRAM;
use crate::rivals::drop_in::build::{Built, Core, build};
use crate::rivals::drop_in::server::{THREADS, command};

/// A program of the same package with one `par_iter` only.
const SMALL: &str = "rayon-first";
/// The package with the program that stock Rayon hangs on, and that program.
const EXAMPLE: &str = "examples/rayon-drop-in";
const LOCK: &str = "lock_across_join";
/// How long it may make no progress, in seconds, and the exit status that says so.
const PATIENCE: &str = "3";
const HUNG: i32 = 3;

/// Rounds of the rows that start a process for each run.
const STARTS: usize = 100;
const NOOPS: usize = 5;
const LOCKS: usize = 5;
/// The bound on start and memory: our value over that of stock.
const START: f64 = 1.0;

/// The output of a program with these words.
pub(super) fn said(program: &Path, words: &[&str]) -> Result<String, String> {
    let output = command(program, words, THREADS)
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(format!("{}: {}", program.display(), text(&output.stderr)))
    }
}

/// Measures all that needs a process for each run: the start, its memory, and the CPU of empty
/// tasks.
pub(super) fn all(record: &mut RowRecord, built: &[Built; 2], scale: &Scale) -> Result<(), String> {
    let starts = starts(built, SMALL, &[], scale)?;
    let name = "process of a small program, from its start to its end";
    note(
        record,
        ("drop-in", THREADS),
        &starts.process(name),
        "µs",
        1e6,
    );
    let name = "start of a small program to its first parallel result";
    let first = starts.first(name);
    note(record, ("drop-in", THREADS), &first, "µs", 1e6);
    start_claim(record, &first);
    memory(record, &starts, "a small program");
    let starts = self::starts(built, PROGRAM, &["first"], scale)?;
    memory(record, &starts, "a program with all workloads");
    noop(record, built, scale)
}

fn start_claim(record: &mut RowRecord, ratio: &Ratio) {
    let what = format!("{}: drop-in / stock Rayon", ratio.name);
    record.claim(what, "×", ratio.value(), AtMost(START), None);
}

/// The greatest resident size at the first parallel result.
fn memory(record: &mut RowRecord, starts: &Starts, of: &str) {
    if starts.bytes.iter().flatten().all(|bytes| *bytes > 0.0) {
        let name = format!("resident size of {of} at its first parallel result");
        let ratio = Ratio::new(&name, &starts.bytes[0], &starts.bytes[1]);
        note(record, ("drop-in", THREADS), &ratio, "KiB", 1.0 / 1024.0);
        start_claim(record, &ratio);
    } else {
        let why = "resident size: this system does not say it";
        record.absent.push(why.into());
    }
}

/// Values of processes that make one parallel result; of stock and of ours.
#[derive(Default)]
struct Starts {
    /// Seconds from outside.
    process: [Vec<f64>; 2],
    /// Seconds from the start of `main` to the result.
    first: [Vec<f64>; 2],
    bytes: [Vec<f64>; 2],
}

impl Starts {
    fn process(&self, name: &str) -> Ratio {
        Ratio::new(name, &self.process[0], &self.process[1])
    }

    fn first(&self, name: &str) -> Ratio {
        Ratio::new(name, &self.first[0], &self.first[1])
    }
}

/// Starts a program again and again.
fn starts(
    built: &[Built; 2],
    program: &str,
    words: &[&str],
    scale: &Scale,
) -> Result<Starts, String> {
    let mut starts = Starts::default();
    for side in turns(scale.rounds(STARTS)) {
        let path = built[side].program(program)?;
        let start = Instant::now();
        let said = said(path, words)?;
        starts.process[side].push(start.elapsed().as_secs_f64());
        let (seconds, bytes) = first(&said)?;
        starts.first[side].push(seconds);
        starts.bytes[side].push(bytes);
    }
    Ok(starts)
}

/// CPU of empty tasks with pauses between them.
fn noop(record: &mut RowRecord, built: &[Built; 2], scale: &Scale) -> Result<(), String> {
    let mut values = [const { Vec::<f64>::new() }; 2];
    for side in turns(scale.rounds(NOOPS)) {
        match said(built[side].program(PROGRAM)?, &["noop"]) {
            Ok(said) => values[side].push(number(&said)? * 1e-9),
            Err(why) => {
                record.absent.push(why);
                return Ok(());
            }
        }
    }
    let name = "noop, CPU of 500 empty tasks with pauses of 1 ms";
    note(
        record,
        ("drop-in", THREADS),
        &Ratio::new(name, &values[0], &values[1]),
        "ms",
        1e3,
    );
    Ok(())
}

/// The program that holds a lock across a parallel call: how often it hangs.
pub(super) fn locks(record: &mut RowRecord, core: &Core, scale: &Scale) -> Result<(), String> {
    let (runs, mut hung) = (scale.rounds(LOCKS), [0usize; 2]);
    let both = [build(EXAMPLE, &Core::Stock)?, build(EXAMPLE, core)?];
    for side in turns(runs) {
        let program = both[side].program(LOCK)?;
        let output = command(program, &[PATIENCE], THREADS).output();
        let output = output.map_err(|error| format!("{LOCK}: {error}"))?;
        match output.status.code() {
            Some(0) => {}
            Some(HUNG) => hung[side] += 1,
            _ => {
                return Err(format!(
                    "{LOCK}: {}",
                    String::from_utf8_lossy(&output.stderr)
                ));
            }
        }
    }
    let name = format!("a lock held across a parallel call, runs of {runs} that hang");
    for (side, hung) in ["stock", "drop-in"].into_iter().zip(hung) {
        record.single(&format!("{name}, {side}"), "runs", hung as f64);
    }
    let what = format!("{name}, drop-in");
    record.claim(what, "runs", hung[1] as f64, AtMost(0.0), None);
    Ok(())
}

/// Stock, ours, ours, stock, and so on: so many of each.
fn turns(rounds: usize) -> impl Iterator<Item = usize> {
    (0..rounds).flat_map(|round| [round % 2, 1 - round % 2])
}

/// Nanoseconds and bytes, as seconds and bytes.
fn first(said: &str) -> Result<(f64, f64), String> {
    let (nanos, bytes) = said
        .split_once(' ')
        .ok_or_else(|| format!("the program said `{said}`"))?;
    Ok((number(nanos)? * 1e-9, number(bytes)?))
}

fn number(said: &str) -> Result<f64, String> {
    let number = said.parse().ok().filter(|number: &f64| *number >= 0.0);
    number.ok_or_else(|| format!("the program said `{said}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_there_and_back() {
        assert_eq!(turns(4).collect::<Vec<_>>(), [0, 1, 1, 0, 0, 1, 1, 0]);
    }

    #[test]
    fn what_a_process_says_is_read() {
        assert_eq!(first("2500 4096"), Ok((2.5e-6, 4096.0)));
        for bad in ["", "2500", "x 1", "1 x", "-1 1"] {
            assert!(first(bad).is_err(), "{bad}");
        }
    }
}
