//! Workloads of Rayon's users, timed with whichever `rayon-core` this program was linked with.
//!
//! `roving drop-in` of the lab builds it with stock Rayon and with Roving's `rayon-core`, starts
//! both, and asks them in turn; it builds copies, because a patch changes the lock file. By hand,
//! with stock:
//!
//! ```text
//! cargo run --release -- check          # each workload once, verified, with its time
//! cargo run --release -- check nested
//! ```
#![forbid(unsafe_code)]

mod alone;
mod demo;
mod first;
mod random;
mod rows;
mod serve;
mod shapes;
mod table;
mod timing;
mod work;

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use crate::table::{ENTRIES, NamedWorkload};
use crate::timing::Caller;
use crate::work::Scale;

const USAGE: &str = "\
usage: rayon-bench MODE [--quick] [--inside]
  list               the workloads and where they come from
  check [NAME…]      runs each workload, or those named, once; prints times
  serve              answers lines `NAME REPETITIONS` with `times NS…` or `error WHY`
  shapes WORKERS     answers lines `ENTRY UNTIL SPIN PART…` with `times NS CPU`: leaves that sleep
  first              time from here to the first parallel result in ns, peak memory in bytes
  noop               CPU that many empty tasks with pauses cost, in ns
  --quick            small inputs
  --inside           calls from a thread of a pool, not from the main thread
";

/// A failure: a wrong word on the command line (status 2), or a failed run (status 1).
enum CommandError {
    Word(String),
    Run(String),
}

fn main() -> ExitCode {
    let start = Instant::now();
    let words: Vec<String> = std::env::args().skip(1).collect();
    match act(&words, start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(CommandError::Word(why)) => {
            eprintln!("rayon-bench: {why}");
            ExitCode::from(2)
        }
        Err(CommandError::Run(why)) => {
            eprintln!("rayon-bench: {why}");
            ExitCode::FAILURE
        }
    }
}

fn act(words: &[String], start: Instant) -> Result<(), CommandError> {
    let (flags, words): (Vec<&String>, Vec<&String>) =
        words.iter().partition(|word| word.starts_with("--"));
    let (mut scale, mut inside) = (Scale::Full, false);
    for flag in flags {
        match flag.as_str() {
            "--quick" => scale = Scale::Quick,
            "--inside" => inside = true,
            "--help" => {
                print!("{USAGE}");
                return Ok(());
            }
            other => return Err(unknown("flag", other, "--quick, --inside, --help")),
        }
    }
    let (mode, names) = match words.split_first() {
        Some((mode, names)) => (mode.as_str(), names),
        None => {
            return Err(CommandError::Word(
                "no mode; `--help` shows what there is".into(),
            ));
        }
    };
    if mode == "shapes" {
        let [workers] = names else {
            let count = names.len().to_string();
            return Err(unknown("number of words", &count, "`shapes WORKERS`"));
        };
        let served = shapes::serve(workers, io::stdin().lock(), io::stdout());
        return served.map_err(CommandError::Run);
    }
    if mode != "check" && !names.is_empty() {
        return Err(unknown("word", names[0], "none behind this mode"));
    }
    match mode {
        "list" => list(),
        "check" => check(names, scale, &caller(inside)?)?,
        "serve" => {
            let caller = caller(inside)?;
            serve::serve(io::stdin().lock(), io::stdout(), scale, &caller)
                .map_err(|error| CommandError::Run(format!("cannot answer: {error}")))?;
        }
        "first" => println!("{}", first::first(start).map_err(CommandError::Run)?),
        "noop" => println!("{}", alone::noop().map_err(CommandError::Run)?),
        other => {
            return Err(unknown(
                "mode",
                other,
                "list, check, serve, shapes, first, noop",
            ));
        }
    }
    Ok(())
}

fn unknown(what: &str, value: &str, allowed: &str) -> CommandError {
    CommandError::Word(format!(
        "{what} `{value}` is not allowed: want {allowed}; `--help` shows what there is"
    ))
}

fn caller(inside: bool) -> Result<Caller, CommandError> {
    if inside {
        Caller::inside().map_err(CommandError::Run)
    } else {
        Ok(Caller::outside())
    }
}

fn list() {
    for entry in ENTRIES {
        println!("{} {}", entry.name, entry.group.name());
    }
}

/// One repetition of each after one to warm up, verified.
fn check(names: &[&String], scale: Scale, caller: &Caller) -> Result<(), CommandError> {
    let named: Result<Vec<&NamedWorkload>, String> =
        names.iter().map(|name| table::find(name)).collect();
    let mut entries = named.map_err(CommandError::Word)?;
    if entries.is_empty() {
        entries = ENTRIES.iter().collect();
    }
    for entry in entries {
        let runs = scale.size(entry.runs, 1);
        let mut work = (entry.make)(scale);
        let wrong = |why| CommandError::Run(format!("{}: {why}", entry.name));
        caller.time(&mut *work, runs).map_err(wrong)?;
        let nanos = caller.time(&mut *work, runs).map_err(wrong)?;
        println!("{:<28}{:>14.1} µs", entry.name, nanos / 1e3);
    }
    Ok(())
}
