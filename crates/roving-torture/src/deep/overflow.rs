//! Overflows of a worker's native stack, each in a process of its own.

use std::env;
use std::hint::black_box;
use std::process::{Command, ExitCode};

use roving::Pool;

use crate::row::{FigureVerdict, Outcome, RowFigure, RowRun};

/// The name of the worker that overflows.
const NAME: &str = "shallow";
/// The word that starts the process which is to end so.
pub(crate) const WORD: &str = "overflow";

/// Recurses for ever on a worker with a small stack. Does not return.
pub(crate) fn overflow() -> ExitCode {
    fn nest(depth: u64) -> u64 {
        roving::join(|| nest(depth + 1), || black_box(depth)).0 + black_box(1)
    }
    match Pool::builder()
        .workers(1)
        .name(NAME)
        .stack_size(256 << 10)
        .build()
    {
        Ok(pool) => println!("{}", pool.install(|| nest(0))),
        Err(error) => eprintln!("{error}"),
    }
    ExitCode::SUCCESS
}

/// How the process ends, and what it says.
pub(crate) fn figures(run: &RowRun<'_>) -> Outcome {
    let leash = run
        .dog
        .watch("an overflow of the native stack", run.replay());
    let this = env::current_exe().map_err(|error| run.failure(error.to_string()))?;
    let output = Command::new(this).arg(WORD).output();
    drop(leash);
    let output = output.map_err(|error| run.failure(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let says = |what: &str, word: &str| {
        let said = text.contains(word);
        let what = format!("overflows whose message {what}");
        RowFigure {
            verdict: if said {
                FigureVerdict::Held
            } else {
                FigureVerdict::Broken
            },
            ..RowFigure::at_least(what, f64::from(u8::from(said)), 1.0, "processes")
        }
    };
    let ended_by_itself = f64::from(u8::from(output.status.success()));
    let limit = says("names the limit to raise", "stack_size");
    Ok(vec![
        RowFigure::at_most(
            "overflows that go unnoticed",
            ended_by_itself,
            0.0,
            "processes",
        ),
        says("names the worker", &format!("{NAME}-0")),
        RowFigure {
            // Elsewhere there is the line of the standard library alone.
            verdict: match cfg!(target_os = "linux") {
                true => limit.verdict,
                false => FigureVerdict::Skipped,
            },
            ..limit
        },
    ])
}
